package wire

import (
	"io"
	"sync"
)

// A Writer writes whole frames to one stream from many goroutines; a frame is
// never interleaved with another.
type Writer struct {
	mu  sync.Mutex
	dst io.Writer
	buf []byte
	err error
}

// NewWriter writes frames to dst.
func NewWriter(dst io.Writer) *Writer { return &Writer{dst: dst} }

// joinLimit is up to where parts are joined, so that a frame is one write.
const joinLimit = 64 << 10

// Forward writes f as it came, in one write. After an error every later write
// returns that error: half a frame may be out.
func (w *Writer) Forward(f Frame) error {
	if f.bare {
		return w.Frame(f.line)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.write(f.line)
}

// Frame writes the parts as one frame and adds the newline. Small frames are
// one write; the parts of large ones are not copied.
func (w *Writer) Frame(parts ...[]byte) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	pending := w.buf[:0]
	for _, p := range parts {
		if len(pending)+len(p) < joinLimit {
			pending = append(pending, p...)
			continue
		}
		if len(pending) > 0 {
			if err := w.write(pending); err != nil {
				return err
			}
			pending = pending[:0]
		}
		if err := w.write(p); err != nil {
			return err
		}
	}
	pending = append(pending, '\n')
	w.buf = pending[:0]
	return w.write(pending)
}

func (w *Writer) write(p []byte) error {
	if w.err == nil {
		_, w.err = w.dst.Write(p)
	}
	return w.err
}
