package conformance

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/spillway-mcp/spillway/contract"
	"github.com/spillway-mcp/spillway/contract/contracttest"
	"github.com/spillway-mcp/spillway/internal/operation/mcpface"
)

// tools is the adapter of the MCP face: a client of spillway run over stdio, or
// of spillway serve over HTTP. In the older era a mutation is a pair of tools, in
// the modern one it is a tool of several rounds.
type tools struct {
	modern bool
	http   bool
	states *sync.Map // requestState by operation id, for what another process goes on with
}

func (a tools) Name() string {
	name := "MCP of 2025-11-25"
	if a.modern {
		name = "MCP of 2026-07-28"
	}
	if a.http {
		return name + " over HTTP"
	}
	return name + " over stdio"
}

func (a tools) Lacks(f contracttest.Feature) string {
	switch {
	case a.http && f == contracttest.HasCallers:
		return ""
	case !a.modern && f == contracttest.HasRevision:
		return "X_prepare refuses a stale revision before a claim, so that there is no key to bind"
	}
	return map[contracttest.Feature]string{
		contracttest.HasCallers:  "over stdio the caller is the user of the system",
		contracttest.HasPreview:  "the preview of X_prepare has no token: the commit needs its operation id alone",
		contracttest.HasResolve:  "a model does not resolve; a person does, on the command line",
		contracttest.HasWait:     "a pending call is asked again with the status tool",
		contracttest.HasDescribe: "tools/list describes; TestListedTools holds it to the definitions",
	}[f]
}

// conn is a connection to a server.
type conn interface {
	call(ctx context.Context, method string, params any) (json.RawMessage, error)
	notify(method string)
	kill() error
	close()
}

func (a tools) Open(w *contracttest.World, caller string) (contracttest.Process, error) {
	if err := writeOperations(w); err != nil {
		return nil, err
	}
	p := &toolProcess{tools: a, w: w, caller: localCaller(), as: caller}
	var err error
	if a.http {
		p.caller = "token:" + caller
		p.conn, err = serveWorld(w, caller, a.modern)
	} else {
		cmd := commandIn(context.Background(), w, caller, "run", "--", "env", commandEnv+"=", serverEnv+"=1", os.Args[0])
		p.conn, err = startRPC(cmd)
	}
	if err != nil {
		return nil, err
	}
	if !a.modern {
		_, err := p.conn.call(context.Background(), "initialize", map[string]any{
			"protocolVersion": "2025-11-25", "capabilities": map[string]any{}, "clientInfo": map[string]any{"name": "conformance", "version": "1"},
		})
		if err != nil {
			p.conn.close()
			return nil, err
		}
		p.conn.notify("notifications/initialized")
	}
	return p, nil
}

type toolProcess struct {
	tools
	w      *contracttest.World
	caller string // as the face knows it
	as     string // as the world does
	conn   conn

	mu     sync.Mutex
	killed bool
}

// tool is the name of an operation's tool: of a major version that is not the
// newest it says which.
func tool(operation string) string {
	name, version, _ := strings.Cut(operation, "@")
	if name == contracttest.OpCreate && version == "1.0" {
		return name + "_v1"
	}
	return name
}

func isRead(operation string) bool {
	return strings.HasPrefix(operation, "count_") || strings.HasPrefix(operation, "sum_") || strings.HasPrefix(operation, "list_")
}

// request is the params of a tools/call.
type request struct {
	Name         string          `json:"name"`
	Arguments    json.RawMessage `json:"arguments,omitempty"`
	Meta         map[string]any  `json:"_meta,omitempty"`
	RequestState string          `json:"requestState,omitempty"`
}

func (p *toolProcess) request(name string, arguments json.RawMessage, key string) request {
	r := request{Name: name, Arguments: arguments, Meta: map[string]any{}}
	if key != "" {
		r.Meta[mcpface.MetaKey] = key
	}
	if p.modern {
		r.Meta["io.modelcontextprotocol/protocolVersion"] = "2026-07-28"
		r.Meta["io.modelcontextprotocol/clientInfo"] = map[string]any{"name": "conformance", "version": "1"}
		r.Meta["io.modelcontextprotocol/clientCapabilities"] = map[string]any{}
	}
	return r
}

// demand adds the revision that the call demands, if it does.
func (r request) demand(revision string) request {
	if revision != "" {
		r.Meta[mcpface.MetaRevision] = revision
	}
	return r
}

// result is what tools/call returned.
type result struct {
	ResultType        string          `json:"resultType"`
	RequestState      string          `json:"requestState"`
	StructuredContent json.RawMessage `json:"structuredContent"`
	IsError           bool            `json:"isError"`
	Content           []struct{ Text string }
	Meta              map[string]any `json:"_meta"`
}

// tool makes a tools/call. The answer's receipt is set where the result is one.
func (p *toolProcess) tool(ctx context.Context, r request) (result, contracttest.Answer) {
	a := contracttest.Answer{Exit: -1}
	raw, err := p.conn.call(ctx, "tools/call", r)
	var got result
	switch {
	case p.dead():
		a.Died = true
		return got, a
	case ctx.Err() != nil:
		return got, a
	case err == nil:
		err = json.Unmarshal(raw, &got)
	}
	if err != nil {
		a.Error = err.Error()
		return got, a
	}
	a.IsError = &got.IsError
	for _, c := range got.Content {
		a.Text += c.Text
	}
	if bytes.Contains(got.StructuredContent, []byte(`"outcome":`)) {
		a.Raw = got.StructuredContent
		if err := json.Unmarshal(a.Raw, &a.Receipt); err != nil {
			a.Error = err.Error()
		}
	}
	return got, a
}

// Do implements contracttest.Process.
func (p *toolProcess) Do(ctx context.Context, c contracttest.Call) contracttest.Answer {
	name := tool(c.Operation)
	announce := c.Announce
	if announce == nil {
		announce = func(string) {}
	}
	switch c.Verb {
	case contracttest.VerbGet, contracttest.VerbReconcile:
		args, err := json.Marshal(map[string]any{"operationId": c.Key, "reconcile": c.Verb == contracttest.VerbReconcile})
		if err != nil {
			return contracttest.Answer{Error: err.Error()}
		}
		_, a := p.tool(ctx, p.request("spillway_operation_status", args, ""))
		return a
	case contracttest.VerbSweep: // a person's, on the command line, over the same journal
		return (&commands{w: p.w, caller: p.as}).Do(ctx, c)
	case contracttest.VerbResume:
		_, a := p.tool(ctx, p.request(name, with(nil, "continuation", c.Continuation), ""))
		return a
	case contracttest.VerbDo:
		switch {
		case isRead(c.Operation):
			if c.Continuation != "" {
				c.Params = with(c.Params, "continuation", c.Continuation)
			}
			if c.Evidence {
				c.Params = with(c.Params, "evidence", true)
			}
			_, a := p.tool(ctx, p.request(name, c.Params, ""))
			return a
		case p.modern && c.Key != "":
			announce(c.Key) // the client has it in its hands
			_, a := p.tool(ctx, p.request(name, c.Params, c.Key).demand(c.Revision))
			return a
		}
	}
	if p.modern {
		return p.rounds(ctx, c, name, announce)
	}
	return p.pair(ctx, c, name, announce)
}

// pair is the older era's way: X_prepare, then X_commit with the operation id.
func (p *toolProcess) pair(ctx context.Context, c contracttest.Call, name string, announce func(string)) contracttest.Answer {
	if c.Verb != contracttest.VerbCommit {
		got, a := p.tool(ctx, p.request(name+"_prepare", c.Params, c.Key).demand(c.Revision))
		if a.Receipt != nil || a.Error != "" || a.Died || got.StructuredContent == nil {
			return a
		}
		if err := json.Unmarshal(got.StructuredContent, &a.Preview); err != nil {
			a.Error = err.Error()
			return a
		}
		if c.Verb == contracttest.VerbPrepare {
			return a
		}
		announce(a.Preview.OperationID)
		c.Key = a.Preview.OperationID
	}
	_, a := p.tool(ctx, p.request(name+"_commit", with(nil, "operationId", c.Key), ""))
	return a
}

// rounds is the modern way: the first round gives the state that the second
// commits.
func (p *toolProcess) rounds(ctx context.Context, c contracttest.Call, name string, announce func(string)) contracttest.Answer {
	type prepared struct {
		state  string
		params json.RawMessage
	}
	if c.Verb != contracttest.VerbCommit {
		got, a := p.tool(ctx, p.request(name, c.Params, "").demand(c.Revision))
		if got.ResultType != "input_required" {
			return a
		}
		id, _ := got.Meta[mcpface.MetaKey].(string)
		a.Preview = &contract.Preview{OperationID: id}
		p.states.Store(id, prepared{got.RequestState, c.Params})
		if c.Verb == contracttest.VerbPrepare {
			return a
		}
		announce(id)
		c.Key = id
	}
	second := p.request(name, json.RawMessage(`{"name":"none"}`), "")
	second.RequestState = "none"
	if was, ok := p.states.Load(c.Key); ok {
		second.Arguments, second.RequestState = was.(prepared).params, was.(prepared).state
	}
	_, a := p.tool(ctx, second)
	return a
}

// with adds a member to a JSON object.
func with(object json.RawMessage, name string, value any) json.RawMessage {
	m := map[string]json.RawMessage{}
	if object != nil && json.Unmarshal(object, &m) != nil {
		return object
	}
	m[name], _ = json.Marshal(value) // a string or boolean
	raw, err := json.Marshal(m)
	if err != nil {
		return object
	}
	return raw
}

func (p *toolProcess) dead() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.killed
}

// Kill implements contracttest.Process.
func (p *toolProcess) Kill() {
	p.mu.Lock()
	p.killed = true
	p.mu.Unlock()
	if err := p.conn.kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
		panic(err)
	}
}

// Close implements contracttest.Process.
func (p *toolProcess) Close() { p.conn.close() }

// Lapse implements contracttest.Lapser.
func (p *toolProcess) Lapse(operation, key string) { lapse(p.w, p.caller, operation, key) }

func TestToolsOverStdio(t *testing.T) {
	for _, modern := range []bool{false, true} {
		a := tools{modern: modern, states: &sync.Map{}}
		t.Run(a.Name(), func(t *testing.T) { contracttest.Run(t, a) })
	}
}

func TestToolsOverHTTP(t *testing.T) {
	for _, modern := range []bool{false, true} {
		a := tools{modern: modern, http: true, states: &sync.Map{}}
		t.Run(a.Name(), func(t *testing.T) { contracttest.Run(t, a) })
	}
}
