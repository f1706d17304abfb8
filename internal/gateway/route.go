package gateway

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spillway-mcp/spillway/internal/jsontape"
	"github.com/spillway-mcp/spillway/internal/wire"
)

// up takes what the proxy session has for the upstreams: requests and
// notifications of the client, and requests of its own.
func (c *conn) up(parts ...[]byte) error {
	msg := join(parts)
	m, err := wire.Scan(msg)
	if err != nil {
		return nil // no upstream could be told from it
	}
	switch m.Kind {
	case wire.Request:
		f := c.find(wire.KeyOf(m.ID.Of(msg)))
		if f == nil { // the session's own
			f = &inflight{ctx: c.ctx, id: m.ID.Of(msg), method: methodOf(msg, m), key: wire.KeyOf(m.ID.Of(msg)), header: c.opened}
		}
		c.route(f, msg, m)
	case wire.Notification:
		c.told(msg, m)
	}
	return nil
}

// gone are the methods that modern revisions do not have.
var gone = map[string]bool{
	"ping": true, "logging/setLevel": true, "resources/subscribe": true, "resources/unsubscribe": true,
	"tasks/list": true, "tasks/result": true,
}

// route sends a request where it belongs.
func (c *conn) route(f *inflight, msg []byte, m wire.Message) {
	switch f.method {
	case "initialize":
		c.initialize(f, msg, m)
		return
	case "ping":
		if c.modern {
			break
		}
		if !c.solo || c.peers[0].src.shared {
			c.reply(f, []byte("{}"))
			return
		}
	case "logging/setLevel":
		if c.modern {
			break
		}
		c.setLevel(f, msg, m)
		return
	}
	if c.solo {
		c.one(c.peers[0], f, msg, m)
		return
	}
	if c.modern && gone[f.method] {
		c.refuse(f, -32601, "method %q is not in revision 2026-07-28", f.method)
		return
	}
	switch f.method {
	case "server/discover":
		c.beside(f, func() { c.discover(f, msg, m) })
	case "tools/list", "prompts/list", "resources/list", "resources/templates/list", "tasks/list":
		c.beside(f, func() { c.merge(f, msg, m) })
	case "tools/call":
		c.callTool(f, msg, m)
	case "prompts/get":
		c.byName(f, msg, m, wire.Member(msg, m.Params, "name"), "prompts")
	case "completion/complete":
		ref := wire.Member(msg, m.Params, "ref")
		if uri := wire.Member(msg, ref, "uri"); uri.Present() {
			c.byURI(f, msg, m, uri, false)
		} else {
			c.byName(f, msg, m, wire.Member(msg, ref, "name"), "prompts")
		}
	case "resources/read":
		c.byURI(f, msg, m, wire.Member(msg, m.Params, "uri"), true)
	case "resources/subscribe", "resources/unsubscribe":
		c.byURI(f, msg, m, wire.Member(msg, m.Params, "uri"), false)
	case "tasks/get", "tasks/result", "tasks/cancel", "tasks/update":
		id := string(wire.Member(msg, m.Params, "taskId").Of(msg))
		c.mu.Lock()
		p := c.tasks[id]
		c.mu.Unlock()
		if p == nil {
			c.refuse(f, -32602, "unknown task %s", clip(id, 100))
			return
		}
		c.one(p, f, msg, m)
	case "subscriptions/listen":
		c.beside(f, func() { c.subscribe(f, msg, m) })
	default:
		c.refuse(f, -32601, "method %q: with several servers behind one endpoint it cannot be told whose it is", clip(f.method, 100))
	}
}

// beside runs what waits for upstreams: on this goroutine where that stops
// nobody.
func (c *conn) beside(f *inflight, do func()) {
	if f.inline.Load() {
		do()
		return
	}
	c.g.tasks.Go(do)
}

// one sends a request to one upstream.
func (c *conn) one(p *peer, f *inflight, msg []byte, m wire.Message) {
	if e := c.checkHeaders(p, f, msg, m); e != nil {
		c.refuse(f, e.Code, "%s", e.Message)
		return
	}
	f.mu.Lock()
	f.peer = p
	f.mu.Unlock()
	o := outbound{ctx: f.ctx, msg: msg, m: m, f: f, header: f.header, inline: f.inline.Load()}
	if f.method == "tools/call" && c.modern && p.src.http != nil {
		o.params = c.paramsOf(text(msg, m.Params, "name"))
	}
	p.mu.Lock()
	ready := p.line != nil && (p.profile != nil || p.src.shared)
	l := p.line
	p.mu.Unlock()
	if tl, ok := l.(*trunkLine); ok && tl.t.up() == nil {
		ready = false
	}
	if ready {
		c.send(p, l, o)
		return
	}
	c.beside(f, func() {
		l, _, err := p.open(f.ctx)
		if err != nil {
			c.failed(p, o, err)
			return
		}
		c.send(p, l, o)
	})
}

func (c *conn) send(p *peer, l line, o outbound) {
	if p.src.cfg.Name != "" && o.f != nil && o.f.method == "tools/call" && !c.solo {
		// The name becomes the upstream's own at the last moment: who sends again
		// has the client's.
		name := wire.Member(o.msg, o.m.Params, "name")
		if e := c.entry(wire.Text(name.Of(o.msg))); e != nil && e.src == p.src {
			o.params = e.params
			if own := jsontape.AppendQuote(nil, e.name); string(own) != string(name.Of(o.msg)) {
				o.msg = replace(o.msg, name, own)
				o.m, _ = wire.Scan(o.msg)
			}
		}
	}
	if o.f != nil && p.src.http == nil {
		o.f.inline.Store(false) // the answer comes on the child's goroutine
	}
	l.send(o)
}

func (c *conn) refuse(f *inflight, code int, format string, args ...any) {
	c.fail(nil, f, f.id, code, fmt.Sprintf(format, args...))
}

// reply answers a request as the upstream would, through the session.
func (c *conn) reply(f *inflight, value []byte) {
	c.fromUs(f, result(f.id, value))
}

// fromUs gives the session an answer that no upstream gave.
func (c *conn) fromUs(f *inflight, msg []byte) {
	if m, err := wire.Scan(msg); err == nil {
		c.session.FromServer(msg, m, f.inline.Load())
	}
}

func (c *conn) peerOf(src *source) *peer {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, p := range c.peers {
		if p.src == src {
			return p
		}
	}
	return nil
}

// callTool sends a call to the upstream that has the tool.
func (c *conn) callTool(f *inflight, msg []byte, m wire.Message) {
	name := text(msg, m.Params, "name")
	if e := c.entry(name); e == nil || c.peerOf(e.src) == nil {
		c.beside(f, func() {
			// A tool that came after the last list, or a client that lists none.
			if c.mayLearn() {
				c.lists(f.ctx, "tools/list", metaOf(msg, m), f.header)
			}
			c.callKnown(f, msg, m, name)
		})
		return
	}
	c.callKnown(f, msg, m, name)
}

// learnAgain is how often calls of unknown tools may make us list them.
const learnAgain = 2 * time.Second

func (c *conn) mayLearn() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if time.Since(c.learned) < learnAgain {
		return false
	}
	c.learned = time.Now()
	return true
}

func (c *conn) callKnown(f *inflight, msg []byte, m wire.Message, name string) {
	e := c.entry(name)
	if e == nil {
		if why := c.missing(); why != "" {
			c.refuse(f, -32602, "unknown tool %q; not all servers are there: %s", clip(name, 100), why)
			return
		}
		c.refuse(f, -32602, "unknown tool %q", clip(name, 100))
		return
	}
	p := c.peerOf(e.src)
	if p == nil {
		c.refuse(f, CodeUpstreamDown, "server %s was taken out of the configuration", e.src.cfg.Name)
		return
	}
	c.one(p, f, msg, m)
}

// byName sends what names a prompt to the upstream that has it.
func (c *conn) byName(f *inflight, msg []byte, m wire.Message, at wire.Span, kind string) {
	name := wire.Text(at.Of(msg))
	c.beside(f, func() {
		cat := c.catalog.Load()
		if cat == nil || cat.prompts[name].src == nil {
			c.lists(f.ctx, "prompts/list", metaOf(msg, m), f.header)
			cat = c.catalog.Load()
		}
		e := cat.prompts[name]
		if e.src == nil {
			c.refuse(f, -32602, "unknown prompt %q", clip(name, 100))
			return
		}
		p := c.peerOf(e.src)
		if p == nil {
			c.refuse(f, CodeUpstreamDown, "server %s was taken out of the configuration", e.src.cfg.Name)
			return
		}
		if own := jsontape.AppendQuote(nil, e.name); string(own) != string(at.Of(msg)) {
			msg = replace(msg, at, own)
			m, _ = wire.Scan(msg)
		}
		c.one(p, f, msg, m)
	})
}

// byURI sends what names a resource to the upstream that lists it, or a template
// that it could be of. A read of one that nobody lists is tried at each.
func (c *conn) byURI(f *inflight, msg []byte, m wire.Message, at wire.Span, read bool) {
	uri := wire.Text(at.Of(msg))
	c.beside(f, func() {
		if p := c.owner(uri); p != nil {
			c.one(p, f, msg, m)
			return
		}
		meta := metaOf(msg, m)
		c.lists(f.ctx, "resources/list", meta, f.header)
		c.lists(f.ctx, "resources/templates/list", meta, f.header)
		if p := c.owner(uri); p != nil {
			c.one(p, f, msg, m)
			return
		}
		var may []*peer
		for _, p := range c.all() {
			if p.known().has("resources") {
				may = append(may, p)
			}
		}
		switch {
		case len(may) == 0, len(may) > 1 && !read:
			c.refuse(f, c.noResource(), "no server lists the resource %q", clip(uri, 200))
		case len(may) == 1:
			c.one(may[0], f, msg, m)
		default:
			c.tryEach(f, msg, m, may)
		}
	})
}

func (c *conn) noResource() int {
	if c.modern {
		return -32602
	}
	return -32002
}

// tryEach sends a read to one upstream after the other until one has it.
func (c *conn) tryEach(f *inflight, msg []byte, m wire.Message, may []*peer) {
	var last []byte
	for _, p := range may {
		got, gm, err := c.call(f.ctx, p, f.method, m.Params.Of(msg), f.header)
		switch {
		case err != nil:
			last = errorf(codeOf(err), "%v", err).Response(f.id)
		case gm.Result.Present():
			got, _ = setID(got, gm, f.id)
			c.fromUs(f, got)
			return
		default:
			last, _ = setID(got, gm, f.id)
		}
	}
	c.fromUs(f, last)
}

// told passes a notification of the client on.
func (c *conn) told(msg []byte, m wire.Message) {
	method := methodOf(msg, m)
	switch method {
	case "notifications/initialized":
		if !c.solo || c.peers[0].src.shared {
			return // each line has its own handshake
		}
	case "notifications/cancelled":
		c.cancelled(msg, m)
		return
	case "notifications/progress":
		token := wire.KeyOf(wire.Member(msg, m.Params, "progressToken").Of(msg))
		c.mu.Lock()
		q, ok := c.asked["token:"+token]
		c.mu.Unlock()
		if ok {
			c.pass(q.p, msg, m)
		} else if c.solo {
			c.pass(c.peers[0], msg, m)
		}
		return
	}
	for _, p := range c.all() {
		c.pass(p, msg, m)
	}
}

func (c *conn) pass(p *peer, msg []byte, m wire.Message) {
	if l := p.current(); l != nil {
		l.send(outbound{ctx: c.ctx, msg: msg, m: m, header: c.opened})
	}
}

// cancelled passes a cancellation to the upstream that works on the request.
func (c *conn) cancelled(msg []byte, m wire.Message) {
	f := c.find(wire.KeyOf(wire.Member(msg, m.Params, "requestId").Of(msg)))
	if f == nil {
		return
	}
	f.mu.Lock()
	p := f.peer
	f.mu.Unlock()
	if p != nil {
		c.pass(p, msg, m)
	}
	if !c.edge.streams() && c.done(f) {
		// Nobody waits for an answer, but the response of HTTP must end.
		// The session gives the call up first: after the answer its id may be used again.
		f.inline.Store(false)
		c.session.Fail(f.id, CodeCancelled, "the request was cancelled")
		c.edge.answer(f, errorf(CodeCancelled, "the request was cancelled").Response(f.orig))
	} else if p == nil || p.src.http != nil && !c.modern {
		c.done(f)
	}
}

func (c *conn) all() []*peer {
	c.mu.Lock()
	defer c.mu.Unlock()
	return append([]*peer(nil), c.peers...)
}

// missing says which upstreams are not there, and why.
func (c *conn) missing() string {
	var all []string
	for _, p := range c.all() {
		if p.known() != nil {
			continue
		}
		why := "not there yet"
		p.mu.Lock()
		if p.err != nil {
			why = whyOf(p.src.cfg.Name, p.err)
		}
		p.mu.Unlock()
		if err := p.src.trouble(); err != nil {
			why = whyOf(p.src.cfg.Name, err)
		}
		all = append(all, p.src.cfg.Name+" ("+clip(why, 200)+")")
	}
	return strings.Join(all, ", ")
}

// metaOf copies what our own modern requests must say from the client's.
func metaOf(msg []byte, m wire.Message) []byte {
	meta := wire.Member(msg, m.Params, "_meta")
	var o object
	for _, key := range []string{metaRevision, "io.modelcontextprotocol/clientCapabilities", "io.modelcontextprotocol/clientInfo"} {
		o.set(key, wire.Member(msg, meta, key).Of(msg))
	}
	if o.b == nil {
		return nil
	}
	return o.bytes()
}

// setLevel keeps the level of logs that the client wants, and tells it to the
// upstreams that it has for itself.
func (c *conn) setLevel(f *inflight, msg []byte, m wire.Message) {
	if c.solo && !c.peers[0].src.shared {
		c.one(c.peers[0], f, msg, m)
		return
	}
	params := append([]byte(nil), m.Params.Of(msg)...)
	c.reply(f, []byte("{}"))
	for _, p := range c.all() {
		if p.src.shared || !p.known().has("logging") {
			continue
		}
		c.g.tasks.Go(func() {
			ctx, cancel := context.WithTimeout(c.ctx, c.g.opt.ListTime)
			defer cancel()
			_, _, _ = c.call(ctx, p, "logging/setLevel", params, nil)
		})
	}
}
