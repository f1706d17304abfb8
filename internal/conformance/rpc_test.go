package conformance

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
)

// rpc is a client of a process that speaks JSON-RPC on its pipes.
type rpc struct {
	cmd   *exec.Cmd
	ended chan struct{}

	mu      sync.Mutex
	stdin   io.WriteCloser
	n       int
	waiting map[int]chan rpcMessage
}

type rpcMessage struct {
	JSONRPC string          `json:"jsonrpc"`
	ID      *int            `json:"id,omitempty"`
	Method  string          `json:"method,omitempty"`
	Params  any             `json:"params,omitempty"`
	Result  json.RawMessage `json:"result,omitempty"`
	Error   json.RawMessage `json:"error,omitempty"`
}

var errGone = errors.New("the process is gone")

func startRPC(cmd *exec.Cmd) (*rpc, error) {
	r := &rpc{cmd: cmd, ended: make(chan struct{}), waiting: map[int]chan rpcMessage{}}
	var err error
	if r.stdin, err = cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	go func() {
		lines := bufio.NewScanner(out)
		lines.Buffer(nil, 16<<20)
		for lines.Scan() {
			var m rpcMessage
			if json.Unmarshal(lines.Bytes(), &m) != nil || m.ID == nil || m.Method != "" {
				continue
			}
			r.mu.Lock()
			if c := r.waiting[*m.ID]; c != nil {
				c <- m
				delete(r.waiting, *m.ID)
			}
			r.mu.Unlock()
		}
		_ = cmd.Wait() // killed, as often as not
		close(r.ended)
	}()
	return r, nil
}

func (r *rpc) send(m rpcMessage) {
	m.JSONRPC = "2.0"
	e := json.NewEncoder(r.stdin)
	e.SetEscapeHTML(false)
	_ = e.Encode(m) // a process that is gone says so at the other pipe
}

// call makes a request. When the context ends it cancels the request and
// returns the context's error.
func (r *rpc) call(ctx context.Context, method string, params any) (json.RawMessage, error) {
	c := make(chan rpcMessage, 1)
	r.mu.Lock()
	r.n++
	id := r.n
	r.waiting[id] = c
	r.send(rpcMessage{ID: &id, Method: method, Params: params})
	r.mu.Unlock()
	select {
	case m := <-c:
		if m.Error != nil {
			return nil, fmt.Errorf("%s: %s", method, m.Error)
		}
		return m.Result, nil
	case <-r.ended:
		return nil, errGone
	case <-ctx.Done():
		r.mu.Lock()
		defer r.mu.Unlock()
		r.send(rpcMessage{Method: "notifications/cancelled", Params: map[string]any{"requestId": id}})
		return nil, ctx.Err()
	}
}

// kill ends the process as kill -9 does.
func (r *rpc) kill() error { return r.cmd.Process.Kill() }

// close ends it in peace.
func (r *rpc) close() {
	_ = r.stdin.Close()
	<-r.ended
}

func (r *rpc) notify(method string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.send(rpcMessage{Method: method})
}

// serverEnv makes the test binary an MCP server without tools.
const serverEnv = "SPILLWAY_CONFORMANCE_SERVER"

// serveNothing is that server.
func serveNothing() error {
	out := json.NewEncoder(os.Stdout)
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		var m struct {
			ID     json.RawMessage // ours are numbers, the proxy's own are strings
			Method string
		}
		if err := json.Unmarshal(lines.Bytes(), &m); err != nil {
			return err
		}
		if m.ID == nil {
			continue
		}
		answer := struct {
			JSONRPC string          `json:"jsonrpc"`
			ID      json.RawMessage `json:"id"`
			Result  json.RawMessage `json:"result,omitempty"`
			Error   json.RawMessage `json:"error,omitempty"`
		}{JSONRPC: "2.0", ID: m.ID}
		switch m.Method {
		case "initialize":
			answer.Result = json.RawMessage(`{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"nothing","version":"1"}}`)
		case "server/discover":
			answer.Result = json.RawMessage(`{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{}},"serverInfo":{"name":"nothing","version":"1"},"ttlMs":0,"cacheScope":"private"}`)
		case "tools/list":
			answer.Result = json.RawMessage(`{"resultType":"complete","tools":[],"ttlMs":0,"cacheScope":"private"}`)
		default:
			answer.Error = json.RawMessage(`{"code":-32601,"message":"method not found"}`)
		}
		if err := out.Encode(answer); err != nil {
			return err
		}
	}
	return nil
}
