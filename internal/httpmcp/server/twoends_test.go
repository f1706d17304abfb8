package server_test

import (
	"context"
	"net/url"
	"strings"
	"testing"

	"github.com/spillway-mcp/spillway/internal/httpmcp/server"
)

// The transport of 2024-11-05: one stream for all, and an address to post to.
func TestHTTPSSE(t *testing.T) {
	k := &core{receive: func(_ context.Context, _ *server.Client, in *server.Inbound) {
		if in.Reply != nil {
			must(in.Reply.Related([]byte(`{"progress":1}`)))
			answerOK(in)
		}
	}}
	e := start(t, k, server.Options{})
	resp, err := e.http.Client().Do(e.request(t.Context(), "GET", "/sse", "", nil))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	s := streamOf(t, resp)
	ev := s.next()
	if ev.Name != "endpoint" {
		t.Fatalf("%+v", ev)
	}
	to, err := resp.Request.URL.Parse(string(ev.Data))
	if err != nil {
		t.Fatal(err)
	}
	post := func(body string) answer {
		r := e.request(t.Context(), "POST", to.RequestURI(), body, nil)
		resp, err := e.http.Client().Do(r)
		if err != nil {
			t.Fatal(err)
		}
		return read(t, resp)
	}
	if a := post(call1); a.status != 400 {
		t.Errorf("before initialize: %+v", a)
	}
	post(`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2024-11-05"}}`).want(t, 202, "")
	s.want(`{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":"2024-11-05","capabilities":{}}}`)
	post(`{"jsonrpc":"2.0","method":"notifications/initialized"}`).want(t, 202, "")
	must(k.last().Send([]byte(`{"n":1}`)))
	s.want(`{"n":1}`)
	post("["+call1+`,{"jsonrpc":"2.0","method":"b"}]`).want(t, 202, "")
	s.want(`{"progress":1}`)
	s.want(`{"jsonrpc":"2.0","id":1,"result":{"ok":true}}`)

	// The session is of this transport alone.
	id, _ := url.ParseQuery(strings.TrimPrefix(string(ev.Data), "?"))
	if a := e.do("GET", "", head{"Mcp-Session-Id", id.Get("sessionId")}); a.status != 404 {
		t.Errorf("%+v", a)
	}
	resp.Body.Close()
	until(t, "the session ends with its stream", func() bool { return k.closedSessions() == 1 })
	if a := post(call1); a.status != 404 {
		t.Errorf("%+v", a)
	}
}
