// Package proxy stands between one MCP client and one stdio server. It forwards
// every message as the bytes that came, but for the few it is there for: it
// rewrites tools/list, reduces the results of tools/call, answers reducer_expand
// and reads of its own resources, and announces what that needs.
//
// Start with [Serve]. The order of messages is kept in both directions, with one
// exception: a tool result is reduced beside the stream and sent when it is
// ready, so what the server sent after it may pass it. What the server sent
// before it, progress above all, has left before it does.
package proxy

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"syscall"
	"time"

	"github.com/spillway-mcp/spillway/internal/ledger"
	"github.com/spillway-mcp/spillway/internal/operation"
	"github.com/spillway-mcp/spillway/internal/rules"
	"github.com/spillway-mcp/spillway/internal/stash"
	"github.com/spillway-mcp/spillway/internal/tokens"
	"github.com/spillway-mcp/spillway/internal/upstream"
	"github.com/spillway-mcp/spillway/internal/wire"
	"github.com/spillway-mcp/spillway/reduce"
)

// Upstream is the server: an [upstream.Child].
type Upstream interface {
	Name() string
	Stdin() io.WriteCloser
	Stdout() io.ReadCloser
	Done() <-chan struct{}
	Exit() *upstream.ExitError
	Stop()
}

// Stash keeps originals: a [stash.Store].
type Stash interface {
	Put(ctx context.Context, e stash.Entry, original []byte) error
	Get(ctx context.Context, caller, ref string) (stash.Entry, []byte, error)
	Has(ctx context.Context, caller, ref string) bool
}

// Origin tells which server a tool comes from, and what that server calls it,
// where one list holds the tools of several. The names in it are taken as they
// are: whoever made the list has applied what rules rename.
type Origin func(listed string) (server, tool string)

// Options are the parts that a session is made of. In, Out and Upstream are
// required; without rules nothing is reduced, without a stash nothing that
// would need a ref.
type Options struct {
	In       io.Reader // the client's messages
	Out      io.Writer // messages to the client, and nothing else
	Upstream Upstream

	Server       string            // the name that rules call the server by; "" is its own
	Origin       Origin            // nil: every tool is the server's, under its own name
	Rules        func() *rules.Set // the rules of this moment
	RulesChanged <-chan struct{}   // one value a change of them

	Operations        Operations      // nil: none
	OperationsChanged <-chan struct{} // one value a change of them
	// Servers reaches the servers that operations call over the connections of
	// the client whose request, with this raw id, they run for. Nil: the one
	// server is called over its own connection, by the name that rules call it by.
	Servers func(id []byte) operation.Caller

	Stash        Stash
	Caller       string // who owns what this session stashes, such as "local:1000"
	Expand       bool   // list reducer_expand
	ExpandBudget int    // bytes of one answer of it; 0 is reduce.DefaultExpandBudget
	ResourceLink string // "off" (also ""), "on" or "auto" (RED-20)

	Ledger  *ledger.Writer
	Counter tokens.Counter // the ledger's estimator; nil writes no tokens

	Record Recorder // nil: nothing is recorded

	MaxFrame int           // bytes of one message, either way; 0 is wire.DefaultLimit
	Drain    time.Duration // how long calls in flight may go on once the client has hung up; 0 is 10 s
	Log      *slog.Logger  // nil discards
}

func (o *Options) rules() *rules.Set {
	if o.Rules == nil {
		return nil
	}
	return o.Rules()
}

const defaultDrain = 10 * time.Second

// Serve runs one session: until the client closes its end, ctx ends, or the
// server does. It returns with the server and all its processes gone. The error
// is an [*upstream.ExitError] where the server ended by itself, else it says what
// made a stream unusable; nil where the client hung up or ctx ended.
//
// A read of In that blocks cannot be ended from here: its goroutine stays until
// the read returns.
func Serve(ctx context.Context, opt Options) error {
	if opt.Drain <= 0 {
		opt.Drain = defaultDrain
	}
	if opt.ExpandBudget <= 0 {
		opt.ExpandBudget = reduce.DefaultExpandBudget
	}
	if opt.Log == nil {
		opt.Log = slog.New(slog.DiscardHandler)
	}
	s := newSession(opt)
	s.up.Writer, s.up.c = wire.NewWriter(opt.Upstream.Stdin()), opt.Upstream.Stdin()
	if opt.RulesChanged != nil {
		s.workers.Go(func() { s.watchRules(s.ended) })
	}
	if opt.OperationsChanged != nil {
		s.workers.Go(func() { s.watchOperations(s.ended) })
	}

	hungUp := make(chan error, 1)
	go func() { hungUp <- s.pumpClient() }()
	silent := make(chan error, 1)
	go func() { silent <- s.pumpServer() }()

	var cause error
	alone := false // the server ended, or went silent, and nobody had asked it to
	select {
	case cause = <-hungUp:
		giveUp := make(chan struct{})
		t := time.AfterFunc(opt.Drain, func() { close(giveUp) })
		defer t.Stop()
		s.own.sent.Wait()            // calls that are held back must reach the server first
		s.endOperations(ctx, giveUp) // they may have need of it
		s.up.Close()
		if alone = s.drain(ctx, silent, giveUp); alone {
			s.settle()
		}
	case <-ctx.Done():
	case <-s.broken:
		if cause = s.brokenErr; errors.Is(cause, syscall.EPIPE) || errors.Is(cause, io.ErrClosedPipe) {
			cause = nil // a client that does not read any more has hung up
		}
	case err := <-silent:
		alone = true
		silent <- err
		s.settle()
	}
	s.stopping.Store(!alone)
	opt.Upstream.Stop()
	// With the server gone its stdout ends.
	if err := <-silent; err != nil && !alone {
		opt.Log.Debug("server's output", "err", err)
	}
	opt.Upstream.Stdout().Close()
	close(s.ended)
	s.own.sent.Dismiss()
	s.workers.Dismiss()
	s.answerAbandoned()
	s.rec.w.Close()
	switch {
	case cause != nil && !errors.Is(cause, io.EOF):
		return cause
	case s.mute.Load():
		return fmt.Errorf("server %s closed its stdout and did not end", opt.Upstream.Name())
	case alone:
		return opt.Upstream.Exit()
	}
	return nil
}

// drain lets calls in flight end after the client has closed its end: it may
// have piped its requests in. It reports whether the server went silent before
// it had answered them.
func (s *session) drain(ctx context.Context, silent chan error, giveUp <-chan struct{}) bool {
	select {
	case <-s.idle():
	case err := <-silent:
		silent <- err
		s.finishOperations(ctx, giveUp)
		return s.inFlight() > 0
	case <-ctx.Done():
	case <-s.broken:
	case <-giveUp:
		s.opt.Log.Warn("calls in flight given up: the client hung up", "calls", s.inFlight(), "after", s.opt.Drain)
	}
	return false
}

// settle waits for the end of a server that has closed its stdout.
func (s *session) settle() {
	t := time.NewTimer(3 * time.Second)
	defer t.Stop()
	select {
	case <-s.opt.Upstream.Done():
	case <-t.C:
		s.mute.Store(true)
		s.opt.Log.Warn("server closed its stdout and did not end", "server", s.opt.Upstream.Name())
	}
}

// pumpClient carries the client's messages up until its stream ends.
func (s *session) pumpClient() error {
	r := wire.NewReader(s.opt.In, s.opt.MaxFrame)
	for {
		f, err := r.Next()
		var big *wire.TooLargeError
		switch {
		case errors.As(err, &big):
			s.tooLargeFromClient(big)
		case err != nil:
			return err
		default:
			s.fromClient(f)
		}
	}
}

// pumpServer carries the server's messages down until its stream ends.
func (s *session) pumpServer() error {
	r := wire.NewReader(s.opt.Upstream.Stdout(), s.opt.MaxFrame)
	r.Follow(&s.ahead)
	for {
		f, err := r.Next()
		var big *wire.TooLargeError
		switch {
		case errors.As(err, &big):
			s.tooLargeFromServer(big)
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		default:
			s.fromServer(f)
		}
	}
}
