package proxy

import (
	"bytes"
	"strings"
	"time"

	"github.com/spillway-mcp/spillway/internal/wire"
)

// metaVersion is the member of a modern request's _meta that tells its revision.
const metaVersion = "io.modelcontextprotocol/protocolVersion"

// fromClient carries one frame of the client up, unless it is for us.
func (s *session) fromClient(f wire.Frame) {
	defer s.release(f.Len())
	body := f.Body()
	m, err := wire.Scan(body)
	switch {
	case err != nil:
		// The server's own answer to it is better than ours.
		s.toServer(body, m, s.up.Forward(f))
	case m.Kind == wire.Batch:
		s.batchFromClient(f)
	default:
		if s.early(body, m) {
			return
		}
		if edits, forward := s.upward(body, m); !forward {
			return
		} else if len(edits) == 0 {
			s.toServer(body, m, s.up.Forward(f))
		} else {
			s.toServer(body, m, s.up.Frame(wire.Parts(body, edits...)...))
		}
	}
}

// toServer looks at what became of a write to the server. A server that takes
// nothing any more usually has ended, and then all its calls are answered. One
// that only closed its stdin would leave this one waiting.
func (s *session) toServer(body []byte, m wire.Message, err error) {
	if err == nil {
		return
	}
	s.opt.Log.Debug("server's stdin", "err", err)
	if m.Kind != wire.Request {
		return
	}
	s.workers.Go(func() {
		t := time.NewTimer(time.Second)
		defer t.Stop()
		select {
		case <-s.opt.Upstream.Done():
		case <-s.ended:
		case <-t.C:
			if c := s.take(wire.KeyOf(m.ID.Of(body))); c != nil {
				s.abandon(c, CodeUpstreamGone, "server "+s.opt.Upstream.Name()+" has closed its stdin")
			}
		}
	})
}

// batchFromClient handles a batch (revisions up to 2025-03-26) by its elements.
// What is for us is taken out and answered by itself.
func (s *session) batchFromClient(f wire.Frame) {
	body := f.Body()
	var rest [][]byte
	changed := false
	for it := wire.ElementsOf(body, wire.Span{End: len(body)}); it.Next(); {
		m, err := wire.ScanAt(body, it.Value())
		if err != nil {
			rest = append(rest, it.Value().Of(body))
			continue
		}
		edits, forward := s.upward(body, m)
		if !forward {
			changed = true
			continue
		}
		changed = changed || len(edits) > 0
		rest = append(rest, cut(body, it.Value(), edits))
	}
	switch {
	case !changed:
		s.toServer(nil, wire.Message{}, s.up.Forward(f))
	case len(rest) > 0:
		s.toServer(nil, wire.Message{}, s.up.Frame([]byte("["), bytes.Join(rest, []byte(",")), []byte("]")))
	}
}

// cut returns the bytes at sp with the edits made, which are over src.
func cut(src []byte, sp wire.Span, edits []wire.Edit) []byte {
	if len(edits) == 0 {
		return sp.Of(src)
	}
	for i := range edits {
		edits[i].Start -= sp.Start
		edits[i].End -= sp.Start
	}
	return wire.Splice(sp.Of(src), edits...)
}

// upward decides on one message of the client: whether it goes up, and with
// which changes.
func (s *session) upward(body []byte, m wire.Message) (edits []wire.Edit, forward bool) {
	switch m.Kind {
	case wire.Request:
		return s.request(body, m)
	case wire.Notification:
		if wire.StringIs(m.Method.Of(body), "notifications/cancelled") {
			if id := wire.Member(body, m.Params, "requestId"); id.Present() {
				if s.cancel(wire.KeyOf(id.Of(body))) {
					// The server never had it; whoever has the streams may have to end one.
					return nil, s.hand != nil
				}
			}
		}
	}
	return nil, true
}

func newCall(body []byte, m wire.Message) *call {
	id := bytes.Clone(m.ID.Of(body))
	return &call{
		id: id, key: wire.KeyOf(id), start: time.Now(),
		modern: wire.Path(body, m.Params, "_meta", metaVersion).Present(),
	}
}

func (s *session) request(body []byte, m wire.Message) (edits []wire.Edit, forward bool) {
	c := newCall(body, m)
	method := string(wire.AppendString(nil, m.Method.Of(body)))
	if strings.HasPrefix(method, "tasks/") && s.ownTask(c, method, body, m) {
		return nil, false
	}
	switch method {
	case "initialize", "server/discover":
		c.kind = handshake
		s.greet(body, m)
	case "tools/list":
		c.kind = list
		if cursor := wire.Member(body, m.Params, "cursor"); cursor.Present() {
			c.cursor, c.hasCursor = string(cursor.Of(body)), true
		}
	case "tools/call":
		c.kind = tool
		if edits, forward = s.callTool(c, body, m); !forward {
			return nil, false
		}
	case "tasks/result":
		c.kind = taskResult
		c.taskID = taskIDOf(body, m.Params)
	case "tasks/get":
		c.kind = taskGet
		c.taskID = taskIDOf(body, m.Params)
	case "tasks/list":
		if s.opt.Operations != nil && !c.modern {
			c.kind = taskList
		}
	case "subscriptions/listen":
		c.kind = listen
		edits = s.listenTasks(c, body, m)
		c.listChange = string(wire.Path(body, m.Params, "notifications", "toolsListChanged").Of(body)) == "true"
	case "resources/read":
		if s.readResource(c, body, m) {
			return nil, false
		}
	case "resources/list", "resources/templates/list":
		if s.listResources(c, wire.StringIs(m.Method.Of(body), "resources/list")) {
			return nil, false
		}
	}
	if c.key != wire.NullID { // no request's id, and no answer can be told to be its
		s.add(c)
	}
	return edits, true
}
