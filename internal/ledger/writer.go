package ledger

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"time"
)

// A Writer appends lines to a ledger file. Each line is one write to a file
// opened for appending, so that the lines of several processes do not mix and a
// line is in the file, whatever becomes of the process, once Write has returned;
// but see [Writer.Gather]. It does not promise that the line survives a loss of
// power. It may be used from many goroutines.
type Writer struct {
	path string
	log  *slog.Logger

	mu     sync.Mutex
	file   file
	info   fs.FileInfo // of file, to notice that the path now is another one
	buf    []byte      // a line end and the lines to write
	torn   bool        // the file may end inside a line
	lost   int64       // lines lost since writing failed
	closed bool

	gather time.Duration
	timer  *time.Timer // while lines are gathered
}

type file interface {
	io.WriteCloser
	Stat() (fs.FileInfo, error)
}

// Open opens the ledger at path for appending. It makes the file and the
// folders above it where they are not there, for the owner alone. Log gets the
// report of a failing disk, once, and of its end; nil is slog.Default().
func Open(path string, log *slog.Logger) (*Writer, error) {
	if log == nil {
		log = slog.Default()
	}
	w := &Writer{path: path, log: log}
	if err := w.open(); err != nil {
		return nil, fmt.Errorf("ledger: %w", err)
	}
	return w, nil
}

func (w *Writer) open() error {
	if err := os.MkdirAll(filepath.Dir(w.path), 0o700); err != nil {
		return err
	}
	torn, err := endsInLine(w.path)
	if err != nil {
		return err
	}
	f, err := os.OpenFile(w.path, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	info, err := f.Stat()
	if err != nil {
		f.Close()
		return err
	}
	w.file, w.info, w.torn = f, info, torn
	return nil
}

// endsInLine reports whether the file's last byte is not a line end: a process
// before us was stopped, or its disk was full, within a line. One that is just
// writing can be seen half done; it is given a moment to end its line.
func endsInLine(path string) (bool, error) {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	} else if err != nil {
		return false, err
	}
	defer f.Close()
	for range 5 {
		info, err := f.Stat()
		if err != nil || !info.Mode().IsRegular() || info.Size() == 0 {
			return false, err
		}
		var last [1]byte
		if _, err = f.ReadAt(last[:], info.Size()-1); err != nil || last[0] == '\n' {
			return false, err
		}
		time.Sleep(2 * time.Millisecond)
	}
	return true, nil
}

// Gather has lines that come within d of a write wait for its end, to be one
// write together, where calls come fast enough for a write each to be felt. A
// process that is killed then leaves all but those of its last d; Close writes
// them. Call it before the first Write.
func (w *Writer) Gather(d time.Duration) {
	if w != nil {
		w.gather = d
	}
}

// maxGathered is the size in bytes from which gathered lines are written at once.
const maxGathered = 64 << 10

// Write appends the line. It sets a zero TS to now; l is not kept. A line that
// cannot be written is dropped: the first failure is reported to the log, the
// calls go on, and lines are written again as soon as that works (RED-48). A nil
// Writer and a closed one drop every line.
func (w *Writer) Write(l *Line) {
	if w == nil {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		return
	}
	if len(w.buf) == 0 {
		w.buf = append(w.buf, '\n')
	}
	if l.TS.IsZero() {
		now := *l
		now.TS = time.Now()
		l = &now
	}
	w.buf = append(l.AppendJSON(w.buf), '\n')
	if w.timer != nil && len(w.buf) < maxGathered {
		return
	}
	w.flush()
	if w.gather > 0 && w.timer == nil {
		w.timer = time.AfterFunc(w.gather, w.late)
	}
}

// late writes what was gathered, and goes on with gathering if there was any.
func (w *Writer) late() {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case w.closed:
	case len(w.buf) == 0:
		w.timer = nil
	default:
		w.flush()
		w.timer.Reset(w.gather)
	}
}

// flush writes the lines in buf.
func (w *Writer) flush() {
	b := w.buf
	w.buf = w.buf[:0]
	n, err := w.append(b)
	if err != nil {
		if w.lost == 0 {
			w.log.Error("ledger not written, calls go on without it", "path", w.path, "err", err)
		}
		w.lost += int64(bytes.Count(b[max(n, 1):], []byte{'\n'}))
		return
	}
	if w.lost > 0 {
		w.log.Info("ledger is written again", "path", w.path, "lost", w.lost)
		w.lost = 0
	}
}

// append writes lines, given with a line end before and after them, and returns
// how many of the bytes are in the file.
func (w *Writer) append(b []byte) (int, error) {
	if now, err := os.Stat(w.path); w.file == nil || err != nil || !os.SameFile(now, w.info) {
		// Moved away by a log rotation, removed, or never opened again.
		if w.file != nil {
			w.file.Close()
			w.file = nil
		}
		if err := w.open(); err != nil {
			return 0, err
		}
	}
	skipped := 0
	if !w.torn {
		b, skipped = b[1:], 1
	}
	n, err := w.file.Write(b)
	if n > 0 {
		w.torn = b[n-1] != '\n'
	}
	return n + skipped, err
}

// Close closes the file. It is safe to call again, and on nil.
func (w *Writer) Close() error {
	if w == nil {
		return nil
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.closed && len(w.buf) > 0 {
		w.flush()
	}
	if w.timer != nil {
		w.timer.Stop()
	}
	if w.closed || w.file == nil {
		w.closed = true
		return nil
	}
	w.closed = true
	return w.file.Close()
}
