// Package operation reads operations.yaml: task-level operations over upstream
// MCP tools and HTTP endpoints, written as data. What it makes of them are
// [contract.Definition] values, the same kind that Go code defines, so that
// bounds, outcomes and recovery are package contract's and the same for both.
//
// It starts no servers: a [Caller] reaches them. The page docs/operations.md
// lists every key.
//
// Start with [Load], or [Parse].
package operation

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"os"

	"github.com/spillway-mcp/spillway/contract"
	"github.com/spillway-mcp/spillway/internal/yamlpos"
)

// Caller reaches the MCP servers that operations name. It may be called from
// many goroutines.
type Caller interface {
	// CallTool calls a tool and returns the bytes of its CallToolResult.
	// arguments is a JSON object; meta is one too, or nil. An error that is no
	// [*CallError] leaves open whether the server got the call.
	CallTool(ctx context.Context, server, tool string, arguments, meta []byte) ([]byte, error)
}

// Options are what operations run with.
type Options struct {
	// Servers reaches the MCP servers; nil refuses every tool call.
	Servers Caller
	// ServerNames are the servers there are, where they are known: a tool of
	// another one is an error of the file.
	ServerNames []string
	// HTTP makes the HTTP calls; nil is a client of this package's own. Its
	// CheckRedirect is replaced: credentials never follow to another origin.
	HTTP *http.Client
	// Lookup finds environment variables; nil is os.LookupEnv.
	Lookup func(string) (string, bool)
}

// Set is what one file defines.
type Set struct {
	// File is the name that the definitions were read from.
	File string
	// Definitions are in the file's order.
	Definitions []*contract.Definition
	// Warnings are what a person should know before relying on a definition,
	// with positions: what a mutation without classification or reconcile
	// means, rows and steps that are never reached.
	Warnings yamlpos.Errors
	// Servers are the MCP servers that the operations call, in the order in
	// which they are named.
	Servers []string
}

// Load reads the operations file at path, YAML or JSON. The error is of the
// file system, or a [yamlpos.Errors].
func Load(path string, opt Options) (*Set, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("operations file: %w", err)
	}
	if info.Size() > yamlpos.MaxBytes {
		return nil, yamlpos.Errors{{File: path, Msg: fmt.Sprintf("the file has %d bytes; at most %d are allowed", info.Size(), yamlpos.MaxBytes)}}
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("operations file: %w", err)
	}
	return Parse(path, data, opt)
}

// Parse reads an operations file's content; name stands in positions. The
// error is a [yamlpos.Errors] with everything that is wrong.
func Parse(name string, data []byte, opt Options) (*Set, error) {
	if len(bytes.TrimSpace(data)) == 0 { // a writer may be at it
		return nil, yamlpos.Errors{{File: name, Line: 1, Col: 1, Msg: "the file is empty; to have no operations, write operations: {}"}}
	}
	root, err := yamlpos.Read(name, data)
	if err != nil {
		return nil, err
	}
	b := &builder{opt: opt, http: newHTTP(opt.HTTP), set: &Set{File: name}}
	if b.opt.Lookup == nil {
		b.opt.Lookup = os.LookupEnv
	}
	b.file(root)
	if err := b.errs.Err(); err != nil {
		return nil, err
	}
	b.set.Warnings.Sort()
	return b.set, nil
}
