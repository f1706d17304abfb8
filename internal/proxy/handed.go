package proxy

import (
	"log/slog"
	"sync"

	"github.com/spillway-mcp/spillway/internal/upstream"
	"github.com/spillway-mcp/spillway/internal/wire"
	"github.com/spillway-mcp/spillway/reduce"
)

// Down takes a message for the client, in parts that stand one behind the other
// and that it may keep. id is that of the request which the message answers, as
// the client wrote it; nil of other messages.
type Down func(id []byte, parts ...[]byte)

// Up takes a message for the server, like [Down]. It may be called from several
// goroutines at once.
type Up func(parts ...[]byte) error

// A Session is a session whose messages are handed over, in both directions,
// instead of read from streams: for clients and servers that are no pair of
// pipes. All its methods may be called from many goroutines at once; the order
// of messages is then the caller's business.
type Session struct {
	s    *session
	gone chan struct{}
	end  sync.Once
}

// NewSession makes a session between down and up. Of opt, In, Out, Upstream,
// RulesChanged, OperationsChanged and Drain have no meaning here; name is what messages call the
// server.
func NewSession(name string, opt Options, down Down, up Up) *Session {
	if opt.ExpandBudget <= 0 {
		opt.ExpandBudget = reduce.DefaultExpandBudget
	}
	if opt.Log == nil {
		opt.Log = slog.New(slog.DiscardHandler)
	}
	gone := make(chan struct{})
	opt.Upstream = elsewhere{name: name, gone: gone}
	s := newSession(opt)
	s.hand, s.up.hand = down, up
	return &Session{s: s, gone: gone}
}

// FromClient takes a message of the client over.
func (s *Session) FromClient(msg []byte) { s.s.fromClient(wire.BareFrame(msg)) }

// FromServer takes over a message of the server, whose spans are m. Where a
// result has to be reduced, and inline is set, it is on this goroutine; else
// FromServer returns before.
func (s *Session) FromServer(msg []byte, m wire.Message, inline bool) {
	s.s.fromServerAs(wire.BareFrame(msg), m, nil, inline)
}

// Fail answers the client's request with this raw id, which the server will not
// answer, with an error, unless it is answered already.
func (s *Session) Fail(id []byte, code int, why string) {
	if c := s.s.take(wire.KeyOf(id)); c != nil {
		if c.kind == ownPage {
			s.s.ownDone()
		}
		s.s.abandon(c, code, why)
	}
}

// ToolsChanged tells the client that its list of tools is old (RED-51). It is
// for the caller to tell that the rules, or the operations, are others than
// before.
func (s *Session) ToolsChanged() { s.s.toolsChanged() }

// Close ends the session and waits for what it works on. Requests without an
// answer are answered with an error.
func (s *Session) Close() {
	s.end.Do(func() {
		s.s.stopping.Store(true)
		close(s.gone)
		close(s.s.ended)
		s.s.own.sent.Dismiss()
		s.s.workers.Dismiss()
		s.s.answerAbandoned()
		s.s.rec.w.Close()
	})
}

// elsewhere stands for the server of a Session.
type elsewhere struct {
	Upstream // nil: a Session has no streams
	name     string
	gone     chan struct{}
}

func (e elsewhere) Name() string              { return e.name }
func (e elsewhere) Done() <-chan struct{}     { return e.gone }
func (e elsewhere) Exit() *upstream.ExitError { return nil }
