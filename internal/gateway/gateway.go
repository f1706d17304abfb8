// Package gateway presents any number of upstreams to each client as one server.
// It owns the upstreams, the sessions of clients, and what goes between them:
// names, lists, ids, progress tokens, and which side a message belongs to. What
// happens to tools and their results is package proxy's business, of which each
// client has one session; the transports are those of packages upstream and
// httpmcp.
//
// Start with [New]. A Gateway is a [server.Core] for HTTP clients, and
// [Gateway.ServeStdio] serves one client on a pair of streams.
package gateway

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/spillway-mcp/spillway/internal/config"
	"github.com/spillway-mcp/spillway/internal/httpmcp/server"
	"github.com/spillway-mcp/spillway/internal/ledger"
	"github.com/spillway-mcp/spillway/internal/proxy"
	"github.com/spillway-mcp/spillway/internal/rules"
	"github.com/spillway-mcp/spillway/internal/tokens"
)

// Options are what all sessions of a gateway share.
type Options struct {
	Servers []config.Server // the upstreams, in the order in which they are listed
	// Shared lets the clients share a child process, unless its entry says
	// per_session. Without it each client has its own.
	Shared bool

	Rules        func() *rules.Set
	RulesChanged <-chan struct{}

	Operations        proxy.Operations // tools of our own beside the upstreams'; nil: none
	OperationsChanged <-chan struct{}  // one value a change of them

	Stash        proxy.Stash
	Expand       bool
	ExpandBudget int
	ResourceLink string

	Ledger  *ledger.Writer
	Counter tokens.Counter
	Record  proxy.Recorder // nil: sessions are not recorded

	MaxFrame int
	Stderr   io.Writer // gets the stderr of children; nil drops it
	Version  string    // our own, as it is announced

	StartTime time.Duration // that a client waits for upstreams to start; 10 s
	ListTime  time.Duration // that a list waits for an upstream; 10 s

	Log *slog.Logger // nil discards
}

// Gateway is the upstreams and the sessions before them.
type Gateway struct {
	opt     Options
	ctx     context.Context
	cancel  context.CancelFunc
	sources atomic.Pointer[[]*source]
	command func(*source) (proxy.Upstream, error) // starts a child
	lastID  atomic.Uint64                         // of requests that are not the client's own, or whose id is mapped
	metrics metrics

	draining atomic.Bool // requests are refused
	said     sync.Map    // what was logged once and need not be again

	mu     sync.Mutex
	conns  map[*conn]struct{}
	modern map[string]*conn // by caller
	closed bool
	tasks  sync.WaitGroup
}

// New starts the upstreams that clients share. Problems of single upstreams are
// no error: they are logged, retried and shown.
func New(opt Options) (*Gateway, error) { return newGateway(opt, startChild) }

func newGateway(opt Options, start func(*source) (proxy.Upstream, error)) (*Gateway, error) {
	if opt.Log == nil {
		opt.Log = slog.New(slog.DiscardHandler)
	}
	if opt.StartTime <= 0 {
		opt.StartTime = 10 * time.Second
	}
	if opt.ListTime <= 0 {
		opt.ListTime = 10 * time.Second
	}
	if opt.Rules == nil {
		set := rules.Default()
		opt.Rules = func() *rules.Set { return set }
	}
	g := &Gateway{opt: opt, command: start, conns: make(map[*conn]struct{}), modern: make(map[string]*conn)}
	g.ctx, g.cancel = context.WithCancel(context.Background())
	var all []*source
	for _, s := range opt.Servers {
		src, err := g.newSource(s)
		if err != nil {
			return nil, err
		}
		all = append(all, src)
	}
	if err := checkPrefixes(opt.Servers); err != nil {
		return nil, err
	}
	g.sources.Store(&all)
	for _, src := range all {
		src.start()
	}
	if opt.RulesChanged != nil {
		g.tasks.Go(g.watchRules)
	}
	if opt.OperationsChanged != nil {
		g.tasks.Go(g.watchOperations)
	}
	return g, nil
}

func (g *Gateway) list() []*source { return *g.sources.Load() }

var errStopped = errors.New("spillway stops")

// Close ends all sessions and upstreams. Calls in flight are given up: see Drain.
func (g *Gateway) Close() {
	g.mu.Lock()
	g.closed = true
	all := make([]*conn, 0, len(g.conns))
	for c := range g.conns {
		all = append(all, c)
	}
	g.mu.Unlock()
	var wait sync.WaitGroup
	for _, c := range all {
		wait.Go(c.close)
	}
	wait.Wait()
	g.cancel()
	for _, src := range g.list() {
		wait.Go(src.close)
	}
	wait.Wait()
	g.tasks.Wait()
}

// InFlight counts the requests of clients that have no answer yet, subscriptions
// apart.
func (g *Gateway) InFlight() int { return int(g.metrics.inFlight.Load()) }

func (g *Gateway) watchRules() {
	last := g.opt.Rules().Digest()
	for {
		select {
		case <-g.ctx.Done():
			return
		case _, ok := <-g.opt.RulesChanged:
			if !ok {
				return
			}
			if now := g.opt.Rules().Digest(); now != last {
				last = now
				g.opt.Log.Debug("rules changed", "digest", last) // the watcher has said so
				for _, c := range g.all() {
					c.session.ToolsChanged()
				}
			}
		}
	}
}

func (g *Gateway) watchOperations() {
	for {
		select {
		case <-g.ctx.Done():
			return
		case _, ok := <-g.opt.OperationsChanged:
			if !ok {
				return
			}
			for _, c := range g.all() {
				c.session.ToolsChanged()
			}
		}
	}
}

func (g *Gateway) all() []*conn {
	g.mu.Lock()
	defer g.mu.Unlock()
	all := make([]*conn, 0, len(g.conns))
	for c := range g.conns {
		all = append(all, c)
	}
	return all
}

// Open implements [server.Core].
func (g *Gateway) Open(c *server.Client) (server.Session, error) {
	n, err := g.connect(c.Caller(), false, &httpEdge{client: c})
	if err != nil {
		return nil, err
	}
	return &httpSession{n}, nil
}

// Serve implements [server.Core]: a caller's modern messages have one session.
func (g *Gateway) Serve(ctx context.Context, in *server.Inbound) {
	g.mu.Lock()
	c := g.modern[in.Caller]
	g.mu.Unlock()
	if c == nil {
		var err error
		if c, err = g.modernFor(in.Caller); err != nil {
			if in.Reply != nil {
				_ = in.Reply.Answer(errorf(CodeStopped, "%v", err).Response(in.Scan.ID.Of(in.Message)))
			}
			return
		}
	}
	c.receive(ctx, in)
}

func (g *Gateway) modernFor(caller string) (*conn, error) {
	c, err := g.connect(caller, true, &httpEdge{})
	if err != nil {
		return nil, err
	}
	g.mu.Lock()
	prior := g.modern[caller]
	if prior == nil {
		g.modern[caller] = c
	}
	g.mu.Unlock()
	if prior != nil {
		c.close()
		return prior, nil
	}
	return c, nil
}
