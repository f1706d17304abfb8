package mcpface

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/spillway-mcp/spillway/contract"
)

// patience is how long a call of a modern client that knows tasks is worked on
// before it is answered with a handle. A client that has to come back for a
// result pays for it with a round trip, so quick ones are answered at once.
const patience = 5 * time.Second

// run is a call that may outlive its request.
type run struct {
	stop    context.CancelFunc
	stay    func() bool   // from here on the end of the request does not stop it
	claimed chan struct{} // closed once the journal has it
	done    chan struct{} // closed when receipt and err are there
	receipt *contract.Receipt
	err     error
}

// doing calls an operation for a request.
type doing func(ctx context.Context, claimed func()) (*contract.Receipt, error)

// run runs a mutation and answers with its receipt, or with a task's handle
// where the client knows what to do with one: a client of 2025-11-25 that asked
// for it, once the claim is durable; one of 2026-07-28 that declared the
// extension, when the operation is pending or takes long.
func (f *Face) run(ctx context.Context, c Call, ref contract.Ref, do doing) ([]byte, *Fault) {
	if !c.Task && !(c.Modern && declaresTasks(c.Meta)) {
		return f.receipt(do(ctx, nil)), nil
	}
	r := f.begin(ctx, taskID(ref), do)
	if r == nil {
		return textResult("nothing was begun: this process is ending", true), nil
	}
	waited := time.NewTimer(patience)
	defer waited.Stop()
	if c.Task {
		select {
		case <-r.done:
			if refused(r.err) {
				return nil, notATask(r)
			}
		case <-r.claimed:
		}
		return f.handle(ctx, c, ref, r), nil
	}
	select {
	case <-r.done:
	case <-waited.C:
		select {
		case <-r.done:
		case <-r.claimed:
			return f.handle(ctx, c, ref, r), nil
		}
	}
	if r.receipt != nil && r.receipt.Outcome == contract.Pending {
		return f.handle(ctx, c, ref, r), nil
	}
	return f.receipt(r.receipt, r.err), nil
}

// begin starts a run; nil after Close.
func (f *Face) begin(ctx context.Context, id string, do doing) *run {
	work, stop := context.WithCancel(context.WithoutCancel(ctx))
	r := &run{stop: stop, claimed: make(chan struct{}), done: make(chan struct{})}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed {
		stop()
		return nil
	}
	r.stay = context.AfterFunc(ctx, stop)
	ended := context.AfterFunc(f.ctx, stop)
	if f.running[id] == nil {
		f.running[id] = map[*run]struct{}{}
	}
	f.running[id][r] = struct{}{}
	var once sync.Once
	f.workers.Go(func() {
		r.receipt, r.err = do(work, func() { once.Do(func() { close(r.claimed) }) })
		r.stay()
		ended()
		stop()
		f.mu.Lock()
		delete(f.running[id], r)
		if len(f.running[id]) == 0 {
			delete(f.running, id)
		}
		f.mu.Unlock()
		close(r.done)
	})
	return r
}

// runs returns what runs of a task in this process.
func (f *Face) runs(id string) []*run {
	f.mu.Lock()
	defer f.mu.Unlock()
	var all []*run
	for r := range f.running[id] {
		all = append(all, r)
	}
	return all
}

// refused reports whether an error is of a call that has no record, so that
// there is nothing that a task could stand for.
func refused(err error) bool {
	var e *contract.Error
	if !errors.As(err, &e) {
		return err != nil
	}
	for _, kind := range []error{
		contract.ErrInvalid, contract.ErrUnauthorized, contract.ErrKeyConflict, contract.ErrExpired, contract.ErrNotFound, contract.ErrJournal,
	} {
		if errors.Is(e.Kind, kind) {
			return true
		}
	}
	return e.Reason == contract.ReasonPreviewMismatch
}

// notATask says why a call did not become a task.
func notATask(r *run) *Fault {
	fault := &Fault{Code: codeParams, Message: r.err.Error()}
	if r.receipt != nil {
		fault.Data = r.receipt.JSON()
	}
	return fault
}
