package contract_test

import (
	"context"
	"encoding/json"
	"errors"
	"testing"
	"time"

	"github.com/spillway-mcp/spillway/contract"
)

func revisioned(u *upstream) func(*contract.Mutation[customer, created]) {
	return func(m *contract.Mutation[customer, created]) {
		m.Current = func(context.Context, customer) (string, error) {
			u.mu.Lock()
			defer u.mu.Unlock()
			return "rev" + string(rune('0'+u.revision)), nil
		}
	}
}

func TestM09_M10_Precondition(t *testing.T) {
	u := &upstream{}
	op := customerOp(t, u, revisioned(u))
	c := newClient(t, contract.Options{})
	_, r, err := op.Do(ctx, c, customer{Name: "Ada"}, contract.Call{Key: "k1", Revision: "rev0"})
	want(t, r, err, contract.Completed, contract.EffectCommitted, contract.NextNone)
	// The write moved the revision itself; a replay does not look at it.
	_, r, err = op.Do(ctx, c, customer{Name: "Ada"}, contract.Call{Key: "k1", Revision: "rev0"})
	want(t, r, err, contract.Completed, contract.EffectCommitted, contract.NextNone)

	_, r, err = op.Do(ctx, c, customer{Name: "Bob"}, contract.Call{Key: "k2", Revision: "rev0"})
	want(t, r, err, contract.Rejected, contract.EffectNone, contract.NextNewKey)
	is(t, err, contract.ErrPrecondition)
	_, r, err = op.Do(ctx, c, customer{Name: "Bob"}, contract.Call{Key: "k2", Revision: "rev1"})
	want(t, r, err, contract.Rejected, contract.EffectNone, contract.NextNewKey)
	is(t, err, contract.ErrKeyConflict) // the key is bound
	if u.effects() != 1 || u.calls != 1 {
		t.Errorf("%d effects in %d calls", u.effects(), u.calls)
	}
}

func TestC22_M11_M12_PreviewAndCommit(t *testing.T) {
	u, clk := &upstream{}, newClock()
	op := customerOp(t, u, func(m *contract.Mutation[customer, created]) {
		revisioned(u)(m)
		withKey(m)
		m.Preview = func(_ context.Context, c customer) (any, error) { return map[string]string{"creates": c.Name}, nil }
	})
	u.takesKey = true
	c := newClient(t, contract.Options{Now: clk.now}, op.Definition)
	if _, err := op.Preview(ctx, c, customer{Name: "Ada"}, contract.Call{Revision: "rev7"}); !errors.Is(err, contract.ErrPrecondition) {
		t.Errorf("a preview of what would fail: %v", err)
	}
	if _, err := c.Preview(ctx, op.Definition, contract.Call{}); !errors.Is(err, contract.ErrInvalid) {
		t.Errorf("a preview without its parameters: %v", err)
	}
	p, err := op.Preview(ctx, c, customer{Name: "Ada"}, contract.Call{})
	if err != nil {
		t.Fatal(err)
	}
	if p.Revision != "rev0" || string(p.Prediction) != `{"creates":"Ada"}` || !p.Informational || p.Replay != "safe" || u.calls != 0 {
		t.Errorf("preview %+v after %d calls", p, u.calls)
	}
	_, r, err := op.Do(ctx, c, customer{Name: "Bob"}, contract.Call{Preview: p.Token})
	want(t, r, err, contract.Rejected, contract.EffectNone, contract.NextNewKey)
	if _, r, _ := op.Do(ctx, newClient(t, contract.Options{Caller: "bob", Now: clk.now}), customer{Name: "Ada"}, contract.Call{Preview: p.Token}); r.Reason != contract.ReasonPreviewMismatch {
		t.Errorf("another caller's preview: %s", r.JSON())
	}

	// The approval survives a lost response, and its own end.
	u.fault = drop
	_, r, err = op.Do(ctx, c, customer{Name: "Ada"}, contract.Call{Preview: p.Token})
	want(t, r, err, contract.Unknown, contract.EffectUndetermined, contract.NextReconcile)
	u.fault = nil
	_, r, err = op.Do(ctx, c, customer{Name: "Ada"}, contract.Call{Preview: p.Token})
	want(t, r, err, contract.Completed, contract.EffectCommitted, contract.NextNone)
	if r.OperationID != p.OperationID {
		t.Errorf("committed %s, previewed %s", r.OperationID, p.OperationID)
	}
	clk.move(48 * time.Hour)
	_, r, err = op.Do(ctx, c, customer{Name: "Ada"}, contract.Call{Preview: p.Token})
	want(t, r, err, contract.Completed, contract.EffectCommitted, contract.NextNone)
	if u.effects() != 1 {
		t.Errorf("%d effects", u.effects())
	}

	// The revision seen is demanded.
	p, _ = op.Preview(ctx, c, customer{Name: "Eve"}, contract.Call{})
	u.revision++
	_, r, err = op.Do(ctx, c, customer{Name: "Eve"}, contract.Call{Preview: p.Token})
	want(t, r, err, contract.Rejected, contract.EffectNone, contract.NextNewKey)
	is(t, err, contract.ErrPrecondition)
}

func TestC22_PrepareAndCommit(t *testing.T) {
	u, clk := &upstream{}, newClock()
	op := customerOp(t, u, nil)
	c := newClient(t, contract.Options{Now: clk.now}, op.Definition)
	p, err := c.Prepare(ctx, op.Definition, contract.Call{Params: json.RawMessage(`{"name":"Ada"}`)})
	if err != nil || u.calls != 0 {
		t.Fatalf("%v after %d calls", err, u.calls)
	}
	for range 2 {
		r, err := c.Commit(ctx, contract.Ref{Key: p.OperationID}, contract.Call{})
		want(t, r, err, contract.Completed, contract.EffectCommitted, contract.NextNone)
	}
	r, err := c.Commit(ctx, contract.Ref{Caller: "bob", Key: p.OperationID}, contract.Call{})
	want(t, r, err, contract.Rejected, contract.EffectNone, contract.NextNone)
	is(t, err, contract.ErrNotFound)
	if u.effects() != 1 {
		t.Errorf("%d effects", u.effects())
	}
	clk.move(25 * time.Hour)
	if _, err := c.Sweep(ctx); err != nil {
		t.Fatal(err)
	}
	r, err = c.Commit(ctx, contract.Ref{Key: p.OperationID}, contract.Call{})
	want(t, r, err, contract.Completed, contract.EffectCommitted, contract.NextNone)
}

func TestC22_M11_PreviewOfARecordedCall(t *testing.T) {
	for _, x := range []struct {
		fault    func(int) (bool, error)
		kind     error // of the preview, nil where it passes
		recorded contract.Outcome
	}{
		{nil, nil, contract.Completed},
		{refuse, contract.ErrRejected, ""},
		{drop, contract.ErrUnknownOutcome, ""},
	} {
		u := &upstream{fault: x.fault}
		op := customerOp(t, u, nil)
		c := newClient(t, contract.Options{})
		op.Do(ctx, c, customer{Name: "Ada"}, contract.Call{Key: "k1"})
		p, err := op.Preview(ctx, c, customer{Name: "Ada"}, contract.Call{Key: "k1"})
		_, _, again := op.Do(ctx, c, customer{Name: "Ada"}, contract.Call{Key: "k1"})
		if (err == nil) != (again == nil) || x.kind != nil && !errors.Is(err, x.kind) || err == nil && p.Recorded != x.recorded {
			t.Errorf("preview %+v, %v; the call %v", p, err, again)
		}
		if _, err := op.Preview(ctx, c, customer{Name: "Bob"}, contract.Call{Key: "k1"}); !errors.Is(err, contract.ErrKeyConflict) {
			t.Errorf("preview of another call under the key: %v", err)
		}
	}
}
