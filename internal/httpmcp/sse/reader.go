package sse

import (
	"bytes"
	"io"
	"slices"
	"strings"
	"sync"
	"time"
)

const (
	smallWindow = 4 << 10  // what an idle stream holds
	largeWindow = 64 << 10 // while a message of more than that is read
	maxField    = 4 << 10  // bytes of an id or event name; longer ones are ignored
	lendAt      = 4 << 10  // data of so many bytes in one piece is not copied until the event is complete
)

var windows = sync.Pool{New: func() any { return new([largeWindow]byte) }}

// A Reader reads the events of one stream. It follows the reading rules of the
// HTML standard: lines end in LF, CR or CR LF, also where they are split between
// two reads; a byte order mark at the start is skipped; an event that the stream
// breaks off is dropped. It is for one goroutine.
type Reader struct {
	src   io.Reader
	limit int

	small    []byte
	win      []byte // read and not yet looked at: win[r:w]
	large    *[largeWindow]byte
	r, w     int
	lf, cr   int // there is no LF before win[lf], no CR before win[cr]
	err      error
	afterCR  bool // an LF that comes next belongs to the line before
	bomSeen  int  // bytes of a byte order mark that were skipped, 3 once it is settled
	lastID   string
	line     line
	event    event
	lent     bool // parts of the event lie in win
	borrowed []*[largeWindow]byte
}

// line is the state within one line.
type line struct {
	state state
	field field
	name  []byte
	value []byte
	long  bool // the value is over maxField
}

type state uint8

const (
	inName state = iota
	atValue
	inValue
	skipping
)

type field uint8

const (
	noField field = iota
	dataField
	nameField
	idField
	retryField
)

// event is what is known of the event that is being read.
type event struct {
	Event
	any   bool
	parts [][]byte // data so far, in order, and then tail
	tail  []byte
	size  int64
}

// NewReader reads events whose data is up to limit bytes; limit <= 0 means
// [DefaultLimit].
func NewReader(src io.Reader, limit int) *Reader {
	if limit <= 0 {
		limit = DefaultLimit
	}
	small := make([]byte, smallWindow)
	return &Reader{src: src, limit: limit, small: small, win: small}
}

// LastID is the last id that the stream gave, of an event that was complete.
func (r *Reader) LastID() string { return r.lastID }

// Next returns the next event. The error is io.EOF at the end of the stream, a
// *[TooLargeError], after which reading may go on, or what the source returned.
func (r *Reader) Next() (Event, error) {
	for {
		if r.r == r.w {
			if err := r.fill(); err != nil {
				r.event = event{}
				r.release()
				return Event{}, err
			}
		}
		if r.afterCR {
			r.afterCR = false
			if r.win[r.r] == '\n' {
				r.r++
				continue
			}
		}
		if r.bomSeen < 3 && r.mark() {
			continue
		}
		end := r.lineEnd()
		r.feed(r.win[r.r:end])
		r.r = end
		if end == r.w {
			continue
		}
		r.afterCR = r.win[end] == '\r'
		r.r++
		if ev, done, err := r.endLine(); done || err != nil {
			return ev, err
		}
	}
}

// mark skips a byte order mark at the start of the stream, one byte a call.
func (r *Reader) mark() bool {
	if r.win[r.r] == "\xEF\xBB\xBF"[r.bomSeen] {
		r.bomSeen++
		r.r++
		return true
	}
	if r.bomSeen > 0 {
		r.line.state = skipping // bytes that begin no known field
	}
	r.bomSeen = 3
	return false
}

// lineEnd is the index in win of the next line end, or w.
func (r *Reader) lineEnd() int {
	r.lf = r.find(r.lf, '\n')
	r.cr = r.find(r.cr, '\r')
	return min(r.lf, r.cr)
}

func (r *Reader) find(at int, c byte) int {
	at = max(at, r.r)
	if at < r.w && r.win[at] != c {
		if i := bytes.IndexByte(r.win[at:r.w], c); i >= 0 {
			return at + i
		}
		return r.w
	}
	return at
}

// feed takes a piece of the current line.
func (r *Reader) feed(b []byte) {
	l := &r.line
	for len(b) > 0 {
		switch l.state {
		case inName:
			i := bytes.IndexByte(b, ':')
			piece := b
			if i >= 0 {
				piece = b[:i]
			}
			if len(l.name)+len(piece) > len("event") || i == 0 && len(l.name) == 0 {
				l.state = skipping // unknown, or a comment
				return
			}
			l.name = append(l.name, piece...)
			if i < 0 {
				return
			}
			b = b[i+1:]
			r.startValue()
		case atValue:
			l.state = inValue
			if b[0] == ' ' {
				b = b[1:]
			}
		case inValue:
			if l.field == dataField {
				r.data(b)
			} else if len(l.value)+len(b) > maxField {
				l.long = true
			} else {
				l.value = append(l.value, b...)
			}
			return
		case skipping:
			return
		}
	}
}

func (r *Reader) startValue() {
	l := &r.line
	l.state = atValue
	switch string(l.name) {
	case "data":
		l.field = dataField
		if r.event.HasData {
			r.event.tail = append(r.event.tail, '\n')
			r.event.size++
		}
		r.event.HasData = true
	case "event":
		l.field = nameField
	case "id":
		l.field = idField
	case "retry":
		l.field = retryField
	default:
		l.state = skipping
		return
	}
	r.event.any = true
}

// data takes a piece of the event's data, which lies in win.
func (r *Reader) data(b []byte) {
	e := &r.event
	e.size += int64(len(b))
	switch {
	case e.size > int64(r.limit):
		e.parts, e.tail = nil, nil
	case len(b) < lendAt:
		e.tail = append(e.tail, b...)
	default:
		if len(e.tail) > 0 {
			e.parts = append(e.parts, e.tail)
			e.tail = nil
		}
		e.parts = append(e.parts, b)
		r.lent = true
	}
}

func (r *Reader) endLine() (Event, bool, error) {
	l := &r.line
	blank := l.state == inName && len(l.name) == 0
	if l.state == inName && !blank {
		r.startValue() // a field without a colon has an empty value
	}
	if l.state == atValue || l.state == inValue {
		r.setField()
	}
	l.state, l.field, l.long = inName, noField, false
	l.name, l.value = l.name[:0], l.value[:0]
	if !blank || !r.event.any {
		return Event{}, false, nil
	}
	return r.dispatch()
}

func (r *Reader) setField() {
	l, e := &r.line, &r.event
	if l.long {
		return
	}
	switch l.field {
	case nameField:
		e.Name = string(l.value)
	case idField:
		if !bytes.ContainsRune(l.value, 0) {
			e.ID = string(l.value)
			r.lastID = e.ID
		}
	case retryField:
		if ms, ok := digits(l.value); ok {
			e.Retry, e.HasRetry = time.Duration(ms)*time.Millisecond, true
		}
	}
}

// digits reads a retry time, capped at a day.
func digits(b []byte) (n int64, ok bool) {
	if len(b) == 0 || strings.TrimLeft(string(b), "0123456789") != "" {
		return 0, false
	}
	const day = 24 * 60 * 60 * 1000
	for _, c := range b {
		n = min(n*10+int64(c-'0'), day)
	}
	return n, true
}

func (r *Reader) dispatch() (Event, bool, error) {
	e := r.event
	e.ID = r.lastID
	switch {
	case e.size > int64(r.limit):
		r.event = event{}
		r.release()
		return Event{}, false, &TooLargeError{Size: e.size, Limit: r.limit}
	case len(e.parts) == 0:
		e.Data = e.tail
	default:
		e.Data = slices.Concat(append(e.parts, e.tail)...)
	}
	r.event = event{}
	r.release()
	return e.Event, true, nil
}

// release gives back the windows that parts of an event lay in.
func (r *Reader) release() {
	r.lent = false
	for _, w := range r.borrowed {
		windows.Put(w)
	}
	r.borrowed = r.borrowed[:0]
	if r.err != nil && r.large != nil && r.r == r.w {
		windows.Put(r.large)
		r.large, r.win, r.r, r.w = nil, r.small, 0, 0
	}
}

// fill reads more, when all of the window has been looked at.
func (r *Reader) fill() error {
	if r.err != nil {
		return r.err
	}
	r.turn()
	r.r, r.w, r.lf, r.cr = 0, 0, 0, 0
	for range 100 {
		n, err := r.src.Read(r.win)
		r.w, r.err = n, err
		if n > 0 {
			return nil
		}
		if err != nil {
			return err
		}
	}
	r.err = io.ErrNoProgress
	return r.err
}

// turn chooses the window to read into: a large one within large data, a small
// one else; and never one that parts of the event lie in.
func (r *Reader) turn() {
	if r.lent {
		if r.large == nil {
			r.small = make([]byte, smallWindow) // the parts keep the old one
		} else {
			r.borrowed = append(r.borrowed, r.large)
			r.large = nil
		}
		r.lent = false
	}
	if r.event.size >= smallWindow/2 {
		if r.large == nil {
			r.large = windows.Get().(*[largeWindow]byte)
		}
		r.win = r.large[:]
		return
	}
	if r.large != nil {
		windows.Put(r.large)
		r.large = nil
	}
	r.win = r.small
}
