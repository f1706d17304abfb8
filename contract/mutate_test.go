package contract_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/spillway-mcp/spillway/contract"
)

var ctx = context.Background()

func drop(int) (bool, error)   { return true, errReset } // committed, answer lost
func refuse(int) (bool, error) { return false, contract.Reject("name_taken", "this name is taken") }
func never(int) (bool, error)  { return false, errReset } // lost before it arrived

func TestM01_FirstCallSubmitsOnce(t *testing.T) {
	u := &upstream{}
	op := customerOp(t, u, nil)
	c := newClient(t, contract.Options{})
	var announced string
	v, r, err := op.Do(ctx, c, customer{Name: "Ada"}, contract.Call{Announce: func(id string) {
		announced = id
		if u.effects() != 0 {
			t.Error("submitted before the operation id was announced (A03)")
		}
	}})
	want(t, r, err, contract.Completed, contract.EffectCommitted, contract.NextNone)
	if v.ID != "cus_1" || u.effects() != 1 || announced != r.OperationID || r.Replayed || r.Attempts != 1 {
		t.Errorf("got %+v, %d effects, receipt %s", v, u.effects(), r.JSON())
	}
	if r.Operation != "create_customer@1.0" || r.Digest != op.Digest() || r.Replay != "unsafe" {
		t.Errorf("receipt %s", r.JSON())
	}
}

func TestM02_LostResponseSameKeyOneEffect(t *testing.T) {
	t.Run("with a key the upstream takes", func(t *testing.T) {
		u := &upstream{takesKey: true, fault: func(n int) (bool, error) {
			if n == 1 {
				return true, errReset
			}
			return true, nil
		}}
		op := customerOp(t, u, withKey)
		c := newClient(t, contract.Options{})
		_, r, err := op.Do(ctx, c, customer{Name: "Ada"}, contract.Call{Key: "k1"})
		want(t, r, err, contract.Unknown, contract.EffectUndetermined, contract.NextReconcile)
		is(t, err, contract.ErrUnknownOutcome)
		_, r, err = op.Do(ctx, c, customer{Name: "Ada"}, contract.Call{Key: "k1"})
		want(t, r, err, contract.Completed, contract.EffectCommitted, contract.NextNone)
		if u.effects() != 1 {
			t.Errorf("%d effects", u.effects())
		}
	})
	t.Run("with reconcile", func(t *testing.T) {
		u := &upstream{fault: drop}
		op := customerOp(t, u, withReconcile(u))
		c := newClient(t, contract.Options{}, op.Definition)
		op.Do(ctx, c, customer{Name: "Ada"}, contract.Call{Key: "k1"})
		_, r, err := op.Do(ctx, c, customer{Name: "Ada"}, contract.Call{Key: "k1"})
		want(t, r, err, contract.Unknown, contract.EffectUndetermined, contract.NextReconcile)
		r, err = c.Reconcile(ctx, contract.Ref{Key: "k1"})
		want(t, r, err, contract.Completed, contract.EffectCommitted, contract.NextNone)
		if string(r.Result) != `{"id":"cus_1"}` || u.effects() != 1 || u.calls != 1 {
			t.Errorf("%d effects, receipt %s", u.effects(), r.JSON())
		}
	})
}

func TestC15_M03_ReplayFromAnotherProcess(t *testing.T) {
	u, store, clk := &upstream{}, contract.NewMemory(), newClock()
	op := customerOp(t, u, nil)
	first := newClient(t, contract.Options{Store: store, Now: clk.now})
	second := newClient(t, contract.Options{Store: store, Now: clk.now})
	_, a, err := op.Do(ctx, first, customer{Name: "Ada"}, contract.Call{Key: "k1"})
	want(t, a, err, contract.Completed, contract.EffectCommitted, contract.NextNone)
	clk.move(time.Hour)
	_, b, err := op.Do(ctx, second, customer{Name: "Ada"}, contract.Call{Key: "k1"})
	want(t, b, err, contract.Completed, contract.EffectCommitted, contract.NextNone)
	if !b.Replayed || !b.CompletedAt.Equal(*a.CompletedAt) || string(a.Result) != string(b.Result) || u.effects() != 1 {
		t.Errorf("replay is %s after %s", b.JSON(), a.JSON())
	}
}

func TestC12_M06_ConcurrentCallersOneEffect(t *testing.T) {
	u, store := &upstream{hold: make(chan struct{})}, contract.NewMemory()
	op := customerOp(t, u, nil)
	clients := []*contract.Client{newClient(t, contract.Options{Store: store}), newClient(t, contract.Options{Store: store})}
	var wg sync.WaitGroup
	var mu sync.Mutex
	results := map[string]int{}
	for i := range 100 {
		wg.Go(func() {
			_, r, err := op.Do(ctx, clients[i%2], customer{Name: "Ada"}, contract.Call{Key: "k1", Wait: time.Minute})
			if err != nil {
				t.Error(err)
			}
			r.Replayed = false
			mu.Lock()
			results[string(r.JSON())]++
			mu.Unlock()
		})
	}
	r, err := clients[0].Do(ctx, op.Definition, contract.Call{Key: "other", Params: json.RawMessage(`{}`)})
	want(t, r, err, contract.Rejected, contract.EffectNone, contract.NextNone) // name is missing
	close(u.hold)
	wg.Wait()
	if len(results) != 1 || u.effects() != 1 {
		t.Errorf("%d effects, receipts %v", u.effects(), results)
	}
}

func TestC13_M07_M20_ChangedCallIsAConflict(t *testing.T) {
	for _, state := range []string{"completed", "unknown", "pending"} {
		u, store, clk := &upstream{}, contract.NewMemory(), newClock()
		if state == "unknown" {
			u.fault = drop
		}
		op := customerOp(t, u, nil)
		opt := contract.Options{Store: store, Now: clk.now}
		if state == "pending" {
			died(t, u, op, opt, true)
		} else {
			op.Do(ctx, newClient(t, opt), customer{Name: "Ada"}, contract.Call{Key: "k1"})
		}
		c := newClient(t, opt)
		next := customerOp(t, u, func(m *contract.Mutation[customer, created]) { m.Version = "2.0" })
		for _, x := range []struct {
			op    *contract.Op[customer, created]
			p     customer
			wants string
		}{
			{op, customer{Name: "Bob"}, "params"},
			{op, customer{Name: "Ada", Account: "b"}, "params,target"},
			{next, customer{Name: "Ada"}, "version"},
		} {
			_, r, err := x.op.Do(ctx, c, x.p, contract.Call{Key: "k1"})
			want(t, r, err, contract.Rejected, contract.EffectNone, contract.NextNewKey)
			is(t, err, contract.ErrKeyConflict, contract.ErrRejected)
			if got := strings.Join(r.Conflict, ","); got != x.wants || r.ExitCode() != contract.ExitConflict {
				t.Errorf("while %s: conflict in %q, want %q", state, got, x.wants)
			}
		}
		if u.effects() != 1 {
			t.Errorf("%d effects", u.effects())
		}
	}
}

func TestC14_M08_K52_EqualParametersTwoKeys(t *testing.T) {
	u := &upstream{}
	op := customerOp(t, u, nil)
	c := newClient(t, contract.Options{})
	_, a, _ := op.Do(ctx, c, customer{Name: "same"}, contract.Call{})
	_, b, _ := op.Do(ctx, c, customer{Name: "same"}, contract.Call{})
	if a.OperationID == b.OperationID || u.effects() != 2 {
		t.Errorf("%d effects under %s and %s", u.effects(), a.OperationID, b.OperationID)
	}
}

func TestC21_M13_M14_Authorization(t *testing.T) {
	u, revoked := &upstream{}, false
	var asked []contract.Access
	op := customerOp(t, u, nil)
	c := newClient(t, contract.Options{Authorize: func(_ context.Context, a contract.Access) error {
		asked = append(asked, a)
		if revoked || a.Caller == "mallory" {
			return errors.New("no")
		}
		return nil
	}}, op.Definition)
	_, r, err := op.Do(ctx, c, customer{Name: "Ada"}, contract.Call{Key: "k1"})
	want(t, r, err, contract.Completed, contract.EffectCommitted, contract.NextNone)
	if a := asked[0]; a.Target != "acct_" || a.Effects != contract.Creates || a.Key != "k1" || string(a.Params) != `{"name":"Ada"}` {
		t.Errorf("asked %+v", a)
	}
	// B's key of the same name is B's own; A's is not found.
	if _, err := c.Get(ctx, contract.Ref{Caller: "bob", Key: "k1"}); !errors.Is(err, contract.ErrNotFound) {
		t.Errorf("bob sees alice's key: %v", err)
	}
	_, r, _ = op.Do(ctx, c, customer{Name: "Ada"}, contract.Call{Caller: "bob", Key: "k1"})
	if r.Replayed || u.effects() != 2 || u.log[0].key == u.log[1].key {
		t.Errorf("bob's call under alice's key: %s, log %v", r.JSON(), u.log)
	}
	revoked = true
	for name, f := range map[string]func() (*contract.Receipt, error){
		"replay": func() (*contract.Receipt, error) {
			_, r, err := op.Do(ctx, c, customer{Name: "Ada"}, contract.Call{Key: "k1"})
			return r, err
		},
		"get":       func() (*contract.Receipt, error) { return c.Get(ctx, contract.Ref{Key: "k1"}) },
		"reconcile": func() (*contract.Receipt, error) { return c.Reconcile(ctx, contract.Ref{Key: "k1"}) },
		"resolve": func() (*contract.Receipt, error) {
			return c.Resolve(ctx, contract.Ref{Key: "k1"}, contract.Resolution{Who: "x", Why: "y"})
		},
		"commit": func() (*contract.Receipt, error) { return c.Commit(ctx, contract.Ref{Key: "k1"}, contract.Call{}) },
	} {
		r, err := f()
		if !errors.Is(err, contract.ErrUnauthorized) || r.Result != nil || r.ExitCode() != contract.ExitUnauthorized {
			t.Errorf("%s after revocation: %v %s", name, err, r.JSON())
		}
	}
	if _, err := c.Records(ctx, "", contract.Filter{}); !errors.Is(err, contract.ErrUnauthorized) {
		t.Errorf("records: %v", err)
	}
}

func TestC11_ValidationLeavesNoRecord(t *testing.T) {
	u := &upstream{}
	op := customerOp(t, u, nil)
	c := newClient(t, contract.Options{}, op.Definition)
	for params, parameter := range map[string]string{
		`{}`:                      "/name",
		`{"name":5}`:              "/name",
		`{"name":"a","nmae":"b"}`: "/nmae",
		`{"name":"a","name":"b"}`: "/name",
		`[]`:                      "",
		`{"name":"a"`:             "",
	} {
		r, err := c.Do(ctx, op.Definition, contract.Call{Key: "k1", Params: json.RawMessage(params)})
		want(t, r, err, contract.Rejected, contract.EffectNone, contract.NextNone)
		is(t, err, contract.ErrInvalid)
		if r.Parameter != parameter || r.ExitCode() != contract.ExitUsage {
			t.Errorf("%s: %s", params, r.JSON())
		}
	}
	if _, err := c.Get(ctx, contract.Ref{Key: "k1"}); !errors.Is(err, contract.ErrNotFound) {
		t.Errorf("a refused call left a record: %v", err)
	}
	u.fault = refuse
	_, r, err := op.Do(ctx, c, customer{Name: "Ada"}, contract.Call{Key: "k1"})
	want(t, r, err, contract.Rejected, contract.EffectNone, contract.NextNewKey)
	u.fault = nil
	_, r, err = op.Do(ctx, c, customer{Name: "Ada"}, contract.Call{Key: "k1"})
	want(t, r, err, contract.Rejected, contract.EffectNone, contract.NextNewKey)
	if r.Reason != "name_taken" || !r.Replayed || u.calls != 1 {
		t.Errorf("a terminal rejection: %s after %d calls", r.JSON(), u.calls)
	}
}

func TestC10_M21_JournalUnavailable(t *testing.T) {
	u := &upstream{}
	op := customerOp(t, u, nil)
	c := newClient(t, contract.Options{Store: brokenStore{contract.NewMemory()}}, op.Definition)
	_, r, err := op.Do(ctx, c, customer{Name: "Ada"}, contract.Call{})
	want(t, r, err, contract.Rejected, contract.EffectNone, contract.NextResume)
	is(t, err, contract.ErrJournal, contract.ErrRejected)
	if u.calls != 0 {
		t.Error("submitted without a claim")
	}
}

// unreadable cannot be read any more.
type unreadable struct{ contract.Store }

func (unreadable) Get(context.Context, contract.ID) (*contract.Record, error) {
	return nil, errReset
}

func (unreadable) List(context.Context, contract.Filter) ([]*contract.Record, error) {
	return nil, errReset
}

// TestC10_C24_StatusWithoutJournal: who asks about an operation that has happened,
// while the journal cannot be read, is not told that it had no effect.
func TestC10_C24_StatusWithoutJournal(t *testing.T) {
	u, store := &upstream{}, contract.NewMemory()
	op := customerOp(t, u, nil)
	c := newClient(t, contract.Options{Store: store}, op.Definition)
	_, r, err := op.Do(ctx, c, customer{Name: "Ada"}, contract.Call{Key: "k1"})
	want(t, r, err, contract.Completed, contract.EffectCommitted, contract.NextNone)
	c = newClient(t, contract.Options{Store: unreadable{store}}, op.Definition)
	for _, ref := range []contract.Ref{{Key: "k1"}, {Key: "k1", Operation: op.Name()}} {
		for name, ask := range map[string]func(context.Context, contract.Ref) (*contract.Receipt, error){"status": c.Get, "reconcile": c.Reconcile} {
			r, err := ask(ctx, ref)
			if r.Reason != contract.ReasonJournal || r.Effect != contract.EffectUndetermined || strings.Contains(r.Message, "nothing was submitted") {
				t.Errorf("%s: %s", name, r.JSON())
			}
			is(t, err, contract.ErrJournal, contract.ErrRejected)
		}
	}
}

type brokenStore struct{ contract.Store }

func (brokenStore) Claim(context.Context, *contract.Record) (*contract.Record, bool, error) {
	return nil, false, errors.New("disk full")
}

func TestRetryInsideOneCall(t *testing.T) {
	for _, x := range []struct {
		name     string
		idem     contract.Idempotency
		on       []string
		code     string
		rejected bool
		attempts int
		outcome  contract.Outcome
	}{
		{"refused and listed", contract.NotIdempotent, []string{"429"}, "429", true, 2, contract.Completed},
		{"refused, not listed", contract.NotIdempotent, []string{"429"}, "422", true, 1, contract.Rejected},
		{"unknown, not idempotent", contract.NotIdempotent, []string{"5xx"}, "503", false, 1, contract.Unknown},
		{"unknown, natural", contract.Natural, []string{"5xx"}, "503", false, 2, contract.Completed},
		{"none by default", contract.Natural, nil, "503", false, 1, contract.Unknown},
	} {
		u := &upstream{fault: func(n int) (bool, error) {
			if n == 1 {
				return false, &contract.Failure{Code: x.code, Rejected: x.rejected}
			}
			return true, nil
		}}
		var keys []string
		op := customerOp(t, u, func(m *contract.Mutation[customer, created]) {
			m.Idempotent, m.Retry = x.idem, contract.Retry{Max: len(x.on), On: x.on}
			submit := m.Submit
			m.Submit = func(ctx context.Context, at *contract.Invocation, c customer) (created, error) {
				keys = append(keys, at.StepKey)
				return submit(ctx, at, c)
			}
		})
		_, r, _ := op.Do(ctx, newClient(t, contract.Options{}), customer{Name: "Ada"}, contract.Call{})
		if r.Outcome != x.outcome || r.Attempts != x.attempts || keys[0] != keys[len(keys)-1] {
			t.Errorf("%s: %s", x.name, r.JSON())
		}
	}
}

// forgetful commits claims and loses the answer.
type forgetful struct{ contract.Store }

func (f forgetful) Claim(ctx context.Context, r *contract.Record) (*contract.Record, bool, error) {
	c := *r
	if _, _, err := f.Store.Claim(ctx, &c); err != nil {
		return nil, false, err
	}
	return nil, false, errReset
}

// TestC10_ClaimWhoseAnswerIsLost: a claim that is durable counts, also where the
// journal could not say so; that of another does not.
func TestC10_ClaimWhoseAnswerIsLost(t *testing.T) {
	u, store := &upstream{}, contract.NewMemory()
	op := customerOp(t, u, nil)
	c := newClient(t, contract.Options{Store: forgetful{store}}, op.Definition)
	_, r, err := op.Do(ctx, c, customer{Name: "Ada"}, contract.Call{Key: "k1"})
	want(t, r, err, contract.Completed, contract.EffectCommitted, contract.NextNone)
	_, r, err = op.Do(ctx, c, customer{Name: "Ada"}, contract.Call{Key: "k1"})
	want(t, r, err, contract.Rejected, contract.EffectNone, contract.NextResume)
	if r.Reason != contract.ReasonJournal || u.effects() != 1 {
		t.Errorf("%d effects: %s", u.effects(), r.JSON())
	}
}
