package contract_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spillway-mcp/spillway/contract"
)

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
	synctest.Test(t, func(t *testing.T) {
		u, store := &upstream{hold: make(chan struct{})}, contract.NewMemory()
		op := customerOp(t, u, withKey)
		opt := contract.Options{Store: store, Lease: time.Second}
		first, second := newClient(t, opt, op.Definition), newClient(t, opt, op.Definition)
		done := make(chan *contract.Receipt)
		go func() {
			_, r, _ := op.Do(ctx, first, customer{Name: "Ada"}, contract.Call{Key: "k1"})
			done <- r
		}()
		synctest.Wait() // until the first is in the upstream's hands
		for range 30 {
			_, r, _ := op.Do(ctx, second, customer{Name: "Ada"}, contract.Call{Key: "k1", Wait: 100 * time.Millisecond})
			if r.Outcome != contract.Pending {
				t.Fatalf("the second worker gets %s", r.JSON())
			}
		}
		close(u.hold)
		if r := <-done; r.Outcome != contract.Completed || u.effects() != 1 || u.calls != 1 {
			t.Errorf("%d effects: %s", u.effects(), r.JSON())
		}
	})
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
	synctest.Test(t, func(t *testing.T) {
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
	})
}
