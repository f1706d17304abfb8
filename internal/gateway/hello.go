package gateway

import (
	"context"
	"strings"
	"sync"

	"github.com/spillway-mcp/spillway/internal/httpmcp"
	"github.com/spillway-mcp/spillway/internal/jsontape"
	"github.com/spillway-mcp/spillway/internal/wire"
)

func (g *Gateway) serverInfo() []byte {
	var o object
	o.setText("name", "spillway")
	o.setText("version", g.opt.Version)
	return o.bytes()
}

// initParams are those of our own initialize, which declares nothing.
func (g *Gateway) initParams(revision string) []byte {
	var o object
	o.setText("protocolVersion", revision)
	o.set("capabilities", []byte("{}"))
	o.set("clientInfo", g.serverInfo())
	return o.bytes()
}

// modernParams are those of our own modern requests.
func (g *Gateway) modernParams(meta []byte) []byte {
	if meta == nil {
		meta = g.modernMeta(nil)
	}
	var o object
	o.set("_meta", meta)
	return o.bytes()
}

// modernMeta is what our own modern requests say of us, and more.
func (g *Gateway) modernMeta(more []byte) []byte {
	var m object
	m.setText(metaRevision, httpmcp.Revision20260728)
	m.set("io.modelcontextprotocol/clientCapabilities", []byte("{}"))
	m.set("io.modelcontextprotocol/clientInfo", g.serverInfo())
	for it := wire.MembersOf(more, whole(more)); len(more) > 0 && it.Next(); {
		m.set(wire.Text(it.Key()), it.Value().Of(more))
	}
	return m.bytes()
}

// helloParams are what the client said in its own initialize, for upstreams that
// it has for itself.
func (c *conn) helloParams() []byte {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.hello != nil {
		return c.hello
	}
	return c.g.initParams(httpmcp.Revision20251125)
}

// initialize answers or passes the client's handshake.
func (c *conn) initialize(f *inflight, msg []byte, m wire.Message) {
	c.mu.Lock()
	c.hello = append([]byte(nil), m.Params.Of(msg)...)
	c.mu.Unlock()
	if f.header != nil {
		c.opened = f.header
	}
	if c.modern {
		c.refuse(f, httpmcp.CodeMethodNotFound, "initialize: this client has spoken revision 2026-07-28, which has no handshake")
		return
	}
	if c.solo {
		p := c.peers[0]
		if !p.src.shared {
			c.first(p, f, msg, m)
			return
		}
		c.beside(f, func() {
			_, prof, err := p.open(f.ctx)
			if err != nil {
				c.refuse(f, codeOf(err), "%v", err)
				return
			}
			c.reply(f, c.asAnswered(prof, text(msg, m.Params, "protocolVersion")))
		})
		return
	}
	c.beside(f, func() {
		c.openAll(f.ctx)
		c.reply(f, c.merged(text(msg, m.Params, "protocolVersion")))
	})
}

// first opens the line of a client's one upstream and passes the client's own
// handshake.
func (c *conn) first(p *peer, f *inflight, msg []byte, m wire.Message) {
	c.beside(f, func() {
		o := outbound{ctx: f.ctx, msg: msg, m: m, f: f, header: f.header, inline: f.inline.Load()}
		f.mu.Lock()
		f.peer = p
		f.mu.Unlock()
		if err := p.src.rests(); err != nil {
			c.failed(p, o, err)
			return
		}
		l, err := p.dial()
		if err != nil {
			p.src.failed(err, 0)
			c.failed(p, o, err)
			return
		}
		p.mu.Lock()
		prior := p.line
		p.line = l
		p.mu.Unlock()
		if prior != nil {
			prior.close()
		}
		l.send(o)
	})
}

// openAll opens all upstreams, side by side.
func (c *conn) openAll(ctx context.Context) {
	var wait sync.WaitGroup
	for _, p := range c.all() {
		wait.Go(func() {
			_, _, _ = p.open(ctx) // what fails is told by missing
		})
	}
	wait.Wait()
}

// revision is what a client that asks for want is answered.
func revision(want string) string {
	if httpmcp.Legacy(want) {
		return want
	}
	return httpmcp.Revision20251125
}

// asAnswered is a shared upstream's own answer to the handshake, less what
// cannot be shared.
func (c *conn) asAnswered(prof *profile, want string) []byte {
	b := prof.result
	if v := wire.Member(b, whole(b), "protocolVersion"); v.Present() {
		b = replace(b, v, jsontape.AppendQuote(nil, revision(want)))
	}
	caps := wire.Member(b, whole(b), "capabilities")
	if !wire.Member(b, caps, "logging").Present() {
		return b
	}
	var left object
	for it := wire.MembersOf(b, caps); it.Next(); {
		if name := wire.Text(it.Key()); name != "logging" {
			left.set(name, it.Value().Of(b))
		}
	}
	return replace(b, caps, left.bytes())
}

// merged is the handshake's answer for several upstreams.
func (c *conn) merged(want string) []byte {
	var o object
	o.setText("protocolVersion", revision(want))
	o.set("capabilities", c.capabilities())
	o.set("serverInfo", c.g.serverInfo())
	if text := c.instructions(); text != "" {
		o.setText("instructions", text)
	}
	return o.bytes()
}

// capabilities is the union of what the upstreams have. Tools are always there,
// and their list may always change: an upstream that is down may come back.
func (c *conn) capabilities() []byte {
	var subscribe, prompts, resources, completions, logging bool
	var tasks, experimental, extensions object
	for _, p := range c.all() {
		prof := p.known()
		if prof == nil {
			continue
		}
		b := prof.result
		prompts = prompts || prof.has("prompts")
		resources = resources || prof.has("resources")
		completions = completions || prof.has("completions")
		logging = logging || prof.has("logging") && !p.src.shared
		subscribe = subscribe || string(wire.Path(b, prof.caps, "resources", "subscribe").Of(b)) == "true"
		union(&tasks, b, wire.Member(b, prof.caps, "tasks"))
		union(&experimental, b, wire.Member(b, prof.caps, "experimental"))
		union(&extensions, b, wire.Member(b, prof.caps, "extensions"))
	}
	var o object
	if completions {
		o.set("completions", []byte("{}"))
	}
	if experimental.b != nil {
		o.set("experimental", experimental.bytes())
	}
	if extensions.b != nil {
		o.set("extensions", extensions.bytes())
	}
	if logging {
		o.set("logging", []byte("{}"))
	}
	if prompts {
		o.set("prompts", []byte(`{"listChanged":true}`))
	}
	switch {
	case subscribe:
		o.set("resources", []byte(`{"subscribe":true,"listChanged":true}`))
	case resources:
		o.set("resources", []byte(`{"listChanged":true}`))
	}
	if tasks.b != nil {
		o.set("tasks", tasks.bytes())
	}
	o.set("tools", []byte(`{"listChanged":true}`))
	return o.bytes()
}

// union adds the members of the object at sp that o does not have.
func union(o *object, b []byte, sp wire.Span) {
	if !isObject(b, sp) {
		return
	}
	for it := wire.MembersOf(b, sp); it.Next(); {
		name := wire.Text(it.Key())
		if has := o.bytes(); wire.Member(has, whole(has), name).Present() {
			continue
		}
		o.set(name, it.Value().Of(b))
	}
	if o.b == nil {
		o.b = []byte{'{'}
	}
}

// instructions joins those of the upstreams, each under its server's name, and
// says which servers are missing.
func (c *conn) instructions() string {
	var parts []string
	for _, p := range c.all() {
		prof := p.known()
		if prof == nil {
			continue
		}
		if own := text(prof.result, whole(prof.result), "instructions"); own != "" {
			parts = append(parts, "# "+p.src.cfg.Name+"\n\n"+strings.TrimSpace(own))
		}
	}
	if missing := c.missing(); missing != "" {
		parts = append(parts, "Not available now: "+missing+".")
	}
	return strings.Join(parts, "\n\n")
}
