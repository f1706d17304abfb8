package conformance

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/spillway-mcp/spillway/contract/contracttest"
	"github.com/spillway-mcp/spillway/internal/access"
)

// served is a client of spillway serve, with a bearer token.
type served struct {
	url, token string
	modern     bool
	session    string // of the older era
	http       *http.Client
	n          atomic.Int64
	process    *rpc // the server's; only its life is used
}

var servingAt = regexp.MustCompile(`(http://127\.0\.0\.1:\d+/mcp)`)

// tokenOf makes a caller's token of a world, once.
func tokenOf(w *contracttest.World, caller string) (string, error) {
	if token, ok := issued.Load(w.Dir + caller); ok {
		return token.(string), nil
	}
	tokens, err := access.Open(filepath.Join(w.Dir, "tokens.json"))
	if err != nil {
		return "", err
	}
	token, err := tokens.Add(caller)
	issued.Store(w.Dir+caller, token)
	return token, err
}

var issued sync.Map

// serveWorld starts spillway serve on a free port of a world, for a caller.
func serveWorld(w *contracttest.World, caller string, modern bool) (*served, error) {
	config := fmt.Sprintf("servers:\n  nothing: {command: %q, env: {%s: \"\", %s: \"1\"}}\nserve: {tokens: %q}\n",
		os.Args[0], commandEnv, serverEnv, filepath.Join(w.Dir, "tokens.json"))
	path := filepath.Join(w.Dir, "spillway.yaml")
	if err := os.WriteFile(path, []byte(config), 0o600); err != nil {
		return nil, err
	}
	token, err := tokenOf(w, caller)
	if err != nil {
		return nil, err
	}
	cmd := commandIn(context.Background(), w, caller, "serve", "-c", path, "--listen", "127.0.0.1:0")
	stderr, err := cmd.StderrPipe()
	if err != nil {
		return nil, err
	}
	s := &served{token: token, modern: modern, http: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 100}}}
	if s.process, err = startRPC(cmd); err != nil {
		return nil, err
	}
	lines := bufio.NewScanner(stderr)
	for s.url == "" && lines.Scan() {
		if m := servingAt.FindStringSubmatch(lines.Text()); m != nil {
			s.url = m[1]
		}
	}
	if s.url == "" {
		<-s.process.ended
		return nil, fmt.Errorf("spillway serve does not say where: %s", lines.Text())
	}
	go io.Copy(io.Discard, stderr)
	return s, nil
}

func (s *served) post(ctx context.Context, m rpcMessage) (*http.Response, error) {
	m.JSONRPC = "2.0"
	var body bytes.Buffer
	e := json.NewEncoder(&body)
	e.SetEscapeHTML(false)
	if err := e.Encode(m); err != nil {
		return nil, err
	}
	r, err := http.NewRequestWithContext(ctx, "POST", s.url, &body)
	if err != nil {
		return nil, err
	}
	r.Header.Set("Authorization", "Bearer "+s.token)
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	switch {
	case s.modern:
		r.Header.Set("Mcp-Protocol-Version", "2026-07-28")
		r.Header.Set("Mcp-Method", m.Method)
		if call, ok := m.Params.(request); ok && call.Name != "" {
			r.Header.Set("Mcp-Name", call.Name)
		}
	case s.session != "":
		r.Header.Set("Mcp-Protocol-Version", "2025-11-25")
		r.Header.Set("Mcp-Session-Id", s.session)
	}
	return s.http.Do(r)
}

func (s *served) call(ctx context.Context, method string, params any) (json.RawMessage, error) {
	id := int(s.n.Add(1))
	sent := ctx
	if !s.modern { // leaving does not cancel: a notification does
		sent = context.WithoutCancel(ctx)
		defer context.AfterFunc(ctx, func() {
			if resp, err := s.post(sent, rpcMessage{Method: "notifications/cancelled", Params: map[string]any{"requestId": id}}); err == nil {
				resp.Body.Close()
			}
		})()
	}
	resp, err := s.post(sent, rpcMessage{ID: &id, Method: method, Params: params})
	if err != nil {
		return nil, errGone
	}
	defer resp.Body.Close()
	if method == "initialize" {
		s.session = resp.Header.Get("Mcp-Session-Id")
	}
	answer, err := answerOf(resp, id)
	if err != nil {
		return nil, err
	}
	if answer.Error != nil {
		return nil, fmt.Errorf("%s: HTTP status %d: %s", method, resp.StatusCode, answer.Error)
	}
	return answer.Result, nil
}

// answerOf reads the response with an id out of a body, JSON or SSE.
func answerOf(resp *http.Response, id int) (m rpcMessage, err error) {
	if !strings.HasPrefix(resp.Header.Get("Content-Type"), "text/event-stream") {
		raw, err := io.ReadAll(resp.Body)
		if err == nil {
			err = json.Unmarshal(raw, &m)
		}
		if err != nil {
			return m, fmt.Errorf("HTTP status %d: %w: %.200s", resp.StatusCode, err, raw)
		}
		return m, nil
	}
	lines := bufio.NewScanner(resp.Body)
	lines.Buffer(nil, 16<<20)
	for lines.Scan() {
		data, ok := bytes.CutPrefix(lines.Bytes(), []byte("data:"))
		m = rpcMessage{}
		if ok && json.Unmarshal(data, &m) == nil && m.Method == "" && m.ID != nil && *m.ID == id {
			return m, nil
		}
	}
	return m, errGone
}

func (s *served) notify(method string) {
	if resp, err := s.post(context.Background(), rpcMessage{Method: method}); err == nil {
		resp.Body.Close()
	}
}

func (s *served) kill() error { return s.process.kill() }

// close ends the server, in peace as far as a signal can ask for it.
func (s *served) close() {
	_ = s.process.cmd.Process.Signal(os.Interrupt) // gone already is as good
	<-s.process.ended
	s.http.CloseIdleConnections()
}
