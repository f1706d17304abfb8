package wire

import (
	"bytes"
	"errors"
	"fmt"
	"io"
)

// DefaultLimit is the longest frame body a [Reader] returns unless told
// otherwise: 64 MiB.
const DefaultLimit = 64 << 20

const (
	windowSize = 64 << 10
	firstLong  = 256 << 10
	mostLong   = 8 << 20
	chunkSize  = 1 << 20
	keepChunks = 2
)

// A Follower is shown a frame while it arrives, if it is longer than 64 KiB and
// as long as it is shorter than 8 MiB: what has to be done with its bytes can be
// done while the rest of it is on the way. It is called by the goroutine that
// calls [Reader.Next].
type Follower interface {
	// Begin announces a frame of about size bytes: a guess.
	Begin(size int)
	// More shows all of the frame that has arrived. It may stand elsewhere in
	// memory than at the call before, starts with the same bytes, and may be
	// looked at until the frame is dropped by whoever gets it.
	More(soFar []byte)
	// Drop says that the frame turned out to be longer, or is not returned.
	Drop()
}

// A Reader splits a stream into frames at newlines. A carriage return before
// the newline is dropped, blank lines are skipped, and a last line without a
// newline counts. It is for one goroutine.
type Reader struct {
	src    io.Reader
	limit  int
	window []byte // read, not yet returned: window[r:w]
	r, w   int
	chunks [][]byte // of the frame being read, beyond one window
	total  int
	free   [][]byte
	err    error
	follow Follower // may be nil
	guess  int      // the size of the next long frame
}

// NewReader reads frames of up to limit bytes from src; limit <= 0 means
// [DefaultLimit].
func NewReader(src io.Reader, limit int) *Reader {
	if limit <= 0 {
		limit = DefaultLimit
	}
	return &Reader{src: src, limit: limit, window: make([]byte, windowSize)}
}

// Follow has f shown what arrives of long frames.
func (r *Reader) Follow(f Follower) { r.follow = f }

// TooLargeError reports a frame over the limit. The frame was read to its end
// and dropped without being kept, and the next call of [Reader.Next] goes on
// behind it. ID and Method are the top-level members as written, wherever in
// the frame they stood; nil where it has none or they are over 1 kB.
type TooLargeError struct {
	Size       int64
	Limit      int
	ID, Method []byte
}

func (e *TooLargeError) Error() string {
	return fmt.Sprintf("message of %d bytes is over the limit of %d", e.Size, e.Limit)
}

// Next returns the next frame, which belongs to the caller. The error is
// io.EOF at the end of the stream, a [*TooLargeError], after which reading may
// go on, or what the source returned.
func (r *Reader) Next() (Frame, error) {
	for {
		line, err := r.line()
		if err != nil {
			return Frame{}, err
		}
		body := line[:len(line)-1]
		if n := len(body); n > 0 && body[n-1] == '\r' {
			line = line[:n]
			line[n-1] = '\n'
			body = line[:n-1]
		}
		if len(bytes.TrimLeft(body, " \t\r")) == 0 {
			if r.follow != nil {
				r.follow.Drop()
			}
			continue
		}
		return Frame{line: line}, nil
	}
}

// line returns one line with its newline, in memory of its own.
func (r *Reader) line() ([]byte, error) {
	if r.r == r.w {
		r.r, r.w = 0, 0
	}
	seen := r.r
	for {
		if i := bytes.IndexByte(r.window[seen:r.w], '\n'); i >= 0 {
			end := seen + i + 1
			tail := r.window[r.r:end]
			r.r = end
			return r.finish(tail)
		}
		seen = r.w
		if r.err != nil {
			return r.last()
		}
		if r.w == len(r.window) {
			if r.r > 0 && r.total == 0 && r.w-r.r < len(r.window)/2 {
				r.w = copy(r.window, r.window[r.r:r.w])
				r.r = 0
			} else if r.total == 0 && r.w-r.r < firstLong {
				line, err := r.longLine()
				if line != nil || err != nil {
					return line, err
				}
				// It is longer still: in chunks.
			} else if err := r.spill(); err != nil {
				return nil, err
			}
			seen = r.w
		}
		r.fill()
	}
}

func (r *Reader) fill() {
	n, _ := r.read(r.window[r.w:])
	r.w += n
}

// read reads some bytes into p, or keeps the source's error.
func (r *Reader) read(p []byte) (int, error) {
	for range 100 {
		n, err := r.src.Read(p)
		if err != nil {
			r.err = err
		}
		if n > 0 || err != nil {
			return n, err
		}
	}
	r.err = io.ErrNoProgress
	return 0, r.err
}

// spill moves the window, full of one unfinished frame, to the chunks.
func (r *Reader) spill() error {
	r.chunks = append(r.chunks, r.window[r.r:r.w])
	r.total += r.w - r.r
	r.r, r.w = 0, 0
	if n := len(r.free); n > 0 {
		r.window, r.free = r.free[n-1], r.free[:n-1]
	} else {
		r.window = make([]byte, chunkSize)
	}
	if r.total > r.limit+2 {
		return r.skip()
	}
	return nil
}

// finish joins the chunks and the tail that ends the frame.
func (r *Reader) finish(tail []byte) ([]byte, error) {
	size := r.total + len(tail)
	if n := contentLen(r.chunks, tail); n > r.limit {
		defer r.recycle()
		var sk skim
		for _, c := range r.chunks {
			sk.feed(c)
		}
		sk.feed(tail)
		return nil, sk.tooLarge(int64(n), r.limit)
	}
	if r.total == 0 {
		return append(make([]byte, 0, len(tail)), tail...), nil
	}
	r.chunks = append(r.chunks, tail)
	line := bytes.Join(r.chunks, nil)
	r.chunks = r.chunks[:len(r.chunks)-1]
	r.recycle()
	if len(line) != size {
		panic("wire: lost bytes")
	}
	return line, nil
}

// contentLen is the length of the frame's body, without its line end.
func contentLen(chunks [][]byte, tail []byte) int {
	n := len(tail) - 1
	for _, c := range chunks {
		n += len(c)
	}
	if n > 0 && len(tail) > 1 && tail[len(tail)-2] == '\r' {
		n--
	}
	return n
}

func (r *Reader) recycle() {
	for _, c := range r.chunks {
		if cap(c) == chunkSize && len(r.free) < keepChunks {
			r.free = append(r.free, c[:chunkSize])
		}
	}
	clear(r.chunks)
	r.chunks, r.total = r.chunks[:0], 0
}

// skip drops the rest of a frame over the limit.
func (r *Reader) skip() error {
	var sk skim
	for _, c := range r.chunks {
		sk.feed(c)
	}
	size := int64(r.total)
	r.recycle()
	for {
		r.fill()
		if i := bytes.IndexByte(r.window[:r.w], '\n'); i >= 0 {
			sk.feed(r.window[:i])
			size += int64(i)
			r.r = i + 1
			return sk.tooLarge(size, r.limit)
		}
		sk.feed(r.window[:r.w])
		size += int64(r.w)
		r.r, r.w = 0, 0
		if r.err != nil {
			return sk.tooLarge(size, r.limit)
		}
	}
}

// last returns what stood behind the last newline, or the source's error.
func (r *Reader) last() ([]byte, error) {
	if r.total+r.w-r.r == 0 || !errors.Is(r.err, io.EOF) {
		return nil, r.err
	}
	tail := append(append(make([]byte, 0, r.w-r.r+1), r.window[r.r:r.w]...), '\n')
	r.r = r.w
	return r.finish(tail)
}
