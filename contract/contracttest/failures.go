package contracttest

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spillway-mcp/spillway/contract"
	"github.com/spillway-mcp/spillway/contract/contracttest/upstream"
)

var failureCases = []Case{
	{"M18", "partial: only what is missing is tried again", nil, partial},
	{"M19", "what each failure means", nil, classification},
	{"M21", "the journal full, read-only, locked", []Feature{HasJournal}, journalDown},
	{"M23", "cancel after the submission", []Feature{HasCancel}, cancelled},
	{"K50", "the upstream commits, then sleeps past the deadline", []Feature{HasReconcile}, sleepsPastDeadline},
}

func partial(s *scene) {
	p := s.open(alice)
	team := params("team", "t1", "members", []string{"ann", "ben", "cid"})
	is := func(name string) func(upstream.Arrival) bool {
		return upstream.OnBody(func(b []byte) bool { return string(b) == fmt.Sprintf(`{"member":%q}`, name) })
	}
	s.Upstream.Script(upstream.Fault{On: is("ben"), Refuse: 422})
	a := p.do(OpMembers, "k1", team)
	s.want(a, contract.Partial)
	if a.Receipt.Effect != contract.EffectSome || a.Receipt.NextAction != contract.NextResume || len(a.Receipt.Steps) != 3 {
		s.fatalf("the receipt of a partial outcome: %s", a.Raw)
	}
	for i, status := range []contract.StepStatus{contract.StepCompleted, contract.StepRejected, contract.StepCompleted} {
		if x := a.Receipt.Steps[i]; x.Status != status || (status == contract.StepCompleted) != (x.Result != nil) {
			s.failf("item %s: want %s, have %s", x.Item, status, a.Raw)
		}
	}
	s.wantSubmissions(3)
	s.want(s.open(alice).do(OpMembers, "k1", team), contract.Completed)
	s.wantSubmissions(4)
	s.wantEffects(3)

	// An item in doubt holds the rest up, and is not tried again.
	team = params("team", "t2", "members", []string{"dan", "eve", "fay"})
	s.Upstream.Script(upstream.Fault{On: is("eve"), LoseAnswer: true})
	a = p.do(OpMembers, "k2", team)
	s.want(a, contract.Unknown)
	if len(a.Receipt.Steps) != 3 || a.Receipt.Steps[0].Status != contract.StepCompleted || a.Receipt.Steps[1].Status != contract.StepUnknown {
		s.failf("the steps of an unknown outcome: %s", a.Raw)
	}
	before := s.Upstream.Submissions()
	s.want(p.do(OpMembers, "k2", team), contract.Unknown)
	s.wantSubmissions(before)
	if s.has(HasReconcile) {
		s.want(p.reconcile(OpMembers, "k2"), contract.Partial)
		s.want(p.do(OpMembers, "k2", team), contract.Completed)
		s.wantEffects(6)
	}

	// Two steps, the second refused: the first is undone as declared.
	s.Upstream.Script(upstream.Fault{On: func(x upstream.Arrival) bool { return x.Path == "/teams/t3/members" }, Refuse: 422})
	a = p.do(OpPair, "k3", params("name", "pair", "team", "t3", "member", "gus"))
	s.want(a, contract.Partial)
	if len(a.Receipt.Steps) != 2 || a.Receipt.Steps[0].Status != contract.StepCompensated || a.Receipt.Steps[1].Status != contract.StepRejected {
		s.failf("the steps of a compensated operation: %s", a.Raw)
	}
	log := s.Upstream.Effects()
	if last := log[len(log)-1]; last.Action != "delete" {
		s.failf("the compensation did not happen: %s", logText(log))
	}
	before = s.Upstream.Submissions()
	s.want(p.do(OpPair, "k3", params("name", "pair", "team", "t3", "member", "gus")), contract.Partial)
	s.wantSubmissions(before)
}

func classification(s *scene) {
	p := s.open(alice)
	for i, x := range []struct {
		fault   upstream.Fault
		outcome contract.Outcome
		reason  string
	}{
		{upstream.Fault{Refuse: 400}, contract.Rejected, contract.ReasonUpstream},
		{upstream.Fault{Refuse: 401}, contract.Rejected, "upstream_denied"},
		{upstream.Fault{Refuse: 403}, contract.Rejected, "upstream_denied"},
		{upstream.Fault{Refuse: 404}, contract.Rejected, "upstream_not_found"},
		{upstream.Fault{Refuse: 412}, contract.Rejected, contract.ReasonPrecondition},
		{upstream.Fault{Refuse: 422}, contract.Rejected, contract.ReasonUpstream},
		{upstream.Fault{Refuse: 429}, contract.Rejected, "upstream_busy"},
		{upstream.Fault{Refuse: 501}, contract.Rejected, contract.ReasonUpstream},
		{upstream.Fault{Refuse: 408}, contract.Unknown, contract.ReasonNoAnswer},
		{upstream.Fault{Refuse: 409}, contract.Unknown, contract.ReasonNoAnswer},
		{upstream.Fault{Refuse: 425}, contract.Unknown, contract.ReasonNoAnswer},
		{upstream.Fault{Refuse: 500}, contract.Unknown, contract.ReasonNoAnswer},
		{upstream.Fault{Refuse: 502}, contract.Unknown, contract.ReasonNoAnswer},
		{upstream.Fault{Refuse: 503}, contract.Unknown, contract.ReasonNoAnswer},
		{upstream.Fault{Refuse: 504}, contract.Unknown, contract.ReasonNoAnswer},
		{upstream.Fault{Answer: 500}, contract.Unknown, contract.ReasonNoAnswer},
		{upstream.Fault{LoseRequest: true}, contract.Unknown, contract.ReasonNoAnswer},
		{upstream.Fault{LoseRequest: true, Reset: true}, contract.Unknown, contract.ReasonNoAnswer},
		{upstream.Fault{LoseAnswer: true, Reset: true}, contract.Unknown, contract.ReasonNoAnswer},
	} {
		s.Upstream.Script(x.fault)
		key := fmt.Sprint("k", i)
		call := Call{Verb: VerbDo, Operation: OpCreate, Key: key, Params: params("name", key)}
		a := p.call(call)
		if a.Outcome() != x.outcome || a.Reason() != x.reason {
			s.failf("%+v: want %s %s, have %s", x.fault, x.outcome, x.reason, a.Raw)
		}
		before := s.Upstream.Submissions()
		if again := p.call(call); again.Outcome() != x.outcome {
			s.failf("%+v, again: want %s, have %s", x.fault, x.outcome, again.Raw)
		}
		s.wantSubmissions(before)
	}
	came, release := s.hold(upstream.Fault{})
	defer release()
	done := p.start(Call{Verb: VerbDo, Operation: OpSlow, Key: "timeout", Params: params("name", "timeout")})
	s.await(came, "the submission")
	s.want(s.answer(done), contract.Unknown, contract.ReasonNoAnswer)
}

func journalDown(s *scene) {
	p := s.open(alice)
	for i, err := range []error{errors.New("disk is full"), errors.New("attempt to write a readonly database"), errors.New("database is locked")} {
		key := fmt.Sprint("k", i)
		s.Journal.Break(err, nil)
		a := p.do(OpCreate, key, params("name", key))
		s.want(a, contract.Rejected, contract.ReasonJournal)
		if a.Receipt.Effect != contract.EffectNone || a.Receipt.NextAction != contract.NextResume {
			s.failf("the receipt without a journal: %s", a.Raw)
		}
		s.wantSubmissions(i)
		s.Journal.Break(nil, nil)
		s.want(p.do(OpCreate, key, params("name", key)), contract.Completed)
	}
	// It breaks after the claim: the effect is there, and nobody can say so.
	s.Journal.Break(nil, errors.New("disk is full"))
	a := p.do(OpCreate, "late", params("name", "late"))
	s.want(a, contract.Unknown, contract.ReasonUnrecorded)
	s.Journal.Break(nil, nil)
	s.wantEffects(4)
	if s.has(HasClock) {
		p.lapse(OpCreate, "late")
		s.want(p.do(OpCreate, "late", params("name", "late")), contract.Unknown, contract.ReasonOwnerLost)
		s.wantEffects(4)
	}
}

func cancelled(s *scene) {
	p := s.open(alice)
	for i, commits := range []bool{true, false} {
		ctx, cancel := context.WithCancel(s.ctx)
		wait := func(a upstream.Arrival) {
			cancel()
			select {
			case <-a.Gone:
			case <-time.After(patience):
			}
		}
		fault := upstream.Fault{Before: wait, LoseRequest: true}
		if commits {
			fault = upstream.Fault{After: wait}
		}
		s.Upstream.Script(fault)
		key := fmt.Sprint("k", i)
		a := p.callCtx(ctx, Call{Verb: VerbDo, Operation: OpCreate, Key: key, Params: params("name", key)})
		if !a.Died && a.Receipt != nil && a.Outcome() != contract.Unknown && a.Outcome() != contract.Completed {
			s.failf("cancelled after the submission (committed: %t): %s", commits, a.Raw)
		}
		if g := p.get(OpCreate, key); g.Outcome() == contract.Rejected {
			s.failf("cancelled after the submission, and recorded so: %s", g.Raw)
		}
		before := s.Upstream.Submissions()
		p.do(OpCreate, key, params("name", key))
		s.wantSubmissions(before)
	}
}

func sleepsPastDeadline(s *scene) {
	p := s.open(alice)
	s.Upstream.Script(upstream.Fault{After: func(a upstream.Arrival) {
		select {
		case <-a.Gone:
		case <-s.ctx.Done():
		}
	}})
	s.want(p.do(OpSlow, "k1", params("name", "a")), contract.Unknown)
	s.want(p.do(OpSlow, "k1", params("name", "a")), contract.Unknown)
	s.want(p.reconcile(OpSlow, "k1"), contract.Completed)
	s.want(p.do(OpSlow, "k1", params("name", "a")), contract.Completed)
	s.wantSubmissions(1)
	s.wantEffects(1)
}
