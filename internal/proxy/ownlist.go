package proxy

import (
	"bytes"
	"strconv"
	"time"

	"github.com/spillway-mcp/spillway/internal/jsontape"
	"github.com/spillway-mcp/spillway/internal/wire"
)

// ownListWait is how long a call is held for the list of tools.
const ownListWait = 2 * time.Second

// maxOwnPages bounds the pages that we ask for.
const maxOwnPages = 100

// ownList is our own listing of the server's tools. A client may call a tool
// that it knows from another connection, without a tools/list on this one; what
// the list says of it (an output schema, an App, the name behind a rename) must
// be known before its result is touched. It is under the session's lock.
type ownList struct {
	asked   bool
	held    []held // calls that wait, in their order
	done    bool   // none waits, and none will
	sent    crew
	learned chan struct{} // closed when the list is known, or will not be
	meta    []byte        // _meta of our requests: a modern server needs it
	pages   int
	seen    map[string]bool
	tools   map[string]toolInfo // by the name that a list would show
}

// held is a call that waits for our own listing.
type held struct {
	c    *call
	body []byte
	m    wire.Message
}

// early holds a tools/call back that comes before any list, and reports whether
// it did. The first one starts our own listing.
func (s *session) early(body []byte, m wire.Message) bool {
	if m.Kind != wire.Request || !wire.StringIs(m.Method.Of(body), "tools/call") || s.opt.rules() == nil ||
		wire.StringIs(wire.Member(body, m.Params, "name").Of(body), expandName) {
		return false
	}
	s.mu.Lock()
	own := &s.own
	if own.done || !own.asked && s.tools.tools != nil {
		s.mu.Unlock()
		return false
	}
	c := newCall(body, m)
	c.kind = tool
	own.held = append(own.held, held{c, body, m})
	first := !own.asked
	if first {
		own.asked = true
		own.learned = make(chan struct{})
		own.seen = make(map[string]bool)
		own.tools = make(map[string]toolInfo)
		if c.modern {
			own.meta = ownMeta(body, m)
		}
	}
	s.mu.Unlock()
	if first {
		s.askOwn(nil)
		s.own.sent.Go(s.sendHeld)
	}
	return true
}

// ownMeta copies what every modern request must say from the client's own.
func ownMeta(body []byte, m wire.Message) []byte {
	meta := wire.Member(body, m.Params, "_meta")
	b := []byte(`{`)
	for _, key := range []string{metaVersion, "io.modelcontextprotocol/clientCapabilities", "io.modelcontextprotocol/clientInfo"} {
		if v := wire.Member(body, meta, key); v.Present() {
			if len(b) > 1 {
				b = append(b, ',')
			}
			b = append(append(jsontape.AppendQuote(b, key), ':'), v.Of(body)...)
		}
	}
	return append(b, '}')
}

// askOwn asks for a page.
func (s *session) askOwn(cursor []byte) {
	s.mu.Lock()
	s.own.pages++
	id := []byte(`"spillway:tools/list:` + strconv.Itoa(s.own.pages) + `"`)
	meta := s.own.meta
	s.mu.Unlock()
	s.add(&call{kind: ownPage, id: id, key: wire.KeyOf(id), start: time.Now()})
	b := append([]byte(`{"jsonrpc":"2.0","id":`), id...)
	b = append(b, `,"method":"tools/list","params":{`...)
	if cursor != nil {
		b = append(append(b, `"cursor":`...), cursor...)
	}
	if meta != nil {
		if cursor != nil {
			b = append(b, ',')
		}
		b = append(append(b, `"_meta":`...), meta...)
	}
	if err := s.up.Frame(append(b, `}}`...)); err != nil {
		s.ownDone()
	}
}

// ownPage reads a page of our own listing, which the client does not see.
func (s *session) ownPage(body []byte, m wire.Message) {
	next := wire.Member(body, m.Result, "nextCursor")
	s.learn(body, wire.Member(body, m.Result, "tools"))
	s.mu.Lock()
	key := string(next.Of(body))
	more := len(key) > 0 && key[0] == '"' && !s.own.seen[key] && s.own.pages < maxOwnPages
	s.own.seen[key] = true
	s.mu.Unlock()
	if more {
		s.askOwn(bytes.Clone(next.Of(body)))
	} else {
		s.ownDone()
	}
}

func (s *session) ownDone() {
	s.mu.Lock()
	defer s.mu.Unlock()
	select {
	case <-s.own.learned:
	default:
		close(s.own.learned)
	}
}

// learn notes the tools of a page of our own listing.
func (s *session) learn(body []byte, tools wire.Span) {
	set, server := s.opt.rules(), s.serverName()
	s.mu.Lock()
	defer s.mu.Unlock()
	for it := wire.ElementsOf(body, tools); it.Next(); {
		info := describe(body, it.Value()).info
		as := info.name
		if rule := set.For(server, info.name); rule.Rename != "" && s.opt.Origin == nil {
			as = rule.Rename
		}
		if _, taken := s.own.tools[as]; !taken {
			s.own.tools[as] = info
		}
	}
}

// sendHeld waits until the tools are known, and then sends the held calls on, in
// their order. What else the client sends may pass them, but for the
// cancellation of one, which stops it here.
func (s *session) sendHeld() {
	t := time.NewTimer(ownListWait)
	defer t.Stop()
	select {
	case <-s.own.learned:
	case <-t.C:
		s.opt.Log.Warn("server has not listed its tools; calls go on without knowing them", "server", s.opt.Upstream.Name())
	case <-s.opt.Upstream.Done():
	case <-s.ended:
		return
	}
	for {
		s.mu.Lock()
		if len(s.own.held) == 0 {
			s.own.done = true
			s.mu.Unlock()
			return
		}
		h := s.own.held[0]
		s.own.held = s.own.held[1:]
		cancelled := h.c.cancelled
		s.mu.Unlock()
		if cancelled {
			s.accountStopped(h.c)
			continue
		}
		edits, forward := s.callTool(h.c, h.body, h.m)
		if !forward {
			continue
		}
		s.add(h.c)
		s.toServer(h.body, h.m, s.up.Frame(wire.Parts(h.body, edits...)...))
	}
}
