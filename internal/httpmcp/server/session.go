package server

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"sync"
	"time"

	"github.com/spillway-mcp/spillway/internal/httpmcp"
	"github.com/spillway-mcp/spillway/internal/wire"
)

// Client is the edge's side of one legacy session: the way to its client outside
// any call.
type Client struct {
	s       *Server
	id      string // what the client shows; a secret
	caller  string
	session Session
	ctx     context.Context
	end     context.CancelCauseFunc

	mu       sync.Mutex // guards the streams too
	revision string
	streams  map[uint64]*stream // by number, those of calls; nil while there is none
	finished []*stream          // of those, the answered ones, the oldest first
	outside  *stream            // what belongs to no call; nil while there is nothing
	seq      uint64             // number of the last stream
	bytes    int                // of the events kept
	used     time.Time
	closed   bool
	single   bool // HTTP+SSE: one stream carries all, and its end ends the session
}

// newClient starts a session, without the core's side of it, for which there is
// a count already.
func (s *Server) newClient(caller string, single bool) *Client {
	c := &Client{s: s, id: rand.Text(), caller: caller, used: time.Now(), single: single}
	c.ctx, c.end = context.WithCancelCause(s.ctx)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sessions[c.id] = c
	if s.sweeper == nil && !s.closed {
		s.sweeper = time.AfterFunc(s.sweepEvery(), s.sweep)
	}
	return c
}

// open has the core open its side. An error is what to answer.
func (c *Client) open() *httpmcp.Error {
	session, err := c.s.core.Open(c)
	if err == nil {
		c.mu.Lock()
		c.session = session
		closed := c.closed
		c.mu.Unlock()
		if !closed {
			return nil
		}
		session.Close()
		return httpmcp.Errorf(CodeClosing, "the server is closing")
	}
	c.finish(false)
	var e *httpmcp.Error
	if !errors.As(err, &e) {
		c.s.opt.Log.Error("session refused", "caller", c.caller, "err", err)
		e = httpmcp.Errorf(httpmcp.CodeInternal, "the session could not be opened")
	}
	return e
}

// client finds a session of the caller. Those of others are as unknown as those
// that never were.
func (s *Server) client(id, caller string) *Client {
	s.mu.Lock()
	c := s.sessions[id]
	s.mu.Unlock()
	if c == nil || c.caller != caller {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return nil
	}
	c.used = time.Now()
	return c
}

// Caller is the principal that the session is bound to. Requests of others get
// the same answer as for a session that never was.
func (c *Client) Caller() string { return c.caller }

// Revision is the revision that was negotiated; "" before that.
func (c *Client) Revision() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.revision
}

// Send sends a message that belongs to no call, on the client's GET stream.
// Where none is open it is kept, up to Options.MaxReplay, the oldest given up
// first. An error says that the session is closed.
func (c *Client) Send(parts ...[]byte) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return ErrClosed
	}
	c.stream0().append(event{parts: parts})
	return nil
}

// stream0 is the stream of what belongs to no call.
func (c *Client) stream0() *stream {
	if c.outside == nil {
		c.outside = newStream(&c.mu, c)
	}
	return c.outside
}

// Listening reports whether a GET stream is open. A client without one does not
// see the server's requests outside calls: they are better answered by the core.
func (c *Client) Listening() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.outside != nil && c.outside.reader != nil
}

// Close ends the session: the client gets 404 from now on and starts again.
func (c *Client) Close() { c.finish(false) }

// finish ends the session, and tells the core where it does not know.
func (c *Client) finish(tell bool) {
	c.mu.Lock()
	if c.closed {
		c.mu.Unlock()
		return
	}
	c.closed = true
	var open []*Reply
	for _, st := range c.streams {
		open = append(open, st.replies...)
		st.stop(ErrClosed)
	}
	if c.outside != nil {
		c.outside.stop(ErrClosed)
	}
	c.streams, c.finished, c.outside, c.bytes = nil, nil, nil, 0
	session := c.session
	c.mu.Unlock()
	c.end(ErrClosed)
	for _, r := range open {
		r.abandon(ErrClosed)
	}
	c.s.mu.Lock()
	delete(c.s.sessions, c.id)
	c.s.mu.Unlock()
	c.s.give(c.caller, oneSession)
	if tell && session != nil {
		session.Close()
	}
}

// negotiate takes the revision from the response to initialize, and reports
// whether there is a session now.
func (c *Client) negotiate(parts [][]byte) bool {
	msg := bytes.Join(parts, nil)
	m, err := wire.Scan(msg)
	if err != nil || !m.Result.Present() || m.Error.Present() {
		return false
	}
	revision := wire.Text(wire.Member(msg, m.Result, "protocolVersion").Of(msg))
	c.mu.Lock()
	defer c.mu.Unlock()
	c.revision = revision
	return true
}

// polls reports whether the client knows of streams that the server drops, and
// of the empty event that starts them. It needs mu.
func (c *Client) polls() bool { return c.revision >= httpmcp.Revision20251125 }

const keepFinished = time.Minute // answered calls whose stream may still be resumed

func (s *Server) sweepEvery() time.Duration {
	return min(keepFinished/2, max(s.opt.IdleSession/4, time.Second))
}

// sweep ends sessions that nobody uses, and forgets answers that were to be had
// again for long enough.
func (s *Server) sweep() {
	s.mu.Lock()
	all := make([]*Client, 0, len(s.sessions))
	for _, c := range s.sessions {
		all = append(all, c)
	}
	switch {
	case s.closed:
	case len(all) == 0:
		s.sweeper = nil
	default:
		s.sweeper.Reset(s.sweepEvery())
	}
	s.mu.Unlock()
	now := time.Now()
	for _, c := range all {
		if c.idle(now) {
			s.opt.Log.Debug("session ended: it was idle", "caller", c.caller, "for", s.opt.IdleSession)
			c.finish(true)
		}
	}
}

func (c *Client) idle(now time.Time) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	for len(c.finished) > 0 && c.finished[0].reader == nil && now.Sub(c.finished[0].ended) > keepFinished {
		c.forget(c.finished[0])
	}
	if c.outside != nil && c.outside.reader != nil || len(c.streams) > len(c.finished) {
		c.used = now
		return false
	}
	return now.Sub(c.used) > c.s.opt.IdleSession
}
