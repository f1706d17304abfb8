package gateway

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/spillway-mcp/spillway/internal/config"
	"github.com/spillway-mcp/spillway/internal/wire"
)

// slowToOpen is a legacy upstream that takes its time to open the GET stream,
// and answers a call with whether that was open before.
type slowToOpen struct {
	mu     sync.Mutex
	open   bool
	called chan struct{} // holds one
}

func (u *slowToOpen) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method == "GET" {
		select {
		case <-u.called:
		case <-time.After(50 * time.Millisecond):
		}
		u.mu.Lock()
		u.open = true
		u.mu.Unlock()
		w.Header().Set("Content-Type", "text/event-stream")
		w.WriteHeader(http.StatusOK)
		w.(http.Flusher).Flush()
		<-r.Context().Done()
		return
	}
	b, _ := io.ReadAll(r.Body)
	m, err := wire.Scan(bytes.TrimSpace(b))
	if err != nil || m.Kind != wire.Request {
		w.WriteHeader(http.StatusAccepted)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	switch id := m.ID.Of(b); methodOf(b, m) {
	case "initialize":
		w.Header().Set("Mcp-Session-Id", "s")
		w.Write(result(id, []byte(`{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"r","version":"1"}}`)))
	case "tools/list":
		w.Write(result(id, []byte(`{"tools":[{"name":"look","inputSchema":{"type":"object"}}]}`)))
	default:
		u.mu.Lock()
		open := u.open
		u.mu.Unlock()
		text := "before"
		if open {
			text = "after"
		} else {
			select {
			case u.called <- struct{}{}:
			default:
			}
		}
		w.Write(result(id, []byte(`{"content":[{"type":"text","text":"`+text+`"}]}`)))
	}
}

// What an upstream asks for outside of any request comes by a stream of its own,
// and is dropped where that is not open yet. So nothing that could make it ask
// is sent before.
func TestTheGETStreamIsOpenBeforeCallsAreSent(t *testing.T) {
	for _, other := range []bool{false, true} {
		u := &slowToOpen{called: make(chan struct{}, 1)}
		web := httptest.NewServer(u)
		servers := []config.Server{{Name: "r", URL: web.URL}}
		fakes := map[string]*fake{}
		if other {
			fakes["a"] = newFake("a", `tools/list {"tools":[]}`)
			servers = append(servers, child("a"))
		}
		s := newSite(t, "{}", fakes, servers...)
		t.Cleanup(web.Close)
		c := s.caller("ann")
		if got := c.must(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"look"}}`); !strings.Contains(got, `"after"`) {
			t.Errorf("beside another %v: %s", other, got)
		}
		s.close()
	}
}
