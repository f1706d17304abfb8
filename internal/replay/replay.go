// Package replay runs recorded sessions through rules, without any server, and
// says what a session would have looked like: what results would have taken
// before and after, which rules do nothing, what changes between two rule sets,
// and whether what the session needed later would still have been shown. It
// calls no model and guesses nothing; docs/measurement.md says what it can see.
//
// Start with [Run].
package replay

import (
	"context"
	"errors"
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/spillway-mcp/spillway/internal/record"
	"github.com/spillway-mcp/spillway/internal/rules"
	"github.com/spillway-mcp/spillway/internal/tokens"
	"github.com/spillway-mcp/spillway/reduce"
)

// Options say what sessions are run through.
type Options struct {
	Rules        *rules.Set
	Against      *rules.Set     // nil: nothing is compared
	Counter      tokens.Counter // nil is bytes/4
	ExpandBudget int            // bytes of one expand; 0 is reduce.DefaultExpandBudget
	Workers      int            // 0 is as many as there are processors
	Values       bool           // misses name the values
}

// Run loads the recordings at paths and runs each through the rules. Sessions
// are independent of each other; the report is the same for any number of
// workers. The error is of the first file that cannot be read.
func Run(ctx context.Context, paths []string, opt Options) (*Report, error) {
	return run(ctx, len(paths), opt, func(i int) (*record.Session, error) { return record.Load(paths[i]) })
}

// Sessions is Run over sessions that are loaded.
func Sessions(ctx context.Context, all []*record.Session, opt Options) (*Report, error) {
	return run(ctx, len(all), opt, func(i int) (*record.Session, error) { return all[i], nil })
}

func run(ctx context.Context, n int, opt Options, load func(i int) (*record.Session, error)) (*Report, error) {
	if opt.Rules == nil {
		return nil, errors.New("replay: no rules given")
	}
	if opt.Counter == nil {
		counter, err := tokens.ByName("bytes/4")
		if err != nil {
			return nil, err
		}
		opt.Counter = counter
	}
	if opt.ExpandBudget <= 0 {
		opt.ExpandBudget = reduce.DefaultExpandBudget
	}
	if opt.Workers <= 0 {
		opt.Workers = runtime.GOMAXPROCS(0)
	}
	// A session's results are worked on side by side, too: one long session
	// takes all processors. slots bounds what is worked on at once.
	slots := make(chan struct{}, opt.Workers)
	outcomes := make([]*outcome, n)
	errs := make([]error, n)
	each(min(n, opt.Workers), n, func(i int) {
		if ctx.Err() != nil {
			return
		}
		s, err := load(i)
		if err != nil {
			errs[i] = err
			return
		}
		outcomes[i] = newAnalysis(s, &opt, slots).run()
	})
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	return merge(outcomes, &opt), nil
}

// each calls f with each number below n, by so many goroutines.
func each(workers, n int, f func(i int)) {
	var next atomic.Int64
	var wg sync.WaitGroup
	for range workers {
		wg.Go(func() {
			for {
				i := int(next.Add(1)) - 1
				if i >= n {
					return
				}
				f(i)
			}
		})
	}
	wg.Wait()
}
