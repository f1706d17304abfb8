package server_test

import (
	"context"
	"errors"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/spillway-mcp/spillway/internal/httpmcp"
	"github.com/spillway-mcp/spillway/internal/httpmcp/server"
)

const call1 = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"x"}}`

func TestLegacyCallIsPlainJSON(t *testing.T) {
	for _, revision := range httpmcp.LegacyRevisions() {
		e := start(t, &core{}, server.Options{})
		h := e.handshake(revision)
		a := e.do("POST", call1, h)
		a.want(t, 200, `{"jsonrpc":"2.0","id":1,"result":{"ok":true}}`)
		if a.header.Get("Content-Type") != "application/json" || a.header.Get("Content-Length") != "45" {
			t.Errorf("%s: %v", revision, a.header)
		}
		e.do("POST", `{"jsonrpc":"2.0","method":"notifications/initialized"}`, h).want(t, 202, "")
		e.do("POST", `{"jsonrpc":"2.0","id":9,"result":{}}`, h).want(t, 202, "")
		if got := e.core.last().Revision(); got != revision {
			t.Errorf("revision %q, want %q", got, revision)
		}
		e.do("DELETE", "", h).want(t, 204, "")
		if a := e.do("POST", call1, h); a.status != 404 || a.code() != server.CodeSession {
			t.Errorf("after the end: %+v", a)
		}
		if e.core.closedSessions() != 1 {
			t.Error("the core was not told")
		}
	}
}

func TestLegacyBytesPassUnchanged(t *testing.T) {
	message := "{ \"id\" : 9007199254740993,\n\t\"method\":\"x\",\"jsonrpc\":\"2.0\",\"n\":1.0,\"n\":2e400, \"\xff\":\"\\ud800\"}"
	var got string
	reply := "{\"jsonrpc\":\"2.0\", \"id\" : 9007199254740993,\r\n\"result\":{\"a\":1.0,\"a\":[]} }"
	e := start(t, &core{receive: func(_ context.Context, _ *server.Client, in *server.Inbound) {
		got = string(in.Message)
		must(in.Reply.Answer([]byte(reply)))
	}}, server.Options{})
	a := e.do("POST", message, e.handshake("2025-06-18"))
	a.want(t, 200, reply)
	if got != message {
		t.Errorf("got %q", got)
	}
}

func TestLegacyRelatedMessagesMakeAStream(t *testing.T) {
	release := make(chan struct{})
	e := start(t, &core{receive: func(_ context.Context, _ *server.Client, in *server.Inbound) {
		must(in.Reply.Related([]byte(`{"progress":1}`)))
		<-release // the stream does not wait for Receive to return
		must(in.Reply.Related([]byte(`{"pro`), []byte(`gress":2}`)))
		must(in.Reply.Answer(ok(in)...))
	}}, server.Options{})
	s := streamOf(t, e.open(t.Context(), "POST", call1, e.handshake("2025-06-18")))
	if ev := s.want(`{"progress":1}`); ev.ID == "" {
		t.Error("no event id")
	}
	close(release)
	s.want(`{"progress":2}`)
	s.want(`{"jsonrpc":"2.0","id":1,"result":{"ok":true}}`)
	s.end()
}

func TestLegacyAnswerFromElsewhere(t *testing.T) {
	e := start(t, &core{receive: func(_ context.Context, _ *server.Client, in *server.Inbound) {
		go func() { must(in.Reply.Answer(ok(in)...)) }()
	}}, server.Options{})
	h := e.handshake("2025-11-25")
	e.do("POST", call1, h).want(t, 200, `{"jsonrpc":"2.0","id":1,"result":{"ok":true}}`)
}

// A client that takes one of the two kinds only gets that one.
func TestLegacyAccept(t *testing.T) {
	e := start(t, &core{receive: func(_ context.Context, _ *server.Client, in *server.Inbound) {
		must(in.Reply.Related([]byte(`{"progress":1}`)))
		must(in.Reply.Answer(ok(in)...))
	}}, server.Options{})
	h := e.handshake("2025-06-18")
	e.do("POST", call1, append(h, "Accept", "application/json")).want(t, 200, `{"jsonrpc":"2.0","id":1,"result":{"ok":true}}`)
	a := e.do("POST", call1, append(h, "Accept", "text/event-stream"))
	if !strings.HasPrefix(a.body, "id: ") || !strings.Contains(a.body, "data: {\"progress\":1}\n\n") {
		t.Errorf("%+v", a)
	}
	if a := e.do("POST", call1, append(h, "Accept", "text/html")); a.status != 406 {
		t.Errorf("%+v", a)
	}
	if a := e.do("POST", call1, append(h, "Accept", "")); a.status != 200 {
		t.Errorf("%+v", a)
	}
	if a := e.do("POST", call1, append(h, "Content-Type", "text/plain")); a.status != 415 {
		t.Errorf("%+v", a)
	}
}

func TestLegacyRefusals(t *testing.T) {
	e := start(t, &core{}, server.Options{})
	h := e.handshake("2025-11-25")
	for _, c := range []struct {
		name, method, body string
		h                  head
		status, code       int
	}{
		{"no session", "POST", call1, nil, 400, -32600},
		{"unknown session", "POST", call1, head{"Mcp-Session-Id", "nope"}, 404, server.CodeSession},
		{"unknown session, GET", "GET", "", head{"Mcp-Session-Id", "nope"}, 404, server.CodeSession},
		{"unknown session, DELETE", "DELETE", "", head{"Mcp-Session-Id", "nope"}, 404, server.CodeSession},
		{"no session, GET", "GET", "", nil, 405, -32600},
		{"no session, DELETE", "DELETE", "", nil, 405, -32600},
		{"other method", "PUT", "", h, 405, -32600},
		{"unknown revision", "POST", call1, append(head{"MCP-Protocol-Version", "1999-01-01"}, h[:2]...), 400, -32600},
		{"malformed revision", "POST", call1, append(head{"MCP-Protocol-Version", "not-a-version"}, h[:2]...), 400, -32600},
		{"unknown revision, GET", "GET", "", append(head{"MCP-Protocol-Version", "1999-01-01"}, h[:2]...), 400, -32600},
		{"no JSON", "POST", "hello", h, 400, -32700},
		{"no message", "POST", `{"a":1}`, h, 400, -32600},
		{"two values", "POST", call1 + call1, h, 400, -32700},
		{"empty", "POST", " ", h, 400, -32700},
		{"a batch", "POST", "[" + call1 + "]", h, 400, -32600},
		{"GET without a stream", "GET", "", append(h, "Accept", "application/json"), 406, -32600},
		{"foreign event id", "GET", "", append(h, "Last-Event-ID", "abc"), 400, -32600},
		{"forgotten event id", "GET", "", append(h, "Last-Event-ID", "77-1"), 400, -32600},
		{"initialize refused", "POST", `{"jsonrpc":"2.0","id":4,"method":"initialize","params":{"refuse":1}}`, nil, 200, 0},
	} {
		a := e.do(c.method, c.body, c.h)
		if a.status != c.status || a.code() != c.code {
			t.Errorf("%s: got %d, code %d, want %d, code %d: %s", c.name, a.status, a.code(), c.status, c.code, a.body)
		}
	}
}

func TestLegacyInitializeThatFailsLeavesNoSession(t *testing.T) {
	e := start(t, &core{receive: func(_ context.Context, _ *server.Client, in *server.Inbound) {
		must(in.Reply.Answer([]byte(`{"jsonrpc":"2.0","id":4,"error":{"code":-32602,"message":"no"}}`)))
	}}, server.Options{})
	a := e.do("POST", `{"jsonrpc":"2.0","id":4,"method":"initialize","params":{"refuse":1}}`, nil)
	if a.status != 200 || a.code() != -32602 || a.header.Get("Mcp-Session-Id") != "" {
		t.Errorf("%+v", a)
	}
	until(t, "the session ends", func() bool { return e.core.closedSessions() == 1 && e.server.Counts().Sessions == 0 })
}

func TestLegacyBatch(t *testing.T) {
	e := start(t, &core{receive: func(_ context.Context, _ *server.Client, in *server.Inbound) {
		if method(in) == "progress" {
			must(in.Reply.Related([]byte(`{"progress":1}`)))
		}
		answerOK(in)
	}}, server.Options{})
	h := e.handshake("2025-03-26")
	a := e.do("POST", `[ {"jsonrpc":"2.0","id":1,"method":"a"},{"jsonrpc":"2.0","method":"b"} , {"jsonrpc":"2.0","id":"1","method":"c"}]`, h)
	one, two := `{"jsonrpc":"2.0","id":1,"result":{"ok":true}}`, `{"jsonrpc":"2.0","id":"1","result":{"ok":true}}`
	if a.body != "[ "+one+", "+two+"]" && a.body != "[ "+two+", "+one+"]" {
		t.Errorf("%+v", a)
	}
	e.do("POST", `[{"jsonrpc":"2.0","method":"b"}]`, h).want(t, 202, "")
	a = e.do("POST", `[{"jsonrpc":"2.0","id":1,"method":"a"},{"jsonrpc":"2.0","id":2,"method":"progress"}]`, h)
	if a.header.Get("Content-Type") != "text/event-stream" || strings.Count(a.body, "data: ") != 3 {
		t.Errorf("%+v", a)
	}
}

func TestLegacyMessagesOutsideCalls(t *testing.T) {
	e := start(t, &core{}, server.Options{})
	h := e.handshake("2025-06-18")
	c := e.core.last()
	if c.Listening() {
		t.Error("nobody listens yet")
	}
	must(c.Send([]byte(`{"n":1}`)))
	s := streamOf(t, e.open(t.Context(), "GET", "", h))
	s.want(`{"n":1}`)
	must(c.Send([]byte(`{"n":2}`)))
	last := s.want(`{"n":2}`)
	until(t, "the client listens", c.Listening)

	// A new stream takes the place of the old one.
	newer := streamOf(t, e.open(t.Context(), "GET", "", h))
	s.end()
	must(c.Send([]byte(`{"n":3}`)))
	newer.want(`{"n":3}`)
	newer.resp.Body.Close()
	until(t, "the client has gone", func() bool { return !c.Listening() })
	must(c.Send([]byte(`{"n":4}`)))
	again := streamOf(t, e.open(t.Context(), "GET", "", append(h, "Last-Event-ID", last.ID)))
	again.want(`{"n":3}`)
	again.want(`{"n":4}`)
	c.Close()
	again.end()
	if err := c.Send([]byte(`{}`)); err != server.ErrClosed {
		t.Error(err)
	}
}

func TestLegacyGivesUpTheOldestFirst(t *testing.T) {
	e := start(t, &core{}, server.Options{MaxReplay: 2500}) // two of them, whether the handshake's answer is out yet or not
	h := e.handshake("2025-06-18")
	c := e.core.last()
	for _, n := range []string{"1", "2", "3", "4"} {
		must(c.Send([]byte(`{"n":` + n + `,"pad":"` + big(1000) + `"}`)))
	}
	s := streamOf(t, e.open(t.Context(), "GET", "", h))
	s.want(`{"n":3,"pad":"` + big(1000) + `"}`)
	s.want(`{"n":4,"pad":"` + big(1000) + `"}`)
}

func TestLegacyResumption(t *testing.T) {
	release := make(chan struct{})
	e := start(t, &core{receive: func(ctx context.Context, _ *server.Client, in *server.Inbound) {
		must(in.Reply.Related([]byte(`{"progress":1}`)))
		<-release
		if ctx.Err() != nil {
			panic("the client's going away cancelled the call")
		}
		must(in.Reply.Related([]byte(`{"progress":2}`)))
		answerOK(in)
	}}, server.Options{})
	h := e.handshake("2025-11-25")
	ctx, cancel := context.WithCancel(t.Context())
	s := streamOf(t, e.open(ctx, "POST", call1, h))
	if ev := s.next(); ev.ID == "" || !ev.HasData || len(ev.Data) > 0 {
		t.Errorf("the stream starts with %+v, want an empty event with an id", ev)
	}
	last := s.want(`{"progress":1}`)
	cancel()
	close(release)
	until(t, "the call is answered", func() bool { return e.server.Counts().Calls == 0 })
	for range 2 { // and once more: what was sent is kept for a while
		again := streamOf(t, e.open(t.Context(), "GET", "", append(h, "Last-Event-ID", last.ID)))
		again.next()
		again.want(`{"progress":2}`)
		again.want(`{"jsonrpc":"2.0","id":1,"result":{"ok":true}}`)
		again.end()
	}
}

// 2025-11-25: the server may end the response of a call that goes on.
func TestLegacyPolling(t *testing.T) {
	release := make(chan struct{})
	e := start(t, &core{receive: func(_ context.Context, _ *server.Client, in *server.Inbound) {
		go func() {
			in.Reply.Drop(1500 * time.Millisecond)
			<-release
			answerOK(in)
		}()
	}}, server.Options{})
	h := e.handshake("2025-11-25")
	s := streamOf(t, e.open(t.Context(), "POST", call1, h))
	primed := s.next()
	if ev := s.next(); ev.Retry != 1500*time.Millisecond {
		t.Errorf("%+v", ev)
	}
	s.end()
	again := streamOf(t, e.open(t.Context(), "GET", "", append(h, "Last-Event-ID", primed.ID)))
	close(release)
	again.next()
	again.want(`{"jsonrpc":"2.0","id":1,"result":{"ok":true}}`)
	again.end()

	// Clients of before do not ask again, so their stream is not dropped.
	a := e.do("POST", call1, e.handshake("2025-06-18"))
	a.want(t, 200, `{"jsonrpc":"2.0","id":1,"result":{"ok":true}}`)
}

// What a core does once it has answered, such as the ledger's line, keeps no
// client waiting; and an answer from beside does not wait for Receive.
func TestAnAnswerDoesNotWaitForReceive(t *testing.T) {
	for name, answer := range map[string]func(*server.Inbound){
		"now":    func(in *server.Inbound) { must(in.Reply.AnswerNow(ok(in)...)) },
		"beside": func(in *server.Inbound) { go answerOK(in) },
	} {
		t.Run(name, func(t *testing.T) {
			release := make(chan struct{})
			work := func(in *server.Inbound) {
				answer(in)
				<-release
			}
			e := start(t, &core{
				receive: func(_ context.Context, _ *server.Client, in *server.Inbound) { work(in) },
				serve:   func(_ context.Context, in *server.Inbound) { work(in) },
			}, server.Options{})
			defer close(release)
			h := e.handshake("2025-11-25")
			e.do("POST", call1, h).want(t, 200, `{"jsonrpc":"2.0","id":1,"result":{"ok":true}}`)
		})
	}
}

func TestAnswerNowIsOneAnswer(t *testing.T) {
	second := make(chan error, 1)
	e := start(t, &core{receive: func(_ context.Context, _ *server.Client, in *server.Inbound) {
		must(in.Reply.AnswerNow(ok(in)...))
		second <- in.Reply.AnswerNow(ok(in)...)
	}}, server.Options{})
	e.do("POST", call1, e.handshake("2025-11-25")).want(t, 200, `{"jsonrpc":"2.0","id":1,"result":{"ok":true}}`)
	if err := <-second; !errors.Is(err, server.ErrAnswered) {
		t.Errorf("got %v", err)
	}
}

func TestLegacyLongCallBecomesAStream(t *testing.T) {
	release := make(chan struct{})
	e := start(t, &core{receive: func(_ context.Context, _ *server.Client, in *server.Inbound) {
		<-release
		answerOK(in)
	}}, server.Options{StreamAfter: 5 * time.Millisecond, KeepAlive: 5 * time.Millisecond})
	resp := e.open(t.Context(), "POST", call1, e.handshake("2025-11-25"))
	line := make([]byte, 64)
	n, err := resp.Body.Read(line)
	for err == nil && !strings.Contains(string(line[:n]), ": \n\n") { // comments keep it alive
		n, err = resp.Body.Read(line)
	}
	if err != nil {
		t.Fatal(err)
	}
	close(release)
	s := streamOf(t, resp)
	s.want(`{"jsonrpc":"2.0","id":1,"result":{"ok":true}}`)
	s.end()
}

func TestLegacySessionsAreBoundToTheirCaller(t *testing.T) {
	e := start(t, &core{}, server.Options{Auth: byHeader{}})
	h := e.handshake("2025-11-25", "X-Caller", "token:a")
	e.do("POST", call1, h).want(t, 200, `{"jsonrpc":"2.0","id":1,"result":{"ok":true}}`)
	other := append(h[:len(h):len(h)], "X-Caller", "token:b")
	never := append(other[:len(other):len(other)], "Mcp-Session-Id", "never")
	for _, method := range []string{"POST", "GET", "DELETE"} {
		body := ""
		if method == "POST" {
			body = call1
		}
		a, b := e.do(method, body, other), e.do(method, body, never)
		if a.status != 404 || a.body != b.body {
			t.Errorf("%s: a session of another caller answers %d %s, one that never was %s", method, a.status, a.body, b.body)
		}
	}
}

func TestLegacyIdleSessionEnds(t *testing.T) {
	e := start(t, &core{}, server.Options{IdleSession: 10 * time.Millisecond})
	h := e.handshake("2025-11-25")
	until(t, "the session ends", func() bool { return e.core.closedSessions() == 1 })
	if a := e.do("POST", call1, h); a.status != 404 {
		t.Errorf("%+v", a)
	}
}

// K65: a cancelled call whose server sends no answer ends; others go on.
func TestK65_CancelledCallsEnd(t *testing.T) {
	for _, accept := range []string{"application/json, text/event-stream", "application/json"} {
		started := make(chan bool, 2)
		release := make(chan bool)
		e := start(t, &core{receive: func(_ context.Context, _ *server.Client, in *server.Inbound) {
			if in.Reply == nil {
				return
			}
			started <- true
			if string(id(in)) == "2" {
				<-release
				answerOK(in)
			}
		}}, server.Options{CancelTime: 10 * time.Millisecond})
		h := e.handshake("2025-11-25")
		ended := make(chan answer)
		go func() { ended <- e.do("POST", call1, with(h, "Accept", accept)) }()
		<-started
		e.do("POST", `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1.0}}`, h).want(t, 202, "")
		other := make(chan answer)
		go func() { other <- e.do("POST", strings.Replace(call1, "1,", "2,", 1), h) }()
		<-started
		if a := <-ended; a.status/100 != 2 || strings.Contains(a.body, "error") || strings.Contains(a.body, "result") {
			t.Errorf("%+v", a)
		}
		close(release)
		if a := <-other; !strings.Contains(a.body, `"id":2,"result":{"ok":true}`) {
			t.Errorf("%+v", a)
		}
		until(t, "no call is left", func() bool { return e.server.Counts().Calls == 0 })
	}
}

// Over TLS the protocol is HTTP/2, where deadlines are a stream's own.
func TestHTTP2(t *testing.T) {
	release := make(chan bool)
	k := &core{receive: func(_ context.Context, _ *server.Client, in *server.Inbound) {
		must(in.Reply.Related([]byte(`{"progress":1}`)))
		<-release
		answerOK(in)
	}}
	s := server.New(k, server.Options{})
	h := httptest.NewUnstartedServer(nil)
	h.Config = server.NewHTTPServer(s)
	h.EnableHTTP2 = true
	h.StartTLS()
	defer h.Close()
	defer s.Close()
	e := &edge{t: t, core: k, server: s, http: h}
	sess := e.handshake("2025-11-25")
	resp := e.open(t.Context(), "POST", call1, sess)
	if resp.ProtoMajor != 2 {
		t.Fatal(resp.Proto)
	}
	st := streamOf(t, resp)
	st.next()
	st.want(`{"progress":1}`)
	get := streamOf(t, e.open(t.Context(), "GET", "", sess))
	get.next()
	must(k.last().Send([]byte(`{"n":1}`)))
	get.want(`{"n":1}`)
	close(release)
	st.want(`{"jsonrpc":"2.0","id":1,"result":{"ok":true}}`)
	st.end()
	e.do("POST", modernCall, modernHead).want(t, 200, `{"jsonrpc":"2.0","id":7,"result":{"ok":true}}`)
}
