package ledger

import (
	"bytes"
	"io"
	"runtime"
	"sync"
)

// maxLine is the longest line that is read, and how much is read at once; the
// Writer's lines are far shorter.
const maxLine = 1 << 20

// blocks cuts what a reader gives into blocks of whole lines. Several goroutines
// may take them.
type blocks struct {
	mu   sync.Mutex
	r    io.Reader
	rest []byte // of a line whose end is in the next block
	long bool   // within a line over maxLine
	over bool   // nothing is left
	err  error  // the reader's

	unreadable, torn int64 // lines over maxLine that have an end, and that have none
}

// next fills buf, which has maxLine bytes, and returns the lines in it. Last
// tells that none follow, and that the last of them may have no line end.
func (c *blocks) next(buf []byte) (lines []byte, last bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.over {
		return nil, true
	}
	held := copy(buf, c.rest)
	c.rest = c.rest[:0]
	for {
		n, err := io.ReadFull(c.r, buf[held:])
		data := buf[:held+n]
		if c.long {
			if i := bytes.IndexByte(data, '\n'); i >= 0 {
				c.unreadable++
				c.long = false
				data = data[i+1:]
			} else {
				data = data[:0]
			}
		}
		switch {
		case err == io.EOF || err == io.ErrUnexpectedEOF:
			c.over = true
			if c.long {
				c.torn++
			}
			return data, true
		case err != nil:
			c.over, c.err = true, err
			return nil, true
		}
		if i := bytes.LastIndexByte(data, '\n'); i >= 0 {
			c.rest = append(c.rest, data[i+1:]...)
			return data[:i+1], false
		}
		if len(data) == len(buf) {
			c.long = true
			data = data[:0]
		}
		held = copy(buf, data)
	}
}

// buffers are those of Read: a report reads many small ledgers.
var buffers = sync.Pool{New: func() any { return new([maxLine]byte) }}

// Read adds the lines of r, until its end. A last line without a line end is
// taken if it is whole, and counted as torn if not. The error is the reader's.
// Where the order of lines means nothing, blocks of them are added up side by
// side, on all processors; the sums are the same.
func (t *Tally) Read(r io.Reader) error {
	c := &blocks{r: r}
	buf := buffers.Get().(*[maxLine]byte)
	defer buffers.Put(buf)
	lines, last := c.next(buf[:])
	var parts []*Tally
	var wg sync.WaitGroup
	if !last && t.misses == nil && t.skip == nil {
		for range runtime.GOMAXPROCS(0) - 1 {
			part := NewTally()
			parts = append(parts, part)
			wg.Go(func() {
				buf := buffers.Get().(*[maxLine]byte)
				defer buffers.Put(buf)
				part.blocks(c, buf[:])
			})
		}
	}
	t.block(lines, last)
	if !last {
		t.blocks(c, buf[:])
	}
	wg.Wait()
	t.lines += c.unreadable + c.torn
	t.unreadable += c.unreadable
	t.torn += c.torn
	for _, part := range parts {
		t.merge(part)
	}
	return c.err
}

// blocks adds all that is left, a block at a time.
func (t *Tally) blocks(c *blocks, buf []byte) {
	for last := false; !last; {
		var lines []byte
		lines, last = c.next(buf)
		t.block(lines, last)
	}
}

// block adds lines. Open tells that the last one may have no line end.
func (t *Tally) block(lines []byte, open bool) {
	var rec record
	for len(lines) > 0 {
		i := bytes.IndexByte(lines, '\n')
		if i < 0 {
			t.line(&rec, lines, open)
			return
		}
		t.line(&rec, lines[:i], false)
		lines = lines[i+1:]
	}
}
