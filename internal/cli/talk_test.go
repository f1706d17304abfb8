package cli

import (
	"errors"
	"log/slog"
	"strings"
	"testing"
)

// A host shows these lines to a person as they are, so each is one line, and says "spillway: " once.
func TestTalk(t *testing.T) {
	var b strings.Builder
	log := newLog(&b, slog.LevelInfo)
	log.Info("rules picked up", "file", "rules.yaml")
	log.Warn("spillway: two\nlines", "error", errors.New("a (b), c"))
	log.With("server", "github").WithGroup("call").Error("failed", "tool", "x", slog.Group("in", "bytes", 3))
	log.Warn("down", "err", errors.New(`exec: "x": not found`))
	log.Debug("not at this level")
	const want = `spillway: rules picked up (file rules.yaml)
spillway: warning: two lines (error "a (b), c")
spillway: error: failed (server github, call.tool x, call.in.bytes 3)
spillway: warning: down (err ` + "`exec: \"x\": not found`" + `)
`
	if b.String() != want {
		t.Errorf("got\n%swant\n%s", b.String(), want)
	}
}

func TestFiguresForPeople(t *testing.T) {
	for n, want := range map[int]string{0: "0", 999: "999", 1000: "1,000", 1234567: "1,234,567", -1234: "-1,234", -123: "-123"} {
		if got := grouped(n); got != want {
			t.Errorf("grouped(%d) = %s, want %s", n, got, want)
		}
	}
	for _, c := range []struct {
		before, after int
		want          string
	}{
		{1000, 15, "98.5 % less"}, {1_000_000, 1, "99.9 % less"}, {10, 10, "the same"}, {100, 120, "20.0 % more"}, {0, 5, "more"},
	} {
		if got := percentLess(c.before, c.after); got != c.want {
			t.Errorf("percentLess(%d, %d) = %s, want %s", c.before, c.after, got, c.want)
		}
	}
}
