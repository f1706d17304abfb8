package contract

import (
	"context"
	"sync/atomic"
	"time"
)

// bounded is a context that is over as soon as its deadline has passed, and not
// when a timer gets round to say so. A process that was stopped, or a machine
// that slept, goes on in the middle of a step, and others may have found by then
// that it did not happen: whoever asks the context before sending, as net/http
// does, is told in time (C-16).
type bounded struct {
	context.Context
	cancel context.CancelFunc
	end    time.Time // with a monotonic reading
	late   atomic.Bool
}

// withEnd bounds ctx by a deadline.
func withEnd(ctx context.Context, end time.Time) (context.Context, context.CancelFunc) {
	timed, cancel := context.WithDeadline(ctx, end)
	return &bounded{Context: timed, cancel: cancel, end: end}, cancel
}

// passed reports whether a time is over, by either clock: the monotonic one
// sleeps when the machine does.
func passed(end time.Time) bool {
	now := time.Now()
	return now.After(end) || now.Round(0).After(end.Round(0))
}

func (b *bounded) check() {
	if b.Context.Err() == nil && passed(b.end) {
		b.late.Store(true)
		b.cancel()
	}
}

// Done implements context.Context.
func (b *bounded) Done() <-chan struct{} {
	b.check()
	return b.Context.Done()
}

// Err implements context.Context.
func (b *bounded) Err() error {
	if b.check(); b.late.Load() {
		return context.DeadlineExceeded
	}
	return b.Context.Err()
}
