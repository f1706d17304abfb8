package config

import (
	"regexp"
	"strconv"
	"time"
)

var days = regexp.MustCompile(`^([0-9]{1,4})([dw])$`)

// parseDuration reads what time.ParseDuration does, and whole days and weeks:
// 24h, 90m, 1h30m, 7d, 2w. Only durations above 0 are taken.
func parseDuration(s string) (time.Duration, bool) {
	if m := days.FindStringSubmatch(s); m != nil {
		n, err := strconv.Atoi(m[1])
		unit := 24 * time.Hour
		if m[2] == "w" {
			unit *= 7
		}
		return time.Duration(n) * unit, err == nil && n > 0
	}
	d, err := time.ParseDuration(s)
	return d, err == nil && d > 0
}
