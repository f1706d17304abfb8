package proxy

import (
	"cmp"
	"io"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/spillway-mcp/spillway/internal/ledger"
	"github.com/spillway-mcp/spillway/internal/wire"
)

// session is what is known of one connection.
type session struct {
	opt  Options
	down *wire.Writer
	up   *upWriter
	hand Down   // nil: down has the client's stream
	id   string // in the ledger only

	ahead   ahead // of the goroutine that reads the server
	workers crew
	running crew          // operations
	slots   chan struct{} // one a worker

	ended     chan struct{} // closed when the session ends
	stopping  atomic.Bool   // by the client's wish or ctx
	mute      atomic.Bool   // the server closed its stdout and went on
	breakOnce sync.Once
	broken    chan struct{} // the client's stream cannot be written
	brokenErr error
	warned    sync.Map // what was said once and need not be said again

	digestKey []byte
	repeats   ledger.Repeats
	rec       recording

	mu        sync.Mutex
	pending   map[wire.IDKey]*call // the client's requests that have no answer yet
	cancelled []*call              // of those, the cancelled ones, the oldest first
	seq       uint64
	calls     int           // of operations, at the server
	idleC     chan struct{} // closed when nothing is in flight, once somebody waits
	tasks     tasks
	profile   profile
	tools     toolList
	own       ownList
}

// workers bounds the results that are reduced at once: more would hold more
// large results in memory and finish none of them sooner.
const workers = 4

// maxCancelled bounds the cancelled requests whose answer may still come.
const maxCancelled = 256

func newSession(opt Options) *session {
	return &session{
		opt:       opt,
		down:      wire.NewWriter(opt.Out),
		up:        new(upWriter),
		id:        newSessionID(),
		slots:     make(chan struct{}, workers),
		broken:    make(chan struct{}),
		ended:     make(chan struct{}),
		digestKey: ledger.NewKey(),
		rec:       recording{began: time.Now()},
		pending:   make(map[wire.IDKey]*call),
	}
}

// upWriter writes to the server's stdin.
type upWriter struct {
	*wire.Writer
	c    io.Closer
	hand Up // nil: Writer has the server's stream
}

func (u *upWriter) Close() { _ = u.c.Close() }

func (u *upWriter) Forward(f wire.Frame) error {
	if u.hand != nil {
		return u.hand(f.Body())
	}
	return u.Writer.Forward(f)
}

func (u *upWriter) Frame(parts ...[]byte) error {
	if u.hand != nil {
		return u.hand(parts...)
	}
	return u.Writer.Frame(parts...)
}

// add remembers a request until it is answered. An id used twice at once, which
// no client may do, leaves the first to be answered unseen.
func (s *session) add(c *call) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.seq++
	c.seq = s.seq
	s.pending[c.key] = c
}

// take returns the request that a response answers, and forgets it.
func (s *session) take(key wire.IDKey) *call {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.pending[key]
	if c != nil {
		s.forget(c)
	}
	return c
}

// cancel notes that the client gave a request up. Its answer may still come,
// and is reduced like any other.
func (s *session) cancel(key wire.IDKey) (ours bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, h := range s.own.held {
		if h.c.key == key {
			h.c.cancelled = true
			return false
		}
	}
	c := s.pending[key]
	if c == nil || c.cancelled {
		return false
	}
	c.cancelled = true
	if c.stop != nil {
		c.stop()
	}
	c.end()
	s.cancelled = append(s.cancelled, c)
	if len(s.cancelled) > maxCancelled {
		oldest := s.cancelled[0]
		s.forget(oldest)
		s.workers.Go(func() { s.accountStopped(oldest) })
	}
	s.wake()
	return c.stop != nil
}

func (s *session) forget(c *call) {
	if s.pending[c.key] == c {
		delete(s.pending, c.key)
	}
	c.end()
	if c.cancelled {
		s.cancelled = slices.DeleteFunc(s.cancelled, func(x *call) bool { return x == c })
	}
	s.wake()
}

// takeAll forgets all requests and returns them in the order they came.
func (s *session) takeAll() []*call {
	s.mu.Lock()
	defer s.mu.Unlock()
	var all []*call
	for _, c := range s.pending {
		all = append(all, c)
	}
	clear(s.pending)
	s.cancelled = nil
	slices.SortFunc(all, func(a, b *call) int { return cmp.Compare(a.seq, b.seq) })
	for _, h := range s.own.held {
		all = append(all, h.c)
	}
	s.own.held = nil
	return all
}

// busy counts the requests that the server works on for the client.
func (s *session) busy() (n int) {
	for _, c := range s.pending {
		if !c.cancelled && c.kind != listen && c.kind != ownPage {
			n++
		}
	}
	return n
}

func (s *session) inFlight() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.busy()
}

// idle is closed once no request is without an answer.
func (s *session) idle() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := make(chan struct{})
	s.idleC = c
	s.wake()
	return c
}

func (s *session) wake() {
	if s.idleC != nil && s.busy() == 0 {
		close(s.idleC)
		s.idleC = nil
	}
}

// work runs f beside the pumps, when there is a slot for it.
func (s *session) work(f func()) {
	s.slots <- struct{}{}
	if !s.workers.Go(func() {
		defer func() { <-s.slots }()
		f()
	}) {
		<-s.slots
	}
}

// inSlot runs f on this goroutine, when there is a slot for it.
func (s *session) inSlot(f func() change) change {
	s.slots <- struct{}{}
	defer func() { <-s.slots }()
	return f()
}

// sent notes that a write to the client failed: nothing more reaches it.
func (s *session) sent(err error) {
	if err != nil {
		s.breakOnce.Do(func() {
			s.brokenErr = err
			close(s.broken)
		})
	}
}

// toClient writes one message made of parts.
func (s *session) toClient(parts ...[]byte) { s.answerTo(nil, parts...) }

// answerTo is toClient for the answer to the request with this raw id.
func (s *session) answerTo(id []byte, parts ...[]byte) {
	if s.hand != nil {
		s.hand(id, parts...)
		return
	}
	s.sent(s.down.Frame(parts...))
}

// once reports whether this is the first time for key.
func (s *session) once(key string) bool {
	_, seen := s.warned.LoadOrStore(key, true)
	return !seen
}
