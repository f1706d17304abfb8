package server

import (
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// An event is one message on its way to the client.
type event struct {
	parts  [][]byte
	size   int
	answer bool // a response, of which a stream of calls has as many as it has calls
}

// A stream is what the server sends in answer to one POST, or outside of any.
// In the legacy era its events are numbered from 1 and kept for a while, so that
// the client can have them again; in the modern one they are forgotten as they
// are written. All fields need mu.
type stream struct {
	mu      *sync.Mutex // the session's; of its own where there is none
	c       *Client     // nil in the modern era
	num     uint64      // within the session; 0 is what belongs to no call
	base    uint64      // the number of events[0]
	events  []event
	bytes   int
	sent    uint64 // the number of the last event that was written
	open    int    // calls without an answer
	replies []*Reply
	reader  *reader   // who writes it to the client
	forced  bool      // to be a stream whatever comes
	lost    bool      // nobody can ask for it any more
	refused bool      // it answers an initialize that failed
	stopped error     // nothing is sent any more
	ended   time.Time // of the last answer
}

// reader is a response that a stream is written to.
type reader struct {
	wake  chan struct{} // holds one
	next  uint64        // the event to write next
	drop  bool          // end it: the client is to ask again
	retry time.Duration
	end   error // end it: another took its place, or the session is closed

	serve    func()      // begins to write while Receive goes on; nil once it is running
	pressing func() bool // whether there is something to write
}

func newStream(mu *sync.Mutex, c *Client) *stream { return &stream{mu: mu, c: c, base: 1} }

// next is the number that the next event gets.
func (st *stream) next() uint64 { return st.base + uint64(len(st.events)) }

// append adds an event.
func (st *stream) append(ev event) {
	for _, p := range ev.parts {
		ev.size += len(p)
	}
	st.events = append(st.events, ev)
	st.bytes += ev.size
	if st.c != nil {
		st.c.bytes += ev.size
		st.c.evict(st)
	}
	st.wake()
}

func (st *stream) wake() {
	if st.reader != nil {
		st.reader.wakeUp()
	}
}

// wakeUp has the reader look again. Nobody reads yet while Session.Receive runs
// on the request's goroutine; then something that can be written starts it beside
// that, and all else waits.
func (rd *reader) wakeUp() {
	if rd.serve != nil && rd.pressing() {
		go rd.takeServe()()
		return
	}
	select {
	case rd.wake <- struct{}{}:
	default:
	}
}

func (rd *reader) takeServe() func() {
	serve := rd.serve
	rd.serve = nil
	return serve
}

// attach makes a reader that starts at event number from; what read before
// ends. A number of 0 is behind what was written, or is being written.
func (st *stream) attach(from uint64) *reader {
	if st.reader != nil {
		if from == 0 {
			from = st.reader.next
		}
		st.reader.end = errReplaced
		st.reader.wakeUp()
	}
	if from == 0 {
		from = st.sent + 1
	}
	st.reader = &reader{wake: make(chan struct{}, 1), next: min(max(from, st.base), st.next())}
	st.reader.wakeUp()
	return st.reader
}

func (st *stream) detach(rd *reader) {
	if st.reader == rd {
		st.reader = nil
		if st.c != nil {
			st.c.evict(nil)
		}
	}
}

// stop ends the stream where it stands.
func (st *stream) stop(err error) {
	st.stopped = err
	if st.reader != nil {
		st.reader.end = err
		st.reader.wakeUp()
	}
}

// take returns the events from the reader's place on, which moves behind them.
func (st *stream) take(rd *reader) []event {
	rd.next = max(rd.next, st.base) // what was given up meanwhile is a gap
	evs := st.events[rd.next-st.base:]
	rd.next = st.next()
	if st.c == nil {
		st.base, st.events, st.bytes = rd.next, nil, 0
		return evs
	}
	return slices.Clone(evs)
}

// id is the id of event number n, by which the client asks for what follows.
func (st *stream) id(n uint64) string {
	var buf [42]byte
	b := append(strconv.AppendUint(buf[:0], st.num, 10), '-')
	return string(strconv.AppendUint(b, n, 10))
}

// parseID undoes id.
func parseID(s string) (stream, event uint64, ok bool) {
	a, b, found := strings.Cut(s, "-")
	stream, err1 := strconv.ParseUint(a, 10, 64)
	event, err2 := strconv.ParseUint(b, 10, 64)
	return stream, event, found && err1 == nil && err2 == nil && event < 1<<62
}

// evict keeps the session's events within their limit: it gives up answered
// calls, the oldest first, and then the oldest events of the stream that grows,
// whose last one it leaves. It needs mu.
func (c *Client) evict(grows *stream) {
	limit := c.s.opt.MaxReplay
	for i := 0; c.bytes > limit && i < len(c.finished); {
		if st := c.finished[i]; st != grows && st.reader == nil {
			c.forget(st)
			continue
		}
		i++
	}
	for st := grows; st != nil && c.bytes > limit && len(st.events) > 1; {
		c.bytes -= st.events[0].size
		st.bytes -= st.events[0].size
		st.events[0] = event{}
		st.events = st.events[1:]
		st.base++
	}
}

// register gives the stream its number among those of the session's calls.
func (c *Client) register(st *stream) {
	c.seq++
	st.num = c.seq
	if c.streams == nil {
		c.streams = map[uint64]*stream{}
	}
	c.streams[st.num] = st
}

// forget drops a stream with what is kept of it.
func (c *Client) forget(st *stream) {
	if c.streams[st.num] != st {
		return
	}
	delete(c.streams, st.num)
	c.bytes -= st.bytes
	if i := slices.Index(c.finished, st); i >= 0 {
		c.finished = slices.Delete(c.finished, i, i+1)
	}
}
