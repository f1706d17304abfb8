package peertest

import (
	"bufio"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
)

// answerer is the server of the load: what it answers is a function of its name
// and of what it is sent, so that any mix-up shows. PEERTEST_NAME is its name,
// and PEERTEST_DIR the folder where it leaves its process id.
type answerer struct {
	name string

	mu       sync.Mutex
	made     int             // sessions of the HTTP form
	sessions map[string]bool // those that are open
}

func newAnswerer() *answerer {
	a := &answerer{name: os.Getenv("PEERTEST_NAME"), sessions: map[string]bool{}}
	path := filepath.Join(os.Getenv("PEERTEST_DIR"), a.name+".pid")
	if err := os.WriteFile(path+".new", []byte(strconv.Itoa(os.Getpid())), 0o644); err == nil {
		os.Rename(path+".new", path)
	}
	return a
}

// sealed is what server makes of a text. No other server and no other text has
// the same.
func sealed(server, say string) string {
	sum := sha256.Sum256([]byte(server + "\n" + say))
	return server + " heard " + say + " and says " + hex.EncodeToString(sum[:8])
}

// rowCount is how many lines the tool rows answers with: more than fit the rule.
const rowCount = 400

func row(server, say string, i int) string {
	return fmt.Sprintf("%4d %s\n", i+1, sealed(server, say+strconv.Itoa(i)))
}

// answererTools are the same at every answerer, so that all of them clash.
const answererTools = `{"tools":[` +
	`{"name":"echo","description":"Says what it is told","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":true}},` +
	`{"name":"rows","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":true}},` +
	`{"name":"steps","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":true}},` +
	`{"name":"hang","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":true}}]}`

// asked is as much of a message as an answerer looks at.
type asked struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params struct {
		Name      string `json:"name"`
		Arguments struct {
			Say string `json:"say"`
		} `json:"arguments"`
		Meta struct {
			Token json.RawMessage `json:"progressToken"`
		} `json:"_meta"`
	} `json:"params"`
}

// steps are the notifications of one call of steps; hang sends one and no answer.
const steps = 3

// answer returns the result of a request, nil for none, and what is told before.
func (a *answerer) answer(m asked) (result string, notes []string) {
	say := m.Params.Arguments.Say
	if token := m.Params.Meta.Token; token != nil {
		n := map[string]int{"steps": steps, "hang": 1}[m.Params.Name]
		for i := range n {
			notes = append(notes, fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":%s,"progress":%d,"message":%q}}`,
				token, i+1, sealed(a.name, say)))
		}
	}
	text := sealed(a.name, say)
	switch m.Method {
	case "initialize":
		return `{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"` + a.name + `","version":"1"}}`, nil
	case "tools/list":
		return answererTools, nil
	case "tools/call":
		switch m.Params.Name {
		case "hang":
			return "", notes
		case "rows":
			var b strings.Builder
			for i := range rowCount {
				b.WriteString(row(a.name, say, i))
			}
			text = b.String()
		}
		quoted, _ := json.Marshal(text)
		return `{"content":[{"type":"text","text":` + string(quoted) + `}]}`, notes
	}
	return "{}", nil
}

func response(id json.RawMessage, result string) string {
	return `{"jsonrpc":"2.0","id":` + string(id) + `,"result":` + result + `}`
}

// stdio serves one client on a pair of streams.
func (a *answerer) stdio(in io.Reader, out io.Writer) {
	r := bufio.NewReaderSize(in, 64<<10)
	w := bufio.NewWriterSize(out, 64<<10)
	for {
		if r.Buffered() == 0 {
			w.Flush() // nobody may wait for what is said while this waits
		}
		line, err := r.ReadBytes('\n')
		if err != nil {
			return
		}
		var m asked
		if json.Unmarshal(line, &m) != nil || m.ID == nil {
			continue
		}
		result, notes := a.answer(m)
		for _, note := range notes {
			fmt.Fprintln(w, note)
		}
		if result != "" {
			fmt.Fprintln(w, response(m.ID, result))
		}
	}
}

// http serves Streamable HTTP at the address in PEERTEST_ADDR, until it is
// killed. Its sessions end with it.
func (a *answerer) http() {
	var listener net.Listener
	for { // the address may still be held by the one that was killed
		var err error
		if listener, err = net.Listen("tcp", os.Getenv("PEERTEST_ADDR")); err == nil {
			break
		}
	}
	http.Serve(listener, a)
}

func (a *answerer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	session := r.Header.Get("Mcp-Session-Id")
	a.mu.Lock()
	known := a.sessions[session]
	if r.Method == http.MethodDelete {
		delete(a.sessions, session)
	}
	a.mu.Unlock()
	var m asked
	switch body, _ := io.ReadAll(r.Body); {
	case r.Method == http.MethodGet:
		w.WriteHeader(http.StatusMethodNotAllowed)
		return
	case r.Method == http.MethodDelete:
		return
	case json.Unmarshal(body, &m) != nil:
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	switch {
	case m.Method == "initialize":
		a.mu.Lock()
		a.made++
		session = fmt.Sprintf("%d-%d", os.Getpid(), a.made)
		a.sessions[session] = true
		a.mu.Unlock()
		w.Header().Set("Mcp-Session-Id", session)
	case !known:
		w.WriteHeader(http.StatusNotFound)
		return
	}
	if m.ID == nil || m.Method == "" {
		w.WriteHeader(http.StatusAccepted)
		return
	}
	result, notes := a.answer(m)
	if len(notes) == 0 {
		w.Header().Set("Content-Type", "application/json")
		io.WriteString(w, response(m.ID, result))
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	for _, note := range notes {
		fmt.Fprintf(w, "data: %s\n\n", note)
	}
	if result == "" {
		w.(http.Flusher).Flush()
		<-r.Context().Done()
		return
	}
	fmt.Fprintf(w, "data: %s\n\n", response(m.ID, result))
}
