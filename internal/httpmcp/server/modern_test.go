package server_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/spillway-mcp/spillway/internal/httpmcp/server"
)

func with(h head, more ...string) head { return append(h[:len(h):len(h)], more...) }

func TestModernCall(t *testing.T) {
	e := start(t, &core{serve: func(_ context.Context, in *server.Inbound) {
		if in.Revision != "2026-07-28" || in.Caller != server.Anonymous {
			panic(in.Revision + in.Caller)
		}
		answerOK(in)
	}}, server.Options{})
	// A session id of an older client in between is not looked at, and none is given.
	a := e.do("POST", modernCall, with(modernHead, "Mcp-Session-Id", "x"))
	a.want(t, 200, `{"jsonrpc":"2.0","id":7,"result":{"ok":true}}`)
	if a.header.Get("Mcp-Session-Id") != "" || a.header.Get("Content-Type") != "application/json" {
		t.Error(a.header)
	}
	e.do("POST", `{"jsonrpc":"2.0","method":"notifications/cancelled"}`, head{"MCP-Protocol-Version", "2026-07-28", "Mcp-Method", "notifications/cancelled"}).want(t, 202, "")
	for _, method := range []string{"GET", "DELETE"} {
		if a := e.do(method, "", with(modernHead, "Mcp-Session-Id", "x")); a.status != 405 || a.header.Get("Allow") != "POST" {
			t.Errorf("%s: %+v", method, a)
		}
	}
}

func TestModernHeadersRepeatTheBody(t *testing.T) {
	e := start(t, &core{}, server.Options{})
	list := `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{` + modernMeta + `}}`
	read := `{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"uri":"x:é",` + modernMeta + `}}`
	version := head{"MCP-Protocol-Version", "2026-07-28"}
	listing := with(version, "Mcp-Method", "tools/list")
	for _, c := range []struct {
		name, body   string
		h            head
		status, code int
	}{
		{"right", list, listing, 200, 0},
		{"lower-case names", list, head{"mcp-protocol-version", "2026-07-28", "mcp-method", "tools/list"}, 200, 0},
		{"spaces around", modernCall, with(modernHead, "Mcp-Name", "  x "), 200, 0},
		{"base64", read, with(version, "Mcp-Method", "resources/read", "Mcp-Name", "=?base64?eDrDqQ==?="), 200, 0},
		{"bad base64", read, with(version, "Mcp-Method", "resources/read", "Mcp-Name", "=?base64?eDrDqQ?="), 400, -32020},
		{"other base64", read, with(version, "Mcp-Method", "resources/read", "Mcp-Name", "=?base64?eA==?="), 400, -32020},
		{"no version header", list, head{"Mcp-Method", "tools/list"}, 400, -32020},
		{"other version header", list, head{"MCP-Protocol-Version", "2025-11-25", "Mcp-Method", "tools/list"}, 400, -32020},
		{"no method header", list, version, 400, -32020},
		{"other method", list, with(version, "Mcp-Method", "prompts/list"), 400, -32020},
		{"other case", list, with(version, "Mcp-Method", "TOOLS/LIST"), 400, -32020},
		{"no name", modernCall, with(version, "Mcp-Method", "tools/call"), 400, -32020},
		{"other name", modernCall, with(modernHead, "Mcp-Name", "y"), 400, -32020},
		{"no meta", `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`, listing, 400, -32602},
		{"no capabilities", `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}`, listing, 400, -32602},
		{"unknown version", strings.ReplaceAll(list, "2026-07-28", "2099-01-01"), head{"MCP-Protocol-Version", "2099-01-01", "Mcp-Method", "tools/list"}, 400, -32022},
		{"a batch", "[" + list + "]", listing, 400, -32600},
		{"a response", `{"jsonrpc":"2.0","id":1,"result":{}}`, listing, 400, -32600},
		{"initialize", `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}`, with(version, "Mcp-Method", "initialize"), 400, -32602},
	} {
		a := e.do("POST", c.body, c.h)
		if a.status != c.status || a.code() != c.code {
			t.Errorf("%s: got %d, code %d, want %d, code %d: %s", c.name, a.status, a.code(), c.status, c.code, a.body)
		}
		if c.code == -32022 && !strings.Contains(a.body, `"data":{"requested":"2099-01-01","supported":["2026-07-28"]}`) {
			t.Errorf("%s: %s", c.name, a.body)
		}
	}
}

func TestModernErrorsHaveTheirStatus(t *testing.T) {
	for code, status := range map[string]int{"-32601": 404, "-32602": 400, "-32020": 400, "-32021": 400, "-32022": 400, "-32603": 200, "-32000.0": 200, "1": 200} {
		e := start(t, &core{serve: func(_ context.Context, in *server.Inbound) {
			must(in.Reply.Answer([]byte(`{"jsonrpc":"2.0","id":7,"err`), []byte(`or":{"code":`+code+`,"message":"m"}}`)))
		}}, server.Options{})
		if a := e.do("POST", modernCall, modernHead); a.status != status {
			t.Errorf("code %s: %+v", code, a)
		}
	}
}

// Closing the response cancels the request.
func TestModernCloseCancels(t *testing.T) {
	for _, streaming := range []bool{false, true} {
		started, ended := make(chan bool), make(chan error)
		e := start(t, &core{serve: func(ctx context.Context, in *server.Inbound) {
			if streaming {
				must(in.Reply.Related([]byte(`{"progress":1}`)))
			}
			started <- true
			<-ctx.Done()
			until(t, "the reply knows", func() bool { return in.Reply.Related([]byte(`{}`)) != nil || !streaming })
			ended <- ctx.Err()
		}}, server.Options{})
		ctx, cancel := context.WithCancel(t.Context())
		go func() {
			<-started
			cancel()
		}()
		if resp, err := e.http.Client().Do(e.request(ctx, "POST", "/mcp", modernCall, modernHead)); err == nil {
			s := streamOf(t, resp)
			s.want(`{"progress":1}`)
			if _, err := s.r.Next(); err == nil {
				t.Error("the stream goes on")
			}
			resp.Body.Close()
		}
		if err := <-ended; err != context.Canceled {
			t.Error(err)
		}
		until(t, "the call is over", func() bool { return e.server.Counts().Calls == 0 })
	}
}

func TestModernListen(t *testing.T) {
	listen := `{"jsonrpc":"2.0","id":"s1","method":"subscriptions/listen","params":{` + modernMeta + `}}`
	out := make(chan *server.Reply, 1)
	var gone context.Context
	e := start(t, &core{serve: func(ctx context.Context, in *server.Inbound) {
		gone = ctx
		must(in.Reply.Related([]byte(`{"method":"notifications/subscriptions/acknowledged"}`)))
		out <- in.Reply
	}}, server.Options{KeepAlive: 5 * time.Millisecond, CallTime: 20 * time.Millisecond})
	resp := e.open(t.Context(), "POST", listen, head{"MCP-Protocol-Version", "2026-07-28", "Mcp-Method", "subscriptions/listen"})
	if resp.Header.Get("X-Accel-Buffering") != "no" {
		t.Error(resp.Header)
	}
	s := streamOf(t, resp)
	if ev := s.want(`{"method":"notifications/subscriptions/acknowledged"}`); ev.ID != "" {
		t.Error("modern events have no ids")
	}
	reply := <-out
	if c := e.server.Counts(); c.Calls != 0 || c.Streams != 1 {
		t.Errorf("%+v", c)
	}
	time.AfterFunc(60*time.Millisecond, func() { // the time for a call is not for it
		must(reply.Related([]byte(`{"n":1}`)))
	})
	s.want(`{"n":1}`)
	resp.Body.Close()
	<-gone.Done()
	until(t, "the stream is over", func() bool { return e.server.Counts().Streams == 0 })
	if err := reply.Related([]byte(`{}`)); err != server.ErrGone {
		t.Error(err)
	}
}
