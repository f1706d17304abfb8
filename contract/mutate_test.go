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

// died leaves a record as a process that is killed after its claim does.
func died(t *testing.T, u *upstream, op *contract.Op[customer, created], opt contract.Options, commits bool) {
	t.Helper()
	stop := errors.New("killed")
	opt.Store = &killed{Store: opt.Store, err: stop}
	c := newClient(t, opt, op.Definition)
	had := u.fault
	u.fault = func(int) (bool, error) { return commits, errReset }
	op.Do(ctx, c, customer{Name: "Ada"}, contract.Call{Key: "k1"})
	u.fault = had
}

// killed takes claims and nothing after.
type killed struct {
	contract.Store
	err error
}

func (k *killed) Update(context.Context, *contract.Record) error { return k.err }

func TestC16_M04_M05_OwnerLost(t *testing.T) {
	for _, commits := range []bool{false, true} {
		u, store, clk := &upstream{}, contract.NewMemory(), newClock()
		op := customerOp(t, u, withReconcile(u))
		opt := contract.Options{Store: store, Now: clk.now}
		opt.Sealer, _ = contract.NewSealer()
		died(t, u, op, opt, commits)
		calls := u.calls
		c := newClient(t, opt, op.Definition)
		_, r, err := op.Do(ctx, c, customer{Name: "Ada"}, contract.Call{Key: "k1"})
		want(t, r, err, contract.Pending, contract.EffectUndetermined, contract.NextWait)
		clk.move(time.Minute)
		_, r, err = op.Do(ctx, c, customer{Name: "Ada"}, contract.Call{Key: "k1"})
		want(t, r, err, contract.Unknown, contract.EffectUndetermined, contract.NextReconcile)
		r, err = c.Reconcile(ctx, contract.Ref{Key: "k1"})
		if commits {
			want(t, r, err, contract.Completed, contract.EffectCommitted, contract.NextNone)
		} else {
			want(t, r, err, contract.Unknown, contract.EffectUndetermined, contract.NextReconcile)
			if r.Reason != contract.ReasonNotSettled {
				t.Errorf("absence was believed before the settle time: %s", r.JSON())
			}
			clk.move(time.Minute)
			r, err = c.Reconcile(ctx, contract.Ref{Key: "k1"})
			want(t, r, err, contract.Rejected, contract.EffectNone, contract.NextResume)
			if u.calls != calls {
				t.Error("submitted by itself")
			}
			_, r, err = op.Do(ctx, c, customer{Name: "Ada"}, contract.Call{Key: "k1"})
			want(t, r, err, contract.Completed, contract.EffectCommitted, contract.NextNone)
		}
		if u.effects() != 1 {
			t.Errorf("%d effects", u.effects())
		}
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

func TestM15_K51_SlowOwnerPastItsLease(t *testing.T) {
	u, store, clk := &upstream{hold: make(chan struct{})}, contract.NewMemory(), newClock()
	op := customerOp(t, u, nil)
	// The slow owner's heartbeats do not arrive.
	slow := newClient(t, contract.Options{Store: deaf{store}, Now: clk.now}, op.Definition)
	other := newClient(t, contract.Options{Store: store, Now: clk.now}, op.Definition)
	done := make(chan *contract.Receipt)
	started := make(chan struct{})
	go func() {
		_, r, _ := op.Do(ctx, slow, customer{Name: "Ada"}, contract.Call{Key: "k1", Announce: func(string) { close(started) }})
		done <- r
	}()
	<-started
	for {
		if r, err := other.Get(ctx, contract.Ref{Key: "k1"}); err == nil && r.Outcome == contract.Pending {
			break
		}
	}
	clk.move(time.Hour)
	_, r, err := op.Do(ctx, other, customer{Name: "Ada"}, contract.Call{Key: "k1"})
	want(t, r, err, contract.Unknown, contract.EffectUndetermined, contract.NextReconcile)
	close(u.hold)
	if r := <-done; r.Outcome != contract.Completed {
		t.Errorf("the late result: %s", r.JSON())
	}
	r, err = other.Get(ctx, contract.Ref{Key: "k1"})
	want(t, r, err, contract.Completed, contract.EffectCommitted, contract.NextNone)
	if u.calls != 1 {
		t.Errorf("%d submissions", u.calls)
	}
}

func TestK51_HeartbeatsKeepALongWriteAlive(t *testing.T) {
	u, store := &upstream{hold: make(chan struct{})}, contract.NewMemory()
	op := customerOp(t, u, withKey)
	opt := contract.Options{Store: store, Lease: 60 * time.Millisecond}
	first, second := newClient(t, opt, op.Definition), newClient(t, opt, op.Definition)
	done := make(chan *contract.Receipt)
	go func() {
		_, r, _ := op.Do(ctx, first, customer{Name: "Ada"}, contract.Call{Key: "k1"})
		done <- r
	}()
	for {
		if _, err := second.Get(ctx, contract.Ref{Key: "k1"}); err == nil {
			break
		}
	}
	// Three leases long the second worker finds the first alive.
	for began := time.Now(); time.Since(began) < 3*opt.Lease; {
		_, r, _ := op.Do(ctx, second, customer{Name: "Ada"}, contract.Call{Key: "k1", Wait: 10 * time.Millisecond})
		if r.Outcome != contract.Pending {
			t.Fatalf("the second worker gets %s", r.JSON())
		}
	}
	close(u.hold)
	if r := <-done; r.Outcome != contract.Completed || u.effects() != 1 {
		t.Errorf("%d effects: %s", u.effects(), r.JSON())
	}
}

type deaf struct{ contract.Store }

func (deaf) Heartbeat(context.Context, contract.ID, int64, time.Time) error { return nil }

func TestC20_M16_M17_Retention(t *testing.T) {
	u, store, clk := &upstream{}, contract.NewMemory(), newClock()
	op := customerOp(t, u, nil)
	c := newClient(t, contract.Options{Store: store, Now: clk.now}, op.Definition)
	op.Do(ctx, c, customer{Name: "done"}, contract.Call{Key: "done"})
	u.fault = drop
	op.Do(ctx, c, customer{Name: "unknown"}, contract.Call{Key: "unknown"})
	u.fault = nil
	died(t, u, op, contract.Options{Store: store, Now: clk.now}, true) // k1 pending
	clk.move(31 * 24 * time.Hour)
	for _, swept := range []bool{false, true} {
		if swept {
			if n, err := c.Sweep(ctx); err != nil || n.Tombstoned != 1 {
				t.Fatalf("swept %+v, %v", n, err)
			}
		}
		_, r, err := op.Do(ctx, c, customer{Name: "done"}, contract.Call{Key: "done"})
		want(t, r, err, contract.Rejected, contract.EffectNone, contract.NextNewKey)
		is(t, err, contract.ErrExpired)
		if r, err := c.Get(ctx, contract.Ref{Key: "done"}); !errors.Is(err, contract.ErrExpired) || !strings.Contains(r.Message, "completed") {
			t.Errorf("get of an expired one: %v", err)
		}
	}
	clk.move(300 * 24 * time.Hour)
	c.Sweep(ctx)
	for _, key := range []string{"unknown", "k1"} {
		if r, err := c.Get(ctx, contract.Ref{Key: key}); r.Outcome != contract.Unknown {
			t.Errorf("%s after retention: %v", key, err)
		}
	}
	clk.move(100 * 24 * time.Hour)
	if n, _ := c.Sweep(ctx); n.Removed != 1 {
		t.Errorf("swept %+v", n)
	}
	if u.effects() != 3 {
		t.Errorf("%d effects", u.effects())
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

type brokenStore struct{ contract.Store }

func (brokenStore) Claim(context.Context, *contract.Record) (*contract.Record, bool, error) {
	return nil, false, errors.New("disk full")
}

func TestM22_ClockJumps(t *testing.T) {
	for _, jump := range []time.Duration{24 * time.Hour, -24 * time.Hour} {
		u, store, clk := &upstream{fault: drop}, contract.NewMemory(), newClock()
		op := customerOp(t, u, func(m *contract.Mutation[customer, created]) {
			withKey(m)
			// A read that sees nothing yet, though the write happened.
			m.Reconcile = func(context.Context, *contract.Invocation, customer) (contract.FindingState, created, error) {
				return contract.Absent, created{}, nil
			}
		})
		c := newClient(t, contract.Options{Store: store, Now: clk.now}, op.Definition)
		died(t, u, op, contract.Options{Store: store, Now: clk.now, Sealer: nil}, true)
		calls := u.calls
		clk.move(jump)
		op.Do(ctx, c, customer{Name: "Ada"}, contract.Call{Key: "k1"})
		if u.calls != calls {
			t.Errorf("clock moved by %s: submitted again", jump)
		}
	}
	t.Run("an absence right after the jump proves nothing", func(t *testing.T) {
		u, store, clk := &upstream{}, contract.NewMemory(), newClock()
		op := customerOp(t, u, withReconcile(u))
		opt := contract.Options{Store: store, Now: clk.now}
		opt.Sealer, _ = contract.NewSealer()
		died(t, u, op, opt, false)
		clk.move(24 * time.Hour)
		c := newClient(t, opt, op.Definition)
		r, err := c.Reconcile(ctx, contract.Ref{Key: "k1"})
		want(t, r, err, contract.Unknown, contract.EffectUndetermined, contract.NextReconcile)
		clk.move(-24 * time.Hour)
		r, err = c.Reconcile(ctx, contract.Ref{Key: "k1"})
		want(t, r, err, contract.Unknown, contract.EffectUndetermined, contract.NextReconcile)
	})
}

func TestC23_M23_CancelAfterSubmission(t *testing.T) {
	u := &upstream{}
	op := customerOp(t, u, func(m *contract.Mutation[customer, created]) {
		m.Submit = func(ctx context.Context, at *contract.Invocation, c customer) (created, error) {
			u.create(ctx, at.StepKey, c.Name)
			<-ctx.Done()
			return created{}, ctx.Err()
		}
	})
	c := newClient(t, contract.Options{}, op.Definition)
	cancelled, cancel := context.WithCancel(ctx)
	go func() {
		for u.effects() == 0 {
			time.Sleep(0)
		}
		cancel()
	}()
	_, r, err := op.Do(cancelled, c, customer{Name: "Ada"}, contract.Call{Key: "k1"})
	want(t, r, err, contract.Unknown, contract.EffectUndetermined, contract.NextReconcile)
	if r.Reason != contract.ReasonCancelled || strings.Contains(strings.ToLower(string(r.JSON())), "try again") {
		t.Errorf("receipt %s", r.JSON())
	}
	t.Run("before submission", func(t *testing.T) {
		over, cancel := context.WithCancel(ctx)
		cancel()
		_, r, err := op.Do(over, c, customer{Name: "Ada"}, contract.Call{Key: "k2"})
		if r.Outcome != contract.Rejected || r.Effect != contract.EffectNone || r.NextAction != contract.NextResume {
			t.Errorf("%v: %s", err, r.JSON())
		}
		if u.effects() != 1 {
			t.Errorf("%d effects", u.effects())
		}
	})
}

func TestC18_M24_KeyRetentionPassed(t *testing.T) {
	u, clk := &upstream{takesKey: true, fault: drop}, newClock()
	op := customerOp(t, u, withKey)
	c := newClient(t, contract.Options{Now: clk.now})
	op.Do(ctx, c, customer{Name: "Ada"}, contract.Call{Key: "k1"})
	clk.move(25 * time.Hour)
	_, r, err := op.Do(ctx, c, customer{Name: "Ada"}, contract.Call{Key: "k1"})
	want(t, r, err, contract.Unknown, contract.EffectUndetermined, contract.NextReconcile)
	if u.calls != 1 {
		t.Errorf("%d submissions after the upstream forgot the key", u.calls)
	}
}

func TestC16_ResolveIsJournaled(t *testing.T) {
	for _, completed := range []bool{true, false} {
		u := &upstream{fault: never}
		op := customerOp(t, u, nil)
		c := newClient(t, contract.Options{}, op.Definition)
		op.Do(ctx, c, customer{Name: "Ada"}, contract.Call{Key: "k1"})
		if _, err := c.Resolve(ctx, contract.Ref{Key: "k1"}, contract.Resolution{Completed: completed}); !errors.Is(err, contract.ErrInvalid) {
			t.Errorf("nobody resolved it for no reason: %v", err)
		}
		r, err := c.Resolve(ctx, contract.Ref{Key: "k1"}, contract.Resolution{Completed: completed, Result: json.RawMessage(`{"id":"cus_9"}`), Who: "carol", Why: "asked support"})
		if completed {
			want(t, r, err, contract.Completed, contract.EffectCommitted, contract.NextNone)
		} else {
			want(t, r, err, contract.Rejected, contract.EffectNone, contract.NextResume)
		}
		if len(r.Notes) != 1 || r.Notes[0].Who != "carol" || r.Notes[0].Why != "asked support" {
			t.Errorf("notes %+v", r.Notes)
		}
		u.fault = nil
		_, r, err = op.Do(ctx, c, customer{Name: "Ada"}, contract.Call{Key: "k1"})
		want(t, r, err, contract.Completed, contract.EffectCommitted, contract.NextNone)
		if completed != (u.effects() == 0) || len(r.Notes) != 1 {
			t.Errorf("%d effects; %s", u.effects(), r.JSON())
		}
	}
}

func TestK50_DeadlinePassesAfterCommit(t *testing.T) {
	u := &upstream{takesKey: true}
	slow := true
	op := customerOp(t, u, func(m *contract.Mutation[customer, created]) {
		withKey(m)
		m.Bounds.Deadline = 20 * time.Millisecond
		m.Submit = func(ctx context.Context, at *contract.Invocation, c customer) (created, error) {
			id, err := u.create(ctx, at.StepKey, c.Name)
			if slow {
				<-ctx.Done()
				return created{}, ctx.Err()
			}
			return created{id}, err
		}
	})
	c := newClient(t, contract.Options{})
	_, r, err := op.Do(ctx, c, customer{Name: "Ada"}, contract.Call{Key: "k1"})
	want(t, r, err, contract.Unknown, contract.EffectUndetermined, contract.NextReconcile)
	slow = false
	v, r, err := op.Do(ctx, c, customer{Name: "Ada"}, contract.Call{Key: "k1"})
	want(t, r, err, contract.Completed, contract.EffectCommitted, contract.NextNone)
	if u.effects() != 1 || v.ID != "cus_1" {
		t.Errorf("%d effects, %v", u.effects(), v)
	}
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
