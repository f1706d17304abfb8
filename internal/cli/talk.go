package cli

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"strconv"
	"strings"
	"sync"
)

// newLog returns a logger that talks on w in lines for people: "spillway: warning: text (key value, key value)".
// Nothing in them depends on the clock, since hosts put their own times in front.
func newLog(w io.Writer, level slog.Level) *slog.Logger {
	return slog.New(&talk{mu: new(sync.Mutex), w: w, level: level})
}

type talk struct {
	mu    *sync.Mutex
	w     io.Writer
	level slog.Level
	attrs string // as they follow the message
	group string
}

func (t *talk) Enabled(_ context.Context, level slog.Level) bool { return level >= t.level }

func (t *talk) Handle(_ context.Context, r slog.Record) error {
	word := ""
	switch {
	case r.Level >= slog.LevelError:
		word = "error: "
	case r.Level >= slog.LevelWarn:
		word = "warning: "
	}
	attrs := t.attrs
	r.Attrs(func(a slog.Attr) bool {
		attrs = appendAttr(attrs, t.group, a)
		return true
	})
	if attrs != "" {
		attrs = " (" + attrs + ")"
	}
	message := strings.ReplaceAll(r.Message, "\n", " ")
	t.mu.Lock()
	defer t.mu.Unlock()
	_, err := fmt.Fprintf(t.w, "spillway: %s%s%s\n", word, strings.TrimPrefix(message, "spillway: "), attrs)
	return err
}

func (t *talk) WithAttrs(attrs []slog.Attr) slog.Handler {
	with := *t
	for _, a := range attrs {
		with.attrs = appendAttr(with.attrs, t.group, a)
	}
	return &with
}

func (t *talk) WithGroup(name string) slog.Handler {
	with := *t
	with.group += name + "."
	return &with
}

func appendAttr(to, group string, a slog.Attr) string {
	value := a.Value.Resolve()
	if value.Kind() == slog.KindGroup {
		for _, inner := range value.Group() {
			to = appendAttr(to, group+a.Key+".", inner)
		}
		return to
	}
	text := value.String()
	switch {
	case strings.Contains(text, `"`) && strconv.CanBackquote(text):
		text = "`" + text + "`" // errors quote names, and are read by people
	case text == "" || strings.ContainsAny(text, "\n\r\t,()\""):
		text = strconv.Quote(text)
	}
	if to != "" {
		to += ", "
	}
	return to + group + a.Key + " " + text
}
