package contract

import (
	"context"
	"slices"
	"time"
)

// allows reports whether a failure of this code may be tried again.
func (r Retry) allows(code string) bool {
	if slices.Contains(r.On, code) {
		return true
	}
	return len(code) == 3 && slices.Contains(r.On, code[:1]+"xx")
}

// wait is the pause after the n-th attempt.
func (r Retry) wait(n int) time.Duration {
	const most = 30 * time.Second
	d := r.Backoff
	for range n - 1 {
		if d *= 2; d > most {
			return most
		}
	}
	return min(d, most)
}

// pause waits, and reports whether ctx lasted.
func pause(ctx context.Context, d time.Duration) bool {
	if d <= 0 {
		return ctx.Err() == nil
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}
