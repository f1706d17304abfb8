package contracttest

import (
	"encoding/json"

	"github.com/spillway-mcp/spillway/contract"
	"github.com/spillway-mcp/spillway/contract/contracttest/upstream"
)

type rawJSON = json.RawMessage

var previewCases = []Case{
	{"M11", "a preview has no effect, and fails exactly where the call would", []Feature{HasPreview}, previews},
	{"M12", "an approval survives a lost response", []Feature{HasPrepare}, approval},
}

func previews(s *scene) {
	p := s.open(alice)
	s.Upstream.PutItem("i1", map[string]rawJSON{"value": rawJSON(`"old"`)})
	s.Upstream.Touch("i1")
	for _, c := range []Call{
		{Operation: OpCreate, Params: params("name", "a")},
		{Operation: OpCreate, Params: params("name", "")},
		{Operation: OpCreate, Params: params("name", "a", "color", "red")},
		{Operation: OpCreate, Params: rawJSON(`[1]`)},
		{Operation: OpUpdate, Params: params("id", "i1", "value", "new"), Revision: "1"},
		{Operation: OpMembers, Params: params("team", "t", "members", []string{"x", "x"})},
	} {
		before := s.Upstream.Submissions()
		c.Verb = VerbPreview
		seen := p.call(c)
		s.wantSubmissions(before)
		c.Verb = VerbDo
		done := p.call(c)
		if done.Outcome() == contract.Completed {
			if seen.Preview == nil {
				s.failf("the preview of %s %s fails where the call does not: %s %s", c.Operation, c.Params, seen.Raw, seen.Text)
			}
			continue
		}
		if seen.Preview != nil || seen.Reason() != done.Reason() {
			s.failf("the preview of %s %s says %s, the call %s", c.Operation, c.Params, seen.Reason(), done.Reason())
		}
	}
	effects := len(s.Upstream.Effects())

	// It leaves no record, tells what is seen and can be bound.
	c := Call{Verb: VerbPreview, Operation: OpUpdate, Key: "k1", Params: params("id", "i1", "value", "new")}
	seen := p.call(c)
	if seen.Preview == nil {
		s.fatalf("no preview: %s %s", seen.Raw, seen.Text)
	}
	if v := seen.Preview; v.Revision != "2" || v.OperationID != "k1" || v.Effects != contract.Updates || v.Informational || v.Replay != "unsafe" || v.Reconcile != "none" {
		s.failf("the preview: %+v", *v)
	}
	s.want(p.get(OpUpdate, "k1"), contract.Rejected, contract.ReasonNotFound)
	c.Verb, c.Preview = VerbDo, seen.Preview.Token
	other := c
	other.Params = params("id", "i1", "value", "other")
	s.want(p.call(other), contract.Rejected, contract.ReasonPreviewMismatch)
	s.wantEffects(effects)
	s.Upstream.Touch("i1")
	s.want(p.call(c), contract.Rejected, contract.ReasonPrecondition, contract.ReasonPreviewMismatch)
	s.wantEffects(effects)

	// A definition's prediction, and one that binds nothing.
	seen = p.call(Call{Verb: VerbPreview, Operation: OpCreate, Params: params("name", "z")})
	if v := seen.Preview; v == nil || !sameJSON(v.Prediction, []byte(`{"creates":1}`)) || v.Target != "main" || v.OperationID == "" {
		s.failf("the preview: %+v %s", seen.Preview, seen.Text)
	}
	if s.has(HasPolicy) {
		s.Policy.Refuse(func(a contract.Access) bool { return a.Caller == alice })
		s.want(p.call(Call{Verb: VerbPreview, Operation: OpCreate, Params: params("name", "z")}), contract.Rejected, contract.ReasonUnauthorized)
	}
}

func approval(s *scene) {
	p := s.open(alice)
	call := Call{Verb: VerbPrepare, Operation: OpCreate, Params: params("name", "a")}
	prepared := p.call(call)
	if prepared.Preview == nil || prepared.Preview.OperationID == "" {
		s.fatalf("nothing prepared: %s %s", prepared.Raw, prepared.Text)
	}
	key := prepared.Preview.OperationID
	s.wantSubmissions(0)
	s.claim(claimID{alice, OpCreate, key}, call)

	s.Upstream.Script(upstream.Fault{LoseAnswer: true})
	commit := Call{Verb: VerbCommit, Operation: OpCreate, Key: key}
	s.want(p.call(commit), contract.Unknown)
	q := s.open(alice)
	s.want(q.call(commit), contract.Unknown)
	// Prepared again it is not said to have been refused: it may have happened.
	again := q.call(Call{Verb: VerbPrepare, Operation: OpCreate, Key: key, Params: call.Params})
	if again.Preview == nil && again.Outcome() != contract.Unknown {
		s.failf("an unknown operation, prepared again: %s %s", again.Raw, again.Text)
	}
	s.wantSubmissions(1)
	if s.has(HasReconcile) {
		s.want(q.reconcile(OpCreate, key), contract.Completed)
		a := s.open(alice).call(commit)
		s.want(a, contract.Completed)
		if !a.Receipt.Replayed {
			s.failf("want a replay: %s", a.Raw)
		}
	}
	s.wantSubmissions(1)
	s.wantEffects(1)
	s.want(q.call(Call{Verb: VerbCommit, Operation: OpCreate, Key: "never-prepared"}), contract.Rejected, contract.ReasonNotFound, "request_state_invalid")
}
