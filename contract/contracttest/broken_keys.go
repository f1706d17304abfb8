package contracttest

import (
	"context"
	"crypto/sha256"
	"fmt"
	"strings"

	"github.com/spillway-mcp/spillway/contract"
)

var brokenKeys = []Breaker{
	{"derives the key from the parameters", "C-14", []string{"M08", "K52"}, change(func(_ *broken, c *Call) {
		if c.Verb == VerbDo {
			c.Key = fmt.Sprintf("%x", sha256.Sum256([]byte(c.Operation+string(c.Params))))
		}
	})},
	{"mints another key in each process", "C-15", []string{"M03", "M12"}, change(func(b *broken, c *Call) {
		if c.Key != "" {
			c.Key = fmt.Sprint(c.Key, "-", b.number)
		}
	})},
	{"forgets the fingerprint", "C-13", []string{"M07"}, change(func(b *broken, c *Call) {
		if c.Verb != VerbDo || c.Key == "" {
			return
		}
		b.once(func(m *memory) {
			id := b.caller + c.Operation + c.Key
			if m.params[id] == nil {
				m.params[id] = c.Params
			}
			c.Params = m.params[id]
		})
	})},
	{"takes any version of an operation under a key", "C-13", []string{"M20"}, change(func(_ *broken, c *Call) {
		c.Operation = strings.ReplaceAll(c.Operation, "@2.0", "@1.0")
	})},
	{"replays to another caller", "C-21", []string{"M13"}, func(b *broken) func(context.Context, Call) Answer {
		return func(ctx context.Context, c Call) Answer {
			p := b.Process
			if c.Key != "" {
				b.once(func(m *memory) {
					if m.procs[c.Key] == nil {
						m.procs[c.Key] = b.Process
					}
					p = m.procs[c.Key]
				})
			}
			return p.Do(ctx, c)
		}
	}},
	{"answers replays from a cache, without asking for permission", "C-21", []string{"M14"}, func(b *broken) func(context.Context, Call) Answer {
		return func(ctx context.Context, c Call) (a Answer) {
			id, had := b.caller+c.Operation+c.Key, false
			b.once(func(m *memory) { a, had = m.receipts[id] })
			if had && c.Verb == VerbDo {
				return a
			}
			a = b.inner(ctx, c)
			if a.Outcome() == contract.Completed && c.Key != "" {
				b.once(func(m *memory) { m.receipts[id] = a })
			}
			return a
		}
	}},
	{"lets each concurrent caller submit", "C-12", []string{"M06", "K51"}, func(b *broken) func(context.Context, Call) Answer {
		return func(ctx context.Context, c Call) Answer {
			if c.Verb != VerbDo {
				return b.inner(ctx, c)
			}
			first, met := false, (chan struct{})(nil)
			b.once(func(m *memory) {
				if met = m.met[c.Key]; met == nil {
					first, met = true, make(chan struct{}, 1)
					m.met[c.Key] = met
				}
			})
			if first {
				a := b.inner(ctx, c)
				select { // without the other there is no concurrency to be wrong about
				case <-met:
				case <-ctx.Done():
				}
				return a
			}
			select {
			case met <- struct{}{}:
			default:
			}
			return b.again(ctx, c)
		}
	}},
	{"checks the precondition again on a replay", "C-15", []string{"M09"}, func(b *broken) func(context.Context, Call) Answer {
		return func(ctx context.Context, c Call) Answer {
			a := b.inner(ctx, c)
			if c.Verb == VerbDo && c.Revision != "" && a.Receipt != nil && a.Receipt.Replayed && a.Outcome() == contract.Completed {
				r := a.Receipt
				r.Outcome, r.Effect, r.Reason, r.Result = contract.Rejected, contract.EffectNone, contract.ReasonPrecondition, nil
				a.Raw, a.Err = r.JSON(), r.Err()
			}
			return a
		}
	}},
	{"does not send the demanded revision", "C-22", []string{"M10"}, change(func(_ *broken, c *Call) { c.Revision = "" })},
	{"has the effect when it previews", "C-22", []string{"M11"}, func(b *broken) func(context.Context, Call) Answer {
		return func(ctx context.Context, c Call) Answer {
			if c.Verb == VerbPreview {
				d := c
				d.Verb, d.Key = VerbDo, contract.NewKey()
				b.inner(ctx, d)
			}
			return b.inner(ctx, c)
		}
	}},
}
