package proxy

import (
	"bytes"
	"context"
	"strconv"
	"sync"
	"time"

	"github.com/spillway-mcp/spillway/contract"
	"github.com/spillway-mcp/spillway/internal/ledger"
	"github.com/spillway-mcp/spillway/internal/operation"
	"github.com/spillway-mcp/spillway/internal/operation/mcpface"
	"github.com/spillway-mcp/spillway/internal/record"
	"github.com/spillway-mcp/spillway/internal/wire"
)

// Operations are tools that Spillway answers itself, beside the server's, and
// the tasks that their calls become: a [mcpface.Face]. The server's tool wins
// where both have a name.
type Operations interface {
	List(v mcpface.Viewer) [][]byte
	Has(name string) bool
	Names() []string
	Mutates() bool
	Call(ctx context.Context, c mcpface.Call) ([]byte, *mcpface.Fault)
	OwnsTask(caller, id string) bool
	Task(ctx context.Context, q mcpface.TaskRequest) ([]byte, *mcpface.Fault)
	Watch(ctx context.Context, caller, id string) []byte
	Settle(ctx context.Context)
}

// listOperations returns the operations' entries for a list whose other tools
// are those in t.taken. The session's lock is held.
func (s *session) listOperations(c *call) [][]byte {
	if s.opt.Operations == nil {
		return nil
	}
	var all [][]byte
	for _, entry := range s.opt.Operations.List(mcpface.Viewer{Modern: c.modern, Tasks: s.legacyTasks()}) {
		name := wire.Text(wire.Member(entry, wire.Span{End: len(entry)}, "name").Of(entry))
		if _, taken := s.tools.taken[name]; taken {
			if s.once("operation " + name) {
				s.opt.Log.Error("operation not listed: the server has a tool of its name", "tool", name)
			}
			continue
		}
		all = append(all, entry)
	}
	return all
}

// operationServed reports whether a call is for an operation.
func (s *session) operationServed(name string) bool {
	if s.opt.Operations == nil || !s.opt.Operations.Has(name) {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.tools.tools != nil {
		_, theirs := s.tools.tools[name]
		return !theirs
	}
	_, theirs := s.own.tools[name]
	return !theirs
}

// operate runs an operation. The client's cancellation reaches it: what was
// submitted by then is unknown or completed, never rejected (C-23).
func (s *session) operate(c *call, name string, body []byte, m wire.Message) {
	meta := wire.Member(body, m.Params, "_meta")
	in := mcpface.Call{
		Caller: s.opt.Caller, Tool: name, Modern: c.modern,
		Arguments: bytes.Clone(wire.Member(body, m.Params, "arguments").Of(body)),
		Meta:      bytes.Clone(meta.Of(body)),
		State:     wire.Text(wire.Member(body, m.Params, "requestState").Of(body)),
		Responses: bytes.Clone(wire.Member(body, m.Params, "inputResponses").Of(body)),
		Progress:  s.progress(bytes.Clone(wire.Member(body, meta, "progressToken").Of(body))),
		Task:      s.wantsTask(c, body, m),
	}
	c.name = name
	if s.opt.Record != nil {
		c.recorded.args = in.Arguments
	}
	near := s.near(c, body, m)
	s.serve(c, func(ctx context.Context) ([]byte, *mcpface.Fault) {
		return s.opt.Operations.Call(operation.WithServers(ctx, near), in)
	}, func(result []byte) {
		s.recordResult(c, record.KindOperation, record.Passed, result, nil)
		s.account(func(l *ledger.Line) {
			s.timing(l, c)
			l.Event, l.Outcome, l.Tool = ledger.EventCall, ledger.OutcomePassed, name
			if failed, _ := verdict(result); failed || result == nil {
				l.Event, l.Outcome = ledger.EventError, ledger.OutcomeError
			}
			same(l, s.view(result))
		})
	})
}

// serve answers a request by do, beside the pump. The client's cancellation
// and the session's end reach it.
func (s *session) serve(c *call, do func(context.Context) ([]byte, *mcpface.Fault), after func(result []byte)) {
	ctx, cancel := context.WithCancel(context.Background())
	c.stop = cancel
	s.add(c)
	finished := make(chan struct{})
	if !s.running.Go(func() { <-finished }) {
		cancel()
		return // nothing is begun any more; the session's end answers
	}
	if !s.workers.Go(func() {
		defer close(finished)
		defer cancel()
		done := make(chan struct{})
		defer close(done)
		go func() {
			select {
			case <-s.ended:
				cancel()
			case <-done:
			}
		}()
		result, fault := do(ctx)
		if s.take(c.key) == nil || c.cancelled {
			s.accountStopped(c)
			return
		}
		if fault != nil {
			c.answered = time.Now()
			s.answerTo(c.id, faultMessage(c.id, fault))
		} else {
			s.answer(c, result)
		}
		if after != nil {
			after(result)
		}
	}) {
		close(finished)
		cancel()
	}
}

// endOperations lets operations and their tasks end while the server is there,
// once the client has hung up.
func (s *session) endOperations(ctx context.Context, giveUp <-chan struct{}) {
	if s.opt.Operations == nil {
		return
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	settled := make(chan struct{})
	go func() {
		s.running.Dismiss()
		s.opt.Operations.Settle(ctx)
		close(settled)
	}()
	select {
	case <-settled:
	case <-s.broken:
	case <-ctx.Done():
	case <-giveUp:
	}
}

// finishOperations lets operations in flight end though the server has: they
// have no need of it.
func (s *session) finishOperations(ctx context.Context, giveUp <-chan struct{}) {
	done := make(chan struct{})
	go func() {
		s.running.Dismiss()
		close(done)
	}()
	select {
	case <-done:
	case <-ctx.Done():
	case <-s.broken:
	case <-giveUp:
	}
}

// progress tells the client of each page, if it asked to be told.
func (s *session) progress(token []byte) func(contract.Progress) {
	if len(token) == 0 {
		return nil
	}
	var mu sync.Mutex
	return func(p contract.Progress) {
		mu.Lock()
		defer mu.Unlock()
		b := append([]byte(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":`), token...)
		b = strconv.AppendInt(append(b, `,"progress":`...), int64(p.Pages), 10)
		b = append(b, `,"message":"`...)
		b = strconv.AppendInt(b, int64(p.RecordsExamined), 10)
		s.toClient(append(b, ` records examined"}}`...))
	}
}
