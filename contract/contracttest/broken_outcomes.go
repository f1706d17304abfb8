package contracttest

import (
	"context"
	"strings"

	"github.com/spillway-mcp/spillway/contract"
)

// reject turns a receipt into a refusal without an effect.
func reject(r *contract.Receipt, reason string) {
	r.Outcome, r.Effect, r.NextAction, r.Reason = contract.Rejected, contract.EffectNone, contract.NextNewKey, reason
}

var brokenOutcomes = []Breaker{
	{"submits again after a timeout", "C-16", []string{"M02", "M03", "M19", "K50"}, resubmit(func(_ Call, r *contract.Receipt) bool {
		return r.Outcome == contract.Unknown
	})},
	{"takes unknown for rejected", "C-23", []string{"M02", "M03", "M19", "M23", "K50"}, rewrite(func(_ Call, r *contract.Receipt) {
		if r.Outcome == contract.Unknown {
			reject(r, contract.ReasonUpstream)
		}
	})},
	{"tells the model to try again", "C-24", []string{"M02"}, func(b *broken) func(context.Context, Call) Answer {
		return func(ctx context.Context, c Call) Answer {
			a := b.inner(ctx, c)
			if a.Outcome() == contract.Unknown {
				a.Text += " Please try again."
			}
			return a
		}
	}},
	{"takes a dead owner's operation for one that did not happen", "C-16", []string{"M04", "M05", "M15"}, rewrite(func(_ Call, r *contract.Receipt) {
		if r.Reason == contract.ReasonOwnerLost {
			reject(r, contract.ReasonAbsent)
		}
	})},
	{"submits again when the lease has run out", "C-16", []string{"M04", "M05", "M15"}, resubmit(func(_ Call, r *contract.Receipt) bool {
		return r.Reason == contract.ReasonOwnerLost
	})},
	{"marks a first call as a replay", "C-15", []string{"M01"}, rewrite(func(_ Call, r *contract.Receipt) { r.Replayed = true })},
	{"does all items again after a partial outcome", "C-19", []string{"M18"}, resubmit(func(_ Call, r *contract.Receipt) bool {
		return r.Outcome == contract.Completed && r.Attempts > len(r.Steps) && len(r.Steps) > 0
	})},
	{"loses the items of a partial outcome", "C-19", []string{"M18"}, rewrite(func(_ Call, r *contract.Receipt) {
		if r.Coverage == nil {
			r.Steps = nil
		}
	})},
	{"takes a 5xx for a refusal", "M19", []string{"M19"}, rewrite(func(_ Call, r *contract.Receipt) {
		if r.Outcome == contract.Unknown && strings.Contains(r.Message, "status 5") {
			reject(r, contract.ReasonUpstream)
		}
	})},
	{"submits without a journal", "C-10", []string{"M21"}, func(b *broken) func(context.Context, Call) Answer {
		return func(ctx context.Context, c Call) Answer {
			a := b.inner(ctx, c)
			if a.Reason() == contract.ReasonJournal {
				claim, record := b.w.Journal.errs()
				b.w.Journal.Break(nil, nil)
				defer b.w.Journal.Break(claim, record)
				return b.inner(ctx, c)
			}
			return a
		}
	}},
	{"takes a cancellation for a refusal", "C-23", []string{"M23"}, func(b *broken) func(context.Context, Call) Answer {
		return func(ctx context.Context, c Call) Answer {
			a := b.inner(ctx, c)
			if ctx.Err() != nil && a.Outcome() == contract.Unknown {
				reject(a.Receipt, contract.ReasonCancelled)
			}
			return a
		}
	}},
	{"commits an approval under a new key each time", "C-22", []string{"M12"}, func(b *broken) func(context.Context, Call) Answer {
		return func(ctx context.Context, c Call) Answer {
			switch c.Verb {
			case VerbPrepare:
				a := b.inner(ctx, c)
				if a.Preview != nil {
					b.once(func(m *memory) { m.params[a.Preview.OperationID] = c.Params })
				}
				return a
			case VerbCommit:
				var params rawJSON
				b.once(func(m *memory) { params = m.params[c.Key] })
				return b.again(ctx, Call{Verb: VerbDo, Operation: c.Operation, Key: c.Key, Params: params})
			}
			return b.inner(ctx, c)
		}
	}},
}

func forward(c *Clock) bool { return c.State().Slip > 0 }
func back(c *Clock) bool    { return c.State().Slip < 0 }

// slipped breaks answers while the processes' clock is wrong in one direction.
func slipped(way func(*Clock) bool, which func(*contract.Receipt) bool, change func(*contract.Receipt)) func(*broken) func(context.Context, Call) Answer {
	return func(b *broken) func(context.Context, Call) Answer {
		return rewrite(func(_ Call, r *contract.Receipt) {
			if way(b.w.Clock) && which(r) {
				change(r)
			}
		})(b)
	}
}

var brokenTimes = []Breaker{
	{"runs an expired key anew", "C-20", []string{"M16"}, resubmit(func(_ Call, r *contract.Receipt) bool {
		return r.Reason == contract.ReasonExpired
	})},
	{"sweeps unknown outcomes away", "C-20", []string{"M17"}, func(b *broken) func(context.Context, Call) Answer {
		return func(ctx context.Context, c Call) Answer {
			a := b.inner(ctx, c)
			b.once(func(m *memory) {
				if c.Verb == VerbSweep {
					m.busy["swept"]++
				}
				if m.busy["swept"] > 0 && a.Outcome() == contract.Unknown {
					reject(a.Receipt, contract.ReasonNotFound)
				}
			})
			return a
		}
	}},
	{"takes absence for proof before the upstream has settled", "C-16", []string{"M15", "M22"}, rewrite(func(_ Call, r *contract.Receipt) {
		if r.Reason == contract.ReasonNotSettled {
			reject(r, contract.ReasonAbsent)
		}
	})},
	{"counts the settle time by a clock that was set forward", "C-16", []string{"M15", "M22"}, slipped(forward, func(r *contract.Receipt) bool {
		return r.Reason == contract.ReasonNotSettled
	}, func(r *contract.Receipt) { reject(r, contract.ReasonAbsent) })},
	{"gives an owner up when the clock is set forward", "C-16", []string{"M22"}, slipped(forward, func(r *contract.Receipt) bool {
		return r.Outcome == contract.Pending
	}, func(r *contract.Receipt) { reject(r, contract.ReasonAbsent) })},
	{"waits for a dead owner until the clock comes round again", "C-12", []string{"M22"}, slipped(back, func(r *contract.Receipt) bool {
		return r.Reason == contract.ReasonOwnerLost
	}, func(r *contract.Receipt) { r.Outcome, r.NextAction, r.Reason = contract.Pending, contract.NextWait, "" })},
	{"forgets what it recorded when the clock is set forward", "C-20", []string{"M22"}, slipped(forward, func(r *contract.Receipt) bool {
		return r.Replayed && r.Outcome == contract.Completed
	}, func(r *contract.Receipt) { reject(r, contract.ReasonExpired) })},
	{"trusts the upstream's key where the clock was set back", "C-18", []string{"M24"}, func(b *broken) func(context.Context, Call) Answer {
		return func(ctx context.Context, c Call) Answer {
			a := b.inner(ctx, c)
			if c.Verb == VerbDo && nameOf(c.Operation) == OpCustomer && a.Outcome() == contract.Unknown && back(b.w.Clock) {
				return b.again(ctx, c)
			}
			return a
		}
	}},
	{"trusts the upstream's key after its retention", "C-18", []string{"M24"}, resubmit(func(c Call, r *contract.Receipt) bool {
		return nameOf(c.Operation) == OpCustomer && r.Outcome == contract.Unknown
	})},
}
