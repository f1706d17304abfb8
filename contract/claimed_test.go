package contract_test

import (
	"context"
	"testing"

	"github.com/spillway-mcp/spillway/contract"
)

// Whoever is told of the claim finds the operation, and nothing was sent yet
// (C-10). A call that claims nothing is told nothing.
func TestC10_ClaimedBeforeSubmission(t *testing.T) {
	u := &upstream{}
	c := newClient(t, contract.Options{Caller: "a"})
	op := customerOp(t, u, nil)
	told := 0
	call := contract.Call{Key: "k1", Claimed: func() {
		told++
		if u.effects() != 0 {
			t.Error("told after the submission")
		}
		if r, err := c.Get(context.Background(), contract.Ref{Key: "k1"}); err != nil || r.Outcome != contract.Pending {
			t.Errorf("at the claim: %+v %v", r, err)
		}
	}}
	for range 2 {
		if _, _, err := op.Do(t.Context(), c, customer{Name: "Ada"}, call); err != nil {
			t.Fatal(err)
		}
	}
	if told != 1 {
		t.Errorf("told of %d claims, want 1: the second call replays", told)
	}
	if _, _, err := op.Do(t.Context(), c, customer{Name: "Bob"}, call); err == nil || told != 1 {
		t.Errorf("a conflict claims nothing: %v, told %d times", err, told)
	}
}

// The reconcile that settles an operation is its first answer, no replay; what
// comes after it is one.
func TestC15_AReconcileThatSettlesIsNoReplay(t *testing.T) {
	u := &upstream{fault: drop}
	op := customerOp(t, u, withReconcile(u))
	c := newClient(t, contract.Options{Caller: "a"}, op.Definition)
	_, r, _ := op.Do(t.Context(), c, customer{Name: "Ada"}, contract.Call{Key: "k1"})
	if r.Outcome != contract.Unknown {
		t.Fatalf("%s", r.JSON())
	}
	for i := range 2 {
		if r, err := c.Reconcile(t.Context(), contract.Ref{Key: "k1"}); err != nil || r.Outcome != contract.Completed || r.Replayed != (i == 1) {
			t.Errorf("reconcile %d: %s %v", i+1, r.JSON(), err)
		}
	}
}
