package server

// Client is the edge's side of one legacy session: the way to its client outside
// any call.
type Client struct {
	caller string
}

type stream struct{}

// Caller is the principal that the session is bound to. Requests of others get
// the same answer as for a session that never was.
func (c *Client) Caller() string { return c.caller }

// Revision is the revision that was negotiated; "" before that.
func (c *Client) Revision() string { return "" }

// Send sends a message that belongs to no call, on the client's GET stream.
// Where none is open it is kept, up to Options.MaxReplay, the oldest given up
// first. An error says that the session is closed.
func (c *Client) Send(parts ...[]byte) error { return nil }

// Listening reports whether a GET stream is open. A client without one does not
// see the server's requests outside calls: they are better answered by the core.
func (c *Client) Listening() bool { return false }

// Close ends the session: the client gets 404 from now on and starts again.
func (c *Client) Close() {}
