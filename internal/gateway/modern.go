package gateway

import (
	"context"

	"github.com/spillway-mcp/spillway/internal/httpmcp"
	"github.com/spillway-mcp/spillway/internal/wire"
)

// discover answers server/discover for several upstreams.
func (c *conn) discover(f *inflight, msg []byte, m wire.Message) {
	c.openAll(f.ctx)
	var o, meta object
	o.setText("resultType", "complete")
	o.set("supportedVersions", []byte(`["`+httpmcp.Revision20260728+`"]`))
	o.set("capabilities", c.capabilities())
	if text := c.instructions(); text != "" {
		o.setText("instructions", text)
	}
	o.set("ttlMs", []byte("0"))
	o.setText("cacheScope", "private")
	meta.set("io.modelcontextprotocol/serverInfo", c.g.serverInfo())
	o.set("_meta", meta.bytes())
	c.reply(f, o.bytes())
}

// subscribe answers a subscription with one at each upstream.
func (c *conn) subscribe(f *inflight, msg []byte, m wire.Message) {
	wanted := wire.Member(msg, m.Params, "notifications").Of(msg)
	var meta, ack object
	meta.set(metaSubscription, f.id)
	ack.set("_meta", meta.bytes())
	ack.set("notifications", wanted)
	c.fromUs(f, notification("notifications/subscriptions/acknowledged", ack.bytes()))
	for _, p := range c.all() {
		var params object
		params.set("_meta", metaOf(msg, m))
		params.set("notifications", c.wantedAt(p, wanted))
		c.g.tasks.Go(func() { c.subscribeAt(p, f, params.bytes()) })
	}
}

// wantedAt is what a subscription wants of one upstream: of tasks, those that
// it made.
func (c *conn) wantedAt(p *peer, wanted []byte) []byte {
	ids := wire.Member(wanted, whole(wanted), "taskIds")
	if !ids.Present() {
		return wanted
	}
	var mine [][]byte
	c.mu.Lock()
	for it := wire.ElementsOf(wanted, ids); it.Next(); {
		if c.tasks[string(it.Value().Of(wanted))] == p {
			mine = append(mine, it.Value().Of(wanted))
		}
	}
	c.mu.Unlock()
	return replace(wanted, ids, array(mine))
}

func (c *conn) subscribeAt(p *peer, f *inflight, params []byte) {
	l, _, err := p.open(f.ctx)
	if err != nil {
		return
	}
	id := ownID(c.g.lastID.Add(1))
	key := wire.KeyOf(id)
	c.mu.Lock()
	if c.subs == nil {
		c.subs = make(map[wire.IDKey]*inflight)
	}
	c.subs[key] = f
	c.mu.Unlock()
	context.AfterFunc(f.ctx, func() {
		c.mu.Lock()
		delete(c.subs, key)
		c.mu.Unlock()
		if p.src.http == nil {
			c.cancelAt(p, id)
		}
	})
	ask := request(string(id), "subscriptions/listen", params)
	m, _ := wire.Scan(ask)
	l.send(outbound{ctx: f.ctx, msg: ask, m: m, header: f.header})
}

// subscribed passes on what an upstream sends on a subscription.
func (c *conn) subscribed(msg []byte, m wire.Message, sub wire.Span, method string) {
	key := wire.KeyOf(sub.Of(msg))
	f := c.find(key)
	if f == nil {
		c.mu.Lock()
		f = c.subs[key]
		c.mu.Unlock()
		if f == nil || method == "notifications/subscriptions/acknowledged" {
			return
		}
	}
	switch method {
	case "notifications/tasks", // it may hold a tool's result
		"notifications/subscriptions/acknowledged": // which may have tasks of ours to add
		c.fromUs(f, replace(msg, sub, f.id))
		return
	}
	c.edge.send(f, replace(msg, sub, f.orig))
}

// changedFor tells the subscriptions that asked for it that a list is old.
func (c *conn) changedFor(kind string) {
	if kind == "tools" {
		c.session.ToolsChanged()
	}
}
