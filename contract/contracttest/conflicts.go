package contracttest

import (
	"bytes"
	"slices"

	"github.com/spillway-mcp/spillway/contract"
	"github.com/spillway-mcp/spillway/contract/contracttest/upstream"
)

var conflictCases = []Case{
	{"M07", "changed parameters after completion, while pending, while unknown", nil, changedParams},
	{"M09", "retry after success with a now stale revision", []Feature{HasRevision}, staleReplay},
	{"M10", "a stale revision at first: rejected, the key bound", []Feature{HasRevision}, staleFirst},
	{"M13", "caller B cannot see or replay A's key", []Feature{HasCallers}, foreignKey},
	{"M14", "permission revoked between attempts", []Feature{HasPolicy}, revoked},
	{"M20", "the major version changed between attempts", []Feature{HasVersions}, changedMajor},
}

// conflict wants a refusal that names what differs, and no submission.
func (s *scene) conflict(p *proc, operation, key string, params []byte, in ...string) {
	before := s.Upstream.Submissions()
	a := p.do(operation, key, params)
	s.want(a, contract.Rejected, contract.ReasonKeyConflict)
	if a.Receipt.Effect != contract.EffectNone || !slices.Equal(a.Receipt.Conflict, in) {
		s.failf("want a conflict in %v without an effect, have %v: %s", in, a.Receipt.Conflict, a.Raw)
	}
	if a.Receipt.Result != nil {
		s.failf("a conflict gives the recorded result away: %s", a.Raw)
	}
	s.wantSubmissions(before)
}

func changedParams(s *scene) {
	p, q := s.open(alice), s.open(alice)
	first, other := params("name", "a"), params("name", "b")

	s.want(p.do(OpCreate, "k1", first), contract.Completed)
	s.conflict(p, OpCreate, "k1", other, "params")
	s.conflict(q, OpCreate, "k1", params("name", "a", "amount", 5), "params")
	s.conflict(q, OpCreate, "k1", params("name", "a", "account", "side"), "params", "target")
	same := q.do(OpCreate, "k1", params("account", "main", "name", "a")) // the default, written out
	s.want(same, contract.Completed)
	if !same.Receipt.Replayed {
		s.failf("a default that is written out is another call: %s", same.Raw)
	}

	came, release := s.hold(upstream.Fault{})
	done := p.start(Call{Verb: VerbDo, Operation: OpCreate, Key: "k2", Params: first})
	s.await(came, "the submission")
	s.conflict(q, OpCreate, "k2", other, "params")
	pending := q.do(OpCreate, "k2", first)
	s.want(pending, contract.Pending)
	if pending.Receipt.NextAction != contract.NextWait {
		s.failf("what follows pending: %s", pending.Raw)
	}
	release()
	s.want(s.answer(done), contract.Completed)

	s.Upstream.Script(upstream.Fault{LoseAnswer: true})
	s.want(p.do(OpCreate, "k3", params("name", "c")), contract.Unknown)
	s.conflict(q, OpCreate, "k3", other, "params")
	s.wantEffects(3)
}

func staleReplay(s *scene) {
	s.Upstream.PutItem("i1", map[string]rawJSON{"value": rawJSON(`"old"`)})
	p, q := s.open(alice), s.open(alice)
	call := Call{Verb: VerbDo, Operation: OpUpdate, Key: "k1", Params: params("id", "i1", "value", "new"), Revision: "1"}
	a := p.call(call)
	s.want(a, contract.Completed)
	for _, r := range []*proc{p, q} {
		b := r.call(call)
		s.want(b, contract.Completed)
		if !b.Receipt.Replayed || !bytes.Equal(a.Receipt.Result, b.Receipt.Result) || !b.Receipt.CompletedAt.Equal(*a.Receipt.CompletedAt) {
			s.failf("want the first result, replayed: %s; have %s", a.Raw, b.Raw)
		}
	}
	s.wantSubmissions(1)
	s.wantEffects(1)
}

func staleFirst(s *scene) {
	s.Upstream.PutItem("i1", map[string]rawJSON{"value": rawJSON(`"old"`)})
	s.Upstream.Touch("i1")
	p, q := s.open(alice), s.open(alice)
	call := Call{Verb: VerbDo, Operation: OpUpdate, Key: "k1", Params: params("id", "i1", "value", "new"), Revision: "1"}
	for _, r := range []*proc{p, q} {
		a := r.call(call)
		s.want(a, contract.Rejected, contract.ReasonPrecondition)
		if a.Receipt.Effect != contract.EffectNone || a.Receipt.NextAction != contract.NextNewKey {
			s.failf("the receipt of a stale revision: %s", a.Raw)
		}
	}
	// The key is bound: it stands for the stale call, and for nothing newer.
	fresh := call
	fresh.Revision = "2"
	a := q.call(fresh)
	s.want(a, contract.Rejected, contract.ReasonKeyConflict)
	s.wantEffects(0)
	fresh.Key = "k2"
	s.want(q.call(fresh), contract.Completed)
	s.wantEffects(1)

	// A change between our check and the submission is the upstream's to see.
	s.Upstream.PutItem("i2", map[string]rawJSON{"value": rawJSON(`"old"`)})
	s.Upstream.Script(upstream.Fault{Before: func(upstream.Arrival) { s.Upstream.Touch("i2") }})
	call = Call{Verb: VerbDo, Operation: OpUpdate, Key: "k3", Params: params("id", "i2", "value", "new"), Revision: "1"}
	s.want(p.call(call), contract.Rejected, contract.ReasonPrecondition)
	s.wantEffects(1)
}

func foreignKey(s *scene) {
	a, b := s.open(alice), s.open(bob)
	mine := a.do(OpCreate, "k1", params("name", "a"))
	s.want(mine, contract.Completed)
	s.want(b.get(OpCreate, "k1"), contract.Rejected, contract.ReasonNotFound)
	if s.has(HasReconcile) {
		s.want(b.reconcile(OpCreate, "k1"), contract.Rejected, contract.ReasonNotFound)
	}
	if s.has(HasPrepare) {
		s.want(b.call(Call{Verb: VerbCommit, Operation: OpCreate, Key: "k1"}), contract.Rejected, contract.ReasonNotFound, "request_state_invalid")
	}
	his := b.do(OpCreate, "k1", params("name", "b"))
	s.want(his, contract.Completed)
	if his.Receipt.Replayed || bytes.Equal(his.Receipt.Result, mine.Receipt.Result) {
		s.failf("%s was given %s's result: %s", bob, alice, his.Raw)
	}
	s.wantEffects(2)
	if again := a.do(OpCreate, "k1", params("name", "a")); !bytes.Equal(again.Receipt.Result, mine.Receipt.Result) {
		s.failf("%s's result is now %s", alice, again.Raw)
	}
}

func revoked(s *scene) {
	p := s.open(alice)
	first := p.do(OpCreate, "k1", params("name", "secret"))
	s.want(first, contract.Completed)
	s.Upstream.Script(upstream.Fault{LoseAnswer: true})
	s.want(p.do(OpCreate, "k2", params("name", "b")), contract.Unknown)
	s.Policy.Refuse(func(a contract.Access) bool { return a.Caller == alice })
	for _, c := range []Call{
		{Verb: VerbDo, Operation: OpCreate, Key: "k1", Params: params("name", "secret")},
		{Verb: VerbGet, Operation: OpCreate, Key: "k1"},
		{Verb: VerbReconcile, Operation: OpCreate, Key: "k2"},
		{Verb: VerbPreview, Operation: OpCreate, Key: "k3", Params: params("name", "c")},
		{Verb: VerbDo, Operation: OpCreate, Key: "k4", Params: params("name", "d")},
		{Verb: VerbResolve, Operation: OpCreate, Key: "k2", Resolution: &contract.Resolution{Who: "carol", Why: "because"}},
	} {
		if c.Verb == VerbResolve && !s.has(HasResolve) {
			continue
		}
		a := p.call(c)
		s.want(a, contract.Rejected, contract.ReasonUnauthorized)
		if bytes.Contains(a.Raw, []byte("item-")) || bytes.Contains(a.Raw, []byte("secret")) || bytes.Contains([]byte(a.Text), []byte("item-")) {
			s.failf("%s: the stored result leaks: %s %s", c.Verb, a.Raw, a.Text)
		}
	}
	s.wantSubmissions(2)
	s.Policy.Refuse(nil)
	if a := p.do(OpCreate, "k1", params("name", "secret")); !a.Receipt.Replayed {
		s.failf("want a replay once it is allowed again: %s", a.Raw)
	}
}

func changedMajor(s *scene) {
	p := s.open(alice)
	s.want(p.do(OpCreate+"@1.0", "k1", params("name", "a")), contract.Completed)
	s.conflict(p, OpCreate+"@2.0", "k1", params("name", "a"), "version")
	s.conflict(s.open(alice), OpCreate+"@2.0", "k1", params("name", "b"), "params", "version")
	a := p.do(OpCreate+"@1.0", "k1", params("name", "a"))
	s.want(a, contract.Completed)
	if a.Receipt.Operation != OpCreate+"@1.0" {
		s.failf("the receipt names another version than the one recorded: %s", a.Raw)
	}
	s.wantEffects(1)
}
