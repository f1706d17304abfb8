package contract_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spillway-mcp/spillway/contract"
)

// shop is an upstream of several steps. Each submission is logged; fail says
// what a step answers.
type shop struct {
	log  []string
	keys map[string]string
	fail map[string]error
}

func (s *shop) submit(step, key string) error {
	if err := s.fail[step]; err != nil {
		return err
	}
	s.log = append(s.log, step)
	if s.keys == nil {
		s.keys = map[string]string{}
	}
	s.keys[step] = key
	return nil
}

type order struct {
	Items []string `json:"items"`
}

func orderOp(t *testing.T, s *shop, change func(*contract.Mutation[order, map[string]any])) *contract.Op[order, map[string]any] {
	t.Helper()
	m := contract.Mutation[order, map[string]any]{
		Name: "place_order", Version: "1.0", Scope: "one order", Effects: contract.Creates,
		Steps: []contract.StepOf[order]{
			{Name: "open", Submit: func(_ context.Context, at *contract.Invocation, _ order) (any, error) {
				return map[string]int{"order": 7}, s.submit("open", at.StepKey)
			}},
			{Name: "add",
				Each: func(o order) ([]contract.Item, error) {
					var all []contract.Item
					for _, i := range o.Items {
						all = append(all, contract.Item{ID: i, Value: json.RawMessage(`{}`)})
					}
					return all, nil
				},
				Submit: func(_ context.Context, at *contract.Invocation, _ order) (any, error) {
					if string(at.Results["open"]) != `{"order":7}` {
						return nil, fmt.Errorf("results are %v", at.Results)
					}
					return at.Item.ID, s.submit("add "+at.Item.ID, at.StepKey)
				}},
			{Name: "close", Submit: func(_ context.Context, at *contract.Invocation, _ order) (any, error) {
				return true, s.submit("close", at.StepKey)
			}},
		},
	}
	if change != nil {
		change(&m)
	}
	op, err := m.Define()
	if err != nil {
		t.Fatal(err)
	}
	return op
}

func statuses(r *contract.Receipt) string {
	var all []string
	for _, s := range r.Steps {
		all = append(all, strings.TrimSuffix(s.Step+" "+s.Item, " ")+"="+string(s.Status))
	}
	return strings.Join(all, ", ")
}

func TestC19_StepsInOrder(t *testing.T) {
	s := &shop{}
	op := orderOp(t, s, nil)
	_, r, err := op.Do(ctx, newClient(t, contract.Options{}), order{[]string{"a", "b"}}, contract.Call{})
	want(t, r, err, contract.Completed, contract.EffectCommitted, contract.NextNone)
	if got := strings.Join(s.log, ", "); got != "open, add a, add b, close" {
		t.Errorf("log %s", got)
	}
	if string(r.Result) != `{"open":{"order":7},"add":{"a":"a","b":"b"},"close":true}` || r.Attempts != 4 {
		t.Errorf("receipt %s", r.JSON())
	}
	seen := map[string]bool{}
	for step, key := range s.keys {
		if seen[key] || len(key) != 36 {
			t.Errorf("key %q of %s", key, step)
		}
		seen[key] = true
	}
}

func TestC19_M18_OnlyTheMissingIsRetried(t *testing.T) {
	store, sealer := contract.NewMemory(), must(contract.NewSealer())
	s := &shop{fail: map[string]error{"add b": contract.Reject("out_of_stock", "none left")}}
	op := orderOp(t, s, nil)
	client := func() *contract.Client {
		return newClient(t, contract.Options{Store: store, Sealer: sealer}, op.Definition)
	}
	call := contract.Call{Key: "k1"}
	_, r, err := op.Do(ctx, client(), order{[]string{"a", "b", "c"}}, call)
	want(t, r, err, contract.Partial, contract.EffectSome, contract.NextResume)
	is(t, err, contract.ErrPartial)
	if got := statuses(r); got != "open=completed, add a=completed, add b=rejected, add c=completed, close=waiting" || r.Reason != "out_of_stock" {
		t.Errorf("%s: %s", r.Reason, got)
	}
	keys := fmt.Sprint(s.keys)
	if r, _ := client().Get(ctx, contract.Ref{Key: "k1"}); r.Outcome != contract.Partial || !r.Replayed {
		t.Errorf("get: %s", r.JSON())
	}
	// Another process, and the item is there again.
	s.fail = nil
	for _, resume := range []func() (*contract.Receipt, error){
		func() (*contract.Receipt, error) { return client().ResumeMutation(ctx, contract.Ref{Key: "k1"}) },
		func() (*contract.Receipt, error) {
			_, r, err := op.Do(ctx, client(), order{[]string{"a", "b", "c"}}, call)
			return r, err
		},
	} {
		r, err = resume()
		want(t, r, err, contract.Completed, contract.EffectCommitted, contract.NextNone)
	}
	if got := strings.Join(s.log, ", "); got != "open, add a, add c, add b, close" {
		t.Errorf("log %s", got)
	}
	if !strings.Contains(fmt.Sprint(s.keys), strings.TrimSuffix(strings.Split(keys, "open:")[1], "]")) {
		t.Errorf("keys changed from %s to %v", keys, s.keys)
	}
}

func TestC19_UnknownStepHoldsTheRest(t *testing.T) {
	clk := newClock()
	s := &shop{fail: map[string]error{"add b": errReset}}
	present := contract.Undetermined
	op := orderOp(t, s, func(m *contract.Mutation[order, map[string]any]) {
		m.Settle = time.Minute
		m.Steps[1].Reconcile = func(_ context.Context, at *contract.Invocation, _ order) (contract.FindingState, any, error) {
			if at.Item.ID != "b" {
				t.Errorf("asked about %s", at.Item.ID)
			}
			return present, "found", nil
		}
	})
	c := newClient(t, contract.Options{Now: clk.now}, op.Definition)
	call := contract.Call{Key: "k1"}
	_, r, err := op.Do(ctx, c, order{[]string{"a", "b", "c"}}, call)
	want(t, r, err, contract.Unknown, contract.EffectUndetermined, contract.NextReconcile)
	if got := statuses(r); got != "open=completed, add a=completed, add b=unknown, add c=waiting, close=waiting" {
		t.Error(got)
	}
	r, err = c.Reconcile(ctx, contract.Ref{Key: "k1"})
	want(t, r, err, contract.Unknown, contract.EffectUndetermined, contract.NextReconcile)
	present = contract.Present
	r, err = c.Reconcile(ctx, contract.Ref{Key: "k1"})
	want(t, r, err, contract.Partial, contract.EffectSome, contract.NextResume)
	r, err = c.ResumeMutation(ctx, contract.Ref{Key: "k1"})
	want(t, r, err, contract.Completed, contract.EffectCommitted, contract.NextNone)
	if got := strings.Join(s.log, ", "); got != "open, add a, add c, close" {
		t.Errorf("log %s", got)
	}
}

func TestC19_CompensateIsDeclaredAndJournaled(t *testing.T) {
	for _, fails := range []bool{false, true} {
		store := contract.NewMemory()
		s := &shop{fail: map[string]error{"close": contract.Reject("closed", "shop is closed")}}
		var seen contract.StepStatus
		op := orderOp(t, s, func(m *contract.Mutation[order, map[string]any]) {
			m.Steps[0].Compensate = func(_ context.Context, at *contract.Invocation, _ order) (any, error) {
				rec, _ := store.Get(ctx, contract.ID{Caller: "alice", Operation: "place_order", Key: "k1"})
				seen = rec.Steps[0].Status
				if fails {
					return nil, errReset
				}
				return nil, s.submit("cancel", at.StepKey)
			}
		})
		c := newClient(t, contract.Options{Store: store}, op.Definition)
		_, r, err := op.Do(ctx, c, order{[]string{"a"}}, contract.Call{Key: "k1"})
		want(t, r, err, contract.Partial, contract.EffectSome, contract.NextNewKey)
		if seen != contract.StepCompensating {
			t.Errorf("the journal said %s while it ran", seen)
		}
		state := "compensated"
		if fails {
			state = "compensation_failed"
		}
		if got := statuses(r); got != "open="+state+", add a=completed, close=rejected" {
			t.Error(got)
		}
		n := len(s.log)
		_, r, _ = op.Do(ctx, c, order{[]string{"a"}}, contract.Call{Key: "k1"})
		if len(s.log) != n || !r.Replayed {
			t.Errorf("log %v: %s", s.log, r.JSON())
		}
	}
}

func TestC19_NothingHappenedIsRejected(t *testing.T) {
	s := &shop{fail: map[string]error{"open": contract.Reject("no", "no")}}
	op := orderOp(t, s, nil)
	_, r, err := op.Do(ctx, newClient(t, contract.Options{}), order{}, contract.Call{})
	want(t, r, err, contract.Rejected, contract.EffectNone, contract.NextNewKey)
}

// counting counts durable commits.
type counting struct {
	contract.Store
	claims, updates int
}

func (c *counting) Claim(ctx context.Context, r *contract.Record) (*contract.Record, bool, error) {
	c.claims++
	return c.Store.Claim(ctx, r)
}

func (c *counting) Update(ctx context.Context, r *contract.Record) error {
	c.updates++
	return c.Store.Update(ctx, r)
}

func TestTwoCommitsForAMutation(t *testing.T) {
	u, s := &upstream{}, &counting{Store: contract.NewMemory()}
	op := customerOp(t, u, nil)
	op.Do(ctx, newClient(t, contract.Options{Store: s}), customer{Name: "Ada"}, contract.Call{})
	if s.claims != 1 || s.updates != 1 {
		t.Errorf("%d claims and %d updates", s.claims, s.updates)
	}
}

func TestJournalFailsBetweenSteps(t *testing.T) {
	s := &shop{}
	store := &failing{Store: contract.NewMemory(), fail: []int{1}}
	op := orderOp(t, s, nil)
	c := newClient(t, contract.Options{Store: store}, op.Definition)
	_, r, err := op.Do(ctx, c, order{[]string{"a"}}, contract.Call{Key: "k1"})
	want(t, r, err, contract.Partial, contract.EffectSome, contract.NextResume)
	if !slices.Equal(s.log, []string{"open"}) {
		t.Errorf("submitted %v without a record", s.log)
	}
	_, r, err = op.Do(ctx, c, order{[]string{"a"}}, contract.Call{Key: "k1"})
	want(t, r, err, contract.Completed, contract.EffectCommitted, contract.NextNone)
	if !slices.Equal(s.log, []string{"open", "add a", "close"}) {
		t.Errorf("log %v", s.log)
	}
}

// failing fails the updates of these numbers, from 1.
type failing struct {
	contract.Store
	n    int
	fail []int
}

func (f *failing) Update(ctx context.Context, r *contract.Record) error {
	if f.n++; slices.Contains(f.fail, f.n) {
		return errors.New("disk full")
	}
	return f.Store.Update(ctx, r)
}

func TestUnrecordedIsNotSaidToBeDone(t *testing.T) {
	u := &upstream{}
	store := &failing{Store: contract.NewMemory(), fail: []int{1, 2, 3, 4, 5}}
	op := customerOp(t, u, nil)
	_, r, err := op.Do(ctx, newClient(t, contract.Options{Store: store}), customer{Name: "Ada"}, contract.Call{})
	want(t, r, err, contract.Unknown, contract.EffectCommitted, contract.NextReconcile)
	if r.Reason != contract.ReasonUnrecorded || string(r.Result) != `{"id":"cus_1"}` {
		t.Errorf("%s", r.JSON())
	}
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}
