package gateway

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/spillway-mcp/spillway/internal/config"
	"github.com/spillway-mcp/spillway/internal/wire"
)

// remote is a legacy HTTP upstream that can forget its sessions.
type remote struct {
	mu       sync.Mutex
	sessions int
	now      string // the session that is known
	calls    []string
	inits    int
	headers  http.Header // of the last call
	stream   bool        // calls are answered by a stream with a question in it
	answered chan string
}

func (u *remote) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != "POST" {
		w.WriteHeader(http.StatusMethodNotAllowed)
		return
	}
	b, _ := io.ReadAll(r.Body)
	b = bytes.TrimSpace(b)
	m, err := wire.Scan(b)
	if err != nil {
		w.WriteHeader(400)
		return
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	w.Header().Set("Content-Type", "application/json")
	id := m.ID.Of(b)
	method := methodOf(b, m)
	if method == "initialize" {
		u.inits++
		u.sessions++
		u.now = fmt.Sprintf("s%d", u.sessions)
		w.Header().Set("Mcp-Session-Id", u.now)
		w.Write(result(id, []byte(`{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"r","version":"1"}}`)))
		return
	}
	if r.Header.Get("Mcp-Session-Id") != u.now {
		w.WriteHeader(http.StatusNotFound)
		return
	}
	switch {
	case m.Kind == wire.Response:
		u.answered <- string(b)
		fallthrough
	case m.Kind != wire.Request:
		w.WriteHeader(http.StatusAccepted)
	case method == "tools/list":
		w.Write(result(id, []byte(`{"tools":[{"name":"look","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":true}},{"name":"change","inputSchema":{"type":"object"}}]}`)))
	case method == "tools/call":
		u.calls = append(u.calls, text(b, m.Params, "name"))
		u.headers = r.Header
		if u.stream {
			w.Header().Set("Content-Type", "text/event-stream")
			fmt.Fprintf(w, "data: {\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"roots/list\"}\n\n")
			w.(http.Flusher).Flush()
			u.mu.Unlock()
			<-u.answered
			u.mu.Lock()
			fmt.Fprintf(w, "data: %s\n\n", result(id, []byte(`{"content":[]}`)))
			return
		}
		w.Write(result(id, []byte(`{"content":[{"type":"text","text":"done"}]}`)))
	default:
		w.Write(errorf(-32601, "no").Response(id))
	}
}

func (u *remote) forget() {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.now = ""
}

func newRemote(t *testing.T) (*remote, string) {
	u := &remote{answered: make(chan string, 1)}
	web := httptest.NewServer(u)
	t.Cleanup(web.Close)
	return u, web.URL
}

func TestK61_UpstreamForgetsItsSession(t *testing.T) {
	for _, other := range []bool{false, true} {
		t.Run(fmt.Sprintf("beside another %v", other), func(t *testing.T) {
			u, url := newRemote(t)
			servers := []config.Server{{Name: "r", URL: url}}
			fakes := map[string]*fake{}
			if other {
				fakes["a"] = newFake("a", `tools/list {"tools":[]}`)
				servers = append(servers, child("a"))
			}
			s := newSite(t, "{}", fakes, servers...)
			c := s.caller("ann")
			c.must(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`)
			u.forget()
			if got := c.must(`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"look"}}`); !strings.Contains(got, "done") {
				t.Errorf("a read: %s", got)
			}
			if u.inits != 2 {
				t.Errorf("%d sessions were begun, want 2", u.inits)
			}
			u.forget()
			got := c.must(`{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"change"}}`)
			if !strings.Contains(got, `"code":-31006`) || !strings.Contains(got, `"id":3`) {
				t.Errorf("a write: %s", got)
			}
			if u.inits != 3 {
				t.Errorf("%d sessions were begun, want 3", u.inits)
			}
			if got := c.must(`{"jsonrpc":"2.0","id":4,"method":"tools/call","params":{"name":"change"}}`); !strings.Contains(got, "done") {
				t.Errorf("the next write: %s", got)
			}
			if want := []string{"look", "change"}; strings.Join(u.calls, " ") != strings.Join(want, " ") {
				t.Errorf("the upstream was called %q, want %q", u.calls, want)
			}
		})
	}
}

func TestK66_HeadersReachAnUpstreamOnlyByName(t *testing.T) {
	u, url := newRemote(t)
	v, url2 := newRemote(t)
	s := newSite(t, "{}", nil, config.Server{Name: "r", URL: url},
		config.Server{Name: "v", URL: url2, Prefix: "v", ForwardHeaders: []string{"X-Tenant"}, Headers: map[string]string{"Authorization": "Bearer upstream-secret"}})
	c := &caller{s: s, name: "ann", header: http.Header{
		"Authorization": {"Bearer client-secret"}, "Cookie": {"sid=client-cookie"}, "X-Tenant": {"client-tenant"},
	}}
	c.must(hello)
	c.must(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`)
	c.must(`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"look"}}`)
	c.must(`{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"v_look"}}`)
	for _, h := range []string{"Authorization", "Cookie", "X-Tenant", "X-Caller"} {
		if got := u.headers.Get(h); got != "" {
			t.Errorf("r got %s: %s", h, got)
		}
	}
	if v.headers.Get("X-Tenant") != "client-tenant" || v.headers.Get("Authorization") != "Bearer upstream-secret" || v.headers.Get("Cookie") != "" {
		t.Errorf("v got %v", v.headers)
	}
	for _, secret := range []string{"client-secret", "client-cookie", "client-tenant", "upstream-secret"} {
		if strings.Contains(s.log.String(), secret) {
			t.Errorf("the log holds %s", secret)
		}
	}
}

// A server that asks its client in the middle of a call gets the answer, on the
// stream of that call.
func TestQuestionInACall(t *testing.T) {
	u, url := newRemote(t)
	u.stream = true
	s := newSite(t, "{}", nil, config.Server{Name: "r", URL: url}, config.Server{Name: "q", URL: url, Prefix: "q"})
	c := s.caller("ann")
	c.must(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`)
	_ = u
	r, _ := http.NewRequest("POST", s.web.URL+"/mcp", strings.NewReader(`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"q_look"}}`))
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	r.Header.Set("X-Caller", "ann")
	r.Header.Set("Mcp-Session-Id", c.session)
	resp, err := s.web.Client().Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	var all strings.Builder
	buf := make([]byte, 4096)
	for !strings.Contains(all.String(), "roots/list") {
		n, err := resp.Body.Read(buf)
		if err != nil {
			t.Fatal(err, all.String())
		}
		all.Write(buf[:n])
	}
	from := strings.Index(all.String(), `"id":"`)
	id := all.String()[from+6:]
	id = id[:strings.Index(id, `"`)]
	c.must(`{"jsonrpc":"2.0","id":"` + id + `","result":{"roots":[]}}`)
	rest, err := io.ReadAll(resp.Body)
	if err != nil || !strings.Contains(string(rest), `{"jsonrpc":"2.0","id":2,"result":{"content":[]}}`) {
		t.Errorf("%v: %s%s", err, all.String(), rest)
	}
}
