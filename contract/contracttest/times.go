package contracttest

import (
	"time"

	"github.com/spillway-mcp/spillway/contract"
	"github.com/spillway-mcp/spillway/contract/contracttest/upstream"
)

const day = 24 * time.Hour

var timeCases = []Case{
	{"M15", "a slow owner past its lease", []Feature{HasClock}, slowOwner},
	{"M16", "an expired key", []Feature{HasClock, HasSweep}, expiredKey},
	{"M17", "pending and unknown survive retention", []Feature{HasClock, HasSweep}, survivors},
	{"M22", "the clock jumps a day", []Feature{HasClock, HasReconcile}, clockJumps},
	{"M24", "the upstream's retention of keys has passed", []Feature{HasClock}, keyRetentionPassed},
	{"K51", "a lease of 1 s, a write of 3 s, a second worker", []Feature{HasLease}, slowWrite},
}

func slowOwner(s *scene) {
	p, q := s.open(alice), s.open(alice)
	came, release := s.hold(upstream.Fault{})
	done := p.start(Call{Verb: VerbDo, Operation: OpCreate, Key: "k1", Params: params("name", "a")})
	s.await(came, "the submission")
	s.Clock.Jump(time.Hour)
	a := q.do(OpCreate, "k1", params("name", "a"))
	s.want(a, contract.Unknown, contract.ReasonOwnerLost)
	s.wantSubmissions(1)
	release()
	late := s.answer(done)
	s.want(late, contract.Completed)
	s.wantSubmissions(1)
	b := q.do(OpCreate, "k1", params("name", "a"))
	s.want(b, contract.Completed)
	if !sameJSON(b.Receipt.Result, late.Receipt.Result) {
		s.failf("the late result was not recorded: %s", b.Raw)
	}
	s.wantEffects(1)
	if s.has(HasReconcile) && s.has(HasJournal) {
		slowOwnerGivenUp(s)
	}
	if s.has(HasReconcile) {
		slowUpstream(s)
	}
}

// slowOwnerGivenUp: an owner is given up for lost while it waits for its
// answer. The upstream shows nothing yet, and that is no absence before the
// owner's deadline has passed, whatever the clock says (C-16).
func slowOwnerGivenUp(s *scene) {
	p, q := s.open(alice), s.open(alice)
	s.Journal.Mute(true)
	defer s.Journal.Mute(false)
	came, release := s.hold(upstream.Fault{})
	done := p.start(Call{Verb: VerbDo, Operation: OpCreate, Key: "k2", Params: params("name", "b")})
	s.await(came, "the submission")
	submitted := s.Upstream.Submissions()
	s.Clock.Jump(35 * time.Second) // past the lease, before the deadline of a minute
	for _, slip := range []time.Duration{0, day, -2 * day, day} {
		s.Clock.Slip(slip)
		s.want(q.reconcile(OpCreate, "k2"), contract.Unknown, contract.ReasonNotSettled)
		s.want(q.do(OpCreate, "k2", params("name", "b")), contract.Unknown)
		s.wantSubmissions(submitted)
	}
	release()
	s.want(s.answer(done), contract.Completed)
	s.want(q.do(OpCreate, "k2", params("name", "b")), contract.Completed)
	s.wantSubmissions(submitted)
}

// slowUpstream: the answer is lost, and the upstream does what it was asked
// later, within the settle time.
func slowUpstream(s *scene) {
	p := s.open(alice)
	effects := len(s.Upstream.Effects())
	later, committed := make(chan struct{}), make(chan struct{})
	s.Upstream.Script(upstream.Fault{Later: later, After: func(upstream.Arrival) { close(committed) }})
	s.want(p.do(OpSettled, "k3", params("name", "c")), contract.Unknown, contract.ReasonNoAnswer)
	submitted := s.Upstream.Submissions()
	s.Clock.Jump(SettleTime / 2)
	for _, slip := range []time.Duration{0, day, -2 * day, day} {
		s.Clock.Slip(slip)
		s.want(p.reconcile(OpSettled, "k3"), contract.Unknown, contract.ReasonNotSettled)
		s.want(p.do(OpSettled, "k3", params("name", "c")), contract.Unknown)
	}
	s.wantSubmissions(submitted)
	close(later)
	s.await(committed, "the late commit")
	s.want(p.reconcile(OpSettled, "k3"), contract.Completed)
	s.wantEffects(effects + 1)
}

// slowWrite is K51, in real time: the owner is alive and says so.
func slowWrite(s *scene) {
	s.Lease = time.Second
	p, q := s.open(alice), s.open(alice)
	came, release := s.hold(upstream.Fault{})
	done := p.start(Call{Verb: VerbDo, Operation: OpCreate, Key: "k1", Params: params("name", "a")})
	s.await(came, "the submission")
	for end := time.Now().Add(3 * time.Second); time.Now().Before(end); {
		a := q.call(Call{Verb: VerbDo, Operation: OpCreate, Key: "k1", Params: params("name", "a"), WaitMillis: 100})
		if a.Outcome() != contract.Pending {
			s.failf("the owner is alive, and a second worker is told %s", a.Raw)
		}
		s.wantSubmissions(1)
	}
	release()
	s.want(s.answer(done), contract.Completed)
	s.want(q.do(OpCreate, "k1", params("name", "a")), contract.Completed)
	s.wantSubmissions(1)
	s.wantEffects(1)
}

func expiredKey(s *scene) {
	p := s.open(alice)
	s.want(p.do(OpCreate, "k1", params("name", "a")), contract.Completed)
	s.Clock.Jump(31 * day)
	// It is past retention whether a sweep has come by or not.
	for range 2 {
		for _, v := range [][]byte{params("name", "a"), params("name", "b")} {
			a := p.do(OpCreate, "k1", v)
			s.want(a, contract.Rejected, contract.ReasonExpired)
			if a.Receipt.Result != nil || a.Receipt.NextAction != contract.NextNewKey {
				s.failf("the receipt of an expired key: %s", a.Raw)
			}
		}
		p.call(Call{Verb: VerbSweep})
	}
	s.want(p.get(OpCreate, "k1"), contract.Rejected, contract.ReasonExpired)
	s.wantSubmissions(1)
	s.forget(alice, OpCreate, "k1")
}

func survivors(s *scene) {
	p, q := s.open(alice), s.open(alice)
	s.Upstream.Script(upstream.Fault{LoseAnswer: true})
	s.want(p.do(OpCreate, "k1", params("name", "a")), contract.Unknown)
	s.Upstream.Script(upstream.Fault{After: func(upstream.Arrival) { q.Kill() }, LoseAnswer: true})
	if a := q.do(OpCreate, "k2", params("name", "b")); !a.Died {
		s.fatalf("the killed process answered: %s", a.Raw)
	}
	for range 3 {
		s.Clock.Jump(400 * day)
		p.call(Call{Verb: VerbSweep})
	}
	for _, key := range []string{"k1", "k2"} {
		s.want(p.get(OpCreate, key), contract.Unknown)
		if s.has(HasReconcile) {
			s.want(p.reconcile(OpCreate, key), contract.Completed)
		}
	}
	s.wantSubmissions(2)
}

// clockJumps sets the processes' clock a day forward and back, and the other
// way round, around each time that they go by. The upstream's clock is right.
func clockJumps(s *scene) {
	for i, slips := range [][]time.Duration{{day, -2 * day, day}, {-day, 2 * day, -day}} {
		k := string(rune('a' + i))
		slippedLease(s, k, slips)
		slippedSettle(s, k, slips)
		slippedRetentions(s, k, slips)
		slippedContinuation(s, k, slips)
	}
}

// slippedLease: an owner at work is not given up for another submission, and a
// dead one is not waited for until a wrong clock comes round.
func slippedLease(s *scene, k string, slips []time.Duration) {
	p, q := s.open(alice), s.open(alice)
	came, release := s.hold(upstream.Fault{})
	call := Call{Verb: VerbDo, Operation: OpCreate, Key: k + "1", Params: params("name", k+"1")}
	done := p.start(call)
	s.await(came, "the submission")
	submitted := s.Upstream.Submissions()
	for _, slip := range slips {
		s.Clock.Slip(slip)
		if a := q.call(call); a.Outcome() != contract.Pending && a.Outcome() != contract.Unknown {
			s.failf("the owner is at work, and after a slip of %s another is told %s", slip, a.Raw)
		}
		if a := q.reconcile(OpCreate, call.Key); a.Outcome() != contract.Pending && a.Outcome() != contract.Unknown {
			s.failf("the owner is at work, and after a slip of %s a reconcile says %s", slip, a.Raw)
		}
		s.wantSubmissions(submitted)
	}
	release()
	s.want(s.answer(done), contract.Completed)
	s.want(q.call(call), contract.Completed)

	s.Upstream.Script(upstream.Fault{After: func(upstream.Arrival) { p.Kill() }, LoseAnswer: true})
	call.Key, call.Params = k+"2", params("name", k+"2")
	if a := p.call(call); !a.Died {
		s.fatalf("the killed process answered: %s", a.Raw)
	}
	s.Clock.Slip(-day)
	q.lapse(OpCreate, call.Key)
	s.want(q.call(call), contract.Unknown, contract.ReasonOwnerLost)
	s.Clock.Slip(day)
	s.want(q.reconcile(OpCreate, call.Key), contract.Completed)
}

// slippedSettle: absence is proven when the settle time has passed, and not by
// a clock that says so.
func slippedSettle(s *scene, k string, slips []time.Duration) {
	p := s.open(alice)
	s.Upstream.Script(upstream.Fault{LoseRequest: true})
	s.want(p.do(OpSettled, k+"3", params("name", k+"3")), contract.Unknown)
	submitted := s.Upstream.Submissions()
	for _, slip := range slips {
		s.Clock.Slip(slip)
		s.want(p.do(OpSettled, k+"3", params("name", k+"3")), contract.Unknown)
		s.want(p.reconcile(OpSettled, k+"3"), contract.Unknown, contract.ReasonNotSettled)
		s.wantSubmissions(submitted)
	}
	s.Clock.Jump(SettleTime)
	s.want(p.reconcile(OpSettled, k+"3"), contract.Rejected, contract.ReasonAbsent)
	s.want(p.do(OpSettled, k+"3", params("name", k+"3")), contract.Completed)
}

// slippedRetentions: what was recorded is replayed, and a key that the upstream
// holds gives one effect, with and without a sweep.
func slippedRetentions(s *scene, k string, slips []time.Duration) {
	p := s.open(alice)
	s.want(p.do(OpCreate, k+"4", params("name", k+"4")), contract.Completed)
	s.Upstream.Script(upstream.Fault{LoseAnswer: true})
	s.want(p.do(OpCustomer, k+"5", params("name", k+"5")), contract.Unknown)
	effects := len(s.Upstream.Effects())
	for _, slip := range slips {
		s.Clock.Slip(slip)
		if s.has(HasSweep) {
			p.call(Call{Verb: VerbSweep})
		}
		a := p.do(OpCreate, k+"4", params("name", k+"4"))
		s.want(a, contract.Completed)
		if !a.Receipt.Replayed {
			s.failf("after a slip of %s: %s", slip, a.Raw)
		}
		if a = p.do(OpCustomer, k+"5", params("name", k+"5")); a.Outcome() != contract.Completed && a.Outcome() != contract.Unknown {
			s.failf("after a slip of %s: %s", slip, a.Raw)
		}
		s.wantEffects(effects)
	}
}

// slippedContinuation: it goes on to the right total, or says that it expired.
func slippedContinuation(s *scene, k string, slips []time.Duration) {
	p := s.open(alice)
	_, token := s.stoppedRead(p)
	for _, slip := range slips {
		s.Clock.Slip(slip)
		a := p.call(Call{Verb: VerbDo, Operation: OpCount, Params: collection("c"), Continuation: token})
		if a.Reason() == contract.ReasonContinuationExpired && slip > 0 {
			continue
		}
		s.wantRead(a, stableText(70), 70, 7, "")
	}
}

// keyRetentionPassed: when the upstream has forgotten the key, nothing is
// submitted under it any more; nor where a clock says that it has not, against
// what the journal was told, also after a restart of the machine (C-18).
func keyRetentionPassed(s *scene) {
	p := s.open(alice)
	s.Upstream.Script(upstream.Fault{LoseAnswer: true})
	s.want(p.do(OpCustomer, "k1", params("name", "a")), contract.Unknown)
	s.Clock.Jump(KeyRetention - time.Minute)
	s.Upstream.Script(upstream.Fault{LoseAnswer: true})
	s.want(p.do(OpCustomer, "k1", params("name", "a")), contract.Unknown)
	s.wantSubmissions(2) // the key still protects
	s.wantEffects(1)
	s.Clock.Jump(2 * time.Minute)
	a := p.do(OpCustomer, "k1", params("name", "a"))
	s.want(a, contract.Unknown)
	s.wantSubmissions(2)
	s.wantEffects(1)

	for i, restart := range []bool{false, true} {
		k := string(rune('b' + i))
		s.Upstream.Script(upstream.Fault{LoseAnswer: true})
		s.want(p.do(OpCustomer, k, params("name", k)), contract.Unknown)
		s.Clock.Jump(KeyRetention + time.Hour)
		s.want(p.do(OpCreate, k+"2", params("name", k+"2")), contract.Completed) // the journal is told the time
		s.Clock.Slip(-20 * time.Hour)
		if restart {
			s.Clock.Restart()
		}
		before, effects := s.Upstream.Submissions(), len(s.Upstream.Effects())
		for _, q := range []*proc{p, s.open(alice)} {
			s.want(q.do(OpCustomer, k, params("name", k)), contract.Unknown)
			s.wantSubmissions(before)
			s.wantEffects(effects)
		}
		s.Clock.Slip(20 * time.Hour)
	}
}
