package gateway

import (
	"github.com/spillway-mcp/spillway/internal/wire"
)

// reads are the methods that are safe to send twice, besides calls of tools that
// say that they only read.
var reads = map[string]bool{
	"tools/list": true, "prompts/list": true, "prompts/get": true, "resources/list": true,
	"resources/templates/list": true, "resources/read": true, "resources/subscribe": true,
	"resources/unsubscribe": true, "completion/complete": true, "ping": true, "logging/setLevel": true,
	"tasks/get": true, "tasks/list": true, "tasks/result": true,
}

// sessionLost begins a new session with an upstream that has forgotten the one
// that o was sent on, once, and sends o again if it only reads (K61).
func (c *conn) sessionLost(p *peer, l *httpLine, o outbound) {
	name := p.src.cfg.Name
	p.mu.Lock()
	if p.line == l {
		p.profile = nil // the next to ask makes the handshake
	}
	p.mu.Unlock()
	if o.again {
		c.fail(p, o.f, o.m.ID.Of(o.msg), CodeSessionLost, "server "+name+" has forgotten its session twice in a row")
		return
	}
	c.g.opt.Log.Info("upstream has forgotten its session: beginning a new one", "server", name)
	next, _, err := p.open(o.ctx)
	if err != nil {
		c.failed(p, o, err)
		return
	}
	// An operation takes the upstream at its word: with the session it has
	// forgotten, or refused, the call (404).
	if o.f != nil && !c.mayRepeat(p, o) {
		c.fail(p, o.f, o.m.ID.Of(o.msg), CodeSessionLost,
			"server "+name+" has forgotten its session; a new one was begun, but the call was not repeated, since it may write: look whether it had an effect, and call again")
		return
	}
	o.again = true
	next.send(o)
}

// mayRepeat reports whether a request only reads. Of a tool it has to say so
// itself.
func (c *conn) mayRepeat(p *peer, o outbound) bool {
	method := methodOf(o.msg, o.m)
	if method != "tools/call" {
		return reads[method]
	}
	name := text(o.msg, o.m.Params, "name") // as the upstream knows it
	items, err := c.pages(o.ctx, p, "tools/list", "tools", "tools", nil, o.header)
	if err != nil {
		return false
	}
	for _, raw := range items {
		if text(raw, whole(raw), "name") == name {
			return string(wire.Path(raw, whole(raw), "annotations", "readOnlyHint").Of(raw)) == "true"
		}
	}
	return false
}
