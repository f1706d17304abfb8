// Package mcpface shows operations as MCP tools: their entries in tools/list,
// the results of their calls, and the tasks that calls become. It knows nothing
// of transports and sessions; the proxy and the gateway hand it a call and send
// what it returns.
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
	"sync"
	"sync/atomic"

	"github.com/spillway-mcp/spillway/contract"
)

// MetaKey is the member of a call's _meta that carries an operation id.
const MetaKey = "io.github.spillway-mcp/operation-id"

// MetaRevision is the member of a call's _meta that demands a revision: what the
// operation acts on must still have it.
const MetaRevision = "io.github.spillway-mcp/revision"

// MaxName is the longest name of a tool that every client takes.
const MaxName = 64

// Options say how operations are shown.
type Options struct {
	Client *contract.Client
	// Sealer seals requestState; the Client's own.
	Sealer *contract.Sealer
	// Store keeps how tasks were told to have ended; the Client's own. Nil is a
	// memory of this process.
	Store contract.Store
	// Name makes a legal tool name of a prefix, "" for none, and a name.
	Name func(prefix, name string) string
}

// Face is the tools of a client's operations. It is safe for concurrent use.
type Face struct {
	opt Options
	now atomic.Pointer[toolset]

	ctx     context.Context // of the tasks
	cancel  context.CancelFunc
	workers sync.WaitGroup
	mu      sync.Mutex
	closed  bool
	running map[string]map[*run]struct{} // by task id
}

// New makes the tools of all definitions that the Client has.
func New(opt Options) (*Face, error) {
	if opt.Store == nil {
		opt.Store = contract.NewMemory()
	}
	f := &Face{opt: opt, running: map[string]map[*run]struct{}{}}
	f.ctx, f.cancel = context.WithCancel(context.Background())
	return f, f.Use(opt.Client)
}

// Use makes the tools those of another Client's definitions. Calls under way
// end as they began. On an error the tools stay what they were.
func (f *Face) Use(client *contract.Client) error {
	set, err := newToolset(client, f.opt.Name)
	if err == nil {
		f.now.Store(set)
	}
	return err
}

// Close ends the tasks that run in this process: until ctx ends they may come
// to an end by themselves. What is stopped by then is left unknown, or as it
// was completed (C-23).
func (f *Face) Close(ctx context.Context) {
	f.mu.Lock()
	f.closed = true
	f.mu.Unlock()
	f.Settle(ctx)
	f.cancel()
	f.workers.Wait()
}

// Settle waits until no task runs in this process, or ctx ends.
func (f *Face) Settle(ctx context.Context) {
	done := make(chan struct{})
	go func() {
		f.workers.Wait()
		close(done)
	}()
	select {
	case <-done:
	case <-ctx.Done():
	}
}

// Viewer is who a list is for.
type Viewer struct {
	Modern bool // the client is of 2026-07-28 or newer
	Tasks  bool // it knows the tasks of 2025-11-25
}

// List returns the entries of tools/list, in one order: those that a client of
// 2026-07-28 or newer sees, or those of an older one.
func (f *Face) List(v Viewer) [][]byte {
	var all [][]byte
	set := f.now.Load()
	for i := range set.tools {
		t := &set.tools[i]
		switch {
		case t.era != bothEras && (t.era == modernOnly) != v.Modern:
		case v.Tasks && t.task != nil:
			all = append(all, t.task)
		default:
			all = append(all, t.entry)
		}
	}
	return all
}

// Has reports whether a tool is an operation's, whichever era it is listed in.
func (f *Face) Has(name string) bool { return f.now.Load().named[name] != nil }

// Mutates reports whether there are mutations, whose calls can become tasks.
func (f *Face) Mutates() bool { return f.now.Load().mutates }

// Names returns the names of all tools.
func (f *Face) Names() []string {
	var all []string
	set := f.now.Load()
	for i := range set.tools {
		all = append(all, set.tools[i].name)
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
	Task      bool   // a client of 2025-11-25 wants a task
	// Progress is told after each page of a read; nil where nobody asked.
	Progress func(contract.Progress)

	set *toolset // that the call began with
}

// Fault is the JSON-RPC error that a request is answered with.
type Fault struct {
	Code    int
	Message string
	Data    []byte // JSON; nil where there is none
}

// The codes of a Fault.
const (
	codeMethod     = -32601
	codeParams     = -32602
	codeInternal   = -32603
	codeCapability = -32021
)

// Call runs an operation and returns the result of the call: a CallToolResult,
// one that asks for another round, or a task's handle. Errors of the operation
// are told in a result (isError), with the operation id and what to do next. A
// Fault is for what cannot become the task that was asked for.
func (f *Face) Call(ctx context.Context, c Call) ([]byte, *Fault) {
	set := f.now.Load()
	t := set.named[c.Tool]
	if t == nil {
		return textResult("no operation has the tool "+c.Tool, true), nil
	}
	if len(c.Arguments) == 0 {
		c.Arguments = []byte("{}")
	}
	c.set = set
	if c.Task && t.kind != commitTool && t.kind != mutationTool {
		return nil, &Fault{Code: codeMethod, Message: c.Tool + " cannot be called as a task: it answers at once"}
	}
	switch t.kind {
	case readTool:
		return f.read(ctx, t, c), nil
	case prepareTool:
		return f.prepare(ctx, t, c), nil
	case commitTool:
		return f.commit(ctx, t, c)
	case statusTool:
		return f.status(ctx, c), nil
	}
	return f.rounds(ctx, t, c)
}
