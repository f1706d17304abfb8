// Package server is the edge towards HTTP clients: Streamable HTTP of all
// revisions on one endpoint, and HTTP+SSE of 2024-11-05 on two. It owns
// requests, streams, sessions, replay and limits. What the messages mean is the
// business of the [Core] behind it, which gets each message as the bytes that
// came and gives back bytes that leave as they are.
//
// Start with [New] and [Core]; serve it through [NewHTTPServer].
package server

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"time"

	"github.com/spillway-mcp/spillway/internal/httpmcp"
	"github.com/spillway-mcp/spillway/internal/wire"
)

// Core is what stands behind the edge. Its methods are called from many
// goroutines at once.
type Core interface {
	// Open starts a legacy session. It is called for an initialize request,
	// which is then the first message that the session receives. An error
	// refuses the session: a *httpmcp.Error is answered as it is, others as
	// internal errors without their text.
	Open(c *Client) (Session, error)

	// Serve takes one message of a modern client. See Session.Receive; ctx ends
	// also when the client closes the response, which cancels its request.
	Serve(ctx context.Context, in *Inbound)
}

// Session is the core's side of one legacy session.
type Session interface {
	// Receive takes one message. It is called on a goroutine of that message,
	// and the messages of a session may come side by side. Receive may wait for
	// the answer, but need not: in.Reply can be used from any goroutine, until
	// it has answered. The HTTP response does not end before it has returned, so
	// that one which uses Reply.Drop must not wait for what comes after it. Of a batch each message comes by itself. What is no
	// request is acknowledged to the client when Receive returns.
	//
	// ctx ends when the session is closed and when the time for a call is up
	// ([ErrTimeout] is its cause). The client's going away does not end it: in
	// the legacy era that cancels nothing.
	Receive(ctx context.Context, in *Inbound)

	// Close is called once, when the client has ended the session or left it
	// unused for too long, or the edge closes. It need not be called for what
	// Client.Close has ended.
	Close()
}

// Inbound is one message of a client. Core may keep it and Message; Header must
// not be changed.
type Inbound struct {
	Caller   string       // the principal, such as "token:ci"; never the credential
	Message  []byte       // one JSON-RPC message, as it came
	Scan     wire.Message // its spans
	Revision string       // of a modern message; "" for a legacy one, see Client.Revision
	Header   http.Header  // as they came: for those that are forwarded by name (K66), and httpmcp.CheckParams
	Reply    *Reply       // nil unless the message is a request
}

// The causes of the end of a message's context.
var (
	ErrTimeout = errors.New("the time for one call is up")
	ErrClosed  = errors.New("the session is closed")
	ErrGone    = errors.New("the client closed the response")
	ErrSlow    = errors.New("the client reads too slowly")
)

// Authenticator tells who sent a request. Its error is a *Denied or stands for
// one with status 401.
type Authenticator interface {
	Authenticate(r *http.Request) (caller string, err error)
}

// Denied refuses a request.
type Denied = httpmcp.Denied

// Options are the edge's limits and what it asks of requests. The zero value of
// a limit is its default, a negative one no limit.
type Options struct {
	Auth Authenticator // nil: everyone is Anonymous, which is for loopback only

	// Hosts and Origins are accepted besides loopback ones: "mcp.example.com",
	// "https://app.example.com". A connection that comes in on a loopback
	// address must name a loopback host or one of Hosts; elsewhere the host is
	// checked where Hosts is set. An Origin is checked everywhere.
	Hosts, Origins []string

	MaxBody     int // bytes of one request body; 64 MiB
	MaxCalls    int // messages of one caller that are in work at once, 256; above it 429
	MaxStreams  int // GET and subscription streams of one caller at once; 1024
	MaxSessions int // legacy sessions of one caller; 10000
	MaxReplay   int // bytes of events that a session keeps for resumption and for a GET stream to come; 1 MiB
	MaxQueue    int // bytes that wait for one modern client that reads slowly; 8 MiB

	CallTime    time.Duration // for one call, streams that only listen apart; 1 h
	CancelTime  time.Duration // for the answer to a legacy call that its client has cancelled, which then ends without one; 5 s
	IdleSession time.Duration // a session without calls and streams ends after it; 1 h
	ReadTime    time.Duration // for a body to arrive, and then 16 KiB a second; 15 s
	WriteTime   time.Duration // for a write to be taken, and then 16 KiB a second; 30 s
	KeepAlive   time.Duration // between comments on a silent stream; 15 s
	StreamAfter time.Duration // a legacy call that takes longer becomes a stream, so that it can be resumed; 10 s

	Log *slog.Logger // nil discards
}

// Anonymous is the caller of every request where nothing authenticates.
const Anonymous = "anonymous"
