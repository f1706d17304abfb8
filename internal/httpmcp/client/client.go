// Package client is the edge towards HTTP upstreams: Streamable HTTP of all
// revisions, and HTTP+SSE of 2024-11-05. It owns requests, streams, reconnecting
// and resumption, and which headers leave. Messages pass as the bytes they are;
// what they mean is the caller's business, save for the few members that the
// transport itself needs.
//
// Start with [New]. Legacy upstreams are spoken to through [Upstream.Session],
// modern ones through [Upstream.Stateless].
package client

import (
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"time"

	"github.com/spillway-mcp/spillway/internal/httpmcp"
	"github.com/spillway-mcp/spillway/internal/httpmcp/sse"
	"github.com/spillway-mcp/spillway/internal/wire"
)

// Options say where the upstream is. The zero value of a limit is its default.
type Options struct {
	Name string // what messages call the upstream
	URL  string // http or https; may hold secrets in its query: no message shows more than scheme and host

	Header  map[string]string // sent with every request
	Forward []string          // names of the clients' headers that are passed on; none by default (K66)

	TLS      *tls.Config // nil is the system's roots
	EnvProxy bool        // heed HTTP_PROXY, HTTPS_PROXY and NO_PROXY; off, because a proxy sees the credentials of plain http

	// HTTPSSE has legacy sessions use the transport of 2024-11-05 from the start.
	// Without it that is tried where an initialize is refused with a status that
	// says so.
	HTTPSSE bool

	MaxFrame    int           // bytes of one message; 64 MiB
	DialTime    time.Duration // to connect, and again for TLS; 10 s
	SilentTime  time.Duration // an answer without a byte for so long is broken; none: tools may take long, and TCP notices a peer that is gone
	Retry       time.Duration // before a broken stream is resumed, where the upstream names no time; 1 s
	MaxConns    int           // connections that are kept for reuse; 128
	MaxAttempts int           // to resume a broken stream, in a row; 5

	Log *slog.Logger // nil discards
}

// Outbound is one message to the upstream.
type Outbound struct {
	Message []byte
	Scan    wire.Message    // its spans; of the zero kind they are found
	Header  http.Header     // the client's own, of which Options.Forward names those to pass on; may be nil
	Params  []httpmcp.Param // of the tool that a modern tools/call calls, from the upstream's own schema; not used where Header has them from a modern client
}

// Answer gets what an upstream sends for one message. The functions are called
// one after the other, on the goroutine of the send; those that are nil are left
// out.
type Answer struct {
	// Message gets each message, progress and the server's own requests among
	// them; the response to the request is the last. It owns the bytes. A
	// response with a null id is given the request's.
	Message func(msg []byte)

	// Scanned is called instead of Message where it is there, with the spans of
	// the message, which then need not be found again.
	Scanned func(msg []byte, m wire.Message)

	// Stream is called when the answer turns out to be a stream.
	Stream func()

	// Dropped is called when the upstream has ended the stream before the
	// response (2025-11-25 lets it) and wants to be asked again after retry.
	// Asking again is done by this package.
	Dropped func(retry time.Duration)
}

// ErrSessionLost says that the upstream no longer knows the session: it has not
// handled the message. A new session has to be initialised (K61).
var ErrSessionLost = errors.New("the upstream has forgotten the session")

// ErrNoAnswer says that the upstream took the request and the stream of its
// answer ended without a response that could still be had: whether the request
// had an effect is unknown.
var ErrNoAnswer = errors.New("the answer ended without a response")

// TooLargeError reports an answer over Options.MaxFrame, which was not kept.
type TooLargeError = sse.TooLargeError

// StatusError is an HTTP status that says that the message was not handled, in
// an answer that is no JSON-RPC response.
type StatusError struct {
	Name      string
	Status    int
	Challenge string // the WWW-Authenticate header of a 401 or 403
	Body      string // its first bytes, where they are text
}

func (e *StatusError) Error() string {
	msg := fmt.Sprintf("upstream %s answered with HTTP status %d %s", e.Name, e.Status, http.StatusText(e.Status))
	if e.Body != "" {
		msg += ": " + e.Body
	}
	return msg
}
