package gateway

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/spillway-mcp/spillway/internal/config"
	"github.com/spillway-mcp/spillway/internal/wire"
)

// 2025-11-25 lets a server end the response of a call that goes on. The client's
// response ends with it, though the goroutine of its request is the one that the
// call was begun on, and the answer is had by asking again.
func TestAnUpstreamThatEndsItsResponseEndsTheClients(t *testing.T) {
	release := make(chan struct{})
	up := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		m, _ := wire.Scan(b)
		method := methodOf(b, m)
		switch {
		case r.Method == "GET" && r.Header.Get("Last-Event-Id") == "one":
			w.Header().Set("Content-Type", "text/event-stream")
			<-release
			_, _ = w.Write([]byte(`data: {"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"late"}]}}` + "\n\n"))
		case r.Method == "GET":
			w.WriteHeader(http.StatusMethodNotAllowed)
		case method == "initialize":
			w.Header().Set("Mcp-Session-Id", "s")
			w.Header().Set("Content-Type", "application/json")
			_, _ = w.Write(result(m.ID.Of(b), []byte(`{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"r","version":"1"}}`)))
		case method == "tools/list":
			w.Header().Set("Content-Type", "application/json")
			_, _ = w.Write(result(m.ID.Of(b), []byte(`{"tools":[{"name":"look","inputSchema":{"type":"object"}}]}`)))
		case method == "tools/call":
			w.Header().Set("Content-Type", "text/event-stream")
			_, _ = w.Write([]byte("id: one\nretry: 1\ndata: \n\n"))
		default:
			w.WriteHeader(http.StatusAccepted)
		}
	}))
	t.Cleanup(up.Close)
	s := newSite(t, "r: {}", nil, config.Server{Name: "r", URL: up.URL})
	c := s.caller("ann")
	c.must(`{"jsonrpc":"2.0","id":5,"method":"tools/list"}`)
	if got := c.must(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"look"}}`); got != "" {
		t.Errorf("the first response brings %s, want none", got)
	}
	r, _ := http.NewRequest("GET", s.web.URL+"/mcp", nil)
	r.Header = http.Header{"Accept": {"text/event-stream"}, "X-Caller": {"ann"}, "Mcp-Session-Id": {c.session}, "Last-Event-Id": {c.lastID}}
	resp, err := s.web.Client().Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	close(release)
	if b, _ := io.ReadAll(resp.Body); !strings.Contains(string(b), `"text":"late"`) {
		t.Errorf("status %s: %s", resp.Status, b)
	}
}
