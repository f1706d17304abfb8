// Package mcpface shows operations as MCP tools: their entries in tools/list,
// and the results of their calls. It knows nothing of transports and sessions;
// the proxy and the gateway hand it a call and send what it returns.
//
// A read is one tool. A mutation is a pair, X_prepare and X_commit, so that
// its identity is ours and kept before anything is submitted; for clients of
// 2026-07-28 and newer it is one tool of several rounds, whose requestState
// binds preview, approval and commit. One more tool tells how any of them
// stands, and reconciles it. No tool has a key that a model fills in.
//
// Start with [New].
package mcpface

import (
	"context"
	"fmt"
	"slices"

	"github.com/spillway-mcp/spillway/contract"
	"github.com/spillway-mcp/spillway/internal/jsontape"
)

// MetaKey is the member of a call's _meta that carries an operation id.
const MetaKey = "io.github.spillway-mcp/operation-id"

// MaxName is the longest name of a tool that every client takes.
const MaxName = 64

// Options say how operations are shown.
type Options struct {
	Client *contract.Client
	// Sealer seals requestState; the Client's own.
	Sealer *contract.Sealer
	// Name makes a legal tool name of a prefix, "" for none, and a name.
	Name func(prefix, name string) string
}

// Face is the tools of a client's operations. It is safe for concurrent use.
type Face struct {
	opt   Options
	tools []tool
	named map[string]*tool
}

// tool is one entry.
type tool struct {
	name string
	kind kind
	def  *contract.Definition
	// What the list shows; the two eras differ in which tools they see.
	entry []byte
	era   era
	ours  []string // arguments of a read that are not the operation's
}

type kind int

const (
	readTool kind = iota
	prepareTool
	commitTool
	mutationTool // of several rounds
	statusTool   // of all mutations
)

type era int

const (
	bothEras era = iota
	legacyOnly
	modernOnly
)

// New makes the tools of all definitions that the Client has.
func New(opt Options) (*Face, error) {
	f := &Face{opt: opt, named: map[string]*tool{}}
	defs := opt.Client.Definitions()
	newest := map[string]int{}
	for _, d := range defs {
		newest[d.Name()] = d.Major() // Definitions come in the order of versions
	}
	for _, d := range defs {
		name := d.Name()
		if d.Major() != newest[name] {
			name = fmt.Sprintf("%s_v%d", name, d.Major())
		}
		if d.IsRead() {
			f.add(&tool{name: opt.Name("", name), kind: readTool, def: d})
			continue
		}
		f.add(&tool{name: opt.Name("", name), kind: mutationTool, def: d, era: modernOnly})
		f.add(&tool{name: opt.Name("", name+"_prepare"), kind: prepareTool, def: d, era: legacyOnly})
		f.add(&tool{name: opt.Name("", name+"_commit"), kind: commitTool, def: d, era: legacyOnly})
	}
	if slices.ContainsFunc(defs, func(d *contract.Definition) bool { return !d.IsRead() }) {
		f.tools = append(f.tools, tool{name: opt.Name("spillway", "operation_status"), kind: statusTool})
		last := &f.tools[len(f.tools)-1]
		last.entry = statusEntry(last.name)
	}
	for i := range f.tools {
		t := &f.tools[i]
		if f.named[t.name] != nil {
			return nil, fmt.Errorf("two operations would be the tool %q: rename one", t.name)
		}
		f.named[t.name] = t
	}
	return f, nil
}

func (f *Face) add(t *tool) {
	t.entry = entryOf(t)
	doc, err := jsontape.Parse(t.def.Spec().Params)
	for _, name := range []string{continuationArg, evidenceArg} {
		if err == nil && !doc.Root().Lookup("properties", name).Exists() {
			t.ours = append(t.ours, name)
		}
	}
	f.tools = append(f.tools, *t)
}

// List returns the entries of tools/list, in one order: those that a client of
// 2026-07-28 or newer sees, or those of an older one.
func (f *Face) List(modern bool) [][]byte {
	var all [][]byte
	for i := range f.tools {
		if t := &f.tools[i]; t.era == bothEras || (t.era == modernOnly) == modern {
			all = append(all, t.entry)
		}
	}
	return all
}

// Has reports whether a tool is an operation's, whichever era it is listed in.
func (f *Face) Has(name string) bool { return f.named[name] != nil }

// Names returns the names of all tools.
func (f *Face) Names() []string {
	var all []string
	for i := range f.tools {
		all = append(all, f.tools[i].name)
	}
	return all
}

// Call is one tools/call.
type Call struct {
	Caller    string // the stable principal
	Tool      string
	Arguments []byte // JSON; nil is {}
	Meta      []byte // _meta of the request, JSON; nil where there is none
	State     string // requestState of a further round
	Responses []byte // inputResponses of a further round, JSON
	Modern    bool   // the client is of 2026-07-28 or newer
	// Progress is told after each page of a read; nil where nobody asked.
	Progress func(contract.Progress)
}

// Call runs an operation and returns the result of the call: a CallToolResult,
// or one that asks for another round. Every result is one; errors are told in
// it (isError), with the operation id and what to do next.
func (f *Face) Call(ctx context.Context, c Call) []byte {
	t := f.named[c.Tool]
	if t == nil {
		return textResult("no operation has the tool "+c.Tool, true)
	}
	if len(c.Arguments) == 0 {
		c.Arguments = []byte("{}")
	}
	switch t.kind {
	case readTool:
		return f.read(ctx, t, c)
	case prepareTool:
		return f.prepare(ctx, t, c)
	case commitTool:
		return f.commit(ctx, t, c)
	case statusTool:
		return f.status(ctx, c)
	}
	return f.rounds(ctx, t, c)
}
