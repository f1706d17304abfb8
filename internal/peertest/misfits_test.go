//go:build linux

package peertest

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
)

// misfitSite is a configuration of servers that misbehave in each way that was
// met, with one among them that does not.
func misfitSite(t *testing.T, dir string) (configuration string, web *misfitWeb) {
	web = &misfitWeb{sessions: map[string]bool{}}
	site := httptest.NewServer(web)
	t.Cleanup(site.Close)
	role := func(role string) string {
		return fmt.Sprintf("command: %q, env: {%s: %s, PEERTEST_NAME: calm, PEERTEST_DIR: %q}", self(t), roleVar, role, dir)
	}
	return "servers:\n" +
		"  calm: {" + role("answerer") + "}\n" +
		"  odd: {" + role("misfit") + "}\n" +
		"  own: {" + role("misfit") + ", per_session: true}\n" +
		"  web: {url: \"" + site.URL + "\"}\n" +
		"  broken: {command: sh, args: [-c, \"echo broken has no licence >&2; exit 1\"]}\n" +
		"rules: {default: {pass: true}}\n", web
}

// asker is a client that is driven with raw messages.
type asker interface {
	// ask sends a request and returns its answer.
	ask(t *testing.T, id int, method, params string) message
}

type overHTTP struct{ httpCaller }

func (c *overHTTP) ask(t *testing.T, id int, method, params string) message {
	t.Helper()
	m, _, err := c.httpCaller.ask(t.Context(), id, method, params)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// overStdio answers what it is asked meanwhile: roots, and that it knows nothing
// else.
type overStdio struct {
	*session
	told map[string]int // notifications, by method
}

const rootsAnswer = `{ "roots" : [{"uri":"file:///r\u00f6\/t","x":1.0}] }`

func (c *overStdio) ask(t *testing.T, id int, method, params string) message {
	t.Helper()
	c.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":%q,"params":%s}`, id, method, params) + "\n")
	for {
		line, ok := c.next()
		var m message
		switch err := json.Unmarshal([]byte(line), &m); {
		case !ok:
			t.Fatalf("the output ended\n%s", c.errs)
		case err != nil:
			t.Fatalf("K64: a line that is not JSON-RPC: %.200q", line)
		case m.Method == "roots/list":
			c.send(`{"jsonrpc":"2.0","id":` + string(m.ID) + `,"result":` + rootsAnswer + "}\n")
		case m.Method != "" && m.ID != nil:
			c.send(`{"jsonrpc":"2.0","id":` + string(m.ID) + `,"error":{"code":-32601,"message":"no"}}` + "\n")
		case m.Method != "":
			c.told[m.Method]++
		case string(m.ID) == fmt.Sprint(id):
			return m
		default:
			t.Fatalf("an answer that nobody waits for: %.300s", line)
		}
	}
}

// The same behind run, where every server is the one client's own and may ask it.
func TestMisfitsBehindRun_K22_K24_K60_K61_K62_K64(t *testing.T) {
	need(t)
	dir := t.TempDir()
	configuration, web := misfitSite(t, dir)
	file := filepath.Join(dir, "spillway.yaml")
	if err := os.WriteFile(file, []byte(configuration), 0o644); err != nil {
		t.Fatal(err)
	}
	c := &overStdio{start(t, dir, spillway(t), "run", "-c", file), map[string]int{}}
	c.ask(t, 1000, "initialize", `{"protocolVersion":"2025-11-25","capabilities":{"roots":{"listChanged":true}},"clientInfo":{"name":"raw","version":"1"}}`)
	c.send(`{"jsonrpc":"2.0","method":"notifications/initialized"}` + "\n")
	t.Run("lists", func(t *testing.T) { misfitLists(t, c) })
	t.Run("questions", func(t *testing.T) { misfitAsks(t, c) })
	for _, name := range []string{"odd", "own"} {
		t.Run(name, func(t *testing.T) { misfitCalls(t, c, name) })
	}
	t.Run("web", func(t *testing.T) { misfitForms(t, c, web) })
	m := c.ask(t, 2000, "tools/call", `{"name":"echo","arguments":{"say":"still here"}}`)
	if text, _ := m.text(); text != sealed("calm", "still here") {
		t.Errorf("the server that behaves says %s%s", m.Result, m.Error)
	}
}

// misfitAsks has servers ask the client, outside of calls and in them, under ids
// that both of them use.
func misfitAsks(t *testing.T, c *overStdio) {
	for i, server := range []string{"odd", "own"} {
		var heard string
		await(t, server+" is answered what it asked at its start", func() bool {
			heard, _ = c.ask(t, 1100+i, "tools/call", `{"name":"`+server+`_heard","arguments":{}}`).text()
			return strings.Count(heard, "\n") >= len(misfitQuestions)-1
		})
		for _, want := range []string{`0 ` + rootsAnswer, `9007199254740993 error`, `"a \"quoted\" \u00e9 id" {}`} {
			if !strings.Contains(heard, want) {
				t.Errorf("%s heard %s, which lacks %s", server, heard, want)
			}
		}
		got, _ := c.ask(t, 1200+i, "tools/call", `{"name":"`+server+`_ask","arguments":{}}`).text()
		for _, want := range []string{`0 ` + rootsAnswer, `9007199254740993 error`, `"0" {}`} {
			if !strings.Contains(got, want) {
				t.Errorf("%s asked in a call and heard %s, which lacks %s", server, got, want)
			}
		}
	}
	before := c.told["notifications/tools/list_changed"]
	c.ask(t, 1300, "tools/call", `{"name":"odd_change","arguments":{}}`)
	list := c.ask(t, 1301, "tools/list", "{}")
	if n := c.told["notifications/tools/list_changed"] - before; n != 1 || !strings.Contains(string(list.Result), `"name":"more"`) {
		t.Errorf("K45: told %d times that the list changed; it is %s", n, list.Result)
	}
}

// Servers with every habit of protocol.md section 3 behind one endpoint over
// HTTP: each is shown as what it is, what it says that is a message arrives as
// its bytes, and none harms another. K22 K24 K60 K61 K62 K64.
func TestMisfitsBehindServe_K22_K24_K60_K61_K62_K64(t *testing.T) {
	need(t)
	dir := t.TempDir()
	configuration, web := misfitSite(t, dir)
	s := serve(t, dir, configuration, home(dir), "ann", "bob")
	c := &overHTTP{httpCaller{web: http.DefaultClient, url: s.base + "/mcp", token: s.token["ann"]}}
	hello := c.ask(t, 0, "initialize", `{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"raw","version":"1"}}`)
	if !strings.Contains(string(hello.Result), "Not available now: broken") {
		t.Errorf("the handshake does not say what is missing: %s", hello.Result)
	}
	if err := c.tell(t.Context(), "notifications/initialized", "{}"); err != nil {
		t.Fatal(err)
	}
	calm := besideCalm(t, s)
	t.Run("lists", func(t *testing.T) { misfitLists(t, c) })
	for _, name := range []string{"odd", "own"} {
		t.Run(name, func(t *testing.T) { misfitCalls(t, c, name) })
	}
	t.Run("web", func(t *testing.T) { misfitForms(t, c, web) })
	t.Run("operators", func(t *testing.T) {
		if got := s.get("/healthz"); got != "ok\n" {
			t.Errorf("healthz: %q", got)
		}
		var ready struct {
			Servers []struct{ Server, State, Why string }
		}
		if err := json.Unmarshal([]byte(s.get("/readyz")), &ready); err != nil {
			t.Fatal(err)
		}
		want := map[string]string{"calm": "up", "odd": "up", "own": "on demand", "web": "on demand", "broken": "down"}
		for _, one := range ready.Servers {
			if one.State != want[one.Server] || one.State == "down" && !strings.Contains(one.Why, "exited with status 1 before it answered the handshake; its last words: broken has no licence") {
				t.Errorf("readyz says of %s %q: %s", one.Server, one.State, one.Why)
			}
			delete(want, one.Server)
		}
		if len(want) > 0 {
			t.Errorf("readyz lacks %v", want)
		}
		for name, up := range map[string]int{"calm": 1, "odd": 1, "broken": 0} {
			if got := s.metric(fmt.Sprintf("spillway_upstream_up{server=%q}", name)); got != up {
				t.Errorf("metrics: %s is up %d, want %d", name, got, up)
			}
		}
		if got := s.metric(`spillway_upstream_failures_total{server="odd"}`); got != 1 {
			t.Errorf("metrics: odd failed %d times, want once", got)
		}
	})
	calm()
	if err := c.end(t.Context()); err != nil {
		t.Error(err)
	}
	if log := s.log.String(); !strings.Contains(log, "Odd server v0.1 starting") || strings.Contains(log, "panic") {
		t.Errorf("the log does not tell of the banner:\n%s", tail(log))
	}
}

// besideCalm keeps calling the server that behaves, in a session of another
// caller, until the function that it returns is called.
func besideCalm(t *testing.T, s *serving) (stop func()) {
	ctx, cancel := context.WithCancel(t.Context())
	l := &load{t: t}
	c := &loadCaller{load: l, name: "bob", httpCaller: httpCaller{web: http.DefaultClient, url: s.base + "/mcp", token: s.token["bob"]}}
	if err := c.open(t.Context()); err != nil {
		t.Fatal(err)
	}
	var wait sync.WaitGroup
	wait.Go(func() {
		for n := 1; ctx.Err() == nil; n++ {
			m, _, err := c.call(context.Background(), n, "echo", fmt.Sprint("call ", n), "")
			if text, failed := m.text(); err != nil || failed || text != sealed("calm", fmt.Sprint("call ", n)) {
				t.Errorf("call %d of the server that behaves: %v %s%s", n, err, m.Result, m.Error)
				return
			}
			l.calls.Add(1)
		}
	})
	return func() {
		cancel()
		wait.Wait()
		t.Logf("the server that behaves answered %d calls beside it", l.calls.Load())
		if l.calls.Load() == 0 {
			t.Error("the server that behaves was not called")
		}
	}
}

func misfitLists(t *testing.T, c asker) {
	first := c.ask(t, 1, "tools/list", "{}")
	var list struct {
		Tools []struct{ Name string }
		Meta  map[string][]struct{ Server, Why string } `json:"_meta"`
	}
	if err := json.Unmarshal(first.Result, &list); err != nil {
		t.Fatal(err)
	}
	names := map[string]bool{}
	var order []string
	for _, tool := range list.Tools {
		names[tool.Name] = true
		order = append(order, tool.Name)
	}
	for _, tool := range misfitTools {
		if !names["odd_"+tool] || !names["own_"+tool] || names[tool] {
			t.Errorf("%s is not there once for each of the two servers that have it: %v", tool, order)
		}
	}
	for form := range misfitStreams {
		if !names["stream_"+form] {
			t.Errorf("the list lacks stream_%s", form)
		}
	}
	at := func(name string) int { return slices.Index(order, name) }
	if at("echo") != 0 || at("odd_twice") > at("own_twice") || at("own_twice") > at("forget") {
		t.Errorf("the order is not that of the configuration: %v", order)
	}
	missing := list.Meta["io.github.spillway-mcp/missing"]
	if len(missing) != 1 || missing[0].Server != "broken" || !strings.Contains(missing[0].Why, "exited with status 1 before it answered the handshake; its last words: broken has no licence") {
		t.Errorf("missing: %+v", missing)
	}
	if !strings.Contains(string(first.Result), `{"x-order":1.0,"name":"odd_twice","inputSchema":{"type":"object","x-y":null}`) {
		t.Errorf("a tool is not listed as its bytes: %s", first.Result)
	}
}

func misfitCalls(t *testing.T, c asker, server string) {
	id := 100
	call := func(tool, args string) message {
		t.Helper()
		id++
		return c.ask(t, id, "tools/call", fmt.Sprintf(`{"name":"%s_%s","arguments":%s}`, server, tool, args))
	}
	for tool, want := range misfitResults {
		if m := call(tool, "{}"); string(m.Result) != want {
			t.Errorf("%s: got  %s%s\nwant %s", tool, m.Result, m.Error, want)
		}
	}
	if m := call("fails", "{}"); string(m.Error) != `{"message":"it does not work","code":-32000.0,"data":{"n":9007199254740993,"n":1.0}}` {
		t.Errorf("fails: %s%s", m.Result, m.Error)
	}
	if text, _ := call("null_id", "{}").text(); text != "after errors of nobody" {
		t.Errorf("null_id: %q", text)
	}
	for _, size := range []int{1 << 20, 16 << 20, 64 << 20} {
		if text, _ := call("frame", fmt.Sprintf(`{"size":%d}`, size)).text(); len(text) < size-200 || strings.Trim(text, "x") != "" {
			t.Errorf("a frame of %d bytes: a text of %d", size, len(text))
		}
	}
	for _, size := range []int{64<<20 + 1, 80 << 20} {
		if f := call("frame", fmt.Sprintf(`{"size":%d}`, size)).fault(); f.Code != -31002 || !strings.Contains(f.Message, "67108864") {
			t.Errorf("a frame of %d bytes: %+v", size, f)
		}
	}
	before := sleepers()
	m := call("leave", "{}")
	if f := m.fault(); f.Code != -31001 || !strings.Contains(f.Message, "odd: I have had enough") {
		t.Errorf("leave: %s%s", m.Result, m.Error)
	}
	if text, _ := call("read_text_file", "{}").text(); text != "not a file at all" {
		t.Errorf("after it left: %q", text)
	}
	await(t, "what it left behind is gone", func() bool { return sleepers() <= before })
}

// sleepers counts what misfits leave behind.
func sleepers() (n int) {
	for _, line := range marked(roleVar + "=misfit") {
		if strings.HasPrefix(line, "sleep 1000") {
			n++
		}
	}
	return n
}

func misfitForms(t *testing.T, c asker, web *misfitWeb) {
	id := 500
	call := func(tool string) message {
		t.Helper()
		id++
		return c.ask(t, id, "tools/call", fmt.Sprintf(`{"name":%q,"arguments":{}}`, tool))
	}
	for form := range misfitStreams {
		want := misfitWebText
		if m := call("stream_" + form); strings.TrimSpace(string(m.Result)) != want {
			t.Errorf("%s: got  %s%s\nwant %s", form, m.Result, m.Error, want)
		}
	}
	if f := call("cut_short").fault(); f.Code > -31000 || f.Message == "" {
		t.Errorf("a stream that ends in its answer: %+v", f)
	}
	// K61: the session is forgotten between two calls. What reads is called again
	// in a new one; what may write is not.
	if m := call("forget"); m.Result == nil {
		t.Errorf("forget: %s", m.Error)
	}
	if m := call("stream_plain"); string(m.Result) != misfitWebText {
		t.Errorf("a read after the session was forgotten: %s%s", m.Result, m.Error)
	}
	call("forget")
	count := len(web.called())
	if f := call("forget").fault(); f.Code != -31006 || !strings.Contains(f.Message, "server web has forgotten its session") {
		t.Errorf("a call that may write, after the session was forgotten: %+v", f)
	}
	if got := web.called(); len(got) != count {
		t.Errorf("it was called all the same: %v", got[count:])
	}
	if m := call("stream_bom"); string(m.Result) != misfitWebText {
		t.Errorf("afterwards: %s%s", m.Result, m.Error)
	}
}
