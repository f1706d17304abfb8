package client_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/spillway-mcp/spillway/internal/httpmcp/client"
)

// hangUp at the end of an answer has the peer close the connection behind it.
const hangUp = "\x00"

// peer is an upstream that writes bytes: turns says what a connection answers to
// its requests. What it was asked is kept, by connection.
type peer struct {
	url string

	mu    sync.Mutex
	asked [][]string // the bodies
}

func rawPeer(t *testing.T, turns func(conn, n int) string) *peer {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &peer{url: "http://" + l.Addr().String() + "/mcp"}
	var wait sync.WaitGroup
	t.Cleanup(func() {
		l.Close()
		wait.Wait()
	})
	wait.Go(func() {
		for conn := 0; ; conn++ {
			c, err := l.Accept()
			if err != nil {
				return
			}
			p.mu.Lock()
			p.asked = append(p.asked, nil)
			p.mu.Unlock()
			wait.Go(func() {
				defer c.Close()
				r := bufio.NewReader(c)
				for n := 0; ; n++ {
					req, err := http.ReadRequest(r)
					if err != nil {
						return
					}
					body, _ := io.ReadAll(req.Body)
					p.mu.Lock()
					p.asked[conn] = append(p.asked[conn], string(body))
					p.mu.Unlock()
					answer, last := strings.CutSuffix(turns(conn, n), hangUp)
					_, _ = io.WriteString(c, answer)
					if last {
						return
					}
				}
			})
		}
	})
	return p
}

// requests are how many requests each connection has brought.
func (p *peer) requests() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	var all []string
	for _, conn := range p.asked {
		all = append(all, fmt.Sprint(len(conn)))
	}
	return strings.Join(all, " ")
}

func response(head, body string) string {
	return fmt.Sprintf("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n%s\r\n%s", len(body), head, body)
}

func TestPlainConnections(t *testing.T) {
	good := response("", result)
	for name, c := range map[string]struct {
		turns    func(conn, n int) string
		calls    int
		requests string // by connection
		fails    string // the error of the last call; "" for none
	}{
		"are used again":                 {func(int, int) string { return good }, 3, "3", ""},
		"are not after close":            {func(int, int) string { return response("Connection: close\r\n", result) }, 2, "1 1", ""},
		"are not after more than asked":  {func(int, int) string { return good + "HTTP/1.1 200 OK\r\n" }, 2, "1 1", ""},
		"are not after HTTP/1.0":         {func(int, int) string { return strings.Replace(good, "1.1", "1.0", 1) }, 2, "1 1", ""},
		"hints come before the response": {func(int, int) string { return "HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n" + good }, 2, "2", ""},
		"chunks": {func(int, int) string {
			return "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n" + result[:5] +
				fmt.Sprintf("\r\n%x\r\n%s\r\n0\r\n\r\n", len(result)-5, result[5:])
		}, 2, "2", ""},
		// Whether a request that got no answer had an effect is unknown: it is sent once.
		"end without an answer": {func(_, n int) string { return []string{good, hangUp}[n] }, 2, "2", "EOF"},
		"end within the answer": {func(int, int) string { return good[:len(good)-3] + hangUp }, 1, "1", "unexpected EOF"},
		"no response at all":    {func(int, int) string { return "SSH-2.0-OpenSSH\r\n" + hangUp }, 1, "1", "malformed HTTP"},
		"an endless head": {func(int, int) string {
			return "HTTP/1.1 200 OK\r\n" + strings.Repeat("X-A: "+strings.Repeat("a", 1000)+"\r\n", 300) + hangUp
		}, 1, "1", "the head of its response is too long"},
	} {
		t.Run(name, func(t *testing.T) {
			p := rawPeer(t, c.turns)
			u := upstream(t, p.url, client.Options{})
			s := u.Session(nil)
			defer u.Close()
			var err error
			for range c.calls {
				if err != nil {
					t.Fatal(err)
				}
				err = s.Send(t.Context(), out(call), client.Answer{})
			}
			if c.fails == "" && err != nil || c.fails != "" && (err == nil || !strings.Contains(err.Error(), c.fails)) {
				t.Errorf("error %v, want %q", err, c.fails)
			}
			if got := p.requests(); got != c.requests {
				t.Errorf("requests by connection: %s, want %s", got, c.requests)
			}
		})
	}
}

// A connection that the upstream has closed since is not used: the request would
// be lost, and must not be sent twice.
func TestPlainConnectionClosedWhileIdle(t *testing.T) {
	closed := make(chan struct{}, 8)
	var seen atomic.Int32
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_ = bodyOf(r)
		seen.Add(1)
		sendJSON(w, 200, result)
	}))
	s.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateClosed {
			closed <- struct{}{}
		}
	}
	s.Start()
	t.Cleanup(s.Close)
	u := upstream(t, s.URL, client.Options{})
	session := u.Session(nil)
	for range 3 {
		if err := session.Send(t.Context(), out(call), client.Answer{}); err != nil {
			t.Fatal(err)
		}
		s.CloseClientConnections()
		<-closed
	}
	if n := seen.Load(); n != 3 {
		t.Errorf("%d requests for 3 calls", n)
	}
}

func TestPlainHeadersCannotMakeARequest(t *testing.T) {
	p := rawPeer(t, func(int, int) string { return response("Mcp-Session-Id: a\x01b\r\n", result) })
	u := upstream(t, p.url, client.Options{Forward: []string{"X-Tenant"}})
	for _, bad := range []string{"a\r\nX-Admin: 1", "a\nb", "a\x00b"} {
		o := out(call)
		o.Header = http.Header{"X-Tenant": {bad}}
		if err := u.Session(nil).Send(t.Context(), o, client.Answer{}); err == nil || !strings.Contains(err.Error(), "X-Tenant") {
			t.Errorf("%q: error %v", bad, err)
		}
	}
	if got := strings.Trim(p.requests(), "0 "); got != "" {
		t.Errorf("requests by connection: %s, want none", got)
	}
}

func TestPlainEndOfContext(t *testing.T) {
	release := make(chan struct{})
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		_ = bodyOf(r)
		<-release
		sendJSON(w, 200, result)
	})
	defer close(release)
	u := upstream(t, s.URL, client.Options{})
	gone := errors.New("gone")
	ctx, cancel := context.WithCancelCause(t.Context())
	rest, err := u.Session(nil).Start(ctx, out(call), client.Answer{}, time.Millisecond)
	if rest == nil {
		t.Fatal(err)
	}
	cancel(gone)
	if err := rest(); !errors.Is(err, gone) {
		t.Errorf("got %v", err)
	}
	rest, err = u.Session(nil).Start(ctx, out(call), client.Answer{}, time.Hour)
	if rest != nil || !errors.Is(err, gone) {
		t.Errorf("got %v", err)
	}
}

// What takes longer than patience, and a stream, is left to rest.
func TestStartLeavesTheRest(t *testing.T) {
	release := make(chan struct{})
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		switch body := bodyOf(r); {
		case strings.Contains(body, "slow"):
			<-release
			sendJSON(w, 200, result)
		case strings.Contains(body, "stream"):
			sendStream(w, "data: "+progress+"\n\n", "data: "+result+"\n\n")
		default:
			sendJSON(w, 200, result)
		}
	})
	u := upstream(t, s.URL, client.Options{})
	start := func(tool string, patience time.Duration) (func() error, *log) {
		var l log
		rest, err := u.Session(nil).Start(t.Context(), out(strings.Replace(call, `"x"`, `"`+tool+`"`, 1)), l.answer(), patience)
		if err != nil {
			t.Fatal(err)
		}
		return rest, &l
	}
	rest, quick := start("quick", time.Hour)
	quick.want(t, result)
	if rest != nil {
		t.Error("an answer that is there leaves a rest")
	}
	for _, c := range []struct {
		tool     string
		patience time.Duration
		lines    []string
	}{
		{"slow", time.Millisecond, []string{result}},
		{"stream", time.Hour, []string{"stream", progress, result}},
		{"quick", 0, []string{result}},
	} {
		rest, l := start(c.tool, c.patience)
		l.want(t)
		if rest == nil {
			t.Errorf("%s: nothing is left to be done", c.tool)
			continue
		}
		if c.tool == "slow" {
			close(release)
		}
		if err := rest(); err != nil {
			t.Errorf("%s: %v", c.tool, err)
		}
		l.want(t, c.lines...)
	}
}
