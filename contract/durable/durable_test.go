package durable_test

import (
	"context"
	"errors"
	"path/filepath"
	"testing"

	"github.com/spillway-mcp/spillway/contract"
	"github.com/spillway-mcp/spillway/contract/durable"
)

func TestM03_TwoOpeningsAreOneJournal(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state", "journal.db")
	calls := 0
	op := contract.Mutation[struct{}, int]{Name: "count", Version: "1.0", Scope: "a counter", Effects: contract.Updates,
		Submit: func(context.Context, *contract.Invocation, struct{}) (int, error) {
			calls++
			return calls, errors.New("answer lost")
		},
		Reconcile: func(context.Context, *contract.Invocation, struct{}) (contract.FindingState, int, error) {
			return contract.Present, calls, nil
		},
	}.MustDefine()
	open := func() (*contract.Client, contract.Store) {
		store, sealer, err := durable.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		c, err := contract.New(contract.Options{Store: store, Sealer: sealer, Caller: "alice", Definitions: []*contract.Definition{op.Definition}})
		if err != nil {
			t.Fatal(err)
		}
		return c, store
	}
	c, store := open()
	_, r, err := op.Do(context.Background(), c, struct{}{}, contract.Call{Key: "k1"})
	if !errors.Is(err, contract.ErrUnknownOutcome) {
		t.Fatalf("%v %s", err, r.JSON())
	}
	store.Close()
	c, store = open()
	defer store.Close()
	r, err = c.Reconcile(context.Background(), contract.Ref{Key: "k1"})
	if err != nil || string(r.Result) != "1" || calls != 1 {
		t.Errorf("%v after %d calls: %s", err, calls, r.JSON())
	}
}
