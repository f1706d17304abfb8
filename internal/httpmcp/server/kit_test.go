package server_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/spillway-mcp/spillway/internal/httpmcp"
	"github.com/spillway-mcp/spillway/internal/httpmcp/server"
	"github.com/spillway-mcp/spillway/internal/httpmcp/sse"
	"github.com/spillway-mcp/spillway/internal/wire"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// core is a Core made of functions; those that are nil answer {"ok":true}.
type core struct {
	serve   func(ctx context.Context, in *server.Inbound)
	receive func(ctx context.Context, c *server.Client, in *server.Inbound)

	mu     sync.Mutex
	open   []*server.Client
	closed int
}

type session struct {
	k *core
	c *server.Client
}

func (k *core) Open(c *server.Client) (server.Session, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.open = append(k.open, c)
	return &session{k, c}, nil
}

func (k *core) last() *server.Client {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.open[len(k.open)-1]
}

func (k *core) closedSessions() int {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.closed
}

func (k *core) Serve(ctx context.Context, in *server.Inbound) {
	if k.serve != nil {
		k.serve(ctx, in)
		return
	}
	answerOK(in)
}

func (s *session) Receive(ctx context.Context, in *server.Inbound) {
	if method(in) == "initialize" && !strings.Contains(string(in.Message), "refuse") {
		version := wire.Text(wire.Member(in.Message, in.Scan.Params, "protocolVersion").Of(in.Message))
		must(in.Reply.Answer(fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":%q,"capabilities":{}}}`, id(in), version)))
		return
	}
	if s.k.receive != nil {
		s.k.receive(ctx, s.c, in)
		return
	}
	answerOK(in)
}

func (s *session) Close() {
	s.k.mu.Lock()
	s.k.closed++
	s.k.mu.Unlock()
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}

func method(in *server.Inbound) string {
	return wire.Text(in.Scan.Method.Of(in.Message))
}

func id(in *server.Inbound) []byte { return in.Scan.ID.Of(in.Message) }

// ok is the answer in two parts, as a reduced one comes.
func ok(in *server.Inbound) [][]byte {
	return [][]byte{fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,`, id(in)), []byte(`"result":{"ok":true}}`)}
}

func answerOK(in *server.Inbound) {
	if in.Reply != nil {
		must(in.Reply.Answer(ok(in)...))
	}
}

// edge is a running edge.
type edge struct {
	t      *testing.T
	core   *core
	server *server.Server
	http   *httptest.Server
}

func start(t *testing.T, k *core, opt server.Options, adjust ...func(*http.Server)) *edge {
	t.Helper()
	e := &edge{t: t, core: k, server: server.New(k, opt)}
	mux := http.NewServeMux()
	mux.Handle("/mcp", e.server)
	mux.Handle("/sse", e.server.HTTPSSE())
	e.http = httptest.NewUnstartedServer(mux)
	e.http.Config = server.NewHTTPServer(mux)
	for _, f := range adjust {
		f(e.http.Config)
	}
	e.http.Start()
	t.Cleanup(func() {
		e.server.Close()
		e.http.Client().CloseIdleConnections()
		e.http.Close()
	})
	return e
}

// head is a set of headers, name and value by turns; "Host" is the host.
type head []string

var modernHead = head{"MCP-Protocol-Version", "2026-07-28", "Mcp-Method", "tools/call", "Mcp-Name", "x"}

const modernMeta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}`

const modernCall = `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"x","arguments":{},` + modernMeta + `}}`

func (e *edge) request(ctx context.Context, method, path, body string, h head) *http.Request {
	e.t.Helper()
	r, err := http.NewRequestWithContext(ctx, method, e.http.URL+path, strings.NewReader(body))
	if err != nil {
		e.t.Fatal(err)
	}
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	r.Header.Set("Accept", "application/json, text/event-stream")
	for i := 0; i < len(h); i += 2 {
		switch {
		case h[i] == "Host":
			r.Host = h[i+1]
		case h[i+1] == "":
			r.Header.Del(h[i])
		default:
			r.Header.Set(h[i], h[i+1])
		}
	}
	return r
}

func (e *edge) open(ctx context.Context, method, body string, h head) *http.Response {
	e.t.Helper()
	resp, err := e.http.Client().Do(e.request(ctx, method, "/mcp", body, h))
	if err != nil {
		e.t.Fatal(err)
	}
	e.t.Cleanup(func() { resp.Body.Close() })
	return resp
}

// answer is a response that was read to its end.
type answer struct {
	status int
	header http.Header
	body   string
}

func (e *edge) do(method, body string, h head) answer {
	e.t.Helper()
	return read(e.t, e.open(e.t.Context(), method, body, h))
}

func read(t *testing.T, resp *http.Response) answer {
	t.Helper()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	return answer{resp.StatusCode, resp.Header, string(body)}
}

// code is the JSON-RPC error code of an answer, 0 for none.
func (a answer) code() int {
	var m struct{ Error struct{ Code int } }
	_ = json.Unmarshal([]byte(a.body), &m)
	return m.Error.Code
}

func (a answer) want(t *testing.T, status int, body string) {
	t.Helper()
	if a.status != status || a.body != body {
		t.Errorf("got %d %s\nwant %d %s", a.status, a.body, status, body)
	}
}

// events reads an open stream.
type events struct {
	t    *testing.T
	resp *http.Response
	r    *sse.Reader
}

func streamOf(t *testing.T, resp *http.Response) *events {
	t.Helper()
	if got := resp.Header.Get("Content-Type"); resp.StatusCode != 200 || got != "text/event-stream" {
		body, _ := io.ReadAll(resp.Body)
		t.Fatalf("no stream: %d %s %s", resp.StatusCode, got, body)
	}
	return &events{t, resp, sse.NewReader(resp.Body, 0)}
}

func (s *events) next() sse.Event {
	s.t.Helper()
	ev, err := s.r.Next()
	if err != nil {
		s.t.Fatal("stream ended:", err)
	}
	return ev
}

func (s *events) want(data string) sse.Event {
	s.t.Helper()
	ev := s.next()
	if string(ev.Data) != data {
		s.t.Fatalf("got %q, want %q", ev.Data, data)
	}
	return ev
}

func (s *events) end() {
	s.t.Helper()
	if ev, err := s.r.Next(); !errors.Is(err, io.EOF) {
		s.t.Fatalf("not the end: %s %v", ev.Data, err)
	}
}

// handshake opens a session and returns the headers that belong to it.
func (e *edge) handshake(revision string, more ...string) head {
	e.t.Helper()
	a := e.do("POST", `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"`+revision+`","capabilities":{}}}`, more)
	if a.status != 200 || a.header.Get(httpmcp.HeaderSession) == "" {
		e.t.Fatalf("initialize: %+v", a)
	}
	h := append(head{"Mcp-Session-Id", a.header.Get(httpmcp.HeaderSession)}, more...)
	if revision >= httpmcp.Revision20250618 {
		h = append(h, "MCP-Protocol-Version", revision)
	}
	return h
}

// until waits for a condition.
func until(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for limit := time.Now().Add(10 * time.Second); !ok(); {
		if time.Now().After(limit) {
			t.Fatal("never:", what)
		}
		select {
		case <-time.After(time.Millisecond):
		case <-t.Context().Done():
			t.Fatal("never:", what)
		}
	}
}

// dial opens a connection to write bytes to as they are.
func (e *edge) dial() net.Conn {
	e.t.Helper()
	c, err := net.Dial("tcp", e.http.Listener.Addr().String())
	if err != nil {
		e.t.Fatal(err)
	}
	e.t.Cleanup(func() { c.Close() })
	return c
}

func readRaw(t *testing.T, c net.Conn) answer {
	t.Helper()
	resp, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		t.Fatal(err)
	}
	return read(t, resp)
}

func big(n int) string { return string(bytes.Repeat([]byte("x"), n)) }
