package gateway

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/spillway-mcp/spillway/internal/wire"
)

const modernMeta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}`

// modern sends a modern request; the response's body is the caller's.
func (s *site) modern(ctx context.Context, who, method, name, body string) (*http.Response, error) {
	r, err := http.NewRequestWithContext(ctx, "POST", s.web.URL+"/mcp", strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	r.Header.Set("X-Caller", who)
	r.Header.Set("Mcp-Protocol-Version", "2026-07-28")
	r.Header.Set("Mcp-Method", method)
	if name != "" {
		r.Header.Set("Mcp-Name", name)
	}
	return s.web.Client().Do(r)
}

func (s *site) mustModern(who, method, name, body string) string {
	s.t.Helper()
	resp, err := s.modern(s.t.Context(), who, method, name, body)
	if err != nil {
		s.t.Fatal(err)
	}
	defer resp.Body.Close()
	b, _ := io.ReadAll(resp.Body)
	return string(b)
}

func newModernFake(name string) *fake {
	f := newFake(name, `server/discover {"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{"listChanged":true}},"ttlMs":0,"cacheScope":"private"}
tools/list {"resultType":"complete","tools":[{"name":"echo","inputSchema":{"type":"object"}},{"name":"hang","inputSchema":{"type":"object"}}],"ttlMs":0,"cacheScope":"private"}
tools/call hang -
subscriptions/listen -`)
	f.answer = func(p *fakeProcess, id []byte, method string, msg []byte, m wire.Message) bool {
		if method != "tools/call" || text(msg, m.Params, "name") != "echo" {
			return false
		}
		p.send(result(id, []byte(`{"resultType":"complete","content":[{"type":"text","text":"`+text(msg, m.Params, "arguments", "say")+`"}]}`)))
		return true
	}
	return f
}

// Many modern requests of one caller at once, all with one id: each gets its own
// answer, under that id.
func TestModernIDsDoNotMeet(t *testing.T) {
	for n := 1; n <= 2; n++ {
		fakes := map[string]*fake{"a": newModernFake("a"), "b": newModernFake("b")}
		servers := serversOf("a", "b")[:n]
		s := newSite(t, "{}", fakes, servers...)
		name := "echo"
		if n == 2 {
			name = "a_echo"
		}
		if got := s.mustModern("ann", "tools/list", "", `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{`+modernMeta+`}}`); !strings.Contains(got, `"`+name+`"`) {
			t.Fatal(got)
		}
		var wait sync.WaitGroup
		for i := range 40 {
			wait.Go(func() {
				got := s.mustModern("ann", "tools/call", name, fmt.Sprintf(`{"jsonrpc":"2.0","id":"same","method":"tools/call","params":{"name":%q,"arguments":{"say":"%d"},%s}}`, name, i, modernMeta))
				if want := fmt.Sprintf(`{"jsonrpc":"2.0","id":"same","result":{"resultType":"complete","content":[{"type":"text","text":"%d"}]}}`, i); got != want {
					t.Errorf("got %s\nwant %s", got, want)
				}
			})
		}
		wait.Wait()
	}
}

// A legacy client that uses an id again while a call under it is without an answer,
// as who hung up and starts from one: each call has its own answer, in whatever
// order they come.
func TestLegacyIDsDoNotMeet(t *testing.T) {
	for n := 1; n <= 2; n++ {
		f := newFake("a", `tools/list {"tools":[{"name":"echo","inputSchema":{"type":"object"}},{"name":"hang","inputSchema":{"type":"object"}}]}
tools/call hang -
tools/call echo {"content":[{"type":"text","text":"second"}]}`)
		s := newSite(t, "{}", map[string]*fake{"a": f, "b": newFake("b", `tools/list {"tools":[{"name":"echo","inputSchema":{"type":"object"}}]}`)}, serversOf("a", "b")[:n]...)
		ann := s.caller("ann")
		ann.must(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`)
		call := func(tool string) string {
			if n == 2 && tool == "echo" {
				tool = "a_echo"
			}
			return `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"` + tool + `","arguments":{}}}`
		}
		first := make(chan string, 1)
		go func() {
			got, err := ann.post(call("hang"))
			if err != nil {
				got = err.Error()
			}
			first <- got
		}()
		p, id := f.hung("tools/call")
		if got, want := ann.must(call("echo")), `{"jsonrpc":"2.0","id":7,"result":{"content":[{"type":"text","text":"second"}]}}`; got != want {
			t.Errorf("%d servers, the second: got %s\nwant %s", n, got, want)
		}
		p.send(result(id, []byte(`{"content":[{"type":"text","text":"first"}]}`)))
		if got, want := <-first, `{"jsonrpc":"2.0","id":7,"result":{"content":[{"type":"text","text":"first"}]}}`; got != want {
			t.Errorf("%d servers, the first: got %s\nwant %s", n, got, want)
		}
		if left := s.g.InFlight(); left != 0 {
			t.Errorf("%d servers: %d requests are without an answer", n, left)
		}
	}
}

// A modern client that closes the response cancels its request, at a shared
// child by a notification.
func TestModernClientHangsUp(t *testing.T) {
	f := newModernFake("a")
	s := newSite(t, "{}", map[string]*fake{"a": f}, child("a"))
	s.mustModern("ann", "tools/list", "", `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{`+modernMeta+`}}`)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		resp, err := s.modern(ctx, "ann", "tools/call", "hang", `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"hang",`+modernMeta+`}}`)
		if err == nil {
			resp.Body.Close()
		}
		ended <- err
	}()
	f.process(-1).hung("tools/call")
	cancel()
	<-ended
	eventually(t, func() bool {
		for _, line := range f.take() {
			if strings.HasPrefix(line, "notifications/cancelled") {
				return true
			}
		}
		return false
	})
}

// A subscription gets the changes of the server's list, under the client's id.
func TestModernSubscription(t *testing.T) {
	for n := 1; n <= 2; n++ {
		fakes := map[string]*fake{"a": newModernFake("a"), "b": newModernFake("b")}
		s := newSite(t, "{}", fakes, serversOf("a", "b")[:n]...)
		ctx, cancel := context.WithCancel(t.Context())
		resp, err := s.modern(ctx, "ann", "subscriptions/listen", "", `{"jsonrpc":"2.0","id":"sub","method":"subscriptions/listen","params":{`+modernMeta+`,"notifications":{"toolsListChanged":true}}}`)
		if err != nil {
			t.Fatal(err)
		}
		p, id := fakes["a"].hung("subscriptions/listen")
		if n == 1 {
			p.send(notification("notifications/subscriptions/acknowledged", []byte(`{"_meta":{"io.modelcontextprotocol/subscriptionId":`+string(id)+`},"notifications":{}}`)))
		}
		p.send(notification("notifications/tools/list_changed", []byte(`{"_meta":{"io.modelcontextprotocol/subscriptionId":`+string(id)+`}}`)))
		var all strings.Builder
		buf := make([]byte, 4096)
		for !strings.Contains(all.String(), "tools/list_changed") {
			k, err := resp.Body.Read(buf)
			if err != nil {
				t.Fatal(err, all.String())
			}
			all.Write(buf[:k])
		}
		if got := all.String(); strings.Count(got, `"io.modelcontextprotocol/subscriptionId":"sub"`) != 2 || !strings.Contains(got, "acknowledged") {
			t.Errorf("got %s", got)
		}
		cancel()
		resp.Body.Close()
	}
}

// Legacy and modern clients use one endpoint at once; a server of the other era
// is missing, and said to be.
func TestErasSideBySide(t *testing.T) {
	old := newFake("old", `tools/list {"tools":[{"name":"x","inputSchema":{"type":"object"}}]}`)
	now := newModernFake("now")
	now.answers["initialize"] = `!{"code":-32601,"message":"no"}`
	s := newSite(t, "{}", map[string]*fake{"old": old, "now": now}, child("old"), child("now"))
	legacy := s.caller("ann").must(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`)
	if !strings.Contains(legacy, `"name":"x"`) || !strings.Contains(legacy, "server now speaks only 2026-07-28 or newer") {
		t.Errorf("the legacy client got %s", legacy)
	}
	modern := s.mustModern("ann", "tools/list", "", `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{`+modernMeta+`}}`)
	if !strings.Contains(modern, `"name":"echo"`) || !strings.Contains(modern, "server old speaks only revisions up to 2025-11-25") {
		t.Errorf("the modern client got %s", modern)
	}
}

func eventually(t *testing.T, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(10 * time.Second); time.Now().Before(end); {
		if ok() {
			return
		}
		time.Sleep(time.Millisecond)
	}
	t.Fatal("it did not come to pass in 10 s")
}
