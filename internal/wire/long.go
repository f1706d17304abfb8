package wire

import (
	"bytes"
	"errors"
	"io"
)

// longLine reads on with a line that fills the window, into memory of its own
// that becomes the frame's. It returns nothing, and leaves what it has read to
// the chunks, where the line is longer than mostLong: memory that is full is
// copied to twice as much, and of a very long line that would be too much.
func (r *Reader) longLine() ([]byte, error) {
	whole := false
	defer func() {
		if !whole && r.follow != nil {
			r.follow.Drop()
		}
	}()
	size := max(r.guess, firstLong)
	line := append(make([]byte, 0, size), r.window[r.r:r.w]...)
	r.r, r.w = 0, 0
	if r.follow != nil {
		r.follow.Begin(size)
		r.follow.More(line)
	}
	for {
		switch {
		case len(line) > r.limit+2:
			r.chunks, r.total = append(r.chunks, line), len(line)
			return nil, r.skip()
		case cap(line)-len(line) >= windowSize:
		case cap(line) < mostLong:
			line = append(make([]byte, 0, 2*cap(line)), line...)
		default:
			r.chunks, r.total = append(r.chunks, line), len(line)
			return nil, nil
		}
		// What is read beyond the line has to fit the window.
		from := len(line)
		n, err := r.read(line[from : from+windowSize])
		line = line[:from+n]
		if i := bytes.IndexByte(line[from:], '\n'); i >= 0 {
			end := from + i + 1
			r.w = copy(r.window, line[end:])
			line = line[:end:end]
		} else if err == nil {
			if r.follow != nil {
				r.follow.More(line)
			}
			continue
		} else if errors.Is(err, io.EOF) {
			line = append(line, '\n')
		} else {
			return nil, err
		}
		r.guess = min(len(line)+windowSize+len(line)/8, mostLong)
		if size := contentLen(nil, line); size > r.limit {
			var sk skim
			sk.feed(line)
			return nil, sk.tooLarge(int64(size), r.limit)
		}
		whole = true
		return line, nil
	}
}
