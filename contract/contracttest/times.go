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

func clockJumps(s *scene) {
	p := s.open(alice)
	for i, jumps := range [][]time.Duration{{day, -2 * day}, {-day, 2 * day}} {
		k := string(rune('a' + i))
		s.Upstream.Script(upstream.Fault{LoseAnswer: true})
		s.want(p.do(OpCreate, k+"1", params("name", k+"1")), contract.Unknown)
		s.want(p.do(OpCreate, k+"2", params("name", k+"2")), contract.Completed)
		s.Upstream.Script(upstream.Fault{LoseRequest: true})
		s.want(p.do(OpSettled, k+"3", params("name", k+"3")), contract.Unknown)
		submitted := s.Upstream.Submissions()
		for _, j := range jumps {
			s.Clock.Jump(j)
			s.want(p.do(OpCreate, k+"1", params("name", k+"1")), contract.Unknown)
			a := p.do(OpCreate, k+"2", params("name", k+"2"))
			s.want(a, contract.Completed)
			if !a.Receipt.Replayed {
				s.failf("after a jump of %s: %s", j, a.Raw)
			}
			if j < 0 { // a clock that stands before the event settles nothing
				s.want(p.reconcile(OpSettled, k+"3"), contract.Unknown, contract.ReasonNotSettled)
			}
			s.wantSubmissions(submitted)
		}
		s.want(p.reconcile(OpCreate, k+"1"), contract.Completed)
	}

	// A new call right after a jump back, and one that was under way at a jump.
	came, release := s.hold(upstream.Fault{})
	done := p.start(Call{Verb: VerbDo, Operation: OpCreate, Key: "k4", Params: params("name", "d")})
	s.await(came, "the submission")
	s.Clock.Jump(-day)
	q := s.open(alice)
	s.want(q.do(OpCreate, "k4", params("name", "d")), contract.Pending)
	release()
	s.want(s.answer(done), contract.Completed)
	s.want(q.do(OpCreate, "k4", params("name", "d")), contract.Completed)
}

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
}
