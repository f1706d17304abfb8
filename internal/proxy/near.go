package proxy

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/spillway-mcp/spillway/internal/jsontape"
	"github.com/spillway-mcp/spillway/internal/operation"
	"github.com/spillway-mcp/spillway/internal/wire"
)

// nearServer calls the session's server for an operation, over the connection
// that the client's own calls take: there is no second instance of it, and what
// the operation does it does with the client's credentials. The server is told
// of no capabilities, since nobody could answer for the operation.
type nearServer struct {
	s    *session
	meta []byte // that each request has to have; nil of a legacy session
}

// near is what reaches the servers of an operation that the request c calls.
func (s *session) near(c *call, body []byte, m wire.Message) operation.Caller {
	if s.opt.Servers != nil {
		return s.opt.Servers(bytes.Clone(c.id))
	}
	n := nearServer{s: s}
	if c.modern {
		n.meta = []byte(`{"io.modelcontextprotocol/clientCapabilities":{}}`)
		from := wire.Member(body, m.Params, "_meta")
		for _, key := range []string{metaVersion, "io.modelcontextprotocol/clientInfo"} {
			if v := wire.Member(body, from, key); v.Present() {
				n.meta = withMember(n.meta, key, v.Of(body))
			}
		}
	}
	return n
}

// lastAnswer is how long the answer of a server that has ended may take to be
// read.
const lastAnswer = time.Second

// ownCallID heads the ids of the calls of operations.
var ownCallID = []byte(`"spillway:tools/call:`)

// CallTool implements [operation.Caller].
func (n nearServer) CallTool(ctx context.Context, server, tool string, arguments, meta []byte) ([]byte, error) {
	s := n.s
	if server != s.serverName() {
		return nil, operation.ErrNotHere
	}
	s.mu.Lock()
	s.calls++
	id := append(strconv.AppendInt(bytes.Clone(ownCallID), int64(s.calls), 10), '"')
	s.mu.Unlock()
	c := &call{kind: ownCall, id: id, key: wire.KeyOf(id), start: time.Now(), got: make(chan []byte, 1)}
	s.add(c)
	if err := s.up.Frame(toolCallMessage(id, tool, arguments, merged(n.meta, meta))); err != nil {
		s.take(c.key)
		return nil, &operation.CallError{Kind: "start", Err: fmt.Errorf("server %s takes no calls: %w", server, err)}
	}
	gone := s.opt.Upstream.Done()
	for {
		select {
		case got, ok := <-c.got:
			if !ok {
				return nil, &operation.CallError{Kind: "transport", Err: fmt.Errorf("server %s did not answer", server)}
			}
			return toolAnswer(got)
		case <-gone:
			gone = nil
			t := time.AfterFunc(lastAnswer, func() {
				if s.take(c.key) != nil {
					close(c.got)
				}
			})
			defer t.Stop()
		case <-ctx.Done():
			if s.take(c.key) == nil {
				continue // its answer is here
			}
			return nil, &operation.CallError{Kind: "transport", Err: context.Cause(ctx)}
		}
	}
}

// toolAnswer is the result in a response.
func toolAnswer(body []byte) ([]byte, error) {
	m, err := wire.Scan(body)
	switch {
	case err != nil:
		return nil, &operation.CallError{Kind: "transport", Err: err}
	case m.Error.Present():
		return nil, &operation.CallError{Kind: "rpc", Code: string(wire.Member(body, m.Error, "code").Of(body)),
			Text: wire.Text(wire.Member(body, m.Error, "message").Of(body))}
	case !m.Result.Present():
		return nil, &operation.CallError{Kind: "transport", Err: errors.New("the answer holds neither result nor error")}
	}
	return m.Result.Of(body), nil
}

func toolCallMessage(id []byte, tool string, arguments, meta []byte) []byte {
	b := append([]byte(`{"jsonrpc":"2.0","id":`), id...)
	b = jsontape.AppendQuote(append(b, `,"method":"tools/call","params":{"name":`...), tool)
	b = append(append(b, `,"arguments":`...), arguments...)
	if meta != nil {
		b = append(append(b, `,"_meta":`...), meta...)
	}
	return append(b, `}}`...)
}

// merged is the members of two objects, either of which may be nil.
func merged(a, b []byte) []byte {
	if a == nil || b == nil {
		return append(a[:len(a):len(a)], b...)
	}
	for it := wire.MembersOf(b, wire.Span{End: len(b)}); it.Next(); {
		a = withMember(a, wire.Text(it.Key()), it.Value().Of(b))
	}
	return a
}

func withMember(object []byte, key string, value []byte) []byte {
	all := wire.Span{End: len(object)}
	return wire.Splice(object, wire.SetMember(object, all, key, value))
}
