package contract

import (
	"context"
	"math"
	"time"
)

// Stamp is a moment as a journal keeps it. What a decision rests on is how
// long ago it was, and a wall clock that somebody sets does not know: so beside
// the time stands the reading of a clock that only goes forward, where the
// journal has one.
type Stamp struct {
	At    time.Time     `json:"at,omitzero"`
	Clock string        `json:"clock,omitempty"` // which clock Tick is of; "" is none
	Tick  time.Duration `json:"tick,omitempty"`  // since that clock's start
}

// Instant is the present, as a Store knows it.
type Instant struct {
	Stamp
	// Floor is the largest time that the journal was ever told, within a
	// second: a clock that stands before it was set back.
	Floor time.Time
}

// clockMargin is how far a clock may stand behind what the journal was told
// before it counts as set back: more than what clocks are corrected by.
const clockMargin = time.Minute

// never is longer than anything lasts.
const never = time.Duration(math.MaxInt64)

// Since bounds the time that has passed since s. What may only be done after a
// while goes by least, what may only be done within one by most: a clock that
// was set forward must not shorten the first, nor one that was set back
// lengthen the second (C-16, C-18).
func (n Instant) Since(s Stamp) (least, most time.Duration) {
	latest := n.At
	if n.Floor.After(latest) {
		latest = n.Floor
	}
	wall, most := n.At.Sub(s.At), latest.Sub(s.At)
	switch {
	case s.Clock == "" || n.Clock == "":
		least = wall
	case s.Clock != n.Clock:
		// The clock was started anew since, with the machine: all of its time
		// has passed.
		least = min(wall, n.Tick)
	case n.Tick < s.Tick: // it was no such clock
		return 0, never
	default:
		least, most = n.Tick-s.Tick, max(n.Tick-s.Tick, most)
	}
	if wall < -clockMargin || n.back() {
		most = never
	}
	return max(0, least), max(0, most)
}

// back reports whether the wall clock was seen to be set back.
func (n Instant) back() bool { return n.At.Before(n.Floor.Add(-clockMargin)) }

// after is the instant d later, by a clock of this process.
func (n Instant) after(d time.Duration) Instant {
	n.At, n.Tick = n.At.Add(d), n.Tick+d
	return n
}

// on is the time that it is now for who counts from s: the wall clock's at s,
// and what the other clock has gone since.
func (n Instant) on(s Stamp) time.Time {
	if s.Clock == "" || s.Clock != n.Clock || n.Tick < s.Tick {
		return n.At
	}
	return s.At.Add(n.Tick - s.Tick)
}

// lapsed reports whether a pending record's owner was not heard of for longer
// than its lease.
func (r *Record) lapsed(now Instant) bool {
	at := now.on(r.Stamp)
	// Before the claim there was no claim: a clock that says so says nothing of
	// the owner, and nobody has to wait until it comes round again.
	return !r.Lease.After(at) || at.Before(r.Stamp.At.Add(-clockMargin))
}

// instant asks the journal for the time.
func (c *Client) instant(ctx context.Context) (Instant, error) {
	n, err := c.opt.Store.Now(ctx, c.opt.Now())
	n.At, n.Floor = n.At.Round(0).UTC(), n.Floor.Round(0).UTC()
	return n, err
}
