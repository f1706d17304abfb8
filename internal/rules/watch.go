package rules

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/fsnotify/fsnotify"
)

// Times of a Watcher. A change is read when the directory has been quiet for
// settle, since editors and deployments write in several steps, but at most
// patience after its first event. What no event tells (network file systems, a
// directory that was replaced) is found by looking again.
const (
	settle    = 100 * time.Millisecond
	patience  = time.Second
	lookAgain = 15 * time.Second
	lookBlind = 2 * time.Second // where the system gives no events
)

// Watcher holds the rule set that is in force while its file may change.
// It is safe for concurrent use.
type Watcher struct {
	current atomic.Pointer[Set]

	path  string
	parse func(name string, data []byte) (*Set, error)
	log   *slog.Logger
	seen  []byte // the content that was last read, good or not
	gone  bool   // the file's absence was reported

	mu        sync.Mutex
	listeners []chan struct{}
	done      chan struct{}
}

// Watch loads the rules file at path and picks up its changes until ctx is
// done. A file that cannot be loaded now is an error; one that breaks later is
// reported through log, once for each content, and the last good set stays in
// force, also when the file is deleted (RED-51).
func Watch(ctx context.Context, path string, log *slog.Logger) (*Watcher, error) {
	return WatchFile(ctx, path, Parse, log)
}

// WatchFile is [Watch] for a file that holds more than rules; parse makes the
// rule set of its content.
func WatchFile(ctx context.Context, path string, parse func(name string, data []byte) (*Set, error), log *slog.Logger) (*Watcher, error) {
	data, err := readFile(path)
	if err != nil {
		return nil, err
	}
	set, err := parse(path, data)
	if err != nil {
		return nil, err
	}
	w := &Watcher{path: path, parse: parse, log: log, seen: data, done: make(chan struct{})}
	w.current.Store(set)
	events, err := fsnotify.NewWatcher()
	if err != nil {
		log.Warn("no file events: changed rules are found by looking every few seconds", "file", path, "err", err)
	}
	go w.run(ctx, events)
	return w, nil
}

// Static returns a Watcher of a set that never changes.
func Static(set *Set) *Watcher {
	w := &Watcher{done: make(chan struct{})}
	w.current.Store(set)
	close(w.done)
	return w
}

// Current returns the set in force.
func (w *Watcher) Current() *Set { return w.current.Load() }

// Changes returns a channel that gets a value after Current has become another
// rule set; several changes may come as one. Each call makes a new channel,
// which lives as long as w.
func (w *Watcher) Changes() <-chan struct{} {
	c := make(chan struct{}, 1)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.listeners = append(w.listeners, c)
	return c
}

// Done is closed when w has stopped watching and let go of the file system.
func (w *Watcher) Done() <-chan struct{} { return w.done }

func (w *Watcher) run(ctx context.Context, events *fsnotify.Watcher) {
	defer close(w.done)
	var changes <-chan fsnotify.Event
	var faults <-chan error
	var names map[string]bool
	interval := lookBlind
	if events != nil {
		defer events.Close()
		changes, faults, interval = events.Events, events.Errors, lookAgain
		names = follow(events, w.path)
	}
	look := time.NewTicker(interval)
	defer look.Stop()
	// What changed between the first reading and the first watch is read soon.
	quiet := time.NewTimer(settle)
	var deadline time.Time
	for {
		select {
		case <-ctx.Done():
			return
		case event, open := <-changes:
			if !open {
				changes = nil
				continue
			}
			if !names[event.Name] {
				continue // a neighbour, perhaps a busy one
			}
			now := time.Now()
			if deadline.IsZero() {
				deadline = now.Add(patience)
			}
			quiet.Reset(min(settle, max(deadline.Sub(now), 0)))
		case err, open := <-faults:
			if !open {
				faults = nil
				continue
			}
			w.log.Warn("file events were lost", "file", w.path, "err", err)
			quiet.Reset(settle)
		case <-quiet.C:
			deadline = time.Time{}
			names = w.again(events)
		case <-look.C:
			names = w.again(events)
		}
	}
}

func (w *Watcher) again(events *fsnotify.Watcher) (names map[string]bool) {
	if events != nil {
		names = follow(events, w.path)
	}
	w.reload()
	return names
}

// follow watches the directory of path and, where path leads through symbolic
// links, those of each link and of the file: a ConfigMap is changed by
// swapping a link two steps away. Directories, since a file that is replaced
// takes its own watch with it. Watching one twice does nothing. It returns the
// names whose events count.
func follow(events *fsnotify.Watcher, path string) map[string]bool {
	names := map[string]bool{}
	if abs, err := filepath.Abs(path); err == nil { // events have the watched directory's path
		path = abs
	}
	add := func(path string) {
		dir := filepath.Dir(path)
		_ = events.Add(dir) // one that cannot be watched is found by looking again
		names[dir], names[path] = true, true
	}
	for range 16 { // longer chains are loops
		dir := filepath.Dir(path)
		for up := dir; up != filepath.Dir(up); up = filepath.Dir(up) {
			if info, err := os.Lstat(up); err == nil && info.Mode()&fs.ModeSymlink != 0 {
				add(up)
			}
		}
		if real, err := filepath.EvalSymlinks(dir); err == nil {
			add(filepath.Join(real, filepath.Base(path)))
		}
		target, err := os.Readlink(path)
		if err != nil {
			break
		}
		if !filepath.IsAbs(target) {
			target = filepath.Join(dir, target)
		}
		path = target
	}
	return names
}

// reload reads the file, and puts its rules in force if they are good and
// other than those that are.
func (w *Watcher) reload() {
	data, err := readFile(w.path)
	if err != nil {
		if !w.gone {
			w.gone = true
			w.report("rules file cannot be read; the last good rules stay in force", err)
		}
		return
	}
	back := w.gone
	w.gone = false
	if bytes.Equal(data, w.seen) {
		if back {
			w.log.Info("rules file can be read again", "file", w.path)
		}
		return
	}
	w.seen = data
	if len(data) == 0 {
		// A writer that stops here for long; to have no rules, say so: {}.
		w.report("rules file is empty; the last good rules stay in force", errors.New("the file has 0 bytes"))
		return
	}
	set, err := w.parse(w.path, data)
	if err != nil {
		w.report("rules file is broken; the last good rules stay in force", err)
		return
	}
	old := w.current.Swap(set)
	if old.Digest() == set.Digest() {
		return
	}
	w.log.Info("rules changed", "file", w.path, "digest", set.Digest()[:16])
	for _, warning := range set.Warnings() {
		w.log.Warn(warning.Error())
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, c := range w.listeners {
		select {
		case c <- struct{}{}:
		default: // it has not taken the last one yet
		}
	}
}

func (w *Watcher) report(msg string, err error) {
	var errs Errors
	if !errors.As(err, &errs) {
		w.log.Error(msg, "file", w.path, "err", err)
		return
	}
	list := make([]string, len(errs))
	for i, e := range errs {
		list[i] = e.Error()
	}
	w.log.Error(msg, "file", w.path, "errors", list)
}
