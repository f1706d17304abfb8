package gateway

import (
	"bytes"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/spillway-mcp/spillway/internal/config"
	"github.com/spillway-mcp/spillway/internal/httpmcp/server"
	"github.com/spillway-mcp/spillway/internal/proxy"
	"github.com/spillway-mcp/spillway/internal/rules"
	"github.com/spillway-mcp/spillway/internal/wire"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// site is a gateway behind an HTTP endpoint on loopback.
type site struct {
	t     testing.TB
	g     *Gateway
	mcp   *server.Server
	web   *httptest.Server
	fakes map[string]*fake
	log   lines
	stash memory
}

// byHeader takes the caller from a header: the tests' tokens.
type byHeader struct{}

func (byHeader) Authenticate(r *http.Request) (string, error) {
	if who := r.Header.Get("X-Caller"); who != "" {
		return "token:" + who, nil
	}
	return "", &server.Denied{Status: 401, Challenge: "Bearer", Reason: "who?"}
}

func newSite(t testing.TB, ruleText string, fakes map[string]*fake, servers ...config.Server) *site {
	return newSiteWith(t, ruleText, fakes, nil, servers...)
}

// newSiteWith is newSite with operations.
func newSiteWith(t testing.TB, ruleText string, fakes map[string]*fake, ops proxy.Operations, servers ...config.Server) *site {
	s := &site{t: t, fakes: fakes}
	set, err := rules.Parse("rules.yaml", []byte(ruleText))
	if err != nil {
		t.Fatal(err)
	}
	opt := Options{
		Servers: servers, Operations: ops, Shared: true, Rules: func() *rules.Set { return set }, Stash: &s.stash, Expand: true, Version: "1",
		StartTime: 5 * time.Second, ListTime: 5 * time.Second,
		Log: slog.New(slog.NewTextHandler(&s.log, &slog.HandlerOptions{Level: slog.LevelDebug})),
	}
	s.g, err = newGateway(opt, func(src *source) (proxy.Upstream, error) { return fakes[src.cfg.Name].start(src) })
	if err != nil {
		t.Fatal(err)
	}
	s.mcp = server.New(s.g, server.Options{Auth: byHeader{}, MaxCalls: 1000, Log: opt.Log})
	mux := http.NewServeMux()
	mux.Handle("/mcp", s.mcp)
	s.g.Observe(mux, func() (int, int, int) { c := s.mcp.Counts(); return c.Sessions, c.Streams, c.Calls }, nil)
	s.web = httptest.NewServer(mux)
	s.web.Client().Transport.(*http.Transport).MaxIdleConnsPerHost = 300
	t.Cleanup(s.close)
	return s
}

func (s *site) close() {
	s.mcp.Close()
	s.web.CloseClientConnections()
	s.web.Close()
	s.g.Close()
}

// caller is one client with a session.
type caller struct {
	s       *site
	name    string
	session string
	lastID  string // of the events that came
	header  http.Header
}

// post sends a message and returns the last message of the answer.
func (c *caller) post(body string) (string, error) {
	r, err := http.NewRequest("POST", c.s.web.URL+"/mcp", strings.NewReader(body))
	if err != nil {
		return "", err
	}
	for k, v := range c.header {
		r.Header[k] = v
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	r.Header.Set("X-Caller", c.name)
	if c.session != "" {
		r.Header.Set("Mcp-Session-Id", c.session)
	}
	resp, err := c.s.web.Client().Do(r)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		return "", err
	}
	if id := resp.Header.Get("Mcp-Session-Id"); id != "" {
		c.session = id
	}
	if resp.StatusCode/100 != 2 {
		return "", fmt.Errorf("status %d: %s", resp.StatusCode, b)
	}
	if !strings.HasPrefix(resp.Header.Get("Content-Type"), "text/event-stream") {
		return string(b), nil
	}
	last := ""
	for line := range bytes.Lines(b) {
		if data, ok := bytes.CutPrefix(line, []byte("data: ")); ok && len(bytes.TrimSpace(data)) > 0 {
			last = string(bytes.TrimSpace(data))
		}
		if id, ok := bytes.CutPrefix(line, []byte("id: ")); ok {
			c.lastID = string(bytes.TrimSpace(id))
		}
	}
	return last, nil
}

func (c *caller) must(body string) string {
	c.s.t.Helper()
	got, err := c.post(body)
	if err != nil {
		c.s.t.Fatalf("%s: %v", body, err)
	}
	return got
}

const hello = `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`

func (s *site) caller(name string) *caller {
	c := &caller{s: s, name: name, header: http.Header{}}
	c.must(hello)
	c.must(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	return c
}

func end(c *caller) error {
	r, _ := http.NewRequest("DELETE", c.s.web.URL+"/mcp", nil)
	r.Header.Set("X-Caller", c.name)
	r.Header.Set("Mcp-Session-Id", c.session)
	resp, err := c.s.web.Client().Do(r)
	if err == nil {
		resp.Body.Close()
	}
	return err
}

func child(name string) config.Server { return config.Server{Name: name, Command: name} }

const bigResult = `{"content":[{"type":"text","text":"[\"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\",\"bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb\",\"cccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccc\"]"}]}`

// Two callers share a child: what one stashes the other cannot get, and a
// session answers only whose it is (RED-23).
func TestRED23_CallersAreApart(t *testing.T) {
	a := newFake("a", `tools/list {"tools":[{"name":"x","inputSchema":{"type":"object"}}]}
tools/call x `+bigResult)
	s := newSite(t, "a: {x: {max_rows: 1}}", map[string]*fake{"a": a}, child("a"))
	ann, bob := s.caller("ann"), s.caller("bob")
	ann.must(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`)
	bob.must(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`)
	got := ann.must(`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"x"}}`)
	at := strings.Index(got, "r_")
	if at < 0 {
		t.Fatal(got)
	}
	ref := got[at : at+14]
	expand := `{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"reducer_expand","arguments":{"ref":"` + ref + `"}}}`
	if got := ann.must(expand); !strings.Contains(got, "bbbb") {
		t.Errorf("the owner got %s", got)
	}
	if got := bob.must(expand); !strings.Contains(got, "unknown ref") || strings.Contains(got, "bbbb") {
		t.Errorf("another caller got %s", got)
	}
	again := s.caller("ann") // another session of the same caller
	if got := again.must(expand); !strings.Contains(got, "bbbb") {
		t.Errorf("the owner's other session got %s", got)
	}
	thief := &caller{s: s, name: "bob", session: ann.session, header: http.Header{}}
	if _, err := thief.post(expand); err == nil || !strings.Contains(err.Error(), "404") {
		t.Errorf("another's session: %v", err)
	}
	if n := a.starts(); n != 1 {
		t.Errorf("%d children were started for three sessions", n)
	}
}

// per_session gives each client a child, which is told what its client can.
func TestPerSession(t *testing.T) {
	a := newFake("a", `tools/list {"tools":[]}`)
	cfg := child("a")
	cfg.PerSession = true
	s := newSite(t, "{}", map[string]*fake{"a": a}, cfg)
	one, two := s.caller("ann"), s.caller("ann")
	if n := a.starts(); n != 2 {
		t.Errorf("%d children for two sessions", n)
	}
	if err := end(one); err != nil {
		t.Fatal(err)
	}
	<-a.process(0).Done()
	two.must(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`)
}

// One server does not answer, one writes rubbish, one is not there: the fourth is
// none the worse, and each is shown as what it is.
func TestMisbehavingServersHarmNoOther(t *testing.T) {
	good := newFake("good", `tools/list {"tools":[{"name":"x","inputSchema":{"type":"object"}}]}
tools/call x {"content":[]}`)
	mute := newFake("mute", `tools/list -
tools/call y -`)
	mute.answers["tools/list"] = "-"
	rubbish := newFake("rubbish", `tools/list {"tools":"none","nextCursor":7}`)
	rubbish.answer = func(p *fakeProcess, id []byte, method string, _ []byte, _ wire.Message) bool {
		p.send([]byte("Listening on stdio..."))
		p.send([]byte(`{"jsonrpc":"2.0","id":null,"error":{"code":-32000.0,"message":"x"}}`))
		p.send([]byte(`{"jsonrpc":"2.0","id":123456789012345678901234567890,"result":{}}`))
		p.send([]byte(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"nobody's"}}`))
		p.send([]byte(`{"jsonrpc":"2.0","method":7}`))
		return false
	}
	gone := newFake("gone", "")
	gone.refuses = 1000
	s := newSite(t, "{}", map[string]*fake{"good": good, "mute": mute, "rubbish": rubbish, "gone": gone},
		child("gone"), child("mute"), child("rubbish"), child("good"))
	s.g.opt.ListTime = 300 * time.Millisecond
	c := s.caller("ann")
	got := c.must(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`)
	for _, want := range []string{`"name":"x"`, metaMissing, `"server":"gone","why":"server gone is down: cannot be started"`, `"server":"mute","why":"did not answer tools/list within 300ms"`} {
		if !strings.Contains(got, want) {
			t.Errorf("the list has no %s: %s", want, got)
		}
	}
	if got := c.must(`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"x"}}`); got != `{"jsonrpc":"2.0","id":2,"result":{"content":[]}}` {
		t.Error(got)
	}
	resp, err := s.web.Client().Get(s.web.URL + "/readyz")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	b, _ := io.ReadAll(resp.Body)
	if resp.StatusCode != 200 || !strings.Contains(string(b), `{"server":"gone","state":"down","why":`) || !strings.Contains(string(b), `{"server":"good","state":"up"}`) {
		t.Errorf("%d %s", resp.StatusCode, b)
	}
}

// Servers come, go and change while calls are in flight: none is lost.
func TestReload(t *testing.T) {
	table := `tools/list {"tools":[{"name":"%[1]s_tool","inputSchema":{"type":"object"}}]}
tools/call %[1]s_tool -`
	fakes := map[string]*fake{}
	for _, name := range []string{"a", "b", "c"} {
		fakes[name] = newFake(name, fmt.Sprintf(table, name))
	}
	s := newSite(t, "{}", fakes, child("a"), child("b"))
	c := s.caller("ann")
	c.must(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`)
	answer := make(chan string, 1)
	go func() {
		got, err := c.post(`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"b_tool"}}`)
		if err != nil {
			got = err.Error()
		}
		answer <- got
	}()
	old := fakes["b"].process(-1)
	id := old.hung("tools/call")
	changed := child("b")
	changed.Args = []string{"other"}
	if err := s.g.Reload([]config.Server{child("c"), child("a"), changed}); err != nil {
		t.Fatal(err)
	}
	if got := c.must(`{"jsonrpc":"2.0","id":3,"method":"tools/list"}`); !strings.Contains(got, "c_tool") || strings.Index(got, "c_tool") > strings.Index(got, "a_tool") {
		t.Errorf("after the change: %s", got)
	}
	old.send(result(id, []byte(`{"content":[]}`)))
	if got := <-answer; got != `{"jsonrpc":"2.0","id":2,"result":{"content":[]}}` {
		t.Errorf("the call in flight got %s", got)
	}
	<-old.Done()
	if fakes["a"].starts() != 1 || fakes["b"].starts() != 2 {
		t.Errorf("starts: a %d, b %d", fakes["a"].starts(), fakes["b"].starts())
	}
	if err := s.g.Reload([]config.Server{{Name: "a", Command: "a", Prefix: "p"}, {Name: "b", Command: "b", Prefix: "p"}}); err == nil {
		t.Error("RED-41: two servers of one prefix are taken")
	}
}

func serversOf(names ...string) (all []config.Server) {
	for _, name := range names {
		all = append(all, child(name))
	}
	return all
}

// A stop lets calls in flight end and refuses new ones.
func TestDrain(t *testing.T) {
	a := newFake("a", `tools/list {"tools":[{"name":"x","inputSchema":{"type":"object"}}]}
tools/call x -`)
	s := newSite(t, "{}", map[string]*fake{"a": a}, child("a"))
	c := s.caller("ann")
	c.must(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`)
	answer := make(chan string, 1)
	go func() { answer <- c.must(`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"x"}}`) }()
	id := a.process(-1).hung("tools/call")
	drained := make(chan struct{})
	go func() {
		s.g.Drain(t.Context(), time.Minute)
		close(drained)
	}()
	eventually(t, s.g.draining.Load)
	if got := c.must(`{"jsonrpc":"2.0","id":3,"method":"tools/list"}`); !strings.Contains(got, `"code":-31003`) {
		t.Error(got)
	}
	a.process(-1).send(result(id, []byte(`{"content":[]}`)))
	if got := <-answer; got != `{"jsonrpc":"2.0","id":2,"result":{"content":[]}}` {
		t.Error(got)
	}
	<-drained
}
