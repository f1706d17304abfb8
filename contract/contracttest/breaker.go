package contracttest

import (
	"context"
	"slices"
	"sync"

	"github.com/spillway-mcp/spillway/contract"
)

// Breaker wraps an adapter that keeps the rules into one that breaks one of
// them, in a way that systems have been seen to. It is there to test the suite,
// and what you make of it: each of the cases in Fails has to fail over
// Wrap(yours), where it passes over yours.
type Breaker struct {
	Name  string   // what it does wrong
	Rule  string   // of the contract
	Fails []string // ids of cases
	brk   func(*broken) func(context.Context, Call) Answer
}

// Broken returns the breakers, at least one for each case.
func Broken() []Breaker {
	return slices.Concat(brokenKeys, brokenOutcomes, brokenTimes, brokenReads, brokenContinuations, brokenFaces)
}

// Wrap returns the broken adapter.
func (b Breaker) Wrap(a Adapter) Adapter {
	return brokenAdapter{a, b, &memory{procs: map[string]Process{}, params: map[string]rawJSON{}, receipts: map[string]Answer{}, busy: map[string]int{}, met: map[string]chan struct{}{}}}
}

type brokenAdapter struct {
	Adapter
	breaker Breaker
	memory  *memory
}

// memory is what a broken face keeps across its processes.
type memory struct {
	sync.Mutex
	procs    map[string]Process
	params   map[string]rawJSON
	receipts map[string]Answer
	busy     map[string]int
	met      map[string]chan struct{} // by key: tells the first caller that a second has come
	n        int
}

func (b brokenAdapter) Name() string { return b.Adapter.Name() + " that " + b.breaker.Name }

func (b brokenAdapter) Open(w *World, caller string) (Process, error) {
	p, err := b.Adapter.Open(w, caller)
	if err != nil {
		return nil, err
	}
	b.memory.Lock()
	b.memory.n++
	q := &broken{Process: p, w: w, caller: caller, memory: b.memory, number: b.memory.n}
	b.memory.Unlock()
	q.do = b.breaker.brk(q)
	return q, nil
}

// broken is a process of a broken face.
type broken struct {
	Process
	w      *World
	caller string
	memory *memory
	number int // of the process, from 1
	do     func(context.Context, Call) Answer
}

func (b *broken) Do(ctx context.Context, c Call) Answer { return b.do(ctx, c) }

// inner is the face as it should be.
func (b *broken) inner(ctx context.Context, c Call) Answer { return b.Process.Do(ctx, c) }

// once runs f under the memory's lock.
func (b *broken) once(f func(*memory)) {
	b.memory.Lock()
	defer b.memory.Unlock()
	f(b.memory)
}

// again makes the call under a key of its own, and passes the answer off as
// that of the first key.
func (b *broken) again(ctx context.Context, c Call) Answer {
	key := c.Key
	c.Key = contract.NewKey()
	a := b.inner(ctx, c)
	if a.Receipt != nil {
		a.Receipt.OperationID = key
		a.Raw = a.Receipt.JSON()
	}
	return a
}

// rewrite breaks answers: it passes receipts to f, which may change them.
func rewrite(f func(c Call, r *contract.Receipt)) func(*broken) func(context.Context, Call) Answer {
	return func(b *broken) func(context.Context, Call) Answer {
		return func(ctx context.Context, c Call) Answer {
			a := b.inner(ctx, c)
			if a.Receipt != nil {
				f(c, a.Receipt)
				a.Raw, a.Err = a.Receipt.JSON(), a.Receipt.Err()
			}
			return a
		}
	}
}

// change breaks calls: it passes them to f before they are made.
func change(f func(b *broken, c *Call)) func(*broken) func(context.Context, Call) Answer {
	return func(b *broken) func(context.Context, Call) Answer {
		return func(ctx context.Context, c Call) Answer {
			f(b, &c)
			return b.inner(ctx, c)
		}
	}
}

// resubmit breaks mutations: where an answer is one that f picks, the call is
// made again under another key.
func resubmit(f func(c Call, r *contract.Receipt) bool) func(*broken) func(context.Context, Call) Answer {
	return func(b *broken) func(context.Context, Call) Answer {
		return func(ctx context.Context, c Call) Answer {
			a := b.inner(ctx, c)
			if c.Verb == VerbDo && a.Receipt != nil && a.Receipt.Coverage == nil && f(c, a.Receipt) {
				return b.again(ctx, c)
			}
			return a
		}
	}
}
