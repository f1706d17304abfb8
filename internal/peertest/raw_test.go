package peertest

import (
	"encoding/json"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// step is one thing that a raw client does: bytes to send, then the id of the
// response to wait for, or the method of a server's request to answer.
type step struct {
	send   string // raw bytes without the newline
	id     string // raw id of the awaited response; "" awaits nothing
	asked  string // method of a request of the server that comes first
	reply  string // raw result for it
	silent bool   // the server never answers: a ping tells when it is past
}

// call is a tools/call with its id and arguments as raw bytes.
func call(id, tool, args string) step {
	return step{send: `{"jsonrpc":"2.0","id":` + id + `,"method":"tools/call","params":{"name":"` + tool + `","arguments":` + args + `}}`, id: id}
}

// odd are requests in every form that JSON-RPC and JSON allow, and some that
// they do not. They work on any server.
var odd = []step{
	{send: `{"jsonrpc":"2.0","id":0,"method":"ping"}`, id: `0`},
	{send: `{"jsonrpc":"2.0","id":"","method":"ping"}`, id: `""`},
	{send: `{"jsonrpc":"2.0","id":"a \"quoted\" \\ id","method":"ping"}`, id: `"a \"quoted\" \\ id"`},
	{send: `{"jsonrpc":"2.0","id":-7,"method":"ping"}`, id: `-7`},
	{send: `{"jsonrpc":"2.0","id":9007199254740991,"method":"ping"}`, id: `9007199254740991`},
	{send: ` { "method" : "ping" ,	"id" : 11 , "jsonrpc" : "2.0" } `, id: `11`},
	{send: `{"jsonrpc":"2.0","id":10,"method":"ping","extra":[1,{"x":null}]}`, silent: true},
	{send: `{"jsonrpc":"2.0","id":12,"method":"ping","params":{"_meta":{"vendor/x":[1.0,1e400],"progressToken":"t"}}}` + "\r", id: `12`},
	{send: `{"jsonrpc":"2.0","id":13,"method":"unknown/method","params":{"a":1}}`, id: `13`},
	{send: `{"jsonrpc":"2.0","id":14,"method":"tools/call","params":{"name":"no_such_tool"}}`, id: `14`},
	{send: `{"jsonrpc":"2.0","id":15,"method":"tools/call","params":{"name":42}}`, id: `15`},
	{send: `{"jsonrpc":"2.0","id":16,"method":"tools/call"}`, id: `16`},
	{send: `{"jsonrpc":"2.0","method":"notifications/unknown","params":{"deep":[[[[]]]]}}`, silent: true},
	{send: `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"never was","reason":"…"}}`, silent: true},
	{send: `{"jsonrpc":"2.0","id":"nobody asked","result":{}}`, silent: true},
	{send: `{"jsonrpc":"2.0","id":null,"method":"ping"}`, silent: true},
	{send: `{"jsonrpc":"2.0","id":17,"method":"resources/list","params":{"cursor":""}}`, id: `17`},
	{send: `{"jsonrpc":"2.0","id":18,"method":"prompts/list"}`, id: `18`},
	{send: `{"jsonrpc":"2.0","id":19,"\u006dethod":"ping"}`, id: `19`},
	{send: `{"jsonrpc":"2.0","id":20,"method":"unknown","method":"ping"}`, id: `20`},
}

var everything = []step{
	call(`"call-1"`, "echo", `{"message":"Gr\u00fc\u00dfe \ud83d\ude00 \u2028 \/ <&>"}`),
	call(`30`, "echo", `{"message":"`+strings.Repeat(`0123456789 \"\\\n\ud83d\ude00 `, 40_000)+`"}`),
	call(`31`, "echo", `{"message":"{\"a\":[1,2,3],\"id\":9007199254740993}"}`),
	call(`32`, "echo", `{"wrong":true}`),
	call(`33`, "get-sum", `{"a":1e300,"b":9007199254740993}`),
	call(`34`, "get-annotated-message", `{"messageType":"debug","includeImage":true}`),
	call(`35`, "get-tiny-image", `{}`),
	call(`36`, "get-structured-content", `{"location":"Chicago"}`),
	call(`37`, "get-resource-links", `{"count":10}`),
	call(`38`, "get-resource-reference", `{"resourceType":"Blob","resourceId":3}`),
	call(`39`, "get-env", `{}`),
	call(`40`, "gzip-file-as-resource", `{"name":"z","data":"data:text/plain,`+strings.Repeat("abcdefgh", 4000)+`","outputType":"resource"}`),
	{send: `{"jsonrpc":"2.0","id":41,"method":"tools/call","params":{"_meta":{"progressToken":"tok é"},"arguments":{"duration":0.2,"steps":4},"name":"trigger-long-running-operation"}}`, id: `41`},
	{send: `{"jsonrpc":"2.0","id":42,"method":"tools/call","params":{"name":"trigger-elicitation-request","arguments":{}}}`, asked: "elicitation/create", reply: `{ "action":"accept", "content":{"name":"Zo\u00eb","integer":5.0} }`, id: `42`},
	{send: `{"jsonrpc":"2.0","id":43,"method":"tools/call","params":{"name":"trigger-sampling-request","arguments":{"prompt":"p"}}}`, asked: "sampling/createMessage", reply: `{"role":"assistant","model":"m","content":{"type":"text","text":"t"},"unknown":{"kept":1.50}}`, id: `43`},
	{send: `{"jsonrpc":"2.0","id":44,"method":"tools/call","params":{"name":"trigger-url-elicitation","arguments":{"url":"https://example.org/","elicitationId":"x","errorPath":true}}}`, id: `44`},
	{send: `{"jsonrpc":"2.0","id":45,"method":"tools/call","params":{"name":"simulate-research-query","arguments":{"topic":"t"},"task":{"ttl":60000}}}`, id: `45`},
	{send: `{"jsonrpc":"2.0","id":46,"method":"tasks/list"}`, id: `46`},
	{send: `{"jsonrpc":"2.0","id":47,"method":"tasks/result","params":{"taskId":"TASK"}}`, id: `47`},
	{send: `{"jsonrpc":"2.0","id":48,"method":"tasks/get","params":{"taskId":"TASK"}}`, id: `48`},
	{send: `{"jsonrpc":"2.0","id":49,"method":"tasks/get","params":{"taskId":"unknown"}}`, id: `49`},
	{send: `{"jsonrpc":"2.0","id":50,"method":"logging/setLevel","params":{"level":"debug"}}`, id: `50`},
	{send: `{"jsonrpc":"2.0","id":51,"method":"resources/subscribe","params":{"uri":"demo://resource/dynamic/text/1"}}`, id: `51`},
	{send: `{"jsonrpc":"2.0","id":52,"method":"resources/read","params":{"uri":"demo://resource/static/document/features.md"}}`, id: `52`},
	{send: `{"jsonrpc":"2.0","id":53,"method":"completion/complete","params":{"ref":{"type":"ref/prompt","name":"completable-prompt"},"argument":{"name":"department","value":"S"}}}`, id: `53`},
	{send: `{"jsonrpc":"2.0","id":54,"method":"prompts/get","params":{"name":"args-prompt","arguments":{"city":"Tromsø"}}}`, id: `54`},
	// This server drops ids that a double cannot hold; it must still be sent them as they are.
	{send: `{"jsonrpc":"2.0","id":9007199254740993,"method":"tools/call","params":{"name":"get-sum","arguments":{"a":1,"b":2}}}`, silent: true},
}

var memory = []step{
	call(`30`, "create_entities", `{"entities":[{"name":"a","entityType":"t","observations":["\u0000 \ud83d\ude00","9007199254740993"]},{"entityType":"t","name":"b","observations":[]}]}`),
	call(`31`, "create_relations", `{"relations":[{"from":"a","to":"b","relationType":"r"}]}`),
	call(`32`, "read_graph", `{}`),
	call(`33`, "search_nodes", `{"query":"a"}`),
	call(`34`, "open_nodes", `{"names":[]}`),
	call(`35`, "open_nodes", `{"names":"a"}`),
	call(`36`, "delete_entities", `{"entityNames":["a"]}`),
	{send: `{"jsonrpc":"2.0","id":37,"method":"resources/read","params":{"uri":"memory://knowledge-graph"}}`, id: `37`},
}

func files(dir string) []step {
	quoted := func(name string) string {
		b, _ := json.Marshal(filepath.Join(dir, name))
		return string(b)
	}
	return []step{
		call(`30`, "write_file", `{"path":`+quoted("a.json")+`,"content":"{\n  \"id\": 9007199254740993,\n  \"e\": 1e400, \"f\": 1.0\n}\n"}`),
		call(`31`, "read_text_file", `{"path":`+quoted("a.json")+`}`),
		call(`32`, "read_media_file", `{"path":`+quoted("raw.bin")+`}`),
		call(`33`, "read_text_file", `{"path":`+quoted("raw.bin")+`}`),
		call(`34`, "read_text_file", `{"path":`+quoted("absent")+`}`),
		call(`35`, "list_directory", `{"path":`+quoted(".")+`}`),
		call(`36`, "directory_tree", `{"path":`+quoted(".")+`}`),
		call(`37`, "read_multiple_files", `{"paths":[`+quoted("a.json")+`,`+quoted("absent")+`]}`),
	}
}

// exchange plays steps and returns every line that came back, the handshake
// and tools/list apart.
func exchange(t *testing.T, s *session, revision, capabilities string, steps []step) []string {
	t.Helper()
	s.initialize(revision, capabilities)
	s.send(`{"jsonrpc":"2.0","id":"tools","method":"tools/list"}` + "\n")
	s.answer(`"tools"`)
	from := len(s.seen)
	task := ""
	// The last, silent step makes sure that the server has read all of it.
	for _, step := range append(steps[:len(steps):len(steps)], step{send: `{"jsonrpc":"2.0","method":"notifications/roots/list_changed"}`, silent: true}) {
		s.send(strings.ReplaceAll(step.send, "TASK", task) + "\n")
		if step.asked != "" {
			ask := s.request(step.asked)
			s.send(`{"jsonrpc":"2.0", "id":` + string(ask.ID) + `, "result":` + step.reply + "}\n")
		}
		if step.silent {
			s.send(`{"jsonrpc":"2.0","id":"past it","method":"ping"}` + "\n")
			s.answer(`"past it"`)
			continue
		}
		var m struct {
			Result struct{ Task struct{ TaskID string } }
		}
		if json.Unmarshal([]byte(s.answer(step.id)), &m) == nil && m.Result.Task.TaskID != "" {
			task = m.Result.Task.TaskID
		}
	}
	s.stop()
	return s.seen[from:]
}

// Identical bytes go to a server directly and through Spillway, under rules
// that cut nothing; what comes back, and what the server was sent, is the same
// byte for byte. Only initialize and tools/list may differ.
func TestK22_K24_K64_RawBytesArePassedOn(t *testing.T) {
	need(t)
	if runtime.GOOS == "windows" {
		t.Skip("needs tee to see what the server was sent")
	}
	none := func(string) []string { return nil }
	const full = `{"sampling":{},"elicitation":{"form":{},"url":{}}}`
	for _, peer := range []struct {
		name, capabilities string
		args               func(dir string) []string
		revisions          []string
		steps              func(dir string) []step
	}{
		{"everything", full, none, []string{"2025-11-25"}, func(string) []step { return everything }},
		{"memory", `{}`, none, []string{"2024-11-05", "2025-03-26", "2025-06-18"}, func(string) []step { return memory }},
		{"filesystem", `{}`, func(dir string) []string { return []string{dir} }, []string{"2025-11-25"}, files},
	} {
		for _, revision := range peer.revisions {
			t.Run(peer.name+" "+revision, func(t *testing.T) {
				dir := t.TempDir()
				log := filepath.Join(dir, "sent")
				work := filepath.Join(dir, "work")
				// The server's own input is copied on the way, to compare that side too.
				argv := append([]string{"sh", "-c", `tee "$0" | "$@"`, log}, server(t, peer.name, peer.args(work)...)...)
				play := func(t *testing.T, argv []string) (got []string, sent string) {
					if err := os.RemoveAll(work); err != nil {
						t.Fatal(err)
					}
					os.Remove(filepath.Join(dir, "memory.jsonl"))
					if err := os.MkdirAll(work, 0o755); err != nil {
						t.Fatal(err)
					}
					if err := os.WriteFile(filepath.Join(work, "raw.bin"), []byte("\x00\xff\xfe\x80 raw \xed\xa0\x80"), 0o644); err != nil {
						t.Fatal(err)
					}
					got = exchange(t, start(t, dir, argv...), revision, peer.capabilities, append(odd[:len(odd):len(odd)], peer.steps(work)...))
					data, err := os.ReadFile(log)
					if err != nil {
						t.Fatal(err)
					}
					return got, string(data)
				}
				want, wantSent := play(t, argv)
				for _, rules := range []string{"pass.yaml", "wide.yaml"} {
					t.Run(rules, func(t *testing.T) {
						got, gotSent := play(t, run(t, peer.name, rules, argv...))
						compare(t, "line of the answers", want, got)
						compare(t, "frame sent to the server", strings.SplitAfter(wantSent, "\n"), strings.SplitAfter(gotSent, "\n"))
					})
				}
			})
		}
	}
}

// compare reports the first line that differs, and where.
func compare(t *testing.T, what string, want, got []string) {
	t.Helper()
	for i := range max(len(want), len(got)) {
		var a, b string
		if i < len(want) {
			a = want[i]
		}
		if i < len(got) {
			b = got[i]
		}
		// What ends a line is framing, not message: one \n is written.
		if strings.TrimSuffix(a, "\r\n") == strings.TrimSuffix(b, "\n") || a == b {
			continue
		}
		at := 0
		for at < min(len(a), len(b)) && a[at] == b[at] {
			at++
		}
		from := max(0, at-80)
		t.Errorf("%s %d of %d and %d parts at byte %d (lengths %d and %d):\ndirect  %.300q\nthrough %.300q",
			what, i+1, len(want), len(got), at, len(a), len(b), a[min(from, len(a)):], b[min(from, len(b)):])
		return
	}
}
