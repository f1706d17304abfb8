package contracttest

import (
	"bytes"
	"fmt"
	"sync"
	"time"

	"github.com/spillway-mcp/spillway/contract"
	"github.com/spillway-mcp/spillway/contract/contracttest/upstream"
)

var mutationCases = []Case{
	{"M01", "a first call submits once", nil, firstCall},
	{"M02", "the response is lost after the commit, same process", nil, lostSameProcess},
	{"M03", "the same, another process", nil, lostOtherProcess},
	{"M04", "kill -9 after the claim, before the submission", []Feature{HasReconcile}, killedBefore},
	{"M05", "kill -9 after the submission, before the record", []Feature{HasReconcile}, killedAfter},
	{"M06", "100 concurrent callers in two processes", nil, concurrent},
	{"M08", "equal parameters under two keys are two effects", nil, twoIntents},
	{"K52", "two intended, equal calls both happen", nil, twoIntents},
}

func firstCall(s *scene) {
	a := s.open(alice).do(OpCreate, "k1", params("name", "a"))
	s.want(a, contract.Completed)
	s.wantEffects(1)
	r := a.Receipt
	if r.OperationID != "k1" || r.Effect != contract.EffectCommitted || r.NextAction != contract.NextNone || r.Attempts != 1 ||
		r.Replayed || r.CompletedAt == nil || r.Operation != OpCreate+"@2.0" {
		s.failf("the receipt of a first call: %s", a.Raw)
	}
}

func lostSameProcess(s *scene) { lost(s, false) }

func lostOtherProcess(s *scene) { lost(s, true) }

// lost breaks the connection after the commit, for each kind of upstream.
func lost(s *scene, other bool) {
	p := s.open(alice)
	again := func() *proc {
		if other {
			return s.open(alice)
		}
		return p
	}
	s.Upstream.Script(upstream.Fault{LoseAnswer: true})
	a := p.do(OpCreate, "k1", params("name", "a"))
	s.want(a, contract.Unknown)
	if a.Receipt.NextAction != contract.NextReconcile || a.Receipt.Result != nil {
		s.failf("the receipt of a lost answer: %s", a.Raw)
	}
	s.want(again().do(OpCreate, "k1", params("name", "a")), contract.Unknown)
	s.wantSubmissions(1)
	if s.has(HasReconcile) {
		s.want(again().reconcile(OpCreate, "k1"), contract.Completed)
		b := again().do(OpCreate, "k1", params("name", "a"))
		s.want(b, contract.Completed)
		if !b.Receipt.Replayed {
			s.failf("a replay is not marked: %s", b.Raw)
		}
	}
	s.wantSubmissions(1)

	// The upstream that takes keys is asked again under the same one.
	s.Upstream.Script(upstream.Fault{LoseAnswer: true, Reset: true})
	s.want(p.do(OpCustomer, "k2", params("name", "b")), contract.Unknown)
	s.want(again().do(OpCustomer, "k2", params("name", "b")), contract.Completed)
	s.wantSubmissions(3)
	s.wantEffects(2)

	// A refusal of the second attempt says nothing about the first.
	s.Upstream.Script(upstream.Fault{LoseAnswer: true}, upstream.Fault{Refuse: 429})
	s.want(p.do(OpCustomer, "k4", params("name", "d")), contract.Unknown)
	s.want(again().do(OpCustomer, "k4", params("name", "d")), contract.Unknown)
	s.want(again().do(OpCustomer, "k4", params("name", "d")), contract.Completed)
	s.wantEffects(3)

	// The one without a key and without a reconcile stays unknown until a
	// person says what is.
	s.Upstream.Script(upstream.Fault{LoseAnswer: true})
	s.want(p.do(OpBlind, "k3", params("name", "c")), contract.Unknown)
	s.want(again().do(OpBlind, "k3", params("name", "c")), contract.Unknown)
	s.wantSubmissions(7)
	if s.has(HasReconcile) {
		s.want(again().reconcile(OpBlind, "k3"), contract.Unknown)
	}
	if !s.has(HasResolve) {
		return
	}
	log := s.Upstream.Effects()
	res := &contract.Resolution{Completed: true, Result: log[len(log)-1].Result, Who: "carol", Why: "seen in the upstream's own list"}
	r := again().call(Call{Verb: VerbResolve, Operation: OpBlind, Key: "k3", Resolution: res})
	s.want(r, contract.Completed)
	if len(r.Receipt.Notes) != 1 || r.Receipt.Notes[0].Who != "carol" || r.Receipt.Notes[0].Why != res.Why {
		s.failf("the resolution is not journaled: %s", r.Raw)
	}
	s.want(again().do(OpBlind, "k3", params("name", "c")), contract.Completed)
	s.wantSubmissions(7)
}

// killedBefore kills the process that holds the claim when its request has
// come to the upstream and has done nothing: from outside that is the same as
// before the submission.
func killedBefore(s *scene) {
	p, q := s.open(alice), s.open(alice)
	if s.has(HasJournal) {
		s.Journal.Watch(func(step string, before bool) {
			if step == "claim" && !before {
				p.Kill()
			}
		})
	} else {
		s.Upstream.Script(upstream.Fault{Before: func(upstream.Arrival) { p.Kill() }, LoseRequest: true})
	}
	if a := p.do(OpCreate, "k1", params("name", "a")); !a.Died {
		s.fatalf("the killed process answered: %s", a.Raw)
	}
	s.Journal.Watch(nil)
	q.lapse(OpCreate, "k1")
	before := s.Upstream.Submissions()
	s.want(q.do(OpCreate, "k1", params("name", "a")), contract.Unknown, contract.ReasonOwnerLost)
	s.wantSubmissions(before)
	a := q.reconcile(OpCreate, "k1")
	s.want(a, contract.Rejected, contract.ReasonAbsent)
	if a.Receipt.NextAction != contract.NextResume {
		s.failf("what follows proven absence: %s", a.Raw)
	}
	s.want(q.do(OpCreate, "k1", params("name", "a")), contract.Completed)
	s.wantEffects(1)
}

func killedAfter(s *scene) {
	p, q := s.open(alice), s.open(alice)
	s.Upstream.Script(upstream.Fault{After: func(upstream.Arrival) { p.Kill() }, LoseAnswer: true})
	if a := p.do(OpCreate, "k1", params("name", "a")); !a.Died {
		s.fatalf("the killed process answered: %s", a.Raw)
	}
	q.lapse(OpCreate, "k1")
	s.want(q.do(OpCreate, "k1", params("name", "a")), contract.Unknown, contract.ReasonOwnerLost)
	s.wantSubmissions(1)
	s.want(q.reconcile(OpCreate, "k1"), contract.Completed)
	s.want(q.do(OpCreate, "k1", params("name", "a")), contract.Completed)
	s.wantSubmissions(1)
	s.wantEffects(1)
}

func concurrent(s *scene) {
	const callers = 100
	procs := []*proc{s.open(alice), s.open(alice)}
	came, release := s.hold(upstream.Fault{})
	call := Call{Verb: VerbDo, Operation: OpCreate, Key: "k1", Params: params("name", "a"), WaitMillis: int(patience / time.Millisecond)}
	answers := make([]Answer, callers)
	var all sync.WaitGroup
	for i := range callers {
		all.Go(func() {
			defer s.stopped()
			answers[i] = procs[i%2].call(call)
		})
	}
	s.await(came, "the first submission")
	release()
	all.Wait()
	s.wantSubmissions(1)
	s.wantEffects(1)
	waited := 0
	for i, a := range answers {
		if a.Outcome() == contract.Pending && !s.has(HasWait) {
			answers[i] = procs[i%2].get(OpCreate, "k1")
		}
	}
	for _, a := range answers {
		s.want(a, contract.Completed)
		if !bytes.Equal(a.Receipt.Result, answers[0].Receipt.Result) || !a.Receipt.CompletedAt.Equal(*answers[0].Receipt.CompletedAt) {
			s.failf("two receipts of one key: %s and %s", a.Raw, answers[0].Raw)
		}
		if a.Receipt.Replayed {
			waited++
		}
	}
	if waited != callers-1 {
		s.failf("want %d replays, have %d", callers-1, waited)
	}
}

func twoIntents(s *scene) {
	p := s.open(alice)
	results := map[string]bool{}
	for i := range 2 {
		a := p.do(OpCreate, fmt.Sprint("k", i), params("name", "comment"))
		s.want(a, contract.Completed)
		results[string(a.Receipt.Result)] = true
	}
	s.wantEffects(2)
	if len(results) != 2 {
		s.failf("two intents have one result")
	}
	// The face mints keys, and never from the parameters (C-14).
	a, b := p.do(OpCreate, "", params("name", "comment")), p.do(OpCreate, "", params("name", "comment"))
	s.want(a, contract.Completed)
	s.want(b, contract.Completed)
	if a.Receipt.OperationID == b.Receipt.OperationID {
		s.failf("two calls without a key got one: %s", a.Receipt.OperationID)
	}
	s.wantEffects(4)
}
