package contracttest

import (
	"context"
	"encoding/json"

	"github.com/spillway-mcp/spillway/contract"
)

// finished makes a read's receipt say that all was read.
func finished(r *contract.Receipt) {
	r.Outcome, r.Reason, r.NextAction = contract.Completed, "", contract.NextNone
	r.Complete, r.Continuation, r.Position = true, nil, nil
}

// silent breaks reads that stop for a reason: they pass for complete.
func silent(reasons ...string) func(*broken) func(context.Context, Call) Answer {
	return rewrite(func(_ Call, r *contract.Receipt) {
		for _, reason := range reasons {
			if r.Coverage != nil && r.Reason == reason {
				finished(r)
			}
		}
	})
}

// recount breaks the number of a count.
func recount(f func(r *contract.Receipt, n int) any) func(*broken) func(context.Context, Call) Answer {
	return rewrite(func(c Call, r *contract.Receipt) {
		var v struct{ Stable int }
		if r.Coverage != nil && nameOf(c.Operation) == OpCount && json.Unmarshal(r.Result, &v) == nil {
			r.Result, _ = json.Marshal(map[string]any{"stable": f(r, v.Stable)}) // of numbers and null
		}
	})
}

var brokenReads = []Breaker{
	{"gives null for none", "C-01", []string{"Q01"}, recount(func(_ *contract.Receipt, n int) any {
		if n == 0 {
			return nil
		}
		return n
	})},
	{"counts drafts too", "C-09", []string{"Q02", "Q03"}, recount(func(r *contract.Receipt, _ int) any { return r.RecordsExamined })},
	{"takes the page limit for a stop although the end was seen", "C-01", []string{"Q03"}, rewrite(func(c Call, r *contract.Receipt) {
		if r.Coverage != nil && r.Pages == CountMaxPages && r.Complete {
			r.Outcome, r.Reason, r.Complete = contract.Partial, contract.ReasonMaxPages, false
		}
	})},
	{"claims to be complete at a limit", "C-02", []string{"Q04", "Q08", "K08"}, silent(contract.ReasonMaxPages, contract.ReasonMaxRecords, contract.ReasonMaxResult, contract.ReasonDeadline)},
	{"goes on by itself past its limits", "C-02", []string{"Q04", "Q08"}, func(b *broken) func(context.Context, Call) Answer {
		return func(ctx context.Context, c Call) Answer {
			a := b.inner(ctx, c)
			for a.Receipt != nil && a.Receipt.Coverage != nil && a.Receipt.Continuation != nil {
				c.Continuation = *a.Receipt.Continuation
				a = b.inner(ctx, c)
			}
			return a
		}
	}},
	{"takes an empty cursor for the end", "C-01", []string{"Q05"}, rewrite(func(_ Call, r *contract.Receipt) {
		if r.Coverage != nil && r.RecordsExamined == 10 || r.Coverage != nil && r.Reason == contract.ReasonCursorLoop {
			finished(r)
		}
	})},
	{"claims to be complete at a cursor that repeats", "C-03", []string{"Q06"}, silent(contract.ReasonCursorLoop)},
	{"counts duplicates", "C-04", []string{"Q07", "Q13"}, recount(func(r *contract.Receipt, n int) any { return n + r.Duplicates })},
	{"hides duplicates", "C-04", []string{"Q07", "Q13"}, rewrite(func(_ Call, r *contract.Receipt) {
		if r.Coverage != nil {
			r.Duplicates = 0
		}
	})},
	{"claims to be complete after an error", "C-02", []string{"Q12"}, silent(contract.ReasonUpstreamError, contract.ReasonInvalidPage)},
	{"claims to be complete when access is lost", "C-02", []string{"Q14"}, silent(contract.ReasonAccessLost, contract.ReasonUnauthorized)},
	{"takes null for false", "C-09", []string{"Q15"}, silent(contract.ReasonInvalidRecord)},
	{"says snapshot of what may change", "C-06", []string{"Q13"}, rewrite(func(_ Call, r *contract.Receipt) {
		if r.Coverage != nil {
			r.Consistency = contract.Snapshot
		}
	})},
}

var brokenContinuations = []Breaker{
	{"keeps continuations in the process", "C-06", []string{"Q09"}, func(b *broken) func(context.Context, Call) Answer {
		return func(ctx context.Context, c Call) Answer {
			if c.Continuation != "" {
				mine := false
				b.once(func(m *memory) { mine = m.procs[c.Continuation] == b.Process })
				if !mine {
					c.Continuation = "lost"
				}
			}
			return b.remember(b.inner(ctx, c))
		}
	}},
	{"does not bind continuations to the caller", "C-05", []string{"Q11"}, func(b *broken) func(context.Context, Call) Answer {
		return func(ctx context.Context, c Call) Answer {
			p := b.Process
			b.once(func(m *memory) {
				if m.procs[c.Continuation] != nil {
					p = m.procs[c.Continuation]
				}
			})
			return b.remember(p.Do(ctx, c))
		}
	}},
	{"does not bind continuations to the filter", "C-05", []string{"Q10"}, func(b *broken) func(context.Context, Call) Answer {
		return func(ctx context.Context, c Call) Answer {
			if c.Continuation != "" {
				b.once(func(m *memory) {
					if m.params[c.Continuation] != nil {
						c.Params = m.params[c.Continuation]
					}
				})
			}
			a := b.inner(ctx, c)
			if a.Receipt != nil && a.Receipt.Coverage != nil && a.Receipt.Continuation != nil {
				b.once(func(m *memory) { m.params[*a.Receipt.Continuation] = c.Params })
			}
			return a
		}
	}},
	{"does not say what an expired continuation stood for", "C-05", []string{"Q11"}, rewrite(func(_ Call, r *contract.Receipt) {
		if r.Reason == contract.ReasonContinuationExpired {
			r.Message, r.Hint = "expired", ""
		}
	})},
}

// remember notes which process gave a continuation.
func (b *broken) remember(a Answer) Answer {
	if a.Receipt != nil && a.Receipt.Coverage != nil && a.Receipt.Continuation != nil {
		b.once(func(m *memory) { m.procs[*a.Receipt.Continuation] = b.Process })
	}
	return a
}
