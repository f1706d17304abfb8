package contracttest

import (
	"context"
	"encoding/json"

	"github.com/spillway-mcp/spillway/contract"
)

var brokenFaces = []Breaker{
	{"passes receipts through floating-point numbers", "section 4", []string{"A01"}, func(b *broken) func(context.Context, Call) Answer {
		return func(ctx context.Context, c Call) Answer {
			a := b.inner(ctx, c)
			var v any
			if json.Unmarshal(a.Raw, &v) == nil {
				a.Raw, _ = json.Marshal(v) // it came from JSON
				if a.Receipt != nil {
					a.Receipt = &contract.Receipt{}
					_ = json.Unmarshal(a.Raw, a.Receipt)
				}
			}
			return a
		}
	}},
	{"drops members that it does not know", "section 4", []string{"A01"}, func(b *broken) func(context.Context, Call) Answer {
		return func(ctx context.Context, c Call) Answer {
			a := b.inner(ctx, c)
			var v map[string]json.RawMessage
			if json.Unmarshal(a.Raw, &v) == nil {
				delete(v, "replay")
				delete(v, "continuation")
				a.Raw, _ = json.Marshal(v) // it came from JSON
			}
			return a
		}
	}},
	{"returns success for unknown, partial and incomplete", "section 4", []string{"A02"}, func(b *broken) func(context.Context, Call) Answer {
		return func(ctx context.Context, c Call) Answer {
			a := b.inner(ctx, c)
			if o := a.Outcome(); o == contract.Unknown || o == contract.Partial {
				no := false
				a.Err, a.Exit = nil, min(a.Exit, 0)
				if a.IsError != nil {
					a.IsError = &no
				}
			}
			return a
		}
	}},
	{"shows the key only after the call", "A03", []string{"A03"}, func(b *broken) func(context.Context, Call) Answer {
		return func(ctx context.Context, c Call) Answer {
			shown := c.Announce
			c.Announce = nil
			a := b.inner(ctx, c)
			if shown != nil && a.Receipt != nil {
				shown(a.Receipt.OperationID)
			}
			return a
		}
	}},
	{"drops parameters that it does not know", "C-11", []string{"A04"}, change(func(_ *broken, c *Call) {
		var v map[string]json.RawMessage
		if json.Unmarshal(c.Params, &v) == nil && v["colour"] != nil {
			delete(v, "colour")
			c.Params, _ = json.Marshal(v) // it came from JSON
		}
	})},
	{"leaves a record of malformed input", "C-11", []string{"A04"}, rewrite(func(c Call, r *contract.Receipt) {
		if c.Verb == VerbGet && r.Reason == contract.ReasonNotFound {
			r.Reason = contract.ReasonInvalid
		}
	})},
	{"loses the bounds of a definition", "A05", []string{"A05"}, func(b *broken) func(context.Context, Call) Answer {
		return func(ctx context.Context, c Call) Answer {
			a := b.inner(ctx, c)
			var v map[string]json.RawMessage
			if c.Verb == VerbDescribe && json.Unmarshal(a.Doc, &v) == nil {
				delete(v, "bounds")
				a.Doc, _ = json.Marshal(v) // it came from JSON
			}
			return a
		}
	}},
}
