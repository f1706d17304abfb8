package proxy

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/spillway-mcp/spillway/internal/fixture"
	"github.com/spillway-mcp/spillway/internal/wire"
	"github.com/spillway-mcp/spillway/reduce"
)

// A hundred calls in flight, answered in any order with results of all sizes:
// each answer has the bytes that the reducer alone makes of it, and no progress
// comes behind its answer.
func TestRED42_SameBytesUnderLoad(t *testing.T) {
	const calls = 120
	tk := newTalk(t, txtar.Parse([]byte("-- rules --\ndefault: {keep: \"items[*].{path: path}\", max_rows: 3, max_bytes: 20k}\n")))
	received, out := io.Pipe()
	tk.divert(out)

	results := make([][]byte, 8)
	for i := range results {
		results[i] = fixture.Sized(10_000<<(i%8), fixture.Options{})
	}
	plain := tk.rules.For("", "x").Variants[0].Reducer
	want := make([][]byte, len(results))
	for i, r := range results {
		want[i] = plain.Reduce(r, reduce.Env{Expand: expandName}).Result
	}

	requests := tk.server.tap()
	go serveShuffled(tk.server, requests, results, calls)
	go func() {
		fmt.Fprintln(tk.client, `{"jsonrpc":"2.0","id":"l","method":"tools/list"}`)
		for i := range calls {
			fmt.Fprintf(tk.client, `{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"x","_meta":{"progressToken":%d}}}`+"\n", i, i)
		}
	}()

	answered := make(map[string]bool)
	in := bufio.NewReader(received)
	for len(answered) < calls {
		line, err := in.ReadBytes('\n')
		if err != nil {
			t.Fatal(err)
		}
		m, err := wire.Scan(bytes.TrimSpace(line))
		if err != nil {
			t.Fatalf("%v: %.200s", err, line)
		}
		if m.Kind == wire.Notification {
			token := string(wire.Member(line, m.Params, "progressToken").Of(line))
			if answered[token] {
				t.Fatalf("progress of %s behind its answer", token)
			}
			continue
		}
		id := string(m.ID.Of(line))
		if id == `"l"` {
			continue
		}
		var n int
		fmt.Sscan(id, &n)
		if got := m.Result.Of(line); !bytes.Equal(got, want[n%len(want)]) {
			t.Fatalf("call %d: got %d bytes %.300s\nwant %d bytes %.300s", n, len(got), got, len(want[n%len(want)]), want[n%len(want)])
		}
		answered[id] = true
	}
	go io.Copy(io.Discard, received)
	tk.client.Close()
	if err := <-tk.served; err != nil {
		t.Error(err)
	}
	out.Close()
}

// divert sends what the client receives to w.
func (tk *talk) divert(w io.Writer) { tk.down.to(w) }

// serveShuffled answers the list at once and the calls in disorder, each with
// progress before it.
func serveShuffled(s *scripted, requests io.Reader, results [][]byte, calls int) {
	in := bufio.NewReader(requests)
	rnd := rand.New(rand.NewPCG(1, 2))
	var waiting []string
	for seen := 0; seen < calls; {
		line, err := in.ReadString('\n')
		if err != nil {
			return
		}
		m, err := wire.Scan([]byte(strings.TrimSpace(line)))
		if err != nil {
			continue
		}
		id := string(m.ID.Of([]byte(line)))
		if wire.StringIs(m.Method.Of([]byte(line)), "tools/list") { // the client's, or our own
			fmt.Fprintf(s.out, `{"jsonrpc":"2.0","id":%s,"result":{"tools":[{"name":"x","inputSchema":{"type":"object"}}]}}`+"\n", id)
			continue
		}
		seen++
		waiting = append(waiting, id)
		for len(waiting) > 20 || seen == calls && len(waiting) > 0 {
			k := rnd.IntN(len(waiting))
			var n int
			fmt.Sscan(waiting[k], &n)
			fmt.Fprintf(s.out, `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":%s,"progress":1}}`+"\n", waiting[k])
			fmt.Fprintf(s.out, `{"jsonrpc":"2.0","result":%s,"id":%s}`+"\n", results[n%len(results)], waiting[k])
			waiting = append(waiting[:k], waiting[k+1:]...)
		}
	}
}

// FuzzSession throws lines at a session from both sides: whatever they are, it
// ends when the client hangs up, and writes nothing but messages.
func FuzzSession(f *testing.F) {
	f.Add([]byte(`{"id":1,"method":"tools/call","params":{"name":"x"}}`), []byte(`{"id":1,"result":{"content":[]}}`))
	f.Add([]byte(`{"id":1,"method":"tools/list"}`), []byte(`{"id":1,"result":{"tools":[{"name":"x","outputSchema":{}},{}],"nextCursor":null}}`))
	f.Add([]byte(`[{"id":1,"method":"tasks/get","params":{"taskId":1}}]`), []byte(`[{"id":1,"result":{"result":{}}}]`))
	f.Add([]byte(`{"id":1,"method":"initialize","params":[]}`), []byte(`{"id":1,"result":{"capabilities":{"tools":{}},"serverInfo":{"name":7}}}`))
	f.Add([]byte(`{"id":1,"method":"resources/read","params":{"uri":"spillway://stash/r_0"}}`), []byte(`{"method":"notifications/tasks"}`))
	f.Fuzz(func(t *testing.T, up, down []byte) {
		tk := newTalk(t, txtar.Parse([]byte("-- rules --\ns:\n  x: {max_rows: 1, rename: y, description: d}\n  z: {hide: true}\ndefault: {max_bytes: 600}\n")))
		defer tk.cancel()
		for _, l := range bytes.Split(up, []byte("\n")) {
			fmt.Fprintf(tk.client, "%s\n", l)
		}
		for _, l := range bytes.Split(down, []byte("\n")) {
			fmt.Fprintf(tk.server.out, "%s\n", l)
		}
		tk.server.die(0, "")
		tk.client.Close()
		<-tk.served
		for _, l := range tk.down.take() {
			if _, err := wire.Scan([]byte(l)); err != nil {
				t.Errorf("the client received %q: %v", l, err)
			}
		}
	})
}
