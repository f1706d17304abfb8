package record

import (
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/klauspost/compress/zstd"

	"github.com/spillway-mcp/spillway/internal/jsontape"
)

// Writer writes the events of one session, in the order of its calls. It may be
// used by many goroutines. A nil Writer drops every event.
type Writer struct {
	r     *Recorder
	path  string
	start time.Time
	limit int64 // bytes of the file

	mu    sync.Mutex
	red   redactor
	buf   []byte
	file  *os.File
	count counter
	enc   *zstd.Encoder
	swept int64
	ended bool
}

// counter counts what is written to a file.
type counter struct {
	file *os.File
	n    int64
}

func (c *counter) Write(p []byte) (int, error) {
	n, err := c.file.Write(p)
	c.n += int64(n)
	return n, err
}

// Path returns the session's file; "" of nil.
func (w *Writer) Path() string {
	if w == nil {
		return ""
	}
	return w.path
}

// Since returns the offset of a time from the start of the session, in
// microseconds.
func (w *Writer) Since(t time.Time) int64 {
	if w == nil {
		return 0
	}
	return max(0, t.Sub(w.start).Microseconds())
}

// sweepEvery is how many bytes of one session make the directory be looked at
// again.
const sweepEvery = 16 << 20

// Write appends an event, once what must not be kept is out of it; e and what
// it points to are not changed and not kept. When it returns, the line is the system's: it
// outlives the process. A session whose file would be over a quarter of the
// directory's bound, or whose file cannot be written, ends here; that is logged,
// and calls go on.
func (w *Writer) Write(e *Event) {
	if w == nil {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.ended {
		return
	}
	copied := *e
	if copied.Kind != KindList {
		copied.Before, copied.After = sizes(&copied)
	}
	w.red.event(&copied)
	w.buf = append(copied.AppendJSON(w.buf[:0]), '\n')
	switch err := w.line(w.buf); {
	case err != nil:
		w.r.opt.Log.Error("the recording of this session ends, calls go on", "path", w.path, "err", err)
		w.close("")
	case w.red.full():
		w.close("more redacted values than can be followed")
	case w.count.n > w.limit:
		w.close("the session is over a quarter of max_bytes")
	case w.count.n-w.swept > sweepEvery:
		w.swept = w.count.n
		w.r.sweep(filepath.Base(w.path), 0)
	}
	if cap(w.buf) > 8<<20 {
		w.buf = nil
	}
}

func (w *Writer) line(b []byte) error {
	if _, err := w.enc.Write(b); err != nil {
		return err
	}
	return w.enc.Flush()
}

// Close ends the session. It is safe to call again, and on nil.
func (w *Writer) Close() {
	if w == nil {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.close("closed")
}

// close ends the file with a line that says why, but for no reason.
func (w *Writer) close(reason string) {
	if w.ended {
		return
	}
	w.ended = true
	if reason != "" {
		at := w.Since(w.r.opt.Now())
		e := Event{Kind: KindEnd, At: at, Done: at, Reason: reason}
		_ = w.line(append(e.AppendJSON(nil), '\n'))
	}
	if err := w.enc.Close(); err != nil && reason != "" {
		w.r.opt.Log.Error("the end of a recording is not written", "path", w.path, "err", err)
	}
	w.file.Close()
	if reason != "" && reason != "closed" {
		w.r.opt.Log.Warn("the recording of this session ends: "+reason, "path", w.path)
	}
}

func sizes(e *Event) (before, after Sizes) {
	if e.Result != nil {
		before = SizesOf(e.Result)
		after = before
	}
	if e.Shown != nil {
		after = SizesOf(e.Shown)
	}
	return before, after
}

// SizesOf returns the sizes of the views of a CallToolResult; zero of what is
// not JSON.
func SizesOf(result []byte) (n Sizes) {
	doc, err := jsontape.Parse(result)
	if err != nil {
		return n
	}
	root := doc.Root()
	var buf []byte
	for it := root.Get("content").Iter(); it.Next(); {
		text := it.Value().Get("text")
		if !text.Exists() {
			text = it.Value().Lookup("resource", "text")
		}
		buf = text.AppendString(buf[:0])
		n.Text += len(buf)
	}
	if data := root.Get("structuredContent"); data.Exists() {
		n.Structured = data.CompactLen()
	}
	return n
}
