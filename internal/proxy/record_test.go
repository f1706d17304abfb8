package proxy

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/spillway-mcp/spillway/internal/fixture"
	"github.com/spillway-mcp/spillway/internal/ledger"
	"github.com/spillway-mcp/spillway/internal/record"
	"github.com/spillway-mcp/spillway/internal/rules"
	"github.com/spillway-mcp/spillway/internal/wire"
)

// TestSessionIsRecorded plays a session by hand and reads its recording: what
// the server sent, what was shown, what was asked for again, and what failed.
func TestSessionIsRecorded(t *testing.T) {
	dir := t.TempDir()
	recorder, err := record.Open(dir, record.Options{Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	set, err := rules.Parse("rules.yaml", []byte("s: {list: {keep: 'items[*].{path: path}', max_rows: 2}}"))
	if err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	shown := map[string][]byte{}
	s := NewSession("s", Options{
		Server: "s", Rules: func() *rules.Set { return set }, Stash: &memory{kept: map[string]kept{}}, Expand: true, Caller: "c", Record: recorder,
	}, func(id []byte, parts ...[]byte) {
		mu.Lock()
		defer mu.Unlock()
		shown[string(id)] = bytes.Join(parts, nil)
	}, func(parts ...[]byte) error { return nil })

	original := fixture.Result(fixture.CodeSearch(30), fixture.Options{})
	play := func(request, answer string) {
		s.FromClient([]byte(request))
		if answer != "" {
			m, err := wire.Scan([]byte(answer))
			if err != nil {
				t.Fatal(err)
			}
			s.FromServer([]byte(answer), m, true)
		}
	}
	play(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"agent","version":"1"}}}`,
		`{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"own","version":"1"}}}`)
	play(`{"jsonrpc":"2.0","id":2,"method":"tools/list"}`, `{"jsonrpc":"2.0","id":2,"result":{"tools":[{"name":"list","inputSchema":{"type":"object"}}]}}`)
	play(`{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"list","arguments":{"q":"x","verify":true}}}`,
		`{"jsonrpc":"2.0","id":3,"result":`+string(original)+`}`)
	play(`{"jsonrpc":"2.0","id":4,"method":"tools/call","params":{"name":"list","arguments":{}}}`,
		`{"jsonrpc":"2.0","id":4,"error":{"code":-32000,"message":"no"}}`)
	play(`{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"list","arguments":{},"_meta":{"io.github.spillway-mcp/state":"end"}}}`,
		`{"jsonrpc":"2.0","id":5,"result":{"content":[{"type":"text","text":"state"}]}}`)
	play(`{"jsonrpc":"2.0","id":6,"method":"tools/call","params":{"name":"list","arguments":{}}}`, "") // no answer comes
	var answer struct{ Result json.RawMessage }
	mu.Lock()
	err = json.Unmarshal(shown["3"], &answer)
	mu.Unlock()
	if err != nil {
		t.Fatal(err)
	}
	ref := string(regexp.MustCompile(`r_[0-9a-f]{12}`).Find(answer.Result))
	play(`{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"reducer_expand","arguments":{"ref":"`+ref+`","rows":"3"}}}`, "")
	play(`{"jsonrpc":"2.0","id":8,"method":"tools/call","params":{"name":"list","arguments":{"body":"…[+48,213 bytes, `+ref+`]"}}}`, "")
	s.Close()

	files, err := filepath.Glob(filepath.Join(dir, "*-s-*.jsonl.zst"))
	if err != nil || len(files) != 1 {
		t.Fatalf("%v, %v", files, err)
	}
	got, err := record.Load(files[0])
	if err != nil || got.Torn || got.Skipped != 0 {
		t.Fatalf("%+v, %v", got, err)
	}
	if h := got.Header; h.Server != "s" || h.Rules != set.Digest() || h.Client != (record.Client{Name: "agent", Revision: "2025-11-25", Era: "legacy", Expand: true}) {
		t.Errorf("header %+v", h)
	}
	by := map[string]record.Event{}
	for _, e := range got.Events {
		by[e.Kind+" "+e.Outcome+" "+e.State] = e
	}
	list := by["list reduced "]
	if !strings.Contains(string(list.Shown), expandName) || strings.Contains(string(list.Result), expandName) || list.After.Text <= list.Before.Text {
		t.Errorf("list %s", list.AppendJSON(nil))
	}
	call := by["call reduced "]
	if string(call.Result) != string(original) || string(call.Shown) != string(answer.Result) || call.Ref != ref || call.Tool != "list" ||
		call.Env != (record.Env{Expand: true}) || call.Rule == "" || call.At > call.Done || string(call.Args) != `{"q":"x"}` {
		t.Errorf("call %.600s", call.AppendJSON(nil))
	}
	if e := by["call error "]; string(e.Error) != `{"code":-32000,"message":"no"}` {
		t.Errorf("error %s", e.AppendJSON(nil))
	}
	if e := by["call passed end"]; string(e.Result) != `{"content":[{"type":"text","text":"state"}]}` || e.Shown != nil {
		t.Errorf("state %s", e.AppendJSON(nil))
	}
	if _, ok := by["call stopped "]; !ok {
		t.Error("a call without an answer is not recorded")
	}
	if e := by["expand passed "]; e.Ref != ref || e.Tool != "list" || !strings.Contains(string(e.Args), `"rows":"3"`) || e.Result == nil {
		t.Errorf("expand %s", e.AppendJSON(nil))
	}
	if e := by["refused error "]; e.Kind == "" {
		t.Error("a refused call is not recorded")
	}
	if e := got.Events[len(got.Events)-1]; e.Kind != record.KindEnd {
		t.Errorf("the last line is %s", e.AppendJSON(nil))
	}
}

// gated counts a text that has its word in it only when the gate is open.
type gated struct {
	word string
	gate chan struct{}
}

func (g *gated) Name() string { return "gated" }

func (g *gated) Count(text []byte) int {
	if bytes.Contains(text, []byte(g.word)) {
		<-g.gate
	}
	return len(text)
}

// TestRED45_TimesAreThoseOfTheAnswers holds lines and recordings to when answers
// went out: counting the first one's tokens here takes until the second is told.
func TestRED45_TimesAreThoseOfTheAnswers(t *testing.T) {
	dir := t.TempDir()
	recorder, err := record.Open(dir, record.Options{Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	book := filepath.Join(dir, "ledger.jsonl")
	w, err := ledger.Open(book, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	slow := &gated{"slow", make(chan struct{})}
	answered := make(chan string, 10)
	s := NewSession("s", Options{Server: "s", Rules: func() *rules.Set { return nil }, Caller: "c", Record: recorder, Ledger: w, Counter: slow},
		func(id []byte, _ ...[]byte) { answered <- string(id) }, func(...[]byte) error { return nil })
	play := func(id, text string) {
		s.FromClient([]byte(`{"jsonrpc":"2.0","id":` + id + `,"method":"tools/call","params":{"name":"list","arguments":{"q":"` + text + `"}}}`))
		answer := []byte(`{"jsonrpc":"2.0","id":` + id + `,"result":{"content":[{"type":"text","text":"` + text + `"}]}}`)
		m, err := wire.Scan(answer)
		if err != nil {
			t.Error(err)
			return
		}
		s.FromServer(answer, m, true)
	}
	s.FromClient([]byte(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`))
	list := []byte(`{"jsonrpc":"2.0","id":1,"result":{"tools":[{"name":"list","inputSchema":{"type":"object"}}]}}`)
	m, err := wire.Scan(list)
	if err != nil {
		t.Fatal(err)
	}
	s.FromServer(list, m, true)
	<-answered
	var first sync.WaitGroup
	first.Go(func() { play("2", "slow") })
	if id := <-answered; id != "2" {
		t.Fatalf("answered %s", id)
	}
	play("3", "quick")
	close(slow.gate)
	first.Wait()
	s.Close()

	data, err := os.ReadFile(book)
	if err != nil {
		t.Fatal(err)
	}
	var lines []ledger.Line
	for line := range strings.Lines(string(data)) {
		var l ledger.Line
		if err := json.Unmarshal([]byte(line), &l); err != nil {
			t.Fatal(err)
		}
		if l.Event == ledger.EventCall {
			lines = append(lines, l)
		}
	}
	if len(lines) != 2 || lines[0].BytesIn != 5 || lines[1].BytesIn != 4 {
		t.Fatalf("lines of quick and slow, in this order, are wanted: %+v", lines)
	}
	if began := lines[0].TS.Add(-time.Duration(lines[0].MS * 1e6)); lines[1].TS.After(began.Add(2 * time.Millisecond)) { // TS is cut to milliseconds
		t.Errorf("the first call was answered at %v, the second began at %v", lines[1].TS, began)
	}
	files, _ := filepath.Glob(filepath.Join(dir, "*.zst"))
	got, err := record.Load(files[0])
	if err != nil {
		t.Fatal(err)
	}
	done := map[string]record.Event{}
	for _, e := range got.Events {
		done[string(e.Args)] = e
	}
	if a, b := done[`{"q":"slow"}`], done[`{"q":"quick"}`]; a.Done == 0 || b.At < a.Done {
		t.Errorf("recorded: done at %d, the next began at %d", a.Done, b.At)
	}
}
