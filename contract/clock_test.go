package contract

import (
	"testing"
	"time"
)

// TestC16_C18_ElapsedTime: what bounds the time since a stamp, for every clock
// that a journal may have and every way in which it may be wrong.
func TestC16_C18_ElapsedTime(t *testing.T) {
	noon := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	stamp := Stamp{At: noon, Clock: "boot a", Tick: time.Hour}
	at := func(wall, tick time.Duration, clock string, floor time.Duration) Instant {
		return Instant{Stamp{noon.Add(wall), clock, time.Hour + tick}, noon.Add(floor)}
	}
	for name, x := range map[string]struct {
		now         Instant
		least, most time.Duration
	}{
		"nothing is wrong":               {at(time.Minute, time.Minute, "boot a", 0), time.Minute, time.Minute},
		"set forward by a day":           {at(24*time.Hour, time.Minute, "boot a", 0), time.Minute, 24 * time.Hour},
		"set back by a day":              {at(-24*time.Hour, time.Minute, "boot a", 0), time.Minute, never},
		"set back after a day":           {at(time.Hour, 25*time.Hour, "boot a", 25*time.Hour), 25 * time.Hour, never},
		"corrected by a second":          {at(59*time.Second, time.Minute, "boot a", time.Minute), time.Minute, time.Minute},
		"a machine that was suspended":   {at(time.Hour, time.Minute, "boot a", 0), time.Minute, time.Hour},
		"restarted":                      {at(time.Hour, -59*time.Minute, "boot b", 0), time.Minute, time.Hour},
		"restarted, set forward":         {at(999*time.Hour, -59*time.Minute, "boot b", 0), time.Minute, 999 * time.Hour},
		"restarted, set back":            {at(time.Minute, 0, "boot b", 25*time.Hour), time.Minute, never},
		"no clock but the wall's":        {at(time.Minute, 0, "", 0), time.Minute, time.Minute},
		"only the wall's, told of later": {at(time.Minute, 0, "", 90*time.Second), time.Minute, 90 * time.Second},
		"only the wall's, set back":      {at(time.Minute, 0, "", 25*time.Hour), time.Minute, never},
		"a clock that ran backwards":     {at(time.Minute, -time.Minute, "boot a", 0), 0, never},
	} {
		least, most := x.now.Since(stamp)
		if least != x.least || most != x.most {
			t.Errorf("%s: between %s and %s, want %s and %s", name, least, most, x.least, x.most)
		}
	}
}

// TestC12_LeaseAndClock: whether an owner is taken to be alive.
func TestC12_LeaseAndClock(t *testing.T) {
	noon := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	r := &Record{Stamp: Stamp{At: noon, Clock: "boot a", Tick: time.Hour}, Lease: noon.Add(30 * time.Second)}
	for name, x := range map[string]struct {
		wall, tick time.Duration
		clock      string
		lapsed     bool
	}{
		"within the lease":                    {time.Second, time.Second, "boot a", false},
		"past it":                             {31 * time.Second, 31 * time.Second, "boot a", true},
		"set forward":                         {24 * time.Hour, time.Second, "boot a", false},
		"set back":                            {-24 * time.Hour, time.Second, "boot a", false},
		"set back, and past it":               {-24 * time.Hour, 31 * time.Second, "boot a", true},
		"no clock but the wall's":             {time.Second, 0, "", false},
		"only the wall's, past it":            {31 * time.Second, 0, "", true},
		"only the wall's, set back":           {-24 * time.Hour, 0, "", true}, // or nobody would be told for a day
		"restarted":                           {31 * time.Second, 0, "boot b", true},
		"restarted, and set back to before":   {-24 * time.Hour, 0, "boot b", true},
		"corrected by a second since claimed": {-time.Second, 0, "", false},
	} {
		now := Instant{Stamp: Stamp{noon.Add(x.wall), x.clock, time.Hour + x.tick}}
		if r.lapsed(now) != x.lapsed {
			t.Errorf("%s: lapsed is %t", name, !x.lapsed)
		}
	}
}
