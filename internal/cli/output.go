package cli

import (
	"encoding/json"
	"io"
	"strconv"
	"strings"
	"sync"
)

// lockedWriter lets one write through at a time, so that the lines of a command and of its servers stay whole.
type lockedWriter struct {
	mu sync.Mutex
	w  io.Writer
}

func (l *lockedWriter) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.w.Write(p)
}

// writeJSON prints v as one indented JSON document; nothing in it is escaped for HTML.
func writeJSON(w io.Writer, v any) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(v)
}

// grouped writes a number for people: 1,234,567.
func grouped[T int | int64](n T) string {
	s := strconv.FormatInt(int64(n), 10)
	sign := ""
	if strings.HasPrefix(s, "-") {
		sign, s = "-", s[1:]
	}
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return sign + s
}

// percentLess says how much smaller after is than before: "98.7 % less", "2.1 % more", "the same". It never rounds
// up to 100 or down to 0.
func percentLess(before, after int) string {
	if before == after {
		return "the same"
	}
	if before == 0 {
		return "more"
	}
	tenths := (before - after) * 1000 / before
	word := " % less"
	if tenths < 0 || after > before {
		tenths, word = -tenths, " % more"
	}
	return strconv.Itoa(tenths/10) + "." + strconv.Itoa(tenths%10) + word
}
