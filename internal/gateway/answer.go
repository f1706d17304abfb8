package gateway

import (
	"bytes"

	"github.com/spillway-mcp/spillway/internal/httpmcp"
	"github.com/spillway-mcp/spillway/internal/wire"
)

// fromPeer takes a message of an upstream. f is the request that it came for,
// where the transport tells; inline allows to use this goroutine for what is to
// be done.
func (c *conn) fromPeer(p *peer, msg []byte, m wire.Message, f *inflight, inline bool) {
	switch m.Kind {
	case wire.Response:
		c.response(p, msg, m, inline)
	case wire.Request:
		c.question(p, msg, m, f)
	case wire.Notification:
		c.notified(p, msg, m, f)
	case wire.Batch:
		for it := wire.ElementsOf(msg, whole(msg)); it.Next(); {
			part := it.Value().Of(msg)
			if m, err := wire.Scan(part); err == nil && m.Kind != wire.Batch {
				c.fromPeer(p, part, m, f, inline)
			}
		}
	}
}

func (c *conn) response(p *peer, msg []byte, m wire.Message, inline bool) {
	id := m.ID.Of(msg)
	key := wire.KeyOf(id)
	if len(id) > len(ownPrefix)+1 && string(id[1:1+len(ownPrefix)]) == ownPrefix && c.waited(key, msg, nil) {
		return
	}
	f := c.find(key)
	if c.solo && c.modern && (f != nil && f.method == "tools/list" || f == nil && bytes.HasPrefix(id, ownList)) {
		c.noteParams(msg, m)
	}
	if f != nil {
		f.mu.Lock()
		catch := f.catch
		f.mu.Unlock()
		if catch != nil {
			catch(msg, m)
			return
		}
		switch f.method {
		case "tools/call":
			c.noteTask(p, msg, m)
		case "initialize", "server/discover":
			if c.solo {
				msg, m = c.greeted(p, f, msg, m)
			}
		}
	}
	c.session.FromServer(msg, m, inline)
}

// ownList heads the ids of lists that the proxy session asks for itself.
var ownList = []byte(`"` + ownPrefix + `tools/list:`)

// noteParams reads which arguments of tools have to be repeated in headers, for a
// client that is shown its one upstream as it is.
func (c *conn) noteParams(msg []byte, m wire.Message) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.params) == 0 && !bytes.Contains(msg, []byte("x-mcp-header")) {
		return
	}
	if c.params == nil {
		c.params = make(map[string][]httpmcp.Param)
	}
	for it := wire.ElementsOf(msg, wire.Member(msg, m.Result, "tools")); it.Next(); {
		raw := it.Value().Of(msg)
		name := text(raw, whole(raw), "name")
		delete(c.params, name) // what it had, it may have no more
		if params := paramsIn(raw); params != nil {
			c.params[name] = params
		}
	}
}

// greeted reads the answer to the handshake that a client makes with its one
// upstream.
func (c *conn) greeted(p *peer, f *inflight, msg []byte, m wire.Message) ([]byte, wire.Message) {
	code, failed := httpmcp.ErrorCode(msg, m)
	other := eraCodes[code] // from a modern upstream, in answer to initialize
	if c.modern {
		other = !eraCodes[code] || code == httpmcp.CodeMethodNotFound
	}
	if failed && other {
		msg = errorf(CodeOtherEra, "%v", &otherEra{server: p.src.cfg.Name, modern: c.modern}).Response(f.id)
		m, _ = wire.Scan(msg)
		return msg, m
	}
	if prof, err := p.src.profileOf(msg, c.modern); err == nil {
		p.mu.Lock()
		p.profile = prof
		p.mu.Unlock()
		p.src.works()
	}
	return msg, m
}

// maxTaskAnswer is the size up to which an answer is looked at for being a task.
const maxTaskAnswer = 16 << 10

// noteTask remembers whose a task is that a call was answered with.
func (c *conn) noteTask(p *peer, msg []byte, m wire.Message) {
	if c.solo || len(msg) > maxTaskAnswer || !bytes.Contains(msg, []byte("taskId")) {
		return
	}
	id := wire.Path(msg, m.Result, "task", "taskId")
	if !id.Present() {
		id = wire.Member(msg, m.Result, "taskId")
	}
	if !id.Present() {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.tasks == nil || len(c.tasks) >= maxTasks {
		c.tasks = make(map[string]*peer) // what is older than a thousand others is forgotten
	}
	c.tasks[string(id.Of(msg))] = p
}

const maxTasks = 1024

// question passes a request of an upstream to the client, under an id that no
// other upstream's has.
func (c *conn) question(p *peer, msg []byte, m wire.Message, f *inflight) {
	id := bytes.Clone(m.ID.Of(msg))
	if !c.solo && methodOf(msg, m) == "ping" {
		c.tell(p, result(id, []byte("{}")))
		return
	}
	if !c.solo {
		own := ownID(c.g.lastID.Add(1))
		msg, m = setID(msg, m, own)
	}
	if f == nil {
		f = c.only(p)
	}
	c.mu.Lock()
	if c.asked == nil {
		c.asked = make(map[wire.IDKey]question)
	}
	c.asked[wire.KeyOf(m.ID.Of(msg))] = question{p, id, m.ID.Of(msg)}
	if token := wire.Path(msg, m.Params, "_meta", "progressToken"); token.Present() {
		c.asked["token:"+wire.KeyOf(token.Of(msg))] = question{p: p, id: id}
	}
	c.mu.Unlock()
	c.toClient(f, msg)
}

// only returns the request that p works on for the client, where it is one and
// no other. A transport that does not tell leaves no better way to know for
// which a message is.
func (c *conn) only(p *peer) *inflight {
	if c.edge.streams() {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	var one *inflight
	for _, f := range c.pending {
		f.mu.Lock()
		mine := f.peer == p
		f.mu.Unlock()
		if mine && one != nil {
			return nil
		}
		if mine {
			one = f
		}
	}
	return one
}

// answered passes the client's answer to the upstream that asked.
func (c *conn) answered(msg []byte, m wire.Message) {
	key := wire.KeyOf(m.ID.Of(msg))
	c.mu.Lock()
	q, ok := c.asked[key]
	delete(c.asked, key)
	c.mu.Unlock()
	if !ok {
		return
	}
	msg, _ = setID(msg, m, q.id)
	c.tell(q.p, msg)
}

func (c *conn) tell(p *peer, msg []byte) {
	if m, err := wire.Scan(msg); err == nil {
		c.pass(p, msg, m)
	}
}

// notified passes a notification of an upstream on.
func (c *conn) notified(p *peer, msg []byte, m wire.Message, f *inflight) {
	method := methodOf(msg, m)
	if c.modern {
		if sub := wire.Path(msg, m.Params, "_meta", metaSubscription); sub.Present() {
			c.subscribed(msg, m, sub, method)
			return
		}
	}
	switch method {
	case "notifications/progress":
		token := wire.KeyOf(wire.Member(msg, m.Params, "progressToken").Of(msg))
		c.mu.Lock()
		if of := c.tokens[token]; of != nil {
			f = of
		}
		c.mu.Unlock()
	case "notifications/tasks":
		c.session.FromServer(msg, m, true)
		return
	case "notifications/cancelled":
		c.takenBack(p, msg, m, f)
		return
	case "notifications/tools/list_changed", "notifications/prompts/list_changed", "notifications/resources/list_changed":
		f = nil
	case "notifications/message":
		if f == nil {
			f = c.only(p)
		}
	}
	c.toClient(f, msg)
}

// takenBack passes on that an upstream does not want an answer any more.
func (c *conn) takenBack(p *peer, msg []byte, m wire.Message, f *inflight) {
	at := wire.Member(msg, m.Params, "requestId")
	id := wire.KeyOf(at.Of(msg))
	c.mu.Lock()
	var as []byte
	for key, q := range c.asked {
		if q.p == p && q.as != nil && wire.KeyOf(q.id) == id {
			as = q.as
			delete(c.asked, key)
			break
		}
	}
	c.mu.Unlock()
	if !c.solo && as != nil {
		msg = replace(msg, at, as)
	}
	if as != nil || c.solo {
		c.toClient(f, msg)
	}
}
