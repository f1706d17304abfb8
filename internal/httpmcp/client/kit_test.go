package client_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/spillway-mcp/spillway/internal/httpmcp/client"
	"github.com/spillway-mcp/spillway/internal/wire"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	initialize = `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{}}}`
	call       = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"x","arguments":{"n":9007199254740993}}}`
	modernCall = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"é","arguments":{"region":"eu","deep":{"n":5,"s":"ü"},"no":null},"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}`
	result     = `{"jsonrpc":"2.0","id":1,"result":{"ok":true}}`
	progress   = `{"jsonrpc":"2.0","method":"notifications/progress","params":{}}`
)

// serve starts an upstream.
func serve(t *testing.T, h http.HandlerFunc) *httptest.Server {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return s
}

func upstream(t *testing.T, url string, opt client.Options) *client.Upstream {
	t.Helper()
	opt.Name, opt.URL = "up", url
	if opt.Retry == 0 {
		opt.Retry = time.Millisecond
	}
	u, err := client.New(opt)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(u.Close)
	return u
}

func out(msg string) client.Outbound { return client.Outbound{Message: []byte(msg)} }

// log writes down what an answer brings.
type log struct{ lines []string }

func (l *log) answer() client.Answer {
	return client.Answer{
		Message: func(msg []byte) { l.lines = append(l.lines, string(msg)) },
		Stream:  func() { l.lines = append(l.lines, "stream") },
		Dropped: func(d time.Duration) { l.lines = append(l.lines, fmt.Sprint("dropped ", d)) },
	}
}

func (l *log) want(t *testing.T, lines ...string) {
	t.Helper()
	if got, want := strings.Join(l.lines, "\n"), strings.Join(lines, "\n"); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func sendJSON(w http.ResponseWriter, status int, body string) {
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	w.WriteHeader(status)
	_, _ = io.WriteString(w, body)
}

// sendStream writes pieces of a stream, each in a packet of its own.
func sendStream(w http.ResponseWriter, pieces ...string) {
	w.Header().Set("Content-Type", "text/event-stream")
	for _, p := range pieces {
		_, _ = io.WriteString(w, p)
		w.(http.Flusher).Flush()
	}
}

// opened is a session whose initialize has been answered by its upstream.
func opened(t *testing.T, u *client.Upstream) *client.Session {
	t.Helper()
	s := u.Session(nil)
	if err := s.Send(t.Context(), out(initialize), client.Answer{}); err != nil {
		t.Fatal(err)
	}
	return s
}

// initialized answers initialize, and says whether it did.
func initialized(w http.ResponseWriter, r *http.Request, body string) bool {
	if !strings.Contains(body, `"initialize"`) {
		return false
	}
	w.Header().Set("Mcp-Session-Id", "s1")
	sendJSON(w, 200, `{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":"2025-11-25"}}`)
	return true
}

func bodyOf(r *http.Request) string {
	b, _ := io.ReadAll(r.Body)
	return string(b)
}

func method(msg []byte) string {
	m, _ := wire.Scan(msg)
	return wire.Text(m.Method.Of(msg))
}
