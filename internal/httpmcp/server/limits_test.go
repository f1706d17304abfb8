package server_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/spillway-mcp/spillway/internal/httpmcp/server"
)

// byHeader takes the caller from a header.
type byHeader struct{}

func (byHeader) Authenticate(r *http.Request) (string, error) {
	switch c := r.Header.Get("X-Caller"); c {
	case "":
		return "", &server.Denied{Status: 401, Challenge: `Bearer realm="spillway"`, Reason: "a bearer token is needed"}
	case "broken":
		return "", errors.New("the file with the hash 1234 is gone")
	default:
		return c, nil
	}
}

func TestAuthentication(t *testing.T) {
	e := start(t, &core{}, server.Options{Auth: byHeader{}})
	for _, method := range []string{"POST", "GET", "DELETE"} {
		a := e.do(method, "", nil)
		if a.status != 401 || a.header.Get("WWW-Authenticate") != `Bearer realm="spillway"` || !strings.Contains(a.body, "a bearer token is needed") {
			t.Errorf("%s: %+v", method, a)
		}
	}
	if a := e.do("POST", modernCall, with(modernHead, "X-Caller", "broken")); a.status != 401 || strings.Contains(a.body, "1234") {
		t.Errorf("%+v", a)
	}
	if a := e.do("POST", modernCall, with(modernHead, "X-Caller", "token:a")); a.status != 200 {
		t.Errorf("%+v", a)
	}
}

// A page whose name was rebound to this address cannot use the endpoint.
func TestHostAndOrigin(t *testing.T) {
	e := start(t, &core{}, server.Options{Hosts: []string{"mcp.example.com"}, Origins: []string{"https://App.example.com"}})
	for _, c := range []struct {
		h      head
		status int
	}{
		{head{}, 200},
		{head{"Host", "localhost"}, 200},
		{head{"Host", "LOCALHOST:3000"}, 200},
		{head{"Host", "[::1]:3000"}, 200},
		{head{"Host", "127.0.0.9"}, 200},
		{head{"Host", "mcp.example.com"}, 200},
		{head{"Host", "MCP.example.com:8443"}, 200},
		{head{"Host", "evil.example.com"}, 403},
		{head{"Host", "localhost.evil.example.com"}, 403},
		{head{"Host", "10.0.0.1"}, 403},
		{head{"Origin", "http://localhost:5173"}, 200},
		{head{"Origin", "http://127.0.0.1"}, 200},
		{head{"Origin", "http://[::1]:1"}, 200},
		{head{"Origin", "https://app.example.com"}, 200},
		{head{"Origin", "http://app.example.com"}, 403},
		{head{"Origin", "https://evil.example.com"}, 403},
		{head{"Origin", "null"}, 403},
		{head{"Origin", "file://localhost"}, 403},
		{head{"Origin", "http://localhost@evil.example.com"}, 403},
		{head{"Host", "evil.example.com", "Origin", "http://evil.example.com"}, 403},
	} {
		if a := e.do("POST", modernCall, with(modernHead, c.h...)); a.status != c.status {
			t.Errorf("%v: %d %s", c.h, a.status, a.body)
		}
	}
}

func TestBodyLimit(t *testing.T) {
	e := start(t, &core{}, server.Options{MaxBody: 1000})
	long := strings.Replace(modernCall, `"arguments":{}`, `"arguments":{"pad":"`+big(1000)+`"}`, 1)
	if a := e.do("POST", long, modernHead); a.status != 413 || a.code() != -32600 {
		t.Errorf("%+v", a)
	}
	r := e.request(t.Context(), "POST", "/mcp", long, modernHead)
	r.ContentLength = -1 // without a length it is noticed while it comes
	resp, err := e.http.Client().Do(r)
	if err != nil {
		t.Fatal(err)
	}
	if a := read(t, resp); a.status != 413 {
		t.Errorf("%+v", a)
	}
	if a := e.do("POST", modernCall, modernHead); a.status != 200 {
		t.Errorf("%+v", a)
	}
}

func TestHeaderLimit(t *testing.T) {
	e := start(t, &core{}, server.Options{})
	if a := e.do("POST", modernCall, with(modernHead, "X-Pad", big(100_000))); a.status != 431 {
		t.Errorf("%+v", a)
	}
}

func TestCallsOfOneCallerAreLimited(t *testing.T) {
	started, release := make(chan bool, 9), make(chan bool)
	e := start(t, &core{serve: func(_ context.Context, in *server.Inbound) {
		started <- true
		<-release
		answerOK(in)
	}}, server.Options{MaxCalls: 2, Auth: byHeader{}})
	a := with(modernHead, "X-Caller", "a")
	done := make(chan answer, 2)
	for range 2 {
		go func() { done <- e.do("POST", modernCall, a) }()
		<-started
	}
	if got := e.do("POST", modernCall, a); got.status != 429 || got.code() != server.CodeBusy || got.header.Get("Retry-After") == "" || !strings.Contains(got.body, `"id":7`) {
		t.Errorf("%+v", got)
	}
	go func() { done <- e.do("POST", modernCall, with(modernHead, "X-Caller", "b")) }()
	<-started
	close(release)
	for range 3 {
		if got := <-done; got.status != 200 {
			t.Errorf("%+v", got)
		}
	}
	if got := e.do("POST", modernCall, a); got.status != 200 {
		t.Errorf("%+v", got)
	}
}

func TestSessionsAndStreamsOfOneCallerAreLimited(t *testing.T) {
	e := start(t, &core{}, server.Options{MaxSessions: 1, MaxStreams: 1})
	h := e.handshake("2025-11-25")
	init := `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25"}}`
	if a := e.do("POST", init, nil); a.status != 429 {
		t.Errorf("%+v", a)
	}
	streamOf(t, e.open(t.Context(), "GET", "", h))
	if a := e.do("GET", "", h); a.status != 429 {
		t.Errorf("%+v", a)
	}
	e.do("DELETE", "", h)
	until(t, "there is room again", func() bool { return e.do("POST", init, nil).status == 200 })
}

func TestTimeForACall(t *testing.T) {
	for _, blocks := range []bool{false, true} {
		causes := make(chan error, 1)
		wait := func(ctx context.Context) {
			<-ctx.Done()
			causes <- context.Cause(ctx)
		}
		k := &core{}
		k.serve = func(ctx context.Context, in *server.Inbound) {
			if blocks {
				wait(ctx)
			} else {
				go wait(ctx)
			}
		}
		k.receive = func(ctx context.Context, _ *server.Client, in *server.Inbound) { k.serve(ctx, in) }
		e := start(t, k, server.Options{CallTime: 10 * time.Millisecond})
		a := e.do("POST", modernCall, modernHead)
		if a.status != 200 || a.code() != server.CodeTimeout || !strings.Contains(a.body, `"id":7`) {
			t.Errorf("%+v", a)
		}
		if err := <-causes; err != server.ErrTimeout {
			t.Error(err)
		}
		if a := e.do("POST", call1, e.handshake("2025-11-25")); a.code() != server.CodeTimeout {
			t.Errorf("%+v", a)
		}
		if err := <-causes; err != server.ErrTimeout {
			t.Error(err)
		}
	}
}

// A client that sends its body a byte at a time does not hold a place for long.
func TestSlowLorisBody(t *testing.T) {
	e := start(t, &core{}, server.Options{ReadTime: 30 * time.Millisecond})
	c := e.dial()
	fmt.Fprintf(c, "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 1000\r\n\r\n{")
	if a := readRaw(t, c); a.status != 400 || !strings.Contains(a.body, "too slowly") {
		t.Errorf("%+v", a)
	}
	if n, err := c.Read(make([]byte, 1)); n != 0 || err == nil {
		t.Error("the connection is still open")
	}
}

func TestSlowLorisHeader(t *testing.T) {
	e := start(t, &core{}, server.Options{}, func(s *http.Server) { s.ReadHeaderTimeout = 30 * time.Millisecond })
	c := e.dial()
	fmt.Fprintf(c, "POST /mcp HTTP/1.1\r\nHost: localhost\r\n")
	c.SetReadDeadline(time.Now().Add(10 * time.Second))
	buf := make([]byte, 512)
	for {
		n, err := c.Read(buf)
		if err != nil {
			return // closed
		}
		if n > 0 && !strings.Contains(string(buf[:n]), "408") {
			t.Errorf("%q", buf[:n])
		}
	}
}

// A client that does not read its answer is given up, and others do not notice.
func TestSlowClient(t *testing.T) {
	huge := []byte(`{"jsonrpc":"2.0","id":7,"result":"` + big(16<<20) + `"}`)
	stuck := make(chan error, 1)
	e := start(t, &core{serve: func(_ context.Context, in *server.Inbound) {
		if in.Header.Get("X-Stuck") == "" {
			answerOK(in)
			return
		}
		go func() { stuck <- in.Reply.Answer(huge) }()
	}}, server.Options{WriteTime: -1})
	_ = e
	slow := start(t, e.core, server.Options{WriteTime: 50 * time.Millisecond})
	c := slow.dial()
	fmt.Fprintf(c, "POST /mcp HTTP/1.1\r\nHost: localhost\r\nX-Stuck: 1\r\nContent-Type: application/json\r\nMcp-Protocol-Version: 2026-07-28\r\nMcp-Method: tools/call\r\nMcp-Name: x\r\nContent-Length: %d\r\n\r\n%s", len(modernCall), modernCall)
	if err := <-stuck; err != nil {
		t.Error("the core waited for the client:", err)
	}
	slow.do("POST", modernCall, modernHead).want(t, 200, `{"jsonrpc":"2.0","id":7,"result":{"ok":true}}`)
}

// Notifications for a client that does not read them are bounded.
func TestSlowListener(t *testing.T) {
	out := make(chan *server.Reply, 1)
	causes := make(chan error, 1)
	e := start(t, &core{serve: func(ctx context.Context, in *server.Inbound) {
		out <- in.Reply
		<-ctx.Done()
		causes <- context.Cause(ctx)
	}}, server.Options{MaxQueue: 1 << 20})
	c := e.dial()
	listen := `{"jsonrpc":"2.0","id":"s1","method":"subscriptions/listen","params":{` + modernMeta + `}}`
	fmt.Fprintf(c, "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nMcp-Protocol-Version: 2026-07-28\r\nMcp-Method: subscriptions/listen\r\nContent-Length: %d\r\n\r\n%s", len(listen), listen)
	reply := <-out
	var err error
	for n := 0; err == nil && n < 1000; n++ {
		err = reply.Related([]byte(`{"pad":"` + big(100_000) + `"}`))
	}
	if err != server.ErrSlow {
		t.Error(err)
	}
	if err := <-causes; err != server.ErrSlow {
		t.Error(err)
	}
	c.Close()
}

func TestCloseEndsEverything(t *testing.T) {
	block := make(chan bool)
	k := &core{serve: func(ctx context.Context, in *server.Inbound) { <-block }}
	e := start(t, k, server.Options{})
	h := e.handshake("2025-11-25")
	s := streamOf(t, e.open(t.Context(), "GET", "", h))
	s.next()
	e.server.Close()
	s.end()
	close(block)
	if a := e.do("POST", call1, h); a.status != 503 {
		t.Errorf("%+v", a)
	}
	if k.closedSessions() != 1 {
		t.Error("the core was not told")
	}
	until(t, "all is given back", func() bool { return e.server.Counts() == server.Counts{} })
}

// K63: sessions opened and closed leave nothing behind.
func TestK63_SessionsLeaveNothing(t *testing.T) {
	k := &core{}
	e := start(t, k, server.Options{})
	for range 500 {
		h := e.handshake("2025-06-18")
		must(k.last().Send([]byte(`{}`)))
		e.do("POST", call1, h)
		e.do("DELETE", "", h)
		k.mu.Lock()
		k.open = k.open[:0]
		k.mu.Unlock()
	}
	if k.closedSessions() != 500 {
		t.Errorf("%d sessions were closed", k.closedSessions())
	}
	until(t, "all is given back", func() bool {
		sessions, callers := e.server.Held()
		return e.server.Counts() == server.Counts{} && sessions == 0 && callers == 0
	})
}

// BenchmarkIdleSession tells what a session costs that nobody uses.
func BenchmarkIdleSession(b *testing.B) {
	k := &core{}
	s := server.New(k, server.Options{MaxSessions: -1})
	defer s.Close()
	var before, after runtime.MemStats
	n := 0
	runtime.GC()
	runtime.ReadMemStats(&before)
	for b.Loop() {
		r := httptest.NewRequest("POST", "http://localhost/mcp", strings.NewReader(`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25"}}`))
		r.Header.Set("Content-Type", "application/json")
		w := httptest.NewRecorder()
		s.ServeHTTP(w, r)
		if w.Code != 200 {
			b.Fatal(w.Code)
		}
		n++
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	b.ReportMetric(float64(after.HeapAlloc-before.HeapAlloc)/float64(n), "heap-B/session")
	runtime.KeepAlive(s)
}
