package gateway

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/spillway-mcp/spillway/internal/httpmcp"
	"github.com/spillway-mcp/spillway/internal/httpmcp/server"
	"github.com/spillway-mcp/spillway/internal/proxy"
	"github.com/spillway-mcp/spillway/internal/wire"
)

// conn is one client: a legacy session, the one client of a pair of streams, or
// the modern messages of one caller.
type conn struct {
	g       *Gateway
	caller  string
	modern  bool
	solo    bool // there is one upstream, and it is presented as it is
	edge    edge
	session *proxy.Session
	ctx     context.Context
	cancel  context.CancelFunc
	once    sync.Once
	opened  http.Header // of the request that opened the session

	catalog atomic.Pointer[catalog] // as last listed

	mu      sync.Mutex
	peers   []*peer
	hello   []byte // params of the client's initialize
	pending map[wire.IDKey]*inflight
	tokens  map[wire.IDKey]*inflight   // by progress token
	waits   map[wire.IDKey]*wait       // requests of our own
	asked   map[wire.IDKey]question    // requests of upstreams, by the id that the client knows
	tasks   map[string]*peer           // by the raw task id
	subs    map[wire.IDKey]*inflight   // subscriptions, by the id of our own for an upstream
	params  map[string][]httpmcp.Param // by tool, where solo
	byEdge  bool                       // the edge has ended it
	learned time.Time                  // when a call of an unknown tool made us list them
}

// edge is the way to the client.
type edge interface {
	// answer sends the response to f.
	answer(f *inflight, parts ...[]byte)
	// send sends a message that belongs to f, or to no request if f is nil.
	send(f *inflight, parts ...[]byte)
	// streams reports whether the edge is a pair of streams, on which nothing
	// that the client says may wait for an upstream.
	streams() bool
	close()
}

// inflight is a request of the client without an answer.
type inflight struct {
	ctx    context.Context
	id     []byte // as the upstreams see it
	orig   []byte // as the client wrote it
	key    wire.IDKey
	method string
	token  wire.IDKey // its progress token, if it has one
	header http.Header
	reply  *server.Reply
	inline atomic.Bool // this goroutine, on which it came, may be used to answer it
	listen bool        // it is a subscription
	began  time.Time
	stop   func() bool

	mu    sync.Mutex
	peer  *peer // that it was sent to
	catch func(msg []byte, m wire.Message)
}

// wait is a request of our own.
type wait struct {
	p      *peer
	method string
	got    chan []byte // one; nil says that there will be no answer
	err    error
}

// question is a request of an upstream to the client.
type question struct {
	p  *peer
	id []byte // as the upstream wrote it
	as []byte // as the client knows it; nil of a progress token
}

// connect makes a conn.
func (g *Gateway) connect(caller string, modern bool, e edge) (*conn, error) {
	sources := g.list()
	c := &conn{
		g: g, caller: caller, modern: modern, edge: e,
		solo:    len(sources) == 1 && sources[0].cfg.Prefix == "",
		pending: make(map[wire.IDKey]*inflight),
	}
	c.ctx, c.cancel = context.WithCancel(g.ctx)
	for _, s := range sources {
		c.peers = append(c.peers, &peer{c: c, src: s})
	}
	opt := proxy.Options{
		Rules: g.opt.Rules, Stash: g.opt.Stash, Caller: caller, Expand: g.opt.Expand, ExpandBudget: g.opt.ExpandBudget,
		ResourceLink: g.opt.ResourceLink, Operations: g.opt.Operations, Ledger: g.opt.Ledger, Counter: g.opt.Counter, Record: g.opt.Record, Log: g.opt.Log,
	}
	name := "spillway"
	if c.solo {
		name = sources[0].cfg.Name
	} else {
		opt.Origin = c.origin
	}
	opt.Server = name
	opt.Servers = c.operator
	// What it announces; nothing is read from them here.
	opt.RulesChanged, opt.OperationsChanged = g.opt.RulesChanged, g.opt.OperationsChanged
	c.session = proxy.NewSession(name, opt, c.down, c.up)
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed {
		c.cancel()
		return nil, errStopped
	}
	g.conns[c] = struct{}{}
	g.metrics.sessions.Add(1)
	return c, nil
}

func (c *conn) close() {
	c.once.Do(func() {
		c.session.Close()
		c.cancel()
		c.mu.Lock()
		peers := c.peers
		c.mu.Unlock()
		var wait sync.WaitGroup
		for _, p := range peers {
			wait.Go(p.close)
		}
		wait.Wait()
		c.mu.Lock()
		ours := !c.byEdge
		c.mu.Unlock()
		if ours {
			c.edge.close()
		}
		c.g.mu.Lock()
		delete(c.g.conns, c)
		if c.g.modern[c.caller] == c {
			delete(c.g.modern, c.caller)
		}
		c.g.mu.Unlock()
	})
}

const metaRevision = "io.modelcontextprotocol/protocolVersion"
const metaSubscription = "io.modelcontextprotocol/subscriptionId"

// receive takes one message of the client.
func (c *conn) receive(ctx context.Context, in *server.Inbound) {
	msg, m := in.Message, in.Scan
	switch m.Kind {
	case wire.Response:
		c.answered(msg, m)
	case wire.Notification:
		c.session.FromClient(msg)
	case wire.Request:
		f := &inflight{
			ctx: ctx, id: m.ID.Of(msg), method: methodOf(msg, m), header: in.Header, reply: in.Reply, began: time.Now(),
		}
		f.orig = f.id
		if c.g.draining.Load() {
			c.edge.answer(f, errorf(CodeStopped, "%v", errStopped).Response(f.id))
			return
		}
		f.listen = f.method == "subscriptions/listen"
		if c.modern && !c.edge.streams() {
			// Two requests of one caller may have one id.
			f.id = ownID(c.g.lastID.Add(1))
			msg, m = setID(msg, m, f.id)
		}
		f.key = wire.KeyOf(f.id)
		early := f.method == "tools/call" && !c.solo && c.catalog.Load() == nil
		f.inline.Store(!c.edge.streams() && !early)
		token := wire.Path(msg, m.Params, "_meta", "progressToken").Of(msg)
		if !c.register(f, token) {
			// An id twice at once, as from who gave up a call, hung up and starts
			// from one again: each has its own answer, as it has its own response.
			f.id = ownID(c.g.lastID.Add(1))
			msg, m = setID(msg, m, f.id)
			f.key = wire.KeyOf(f.id)
			c.register(f, token)
		}
		if c.g.opt.Log.Enabled(ctx, -8) {
			c.g.opt.Log.Log(ctx, -8, "request", "caller", c.caller, "method", f.method)
		}
		c.session.FromClient(msg)
		f.inline.Store(false)
	}
}

// register remembers a request until it is answered. It reports false, and does
// nothing, where another under its id is without an answer.
func (c *conn) register(f *inflight, token []byte) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.pending[f.key] != nil {
		return false
	}
	if !f.listen {
		c.g.metrics.inFlight.Add(1)
	}
	c.pending[f.key] = f
	if len(token) > 0 {
		f.token = wire.KeyOf(token)
		if c.tokens == nil {
			c.tokens = make(map[wire.IDKey]*inflight)
		}
		c.tokens[f.token] = f
	}
	if f.reply != nil {
		f.stop = context.AfterFunc(f.ctx, func() { c.gaveUp(f) })
	}
	return true
}

// done forgets a request, and reports whether it was still without an answer.
func (c *conn) done(f *inflight) bool {
	c.mu.Lock()
	was := c.pending[f.key] == f
	if was {
		delete(c.pending, f.key)
		if c.tokens[f.token] == f {
			delete(c.tokens, f.token)
		}
	}
	c.mu.Unlock()
	if was {
		if !f.listen {
			c.g.metrics.inFlight.Add(-1)
		}
		if f.stop != nil {
			f.stop()
		}
	}
	return was
}

func (c *conn) find(key wire.IDKey) *inflight {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.pending[key]
}

// down takes what the proxy session has for the client.
func (c *conn) down(id []byte, parts ...[]byte) {
	if id == nil {
		c.announce(parts)
		return
	}
	f := c.find(wire.KeyOf(id))
	if f == nil || !c.done(f) {
		return
	}
	c.g.metrics.observe(f)
	if len(f.orig) > 0 && &f.orig[0] != &f.id[0] {
		parts = restoreID(parts, f.id, f.orig)
	}
	c.edge.answer(f, parts...)
}

// announce sends a message of the session that answers nothing: that a list has
// changed.
func (c *conn) announce(parts [][]byte) {
	msg := join(parts)
	m, err := wire.Scan(msg)
	if err != nil || m.Kind != wire.Notification {
		return // an answer that nobody waits for any more
	}
	if !c.modern {
		c.edge.send(nil, msg)
		return
	}
	sub := wire.Path(msg, m.Params, "_meta", metaSubscription)
	if f := c.find(wire.KeyOf(sub.Of(msg))); f != nil {
		c.edge.send(f, replace(msg, sub, f.orig))
	}
}

func join(parts [][]byte) []byte {
	if len(parts) == 1 {
		return parts[0]
	}
	n := 0
	for _, p := range parts {
		n += len(p)
	}
	b := make([]byte, 0, n)
	for _, p := range parts {
		b = append(b, p...)
	}
	return b
}

// restoreID gives a response in parts the id that the client used. It stands
// where the response has its first member named id; where that is behind a
// result in several parts, in the last of them.
func restoreID(parts [][]byte, id, orig []byte) [][]byte {
	split := func(i int, sp wire.Span) [][]byte {
		all := append([][]byte(nil), parts[:i]...)
		all = append(all, parts[i][:sp.Start], orig, parts[i][sp.End:])
		return append(all, parts[i+1:]...)
	}
	if len(parts) > 1 && string(parts[1]) == string(id) {
		return split(1, whole(id))
	}
	for it := wire.MembersOf(parts[0], whole(parts[0])); it.Next(); {
		if wire.StringIs(it.Key(), "id") {
			return split(0, it.Value())
		}
	}
	last := len(parts) - 1
	if at := strings.LastIndex(string(parts[last]), string(id)); at >= 0 {
		return split(last, wire.Span{Start: at, End: at + len(id)})
	}
	return parts
}

// toClient sends a message of an upstream that belongs to a request, if f is not
// nil.
func (c *conn) toClient(f *inflight, msg []byte) {
	if f == nil && c.modern && !c.edge.streams() {
		return // there is no way to it
	}
	c.edge.send(f, msg)
}

// fail answers a request, whose id an upstream knows as id, with an error.
func (c *conn) fail(p *peer, f *inflight, id []byte, code int, why string) {
	if c.waited(wire.KeyOf(id), nil, fmt.Errorf("%s", why)) {
		return
	}
	if f != nil {
		f.mu.Lock()
		catch := f.catch
		f.mu.Unlock()
		if catch != nil {
			msg := errorf(code, "%s", why).Response(id)
			m, _ := wire.Scan(msg)
			catch(msg, m)
			return
		}
	}
	c.session.Fail(id, code, why)
}

// failed is fail for what could not be sent.
func (c *conn) failed(p *peer, o outbound, err error) {
	if o.m.Kind != wire.Request {
		return
	}
	id := o.m.ID.Of(o.msg)
	if c.waited(wire.KeyOf(id), nil, err) {
		return
	}
	c.fail(p, o.f, id, codeOf(err), err.Error())
}

// lostPeer fails everything that waits for p.
func (c *conn) lostPeer(p *peer, err error) {
	c.mu.Lock()
	var all []*inflight
	for _, f := range c.pending {
		f.mu.Lock()
		if f.peer == p {
			all = append(all, f)
		}
		f.mu.Unlock()
	}
	ours := make(map[wire.IDKey]string) // to their method
	for key, w := range c.waits {
		if w.p == p {
			ours[key] = w.method
		}
	}
	c.mu.Unlock()
	for key, method := range ours {
		c.waited(key, nil, errors.New(howEnded(err, p.src.cfg.Name, whenOf(method))))
	}
	for _, f := range all {
		c.fail(p, f, f.id, CodeUpstreamGone, howEnded(err, p.src.cfg.Name, whenOf(f.method)))
	}
}

// waited gives the answer to a request of our own to who waits for it, and
// reports whether it was one.
func (c *conn) waited(key wire.IDKey, msg []byte, err error) bool {
	c.mu.Lock()
	w := c.waits[key]
	delete(c.waits, key)
	c.mu.Unlock()
	if w == nil {
		return false
	}
	w.err = err
	w.got <- msg
	return true
}

// call asks an upstream something for ourselves.
func (c *conn) call(ctx context.Context, p *peer, method string, params []byte, header http.Header) ([]byte, wire.Message, error) {
	l, _, err := p.open(ctx)
	if err != nil {
		return nil, wire.Message{}, err
	}
	return c.callOn(ctx, p, l, method, params, header)
}

func (c *conn) callOn(ctx context.Context, p *peer, l line, method string, params []byte, header http.Header) ([]byte, wire.Message, error) {
	return c.ask(ctx, p, l, method, params, header, nil)
}

// ask is callOn with the arguments of a tool that are repeated in headers.
func (c *conn) ask(ctx context.Context, p *peer, l line, method string, params []byte, header http.Header, repeated []httpmcp.Param) ([]byte, wire.Message, error) {
	id := ownID(c.g.lastID.Add(1))
	msg := request(string(id), method, params)
	m, _ := wire.Scan(msg)
	key := wire.KeyOf(id)
	w := &wait{p: p, method: method, got: make(chan []byte, 1)}
	c.mu.Lock()
	if c.waits == nil {
		c.waits = make(map[wire.IDKey]*wait)
	}
	c.waits[key] = w
	c.mu.Unlock()
	if header == nil {
		header = c.opened
	}
	l.send(outbound{ctx: ctx, msg: msg, m: m, header: header, params: repeated})
	select {
	case got := <-w.got:
		if got == nil {
			return nil, m, w.err
		}
		m, err := wire.Scan(got)
		return got, m, err
	case <-ctx.Done():
		c.mu.Lock()
		delete(c.waits, key)
		c.mu.Unlock()
		if method != "initialize" && method != "server/discover" {
			c.cancelAt(p, id)
		}
		return nil, m, context.Cause(ctx)
	}
}

// gaveUp ends a request whose client is gone, or whose time is up.
func (c *conn) gaveUp(f *inflight) {
	f.mu.Lock()
	p := f.peer
	f.mu.Unlock()
	if !c.done(f) {
		return
	}
	c.session.Fail(f.id, CodeCancelled, "given up")
	if p == nil || p.src.http != nil && c.modern {
		return // the end of the HTTP request is the cancellation
	}
	c.cancelAt(p, f.id)
}

// cancelAt tells an upstream that a request is given up.
func (c *conn) cancelAt(p *peer, id []byte) {
	l := p.current()
	if l == nil {
		return
	}
	var o object
	o.set("requestId", id)
	msg := notification("notifications/cancelled", o.bytes())
	m, _ := wire.Scan(msg)
	l.send(outbound{ctx: c.ctx, msg: msg, m: m, header: c.opened})
}
