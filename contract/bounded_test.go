package contract

import (
	"context"
	"errors"
	"testing"
	"time"
)

// stuck is a context whose timer never comes.
type stuck struct{ context.Context }

func (stuck) Deadline() (time.Time, bool) { return time.Time{}, false }

// TestC16_DeadlineByTheClock: a deadline has passed when the clocks say so,
// whether a timer did or not; and what was cancelled stays cancelled.
func TestC16_DeadlineByTheClock(t *testing.T) {
	inner, cancel := context.WithCancel(context.Background())
	late := &bounded{Context: stuck{inner}, cancel: cancel, end: time.Now().Add(-time.Millisecond)}
	child, stop := context.WithCancel(late)
	defer stop()
	if child.Err() == nil || !errors.Is(late.Err(), context.DeadlineExceeded) {
		t.Errorf("past its end: %v, a child's %v", late.Err(), child.Err())
	}
	ctx, cancel := withEnd(context.Background(), time.Now().Add(time.Hour))
	if ctx.Err() != nil {
		t.Errorf("before its end: %v", ctx.Err())
	}
	cancel()
	ctx.(*bounded).end = time.Now().Add(-time.Hour)
	if !errors.Is(ctx.Err(), context.Canceled) {
		t.Errorf("cancelled before: %v", ctx.Err())
	}
	slept := time.Now().Add(time.Hour)
	if passed(slept) || !passed(time.Now().Round(0).Add(-time.Second)) {
		t.Error("an hour from now, and a second ago by the wall clock alone")
	}
}
