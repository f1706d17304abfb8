package gateway

import (
	"log/slog"

	"github.com/spillway-mcp/spillway/internal/wire"
)

// receive gives a message of the child to the client that it is for.
func (t *trunk) receive(pipe *pipe, msg []byte, m wire.Message, hello chan []byte) {
	switch m.Kind {
	case wire.Response:
		key := wire.KeyOf(m.ID.Of(msg))
		if key == wire.KeyOf(trunkInit) {
			select {
			case hello <- msg:
			default:
			}
			return
		}
		t.mu.Lock()
		c, ok := t.pending[key]
		delete(t.pending, key)
		t.mu.Unlock()
		if !ok {
			return
		}
		msg, m = setID(msg, m, c.id)
		c.p.c.fromPeer(c.p, msg, m, c.f, false)
	case wire.Request:
		// It was told that we can nothing of what it could ask for.
		id := m.ID.Of(msg)
		if methodOf(msg, m) == "ping" {
			_ = pipe.write(result(id, []byte("{}")))
			return
		}
		_ = pipe.write(errorf(-32601, "%s: not for a server that clients share (per_session: true gives each its own)", methodOf(msg, m)).Response(id))
	case wire.Notification:
		t.notification(msg, m)
	}
}

func (t *trunk) notification(msg []byte, m wire.Message) {
	method := methodOf(msg, m)
	switch method {
	case "notifications/progress":
		token := wire.Member(msg, m.Params, "progressToken")
		t.mu.Lock()
		c, ok := t.pending[wire.KeyOf(token.Of(msg))]
		t.mu.Unlock()
		if ok && c.token != nil {
			msg = replace(msg, token, c.token)
			c.p.c.toClient(c.f, msg)
		}
	case "notifications/tools/list_changed", "notifications/prompts/list_changed", "notifications/resources/list_changed":
		if sub := wire.Path(msg, m.Params, "_meta", metaSubscription); sub.Present() {
			t.subscription(msg, m, sub)
			return
		}
		for _, p := range t.attached() {
			p.c.fromPeer(p, msg, m, nil, false)
		}
	case "notifications/resources/updated":
		if sub := wire.Path(msg, m.Params, "_meta", metaSubscription); sub.Present() {
			t.subscription(msg, m, sub)
			return
		}
		uri := wire.Member(msg, m.Params, "uri").Of(msg)
		t.mu.Lock()
		var to []*peer
		for p := range t.watched[string(uri)] {
			to = append(to, p)
		}
		t.mu.Unlock()
		for _, p := range to {
			p.c.toClient(nil, msg)
		}
	case "notifications/message":
		// It may tell of another client's call: nobody is shown it but us.
		t.src.g.opt.Log.Log(t.ctx, slog.LevelDebug, "server's log", "server", t.src.cfg.Name, "params", clip(string(m.Params.Of(msg)), 1000))
	default:
		if sub := wire.Path(msg, m.Params, "_meta", metaSubscription); sub.Present() {
			t.subscription(msg, m, sub)
		}
	}
}

// subscription gives a notification to the client whose subscription it is on.
func (t *trunk) subscription(msg []byte, m wire.Message, sub wire.Span) {
	t.mu.Lock()
	c, ok := t.pending[wire.KeyOf(sub.Of(msg))]
	t.mu.Unlock()
	if !ok {
		return
	}
	msg = replace(msg, sub, c.id)
	if m, err := wire.Scan(msg); err == nil {
		c.p.c.fromPeer(c.p, msg, m, c.f, false)
	}
}

// lost answers all that the child did not.
func (t *trunk) lost(err error) {
	t.mu.Lock()
	t.pipe, t.profile = nil, nil
	select {
	case <-t.tried:
		t.tried = make(chan struct{})
	default:
	}
	all := t.pending
	t.pending = make(map[wire.IDKey]trunkCall)
	t.mu.Unlock()
	for _, c := range all {
		c.p.c.fail(c.p, c.f, c.id, CodeUpstreamGone, howEnded(err, t.src.cfg.Name, inACall))
	}
}
