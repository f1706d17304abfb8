package server

import (
	"time"
)

// Reply is where the answer to one request goes. Its methods never wait for the
// client and may be called from any goroutine. They take over the messages,
// which are written in their parts one behind the other and must not be changed
// any more.
type Reply struct {
	st *stream
}

// Related sends a message of the server that belongs to the request: progress,
// log, and in the legacy era the server's own requests. The answer becomes a
// stream by it. After an error nothing reaches the client any more.
func (r *Reply) Related(parts ...[]byte) error { return nil }

// Answer sends the response, whose id is the request's, and ends the request.
// Modern errors get the HTTP status that belongs to their code, if the response
// is no stream yet. A second answer is an error.
func (r *Reply) Answer(parts ...[]byte) error { return nil }

// Stream makes the answer a stream at once, because the upstream's is one.
func (r *Reply) Stream() {}

// Drop ends the HTTP response of a call that goes on, and has the client ask
// again after retry with the id of the last event; what is sent meanwhile is
// kept for it. Where the client cannot (before 2025-11-25, and modern) it does
// nothing.
func (r *Reply) Drop(retry time.Duration) {}
