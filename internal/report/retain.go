package report

import (
	"fmt"
	"strconv"
	"strings"
)

// Retention is the model of what a host sends again: of what a turn wrote and
// read, how many of the following requests to the model carry it. The zero
// Retention is all of them.
type Retention struct {
	none   bool
	window int // 0: all
}

// ParseRetention reads none, all or window:N, N at least 1.
func ParseRetention(s string) (Retention, error) {
	switch s {
	case "none":
		return Retention{none: true}, nil
	case "all":
		return Retention{}, nil
	}
	if text, ok := strings.CutPrefix(s, "window:"); ok {
		if n, err := strconv.Atoi(text); err == nil && n >= 1 {
			return Retention{window: n}, nil
		}
	}
	return Retention{}, fmt.Errorf("retention %q: allowed are none, all and window:N, such as window:8", s)
}

// String is the form that ParseRetention reads.
func (r Retention) String() string {
	switch {
	case r.none:
		return "none"
	case r.window > 0:
		return "window:" + strconv.Itoa(r.window)
	}
	return "all"
}

// again is how often what could be sent n times more is.
func (r Retention) again(n int) int64 {
	switch {
	case r.none || n <= 0:
		return 0
	case r.window > 0:
		return int64(min(n, r.window))
	}
	return int64(n)
}

// definitions are sent with every request, unless nothing is sent again.
func (r Retention) definitions(n int) int64 {
	if r.none {
		return 0
	}
	return int64(max(n, 0))
}
