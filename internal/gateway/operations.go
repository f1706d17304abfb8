package gateway

import (
	"context"
	"errors"
	"net/http"

	"github.com/spillway-mcp/spillway/internal/httpmcp"
	"github.com/spillway-mcp/spillway/internal/httpmcp/client"
	"github.com/spillway-mcp/spillway/internal/operation"
	"github.com/spillway-mcp/spillway/internal/wire"
)

// operator calls upstreams for an operation over the connections that its
// client has: no second instance is started, and each caller's credentials are
// its own.
type operator struct {
	c      *conn
	header http.Header // of the request that the operation runs for
}

// operator makes the one for a request with this id.
func (c *conn) operator(id []byte) operation.Caller {
	o := operator{c: c}
	if f := c.find(wire.KeyOf(id)); f != nil {
		o.header = f.header
	}
	return o
}

// CallTool implements [operation.Caller]. tool is the upstream's own name for
// it. Where the upstream does not speak the client's era there is no connection
// that could be shared.
func (o operator) CallTool(ctx context.Context, server, tool string, arguments, meta []byte) ([]byte, error) {
	c := o.c
	p := c.peerNamed(server)
	if p == nil || c.ctx.Err() != nil { // a task may outlive its client's session
		return nil, operation.ErrNotHere
	}
	l, _, err := p.open(ctx)
	switch {
	case errors.As(err, new(*otherEra)):
		return nil, operation.ErrNotHere
	case err != nil:
		return nil, &operation.CallError{Kind: "start", Err: err}
	}
	var params object
	params.setText("name", tool)
	params.set("arguments", arguments)
	if c.modern {
		meta = c.g.modernMeta(meta)
	}
	params.set("_meta", meta)
	msg, m, err := c.ask(ctx, p, l, "tools/call", params.bytes(), o.header, c.paramsAt(p, tool))
	var status *client.StatusError
	switch {
	case errors.As(err, &status):
		return nil, &operation.CallError{Kind: "http", Status: status.Status, Text: status.Body, Err: err}
	case errors.As(err, new(*otherEra)):
		return nil, operation.ErrNotHere // it refused the request for its revision
	case err != nil:
		return nil, &operation.CallError{Kind: "transport", Err: err}
	case m.Error.Present():
		return nil, &operation.CallError{Kind: "rpc", Code: string(wire.Member(msg, m.Error, "code").Of(msg)), Text: text(msg, m.Error, "message")}
	}
	return m.Result.Of(msg), nil
}

func (c *conn) peerNamed(server string) *peer {
	for _, p := range c.all() {
		if p.src.cfg.Name == server {
			return p
		}
	}
	return nil
}

// paramsAt are the arguments of an upstream's tool that are repeated in headers.
func (c *conn) paramsAt(p *peer, tool string) []httpmcp.Param {
	if cat := c.catalog.Load(); cat != nil {
		for _, e := range cat.tools {
			if e.src == p.src && e.name == tool {
				return e.params
			}
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.params[tool]
}
