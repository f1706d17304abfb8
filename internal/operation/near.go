package operation

import (
	"context"
	"errors"
)

// ErrNotHere is what a [Caller] of [WithServers] answers where it does not have
// a server, or not in a way that an operation can use. Nothing was sent.
var ErrNotHere = errors.New("no such server here")

type nearServers struct{}

// WithServers returns a context whose calls of tools go over near first: the
// connections that whoever asks has already, with its credentials. Servers that
// near does not have are reached as [Options] says.
func WithServers(ctx context.Context, near Caller) context.Context {
	if near == nil {
		return ctx
	}
	return context.WithValue(ctx, nearServers{}, near)
}

// callTool calls a tool over the connection that is nearest.
func (c *call) callTool(ctx context.Context, args, meta []byte) ([]byte, error) {
	if near, ok := ctx.Value(nearServers{}).(Caller); ok {
		result, err := near.CallTool(ctx, c.server, c.tool, args, meta)
		if !errors.Is(err, ErrNotHere) {
			return result, err
		}
	}
	if c.b.opt.Servers == nil {
		return nil, notSent(errors.New("no MCP servers can be called here"))
	}
	return c.b.opt.Servers.CallTool(ctx, c.server, c.tool, args, meta)
}
