package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/spillway-mcp/spillway/contract"
	"github.com/spillway-mcp/spillway/internal/client"
)

const operationsYAML = `operations:
  create_customer@1.0:
    scope: One customer.
    effects: create
    idempotent: key
    key_retention: 24h
    params: {type: object, additionalProperties: false, required: [email], properties: {email: {type: string}}}
    mutation:
      steps:
        - call: {http: {method: POST, url: URL/v1/customers, form: {email: params.email}}}
`

// process is one process of an interface: it asks for a customer with an email
// under a key, "" for none that is kept, and tells what it was told.
type process func(key, email string) (string, error)

// lab is what the processes of one row share.
type lab struct {
	ctx  context.Context
	dir  string
	self string
	up   *upstream
	ids  map[string]string // over MCP: the operation id that an agent has kept under our name for it
}

// faces are the interfaces, in the order of the table.
var faces = []struct {
	name string
	open func(*lab) process
}{
	{"plain HTTP", (*lab).http},
	{"Go SDK", (*lab).sdk},
	{"MCP", (*lab).mcp},
}

func run(ctx context.Context) ([]row, error) {
	var rows []row
	for _, kept := range []bool{false, true} {
		for _, face := range faces {
			r, err := one(ctx, face.open, kept)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", face.name, err)
			}
			r.face = face.name
			rows = append(rows, *r)
		}
	}
	return rows, nil
}

// one plays one row.
func one(ctx context.Context, open func(*lab) process, kept bool) (*row, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "recovery-*")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	l := &lab{ctx: ctx, dir: dir, self: self, up: newUpstream(), ids: map[string]string{}}
	defer l.up.Close()
	yaml := strings.ReplaceAll(operationsYAML, "URL", l.up.URL)
	if err := os.WriteFile(filepath.Join(dir, "operations.yaml"), []byte(yaml), 0o600); err != nil {
		return nil, err
	}
	ask := open(l)
	r, key := &row{key: "none kept"}, ""
	if kept {
		r.key, key = "kept", "order-17"
	}
	l.up.lose(true)
	if r.first, err = ask(key, "a@example.com"); err != nil {
		return nil, err
	}
	l.up.lose(false)
	if r.second, err = ask(key, "a@example.com"); err != nil {
		return nil, err
	}
	r.customers = l.up.count()
	if !kept {
		return r, nil
	}
	if r.changed, err = ask(key, "b@example.com"); err != nil {
		return nil, err
	}
	r.customersChanged = l.up.count()
	for _, key := range []string{"order-18", "order-19"} {
		if _, err := ask(key, "a@example.com"); err != nil {
			return nil, err
		}
	}
	r.intents = l.up.count() - r.customersChanged
	return r, nil
}

// output runs this program as another one.
func (l *lab) output(args ...string) (string, error) {
	cmd := exec.CommandContext(l.ctx, l.self, args...)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	return string(out), err
}

func (l *lab) http() process {
	return func(key, email string) (string, error) { return l.output(asHTTP, l.up.URL, key, email) }
}

func (l *lab) sdk() process {
	return func(key, email string) (string, error) {
		return l.output(asSDK, l.up.URL, key, email, filepath.Join(l.dir, "journal.db"))
	}
}

// mcp is an agent: it prepares, keeps the operation id or forgets it, and
// commits. Each request goes to a gateway of its own process. A call with
// other parameters under the id that it has kept goes by _meta: a commit takes
// nothing but the id.
func (l *lab) mcp() process {
	return func(key, email string) (string, error) {
		c, stop, err := l.gateway()
		if err != nil {
			return "", err
		}
		defer stop()
		operation := l.ids[key]
		if operation == "" || key == "" {
			r, err := l.call(c, "create_customer_prepare", map[string]any{"email": email}, nil)
			if err != nil {
				return "", err
			}
			operation = r.OperationID
			l.ids[key], l.ids["params of "+key] = operation, email
		}
		if l.ids["params of "+key] != email {
			r, err := l.call(c, "create_customer", map[string]any{"email": email}, map[string]any{
				"io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": map[string]any{},
				"io.github.spillway-mcp/operation-id": operation,
			})
			if err != nil {
				return "", err
			}
			return told(r), nil
		}
		r, err := l.call(c, "create_customer_commit", map[string]any{"operationId": operation}, nil)
		if err != nil {
			return "", err
		}
		return told(r), nil
	}
}

// gateway starts spillway with the operations.
func (l *lab) gateway() (*client.Client, func(), error) {
	cmd := exec.CommandContext(l.ctx, l.self, asSpillway, "run", "--operations", filepath.Join(l.dir, "operations.yaml"), "--", l.self, asServer)
	cmd.Env = append(os.Environ(), "HOME="+l.dir, "XDG_STATE_HOME="+l.dir, "XDG_CONFIG_HOME="+l.dir, "LOCALAPPDATA="+l.dir, "APPDATA="+l.dir, "USERPROFILE="+l.dir)
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return nil, nil, err
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return nil, nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, nil, err
	}
	return client.New(stdin, stdout), func() { stdin.Close(); _ = cmd.Wait() }, nil
}

func (l *lab) call(c *client.Client, tool string, args, meta map[string]any) (*contract.Receipt, error) {
	params := map[string]any{"name": tool, "arguments": args}
	if meta != nil {
		params["_meta"] = meta
	}
	raw, err := c.Do(l.ctx, "tools/call", params)
	if err != nil {
		return nil, err
	}
	var result struct {
		StructuredContent struct {
			OperationID string
			Outcome     contract.Outcome
			NextAction  contract.NextAction
			Reason      string
			Result      json.RawMessage
		}
	}
	if err := json.Unmarshal(raw, &result); err != nil {
		return nil, err
	}
	s := result.StructuredContent
	return &contract.Receipt{OperationID: s.OperationID, Outcome: s.Outcome, NextAction: s.NextAction, Reason: s.Reason, Result: s.Result}, nil
}
