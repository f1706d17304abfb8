package peertest

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
)

// misfitWeb is a server with the habits of HTTP servers that were met: event
// streams in each form that the format allows, and sessions that it forgets.
type misfitWeb struct {
	mu       sync.Mutex
	sessions map[string]bool
	made     int
	calls    []string // the tools that were called
}

// misfitStreams are streams that hold one answer, as pieces that are sent apart;
// ANSWER is the answer, HEAD and REST its two halves, each without line ends.
var misfitStreams = map[string][]string{
	"plain":     {"data: ANSWER\n\n"},
	"bom":       {"\xef\xbb\xbf", "data: ANSWER\n\n"},
	"crlf":      {"event: message\r", "\ndata: ANSWER\r", "\n\r", "\n"},
	"cr":        {"data: ANSWER\r", "\r"},
	"multiline": {"data: HEAD\n", "data: REST\n\n"},
	"colonless": {"data\ndata: ANSWER\ndata\nid\nretry\nevent\n\n"},
	"comments":  {": hello\n\n:\n\n", ":x\ndata: ANSWER\n: and on\n\n:\n"},
	"tight":     {"data:ANSWER\nid:7\nretry:10\n\n"},
	"others":    {"event: ping\ndata: not json\n\n", "x-field: 1\nid: 8\ndata: \n\n", "event: message\ndata: ANSWER\n\n"},
	"notes": {
		"data: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/x-weather\",\"params\":{\"sun\":1.0}}\n\n",
		"data: {\"jsonrpc\":\"2.0\",\"id\":null,\"error\":{\"code\":-32000.0,\"message\":\"of nobody\"}}\n\n", "data: ANSWER\n\n",
	},
	"bytewise": nil, // each byte by itself
}

const misfitWebText = `{"content":[{"type":"text","text":"grüße \u00e9, 9007199254740993"}],"structuredContent":{"n":9007199254740993,"n":1.0},"x":1e400}`

func (o *misfitWeb) tools() string {
	var all []string
	for name := range misfitStreams {
		all = append(all, fmt.Sprintf(`{"name":"stream_%s","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":true}}`, name))
	}
	// The order of a map is another each time: that of the list must not be.
	slices.Sort(all)
	for _, name := range []string{"forget", "cut_short"} {
		all = append(all, fmt.Sprintf(`{"name":%q,"inputSchema":{"type":"object"}}`, name))
	}
	return `{"tools":[` + strings.Join(all, ",") + `]}`
}

func (o *misfitWeb) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	var m asked
	switch {
	case r.Method != http.MethodPost:
		w.WriteHeader(http.StatusMethodNotAllowed)
		return
	case json.Unmarshal(body, &m) != nil:
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	session := r.Header.Get("Mcp-Session-Id")
	o.mu.Lock()
	known := o.sessions[session]
	if m.Method == "initialize" {
		o.made++
		session, known = fmt.Sprintf("odd-%d", o.made), true
		o.sessions[session] = true
		w.Header().Set("Mcp-Session-Id", session)
	}
	if m.Method == "tools/call" && known {
		o.calls = append(o.calls, m.Params.Name)
	}
	if m.Params.Name == "forget" {
		delete(o.sessions, session)
	}
	o.mu.Unlock()
	switch {
	case !known:
		w.WriteHeader(http.StatusNotFound)
		io.WriteString(w, `{"jsonrpc":"2.0","id":"server-error","error":{"code":-32600.0,"message":"Session not found"}}`)
	case m.ID == nil || m.Method == "":
		w.WriteHeader(http.StatusAccepted)
	case m.Method == "initialize":
		o.stream(w, "crlf", response(m.ID, `{"protocolVersion":"2025-11-25","capabilities":{"tools":{},"x-odd":{}},"serverInfo":{"name":"oddweb","version":"1"}}`))
	case m.Method == "tools/list":
		o.stream(w, "bom", response(m.ID, o.tools()))
	case m.Params.Name == "cut_short":
		w.Header().Set("Content-Type", "text/event-stream")
		io.WriteString(w, `data: {"jsonrpc":"2.0","id":`+string(m.ID)+`,"result":{`+"\n")
	case m.Params.Name == "forget":
		w.Header().Set("Content-Type", "application/json; charset=utf-8")
		io.WriteString(w, "\n "+response(m.ID, misfitWebText)+"\r\n")
	default:
		o.stream(w, strings.TrimPrefix(m.Params.Name, "stream_"), response(m.ID, misfitWebText))
	}
}

// called returns the tools that were called so far.
func (o *misfitWeb) called() []string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return slices.Clone(o.calls)
}

func (o *misfitWeb) stream(w http.ResponseWriter, form, answer string) {
	w.Header().Set("Content-Type", "text/event-stream;charset=UTF-8")
	half := strings.IndexByte(answer, ',') + 1 // white space may stand there
	pieces := misfitStreams[form]
	if form == "bytewise" {
		pieces = strings.Split("id: 9\r\ndata: ANSWER\r\n\r\n", "")
		pieces = append(pieces[:len("id: 9\r\ndata: ")], append(strings.Split(answer, ""), "\r", "\n", "\r", "\n")...)
	}
	flush := http.NewResponseController(w)
	for _, piece := range pieces {
		io.WriteString(w, strings.NewReplacer("ANSWER", answer, "HEAD", answer[:half], "REST", answer[half:]).Replace(piece))
		flush.Flush()
	}
}
