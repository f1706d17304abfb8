package record

import (
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/klauspost/compress/zstd"
)

// Options say where sessions are kept, and for how long.
type Options struct {
	Redact   *Redactions   // nil removes secrets alone
	MaxBytes int64         // of the directory; 0 is DefaultMaxBytes
	Keep     time.Duration // after which a session is removed; 0 is DefaultKeep
	Spillway string        // version of the program
	Log      *slog.Logger  // nil is slog.Default()
	Now      func() time.Time
}

// The defaults of Options.
const (
	DefaultMaxBytes = 1 << 30
	DefaultKeep     = 30 * 24 * time.Hour
)

// extension ends the name of a session's file.
const extension = ".jsonl.zst"

// Recorder keeps the sessions of a directory. It may be used by many goroutines,
// and several processes may share a directory.
type Recorder struct {
	dir string
	opt Options
	mu  sync.Mutex // one removal of old sessions at a time
}

// Open prepares a directory for sessions: it makes it, for the owner alone,
// takes the rights of others away from it, and removes what is too old or too
// much.
func Open(dir string, opt Options) (*Recorder, error) {
	if opt.MaxBytes <= 0 {
		opt.MaxBytes = DefaultMaxBytes
	}
	if opt.Keep <= 0 {
		opt.Keep = DefaultKeep
	}
	if opt.Log == nil {
		opt.Log = slog.Default()
	}
	if opt.Now == nil {
		opt.Now = time.Now
	}
	if err := makeOwn(dir); err != nil {
		return nil, fmt.Errorf("record: %w", err)
	}
	r := &Recorder{dir: dir, opt: opt}
	r.sweep("", 0)
	return r, nil
}

// Start begins the file of a session. What h does not say of the time, the
// version and the redactions is filled in. It returns nil, which drops every
// event, where the file cannot be made, and says so in the log.
func (r *Recorder) Start(h Header) *Writer {
	if r == nil {
		return nil
	}
	h.Version, h.Spillway = Version, r.opt.Spillway
	if r.opt.Redact != nil {
		h.Redacts = r.opt.Redact.digest
	}
	if h.Started.IsZero() {
		h.Started = r.opt.Now()
	}
	h.Started = h.Started.UTC().Truncate(time.Millisecond)
	name := h.Started.Format("20060102T150405.000Z") + "-" + fileName(h.Server) + "-" + fileName(h.Session) + extension
	path := filepath.Join(r.dir, name)
	w, err := r.create(path, &h)
	if err != nil {
		r.opt.Log.Error("the session is not recorded", "path", path, "err", err)
		return nil
	}
	r.sweep(name, 0)
	return w
}

func (r *Recorder) create(path string, h *Header) (*Writer, error) {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, err
	}
	w := &Writer{r: r, path: path, start: h.Started, file: f, limit: max(r.opt.MaxBytes/4, 1<<16)}
	w.red.rules = r.opt.Redact
	// One block a line, flushed: what was written before a kill can be read.
	w.enc, err = zstd.NewWriter(&w.count, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(1), zstd.WithLowerEncoderMem(true), zstd.WithWindowSize(1<<22))
	if err == nil {
		w.count.file = f
		err = w.line(append(h.appendJSON(nil), '\n'))
	}
	if err != nil {
		f.Close()
		os.Remove(path)
		return nil, err
	}
	return w, nil
}

// fileName keeps what is harmless in the name of a file.
func fileName(s string) string {
	s = strings.Map(func(c rune) rune {
		if c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '_' {
			return c
		}
		return '_'
	}, s)
	if len(s) > 40 {
		s = s[:40]
	}
	if s == "" {
		return "session"
	}
	return s
}

// sweep removes sessions that are over their time, and the oldest while the
// directory is over its bound. That of name stays, and so do sessions that were
// written to in the last minutes, as another process may be at them; adding is
// what is about to come.
func (r *Recorder) sweep(name string, adding int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	entries, err := os.ReadDir(r.dir) // by name, and so by time
	if err != nil {
		r.opt.Log.Error("old recordings not looked through", "dir", r.dir, "err", err)
		return
	}
	type file struct {
		path string
		size int64
		at   time.Time
		keep bool
	}
	var files []file
	total := adding
	now := r.opt.Now()
	for _, entry := range entries {
		info, err := entry.Info()
		if err != nil || !strings.HasSuffix(entry.Name(), extension) {
			continue
		}
		busy := entry.Name() == name || now.Sub(info.ModTime()) < active
		files = append(files, file{filepath.Join(r.dir, entry.Name()), info.Size(), info.ModTime(), busy})
		total += info.Size()
	}
	for _, f := range files {
		if f.keep || now.Sub(f.at) <= r.opt.Keep && total <= r.opt.MaxBytes {
			continue
		}
		if os.Remove(f.path) == nil {
			total -= f.size
			for _, beside := range DeclaredPaths(f.path) {
				os.Remove(beside)
			}
		}
	}
	if total <= r.opt.MaxBytes {
		return
	}
	// Only sessions of the last minutes are left: of these the ended ones may
	// go too, those of this process apart.
	slices.SortFunc(files, func(a, b file) int { return a.at.Compare(b.at) })
	for _, f := range files {
		if total > r.opt.MaxBytes && filepath.Base(f.path) != name && os.Remove(f.path) == nil {
			total -= f.size
		}
	}
}

// active is how long after its last line a session is taken for one that goes
// on.
const active = 10 * time.Minute
