package contracttest

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/spillway-mcp/spillway/contract"
)

// Go is the adapter of the Go client over a store. open opens the journal of a
// world in its directory; it is called once for each process, and the store is
// closed with it. Processes are clients of their own in this process; Kill cuts
// one off from its store and from the upstream at once.
//
// With inProcess the upstream is reached without a network.
func Go(open func(dir string) (contract.Store, error), inProcess bool) Adapter {
	return goAdapter{open, inProcess}
}

type goAdapter struct {
	open      func(dir string) (contract.Store, error)
	inProcess bool
}

func (a goAdapter) Name() string         { return "Go" }
func (a goAdapter) Lacks(Feature) string { return "" }

// sealKey is the seal key of every Go process: they share a journal.
var sealKey = []byte("contracttest: every process has the same 32 bytes")[:contract.SealKeySize]

func (a goAdapter) Open(w *World, caller string) (Process, error) {
	store, err := a.open(w.Dir)
	if err != nil {
		return nil, err
	}
	var rt http.RoundTripper = &http.Transport{}
	if a.inProcess {
		rt = w.Upstream.Transport()
	}
	g := &gate{}
	p, err := NewGoProcess(w, caller, gatedStore{store, g, w.Journal}, gatedTransport{rt, g})
	if err != nil {
		return nil, errors.Join(err, store.Close())
	}
	p.gate, p.store = g, store
	return p, nil
}

// GoProcess serves calls with a Client.
type GoProcess struct {
	caller string
	client *contract.Client
	gate   *gate
	store  contract.Store
}

// NewGoProcess makes a Client for a caller over a store and a transport, with
// the definitions, the clock and the policy of a world. The store is the face's
// own; the time that it tells becomes the world's.
func NewGoProcess(w *World, caller string, store contract.Store, rt http.RoundTripper) (*GoProcess, error) {
	defs, err := Definitions(w.URL, rt)
	if err != nil {
		return nil, err
	}
	sealer, err := contract.SealerFromKey(sealKey)
	if err != nil {
		return nil, err
	}
	c, err := contract.New(contract.Options{
		Store: timedStore{store, w.Clock}, Sealer: sealer, Caller: caller, Now: w.Clock.Now, Lease: w.Lease, Definitions: defs,
		Authorize: func(_ context.Context, a contract.Access) error { return w.Policy.Allow(a) },
		Evidence: func(_ context.Context, _, _ string, page []byte) (string, error) {
			return fmt.Sprintf("r_%012x", len(page)), nil
		},
	})
	if err != nil {
		return nil, err
	}
	return &GoProcess{caller: caller, client: c}, nil
}

// Client returns the process's client.
func (p *GoProcess) Client() *contract.Client { return p.client }

// Kill implements Process.
func (p *GoProcess) Kill() {
	if p.gate != nil {
		p.gate.shut()
	}
}

// Close implements Process.
func (p *GoProcess) Close() {
	if p.store != nil {
		_ = p.store.Close() // the next process finds what is wrong with it
	}
}

// Do implements Process.
func (p *GoProcess) Do(ctx context.Context, call Call) Answer {
	a := p.do(ctx, call)
	if p.gate != nil && p.gate.dead() {
		return Answer{Exit: -1, Died: true}
	}
	a.Exit = -1
	if a.Receipt != nil {
		a.Raw = a.Receipt.JSON()
	}
	if a.Err != nil {
		a.Text = a.Err.Error()
	}
	return a
}

func (p *GoProcess) do(ctx context.Context, call Call) (a Answer) {
	c := contract.Call{
		Key: call.Key, Params: call.Params, Revision: call.Revision, Preview: call.Preview, Continuation: call.Continuation,
		Evidence: call.Evidence, Wait: time.Duration(call.WaitMillis) * time.Millisecond, Announce: call.Announce,
	}
	ref := contract.Ref{Operation: call.Operation, Key: call.Key}
	def := p.client.Lookup(call.Operation)
	switch call.Verb {
	case VerbDo:
		a.Receipt, a.Err = p.client.Do(ctx, def, c)
	case VerbResume:
		a.Receipt, a.Err = p.client.Resume(ctx, c)
	case VerbGet:
		a.Receipt, a.Err = p.client.Get(ctx, ref)
	case VerbReconcile:
		a.Receipt, a.Err = p.client.Reconcile(ctx, ref)
	case VerbResolve:
		a.Receipt, a.Err = p.client.Resolve(ctx, ref, *call.Resolution)
	case VerbCommit:
		a.Receipt, a.Err = p.client.Commit(ctx, ref, c)
	case VerbPreview:
		a.Preview, a.Err = p.client.Preview(ctx, def, c)
		a.refusal()
	case VerbPrepare:
		a.Preview, a.Err = p.client.Prepare(ctx, def, c)
		a.refusal()
	case VerbSweep:
		_, a.Err = p.client.Sweep(ctx)
	case VerbDescribe:
		if def != nil {
			a.Doc = def.Describe()
		}
	}
	return a
}

// refusal takes the receipt of a preview's error, so that all faces compare.
func (a *Answer) refusal() {
	if e, ok := errors.AsType[*contract.Error](a.Err); ok {
		a.Receipt = e.Receipt()
	}
}

// gate is shut when a process is killed.
type gate struct {
	mu   sync.Mutex
	down bool
}

var errDead = errors.New("the process is dead")

func (g *gate) shut() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.down = true
}

func (g *gate) dead() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.down
}
