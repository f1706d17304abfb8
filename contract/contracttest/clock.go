package contracttest

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/spillway-mcp/spillway/contract"
)

// Clock is the time of a world, and what its processes take for it. Both only
// differ where a case sets the processes' clock wrong.
type Clock struct {
	mu    sync.Mutex
	state ClockState
}

// ClockState is how a Clock differs from the real time; for processes that
// cannot share the Clock.
type ClockState struct {
	Offset   time.Duration `json:"offset,omitempty"`   // of the true time
	Slip     time.Duration `json:"slip,omitempty"`     // of the processes' clock from the true time
	Restarts int           `json:"restarts,omitempty"` // of the machine
	Restart  time.Time     `json:"restart,omitzero"`   // the last, in true time
}

// State returns the clock's state.
func (c *Clock) State() ClockState {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.state
}

// Set sets the clock's state.
func (c *Clock) Set(s ClockState) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.state = s
}

// True returns the world's time: the upstream's, a database's.
func (c *Clock) True() time.Time { return time.Now().Add(c.State().Offset) }

// Now returns what the processes' wall clock says.
func (c *Clock) Now() time.Time {
	s := c.State()
	return time.Now().Add(s.Offset + s.Slip)
}

// Jump lets time pass, for the upstream, too. It does not go back.
func (c *Clock) Jump(d time.Duration) {
	if d < 0 {
		panic("time does not go back; a clock that does has a Slip")
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.state.Offset += d
}

// Slip sets the processes' wall clock wrong, by d more than it was: forward, or
// back.
func (c *Clock) Slip(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.state.Slip += d
}

// Restart restarts the machine, as far as its clocks go: those that count from
// its start begin anew.
func (c *Clock) Restart() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.state.Restarts++
	c.state.Restart = time.Now().Add(c.state.Offset)
}

// timedStore is a store in a world's time: a database's own time passes as the
// world's does, and so does what counts from a machine's start.
type timedStore struct {
	contract.Store
	clock *Clock
}

func (s timedStore) Now(ctx context.Context, local time.Time) (contract.Instant, error) {
	real, state := time.Now(), s.clock.State()
	n, err := s.Store.Now(ctx, real)
	if err != nil {
		return n, err
	}
	n.Tick += state.Offset
	if !n.At.Equal(real) { // it has a time of its own, which no machine sets wrong
		n.At = n.At.Add(state.Offset)
		return n, nil
	}
	n.At = local
	if state.Restarts > 0 && n.Clock != "" {
		n.Clock = fmt.Sprint(n.Clock, ", started ", state.Restarts+1)
		n.Tick = time.Since(state.Restart) + state.Offset
	}
	return n, nil
}
