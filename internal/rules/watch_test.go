package rules

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"
)

// logLines gathers log lines; it is a test's condition to wait for.
type logLines struct {
	mu   sync.Mutex
	text strings.Builder
	more chan struct{}
}

func (l *logLines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.text.Write(p)
	select {
	case l.more <- struct{}{}:
	default:
	}
	return len(p), nil
}

func (l *logLines) count(part string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Count(l.text.String(), part)
}

func (l *logLines) waitFor(t *testing.T, part string) {
	t.Helper()
	for l.count(part) == 0 {
		wait(t, l.more, "the log line "+part)
	}
}

func wait(t *testing.T, c <-chan struct{}, what string) {
	t.Helper()
	select {
	case <-c:
	case <-time.After(20 * time.Second):
		t.Fatalf("waited in vain for %s", what)
	}
}

func watch(t *testing.T, path string) (*Watcher, *logLines) {
	t.Helper()
	lines := &logLines{more: make(chan struct{}, 1)}
	ctx, cancel := context.WithCancel(t.Context())
	w, err := Watch(ctx, path, slog.New(slog.NewTextHandler(lines, nil)))
	if err != nil {
		cancel()
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cancel()
		wait(t, w.Done(), "the watcher's end")
	})
	return w, lines
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func maxBytes(w *Watcher) int {
	return w.Current().For("s", "t").Variants[0].Reducer.Rule().MaxBytes
}

func TestWatchRED51(t *testing.T) {
	t.Cleanup(func() { goleak.VerifyNone(t) })
	const first, second = "default: {max_bytes: 1k}\n", "default: {max_bytes: 2k}\n"

	t.Run("RED-51 a file written in place", func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "rules.yaml")
		write(t, path, first)
		w, _ := watch(t, path)
		changes, others := w.Changes(), w.Changes()
		write(t, path, second)
		wait(t, changes, "the change")
		wait(t, others, "the change, by a second listener")
		if maxBytes(w) != 2000 {
			t.Errorf("in force: max_bytes %d", maxBytes(w))
		}
	})

	t.Run("RED-51 a file replaced, as editors do", func(t *testing.T) {
		dir := t.TempDir()
		path := filepath.Join(dir, "rules.yaml")
		write(t, path, first)
		w, _ := watch(t, path)
		changes := w.Changes()
		for _, text := range []string{second, first} {
			write(t, path+".tmp", text)
			if err := os.Rename(path+".tmp", path); err != nil {
				t.Fatal(err)
			}
			wait(t, changes, "the change")
		}
		if maxBytes(w) != 1000 {
			t.Errorf("in force: max_bytes %d", maxBytes(w))
		}
	})

	t.Run("RED-51 links swapped, as a ConfigMap does", func(t *testing.T) {
		dir := t.TempDir()
		for name, text := range map[string]string{"..1": first, "..2": second} {
			if err := os.Mkdir(filepath.Join(dir, name), 0o700); err != nil {
				t.Fatal(err)
			}
			write(t, filepath.Join(dir, name, "rules.yaml"), text)
		}
		link(t, "..1", filepath.Join(dir, "..data"))
		path := filepath.Join(dir, "rules.yaml")
		link(t, filepath.Join("..data", "rules.yaml"), path)
		w, _ := watch(t, path)
		changes := w.Changes()
		link(t, "..2", filepath.Join(dir, "..tmp"))
		if err := os.Rename(filepath.Join(dir, "..tmp"), filepath.Join(dir, "..data")); err != nil {
			t.Fatal(err)
		}
		wait(t, changes, "the change")
		if maxBytes(w) != 2000 {
			t.Errorf("in force: max_bytes %d", maxBytes(w))
		}
	})

	t.Run("RED-51 a relative path", func(t *testing.T) {
		t.Chdir(t.TempDir())
		write(t, "rules.yaml", first)
		w, _ := watch(t, "rules.yaml")
		changes := w.Changes()
		write(t, "rules.yaml", second)
		wait(t, changes, "the change")
	})

	t.Run("RED-51 a link to a file elsewhere", func(t *testing.T) {
		target, path := filepath.Join(t.TempDir(), "mine.yaml"), filepath.Join(t.TempDir(), "rules.yaml")
		write(t, target, first)
		link(t, target, path)
		w, _ := watch(t, path)
		changes := w.Changes()
		write(t, target, second)
		wait(t, changes, "the change")
	})

	t.Run("RED-51 a broken file is reported once and the last good one stays", func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "rules.yaml")
		write(t, path, first)
		w, lines := watch(t, path)
		changes := w.Changes()
		write(t, path, "default: {max_byte: 2k}\n")
		lines.waitFor(t, `did you mean`)
		if maxBytes(w) != 1000 {
			t.Errorf("in force: max_bytes %d", maxBytes(w))
		}
		// The same broken content again, then a good one: still one report.
		write(t, path, "default: {max_byte: 2k}\n")
		write(t, path, second)
		wait(t, changes, "the change")
		if n := lines.count("rules file is broken"); n != 1 {
			t.Errorf("reported %d times", n)
		}
	})

	t.Run("RED-51 a deleted file leaves its rules in force", func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "rules.yaml")
		write(t, path, first)
		w, lines := watch(t, path)
		changes := w.Changes()
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
		lines.waitFor(t, "cannot be read")
		if maxBytes(w) != 1000 {
			t.Errorf("in force: max_bytes %d", maxBytes(w))
		}
		write(t, path, second)
		wait(t, changes, "the change")
	})

	t.Run("RED-51 a change of layout changes nothing", func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "rules.yaml")
		write(t, path, first)
		w, _ := watch(t, path)
		changes := w.Changes()
		digest := w.Current().Digest()
		write(t, path, "# a comment\ndefault:\n  max_bytes: 1000\n")
		write(t, path, second)
		wait(t, changes, "the change")
		write(t, path, "default: {max_bytes: 1000}")
		wait(t, changes, "the change back")
		if w.Current().Digest() != digest {
			t.Error("the same rules have another digest")
		}
	})
}

func TestWatchNeedsAFile(t *testing.T) {
	_, err := Watch(t.Context(), filepath.Join(t.TempDir(), "none.yaml"), slog.New(slog.DiscardHandler))
	if err == nil || !strings.Contains(err.Error(), "none.yaml") {
		t.Errorf("got %v", err)
	}
}

func TestStatic(t *testing.T) {
	w := Static(Default())
	wait(t, w.Done(), "the end")
	if maxBytes(w) != 20_000 {
		t.Errorf("in force: max_bytes %d", maxBytes(w))
	}
}

func link(t *testing.T, target, path string) {
	t.Helper()
	if err := os.Symlink(target, path); err != nil {
		t.Skipf("no symbolic links here: %v", err)
	}
}
