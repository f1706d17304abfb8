package client

import (
	"context"
	"net/http"
)

// Upstream is one HTTP server and the connections to it. It is safe for
// concurrent use.
type Upstream struct {
	opt Options
}

// New checks the options; it connects to nothing.
func New(opt Options) (*Upstream, error) { return &Upstream{opt: opt}, nil }

// Close closes idle connections. Sends in flight go on.
func (u *Upstream) Close() {}

// Stateless sends one message to a modern upstream, with the headers that repeat
// its body. It returns when the response has been given to a, or when the
// upstream has taken a notification. Ending ctx closes the response, which
// cancels the request.
//
// Errors: *[StatusError], [ErrNoAnswer], the cause of ctx, or what the network
// said. A JSON-RPC error is an answer and no error.
func (u *Upstream) Stateless(ctx context.Context, out Outbound, a Answer) error { return nil }

// An Era tells how an upstream wants to be spoken to.
type Era int

// The eras.
const (
	Legacy Era = iota
	Modern
)

// Probe asks which era the upstream is of, by sending discover, a
// server/discover request. It returns the answer too, if it was a response. An
// upstream that cannot be asked at all is an error.
func (u *Upstream) Probe(ctx context.Context, discover Outbound) (Era, []byte, error) {
	return Legacy, nil, nil
}

// Session is one legacy session. It is made by [Upstream.Session] and begins
// with the first Send, which must be of the initialize request; the id that the
// upstream gives and the revision that it answers with go into the headers of
// what is sent after. It is safe for concurrent use.
type Session struct{ u *Upstream }

// Session starts a session. Of forward, the headers of the client whose session
// it is, those that Options.Forward names go out with the GET stream and the end
// of the session too; it may be nil.
func (u *Upstream) Session(forward http.Header) *Session { return &Session{u} }

// Send sends one message. For a request it returns when its response has been
// given to a, after resuming a broken stream where the upstream can; else when
// the upstream has taken it. Ending ctx ends the wait and cancels nothing
// upstream: send notifications/cancelled for that.
//
// Errors: [ErrSessionLost], *[StatusError], [ErrNoAnswer], the cause of ctx, or
// what the network said. A JSON-RPC error is an answer and no error.
func (s *Session) Send(ctx context.Context, out Outbound, a Answer) error { return nil }

// Listen runs the GET stream and gives its messages to on, one after the other,
// until ctx ends. It connects again after a break and resumes behind the last
// event. It returns nil when the upstream offers no such stream, and
// [ErrSessionLost]. Call it once, after the initialized notification is sent.
func (s *Session) Listen(ctx context.Context, on func(msg []byte)) error { return nil }

// Revision is what the upstream answered to initialize.
func (s *Session) Revision() string { return "" }

// Close tells the upstream that the session is over (DELETE).
func (s *Session) Close(ctx context.Context) error { return nil }
