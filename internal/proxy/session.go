package proxy

import (
	"io"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/spillway-mcp/spillway/internal/wire"
)

// session is what is known of one connection.
type session struct {
	opt  Options
	down *wire.Writer
	up   *upWriter

	workers sync.WaitGroup
	slots   chan struct{} // one a worker

	stopping  atomic.Bool // by the client's wish or ctx
	breakOnce sync.Once
	broken    chan struct{} // the client's stream cannot be written
	brokenErr error

	mu      sync.Mutex
	pending map[wire.IDKey]*call // the client's requests that have no answer yet
	seq     uint64
	idleC   chan struct{} // closed when pending is empty, once somebody waits
}

func newSession(opt Options) *session {
	return &session{
		opt:     opt,
		down:    wire.NewWriter(opt.Out),
		up:      &upWriter{Writer: wire.NewWriter(opt.Upstream.Stdin()), c: opt.Upstream.Stdin()},
		slots:   make(chan struct{}, workers),
		broken:  make(chan struct{}),
		pending: make(map[wire.IDKey]*call),
	}
}

// upWriter writes to the server's stdin.
type upWriter struct {
	*wire.Writer
	c io.Closer
}

func (u *upWriter) Close() { _ = u.c.Close() }

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
		delete(s.pending, key)
		if s.idleC != nil && len(s.pending) == 0 {
			close(s.idleC)
			s.idleC = nil
		}
	}
	return c
}

// takeAll forgets all requests and returns them in the order they came.
func (s *session) takeAll() []*call {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := make([]*call, 0, len(s.pending))
	for _, c := range s.pending {
		all = append(all, c)
	}
	clear(s.pending)
	slices.SortFunc(all, func(a, b *call) int { return int(int64(a.seq) - int64(b.seq)) })
	return all
}

func (s *session) inFlight() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.pending)
}

// idle is closed once no request is without an answer.
func (s *session) idle() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := make(chan struct{})
	if len(s.pending) == 0 {
		close(c)
	} else {
		s.idleC = c
	}
	return c
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
func (s *session) toClient(parts ...[]byte) { s.sent(s.down.Frame(parts...)) }
