package peertest

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
)

// misfit is a server with every habit of stdio servers that was met: it says what
// no client expects, in each form that JSON allows, and ends when it likes.
// Where PEERTEST_MILD is set it writes no unknown members beside result: the
// TypeScript clients refuse whole messages for them.
type misfit struct {
	mild    bool
	mu      sync.Mutex
	out     *bufio.Writer
	roots   bool     // the client declared them
	more    bool     // a tool was added
	heard   []string // ids of the answers that it got, as they came
	waiting map[string]misfitCall
}

// misfitCall is a call that waits for answers of the client.
type misfitCall struct {
	id   json.RawMessage
	left map[string]bool
	got  []string
}

func newMisfit(out io.Writer) *misfit {
	return &misfit{mild: os.Getenv("PEERTEST_MILD") != "", out: bufio.NewWriterSize(out, 1<<20), waiting: map[string]misfitCall{}}
}

// say writes lines that come in one piece.
func (o *misfit) say(lines ...string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, line := range lines {
		o.out.WriteString(line)
		o.out.WriteByte('\n')
	}
	o.out.Flush()
}

// misfitSays are the lines before the first message, and those between others.
var (
	misfitBanner = []string{"Odd server v0.1 starting on stdio ...", "", "{not json", `{"some":"object"}`, "[]", "null"}
	misfitSays   = []string{
		"warning: deprecated", `{"jsonrpc":"2.0","id":null,"error":{"code":-32000.0,"message":"something went wrong somewhere"}}`,
		`{"jsonrpc":"2.0","id":"nobody asked","result":{}}`, `{"jsonrpc":"2.0","method":"notifications/x-weather","params":{"sun":1.0}}`,
		`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"nobody's","progress":1}}`,
	}
)

// misfitQuestions are asked right after the handshake, outside any call.
var misfitQuestions = []string{
	`{"jsonrpc":"2.0","id":0,"method":"roots/list"}`,
	`{"jsonrpc":"2.0","id":9007199254740993,"method":"x/unknown","params":{"deep":[[[]]]}}`,
	`{"jsonrpc":"2.0","id":"a \"quoted\" \u00e9 id","method":"ping"}`,
}

const misfitHello = `{"protocolVersion":"2025-11-25","capabilities":{"tools":{"listChanged":true,"x":[1.0]},"x-teleport":{"range":9007199254740993},"experimental":{"x/y":{}}},` +
	`"serverInfo":{"name":"odd","version":"1","version":"2","x-mood":null},"instructions":"Be careful.","x-extra":{"a":1e400}}`

// play serves until its input ends.
func (o *misfit) play(in io.Reader) {
	o.say(misfitBanner...)
	r := bufio.NewReaderSize(in, 1<<20)
	for {
		line, err := r.ReadBytes('\n')
		if err != nil {
			return
		}
		var m message
		if json.Unmarshal(line, &m) != nil {
			continue
		}
		switch {
		case m.Method == "":
			o.answered(m)
		case m.ID != nil:
			o.request(m)
		case m.Method == "notifications/initialized":
			o.say(append(misfitSays, misfitQuestions...)...)
		}
	}
}

// ok is a response with members that nobody knows, and its id last.
func (o *misfit) ok(id json.RawMessage, result string) string {
	trace := `"x-trace":{"n":1.0},`
	if o.mild {
		trace = ""
	}
	return `{` + trace + `"result":` + result + `,"jsonrpc":"2.0","id":` + string(id) + `}`
}

func (o *misfit) request(m message) {
	switch m.Method {
	case "initialize":
		o.mu.Lock()
		o.roots = bytes.Contains(m.Params, []byte(`"roots":`))
		o.mu.Unlock()
		o.say(`{"jsonrpc":"2.0","id":null,"error":{"code":-32000.0,"message":"too early"}}`, o.ok(m.ID, misfitHello), "ready!")
	case "ping":
		o.say(o.ok(m.ID, "{}"))
	case "tools/list":
		o.say(o.ok(m.ID, `{"tools":[`+strings.Join(o.tools(), ",")+`],"x-count":1.0}`))
	case "tools/call":
		var p struct {
			Name      string
			Arguments struct{ Size int }
			Meta      struct{ ProgressToken json.RawMessage } `json:"_meta"`
		}
		if json.Unmarshal(m.Params, &p) != nil {
			return
		}
		o.call(m.ID, p.Name, p.Arguments.Size, p.Meta.ProgressToken)
	default:
		o.say(`{"jsonrpc":"2.0","id":` + string(m.ID) + `,"error":{"code":-32601.0,"message":"no such method"}}`)
	}
}

// misfitTools are listed whatever the client can.
var misfitTools = []string{"read_text_file", "twice", "blocks", "fails", "null_id", "frame", "bulk", "heard", "leave", "change", "meta_null"}

func (o *misfit) tools() (all []string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	names := misfitTools
	if o.roots {
		names = append(names[:len(names):len(names)], "ask")
	}
	if o.more {
		names = append(names[:len(names):len(names)], "more")
	}
	for _, name := range names {
		all = append(all, `{"x-order":1.0,"name":"`+name+`","inputSchema":{"type":"object","x-y":null},"annotations":{"readOnlyHint":true,"x":{}}}`)
	}
	return all
}

// misfitResults are the answers that are always the same.
var misfitResults = map[string]string{
	"read_text_file": `{"content":[{"type":"text","text":"not a file at all"}]}`,
	"twice":          `{"content":[{"type":"text","text":"a","text":"b"}],"structuredContent":{"id":9007199254740993,"id":9007199254740992,"f":1.0,"e":1e400},"structuredContent":{"id":2005000000}}`,
	"blocks":         `{"content":[{"type":"text","text":"known","x":1.0},{"type":"hologram","frames":[1,2,3]},{"type":"text","text":"known, too"}],"x-cost":{"cents":1.50}}`,
	"meta_null":      `{"content":[{"type":"text","text":"fine"}],"_meta":null}`,
}

func (o *misfit) call(id json.RawMessage, tool string, size int, token json.RawMessage) {
	switch tool {
	case "fails":
		o.say(`{"error":{"message":"it does not work","code":-32000.0,"data":{"n":9007199254740993,"n":1.0}},"id":` + string(id) + `,"jsonrpc":"2.0"}`)
	case "null_id":
		o.say(misfitSays...)
		o.say(o.ok(id, `{"content":[{"type":"text","text":"after errors of nobody"}]}`))
	case "frame":
		head, end := `{"jsonrpc":"2.0","id":`+string(id)+`,"result":{"content":[{"type":"text","text":"`, `"}]}}`
		o.say(head + strings.Repeat("x", max(0, size-len(head)-len(end))) + end)
	case "bulk":
		o.say(o.ok(id, `{"content":[{"type":"text","text":"`+strings.Repeat("x", size)+`"}]}`))
	case "heard":
		o.mu.Lock()
		text, _ := json.Marshal(strings.Join(o.heard, "\n"))
		o.mu.Unlock()
		o.say(o.ok(id, `{"content":[{"type":"text","text":`+string(text)+`}]}`))
	case "leave":
		// What it started stays, in a session of its own and with its pipes.
		left := exec.Command("sleep", "1000")
		left.Stdout, left.Stderr = os.Stdout, os.Stderr
		ownSession(left)
		left.Start()
		if token != nil {
			o.say(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":` + string(token) + `,"progress":1}}`)
		}
		fmt.Fprintln(os.Stderr, "odd: I have had enough")
		o.mu.Lock()
		o.out.WriteString(`{"jsonrpc":"2.0","id":` + string(id) + `,"result":{"content":[{"ty`) // and no more of it
		o.out.Flush()
		os.Exit(3)
	case "change":
		o.mu.Lock()
		o.more = !o.more
		o.mu.Unlock()
		o.say(`{"jsonrpc":"2.0","method":"notifications/tools/list_changed","params":{"x":1.0}}`, o.ok(id, `{"content":[{"type":"text","text":"changed"}]}`))
	case "ask":
		o.ask(id)
	default:
		result, known := misfitResults[tool]
		if !known {
			result = `{"content":[{"type":"text","text":"no such tool"}],"isError":true}`
		}
		o.say(o.ok(id, result))
	}
}

// ask asks the client three things in the middle of a call, under ids that are
// easily mixed up.
func (o *misfit) ask(id json.RawMessage) {
	asks := map[string]string{
		`0`:                `{"jsonrpc":"2.0","id":0,"method":"roots/list","params":{"_meta":{"x":1.0}}}`,
		`"0"`:              `{"jsonrpc":"2.0","id":"0","method":"ping"}`,
		`9007199254740993`: `{"jsonrpc":"2.0","id":9007199254740993,"method":"x/unknown"}`,
	}
	call := misfitCall{id: append(json.RawMessage(nil), id...), left: map[string]bool{}}
	var lines []string
	for key, line := range asks {
		call.left[key] = true
		lines = append(lines, line)
	}
	o.mu.Lock()
	o.waiting[string(id)] = call
	o.mu.Unlock()
	o.say(lines...)
}

// answered notes an answer, and ends the call that had waited for it last.
func (o *misfit) answered(m message) {
	what := string(m.ID) + " error"
	if m.Error == nil {
		what = string(m.ID) + " " + string(m.Result)
	}
	o.mu.Lock()
	o.heard = append(o.heard, what)
	var done misfitCall
	for key, call := range o.waiting {
		if call.left[string(m.ID)] {
			delete(call.left, string(m.ID))
			call.got = append(call.got, what)
			o.waiting[key] = call
			if len(call.left) == 0 {
				delete(o.waiting, key)
				done = call
			}
			break
		}
	}
	o.mu.Unlock()
	if done.id != nil {
		text, _ := json.Marshal(strings.Join(done.got, "\n"))
		o.say(o.ok(done.id, `{"content":[{"type":"text","text":`+string(text)+`}]}`))
	}
}
