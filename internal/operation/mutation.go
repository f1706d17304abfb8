package operation

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/spillway-mcp/spillway/contract"
	"github.com/spillway-mcp/spillway/internal/jsontape"
	"github.com/spillway-mcp/spillway/internal/yamlpos"
)

// target reads the expression that names what is acted on.
func (b *builder) target(n *yamlpos.Node) func(*contract.Invocation) (string, error) {
	e := b.expression(n, "target", inParams)
	if e == nil {
		return nil
	}
	return func(in *contract.Invocation) (string, error) { return e.plain(scopeOf(in)) }
}

// mutation reads the part of a mutation.
func (b *builder) mutation(n *yamlpos.Node, spec *contract.Spec) *contract.MutationSpec {
	m := &contract.MutationSpec{}
	b.places["Mutation.Steps"] = n
	var preview, result *yamlpos.Node
	if !b.fields(n, "mutation",
		field{"precondition", func(n *yamlpos.Node) { m.Precondition = b.precondition(n) }},
		field{"preview", func(n *yamlpos.Node) { preview = n }},
		field{"steps", func(n *yamlpos.Node) {
			b.places["Mutation.Steps"] = n
			if n.Kind != yamlpos.List || len(n.Items) == 0 {
				b.errs.At(n, "", "steps needs a list of steps, got %s", n.Given())
				return
			}
			for i, item := range n.Items {
				place := fmt.Sprintf("Mutation.Steps[%d]", i)
				b.places[place] = item
				m.Steps = append(m.Steps, b.step(item, place, spec, len(n.Items)))
			}
		}},
		field{"settle", func(n *yamlpos.Node) { m.Settle = b.duration(n, "settle") }},
		field{"retention", func(n *yamlpos.Node) { m.Retention = b.duration(n, "retention") }},
		field{"result", func(n *yamlpos.Node) { result = n }},
	) {
		return nil
	}
	if n.Get("steps") == nil {
		b.errs.At(n, "", "mutation needs steps")
		return nil
	}
	if preview != nil {
		steps := b.steps
		b.steps = nil // a preview runs before any step
		m.Preview = b.preview(preview)
		b.steps = steps
	}
	if result != nil {
		if e := b.expression(result, "result", inCall); e != nil {
			m.Result = func(in *contract.Invocation) (json.RawMessage, error) { return e.json(scopeOf(in)) }
		}
	}
	return m
}

// step reads one step.
func (b *builder) step(n *yamlpos.Node, place string, spec *contract.Spec, steps int) contract.Step {
	var s contract.Step
	var c *call
	var result, reconcile *yamlpos.Node
	var compensate *yamlpos.Node
	var rows []row
	ok := b.fields(n, "a step",
		field{"name", func(n *yamlpos.Node) { s.Name = b.text(n, "name"); b.places[place+".Name"] = n }},
		field{"title", func(n *yamlpos.Node) { s.Title = b.text(n, "title") }},
		field{"effect", func(n *yamlpos.Node) {
			s.Effect = contract.Effects(b.word(n, "effect", "create", "update", "delete"))
		}},
		field{"idempotent", func(n *yamlpos.Node) {
			s.Idempotent = contract.Idempotency(b.word(n, "idempotent", "natural", "key", "none"))
		}},
		field{"key_retention", func(n *yamlpos.Node) { s.Retention = b.retention(n, "key_retention") }},
		field{"key", func(n *yamlpos.Node) { s.Key, s.KeyName = b.keyPlacement(n); b.places[place+".Key"] = n }},
		field{"each", func(n *yamlpos.Node) { s.Each = b.each(n) }},
		field{"call", func(n *yamlpos.Node) { c = b.call(n, "call", inCall); b.places[place+".Submit"] = n }},
		field{"classify", func(n *yamlpos.Node) { rows = b.table(n, inFailure) }},
		field{"result", func(n *yamlpos.Node) { result = n }},
		field{"reconcile", func(n *yamlpos.Node) { reconcile = n }},
		field{"compensate", func(n *yamlpos.Node) { compensate = n }},
	)
	if !ok {
		return s
	}
	if c == nil {
		b.errs.At(n, "", "a step needs a call")
		return s
	}
	idempotent := s.Idempotent
	if idempotent == "" {
		idempotent = spec.Idempotent
	}
	if s.Key == "" && idempotent == contract.ByKey {
		if c.http == nil {
			b.errs.At(n, "write key: {in: argument, name: idempotency_key} or key: {in: _meta, name: ...}",
				"the tool %s/%s is said to be idempotent by key, and nothing says where the key goes", c.server, c.tool)
		}
		if c.http != nil {
			s.Key, s.KeyName = contract.KeyInHeader, "Idempotency-Key"
		}
	}
	c.key, c.keyName = s.Key, s.KeyName
	at := n.Get("key")
	if at == nil {
		at = n
	}
	switch {
	case s.Key == contract.KeyInHeader && c.http == nil:
		b.errs.At(at, "use argument or _meta", "a tool has no headers for the key to travel in")
	case s.Key == contract.KeyInMeta && c.http != nil:
		b.errs.At(at, "use header or argument", "an HTTP endpoint has no _meta for the key to travel in")
	}
	submitted := b.answer(c, result)
	s.Submit = func(ctx context.Context, in *contract.Invocation) (json.RawMessage, error) {
		sc := scopeOf(in)
		out, err := submitted(ctx, sc, in.StepKey)
		if err != nil {
			return nil, classify(rows, sc, err)
		}
		return out, nil
	}
	if rows != nil {
		s.Classify = func(err error) *contract.Failure { return classify(rows, &scope{}, err) }
	}
	if reconcile != nil {
		s.Reconcile = b.reconcile(reconcile)
	}
	name := s.Name
	if name == "" && steps == 1 {
		name = "submit"
	}
	b.steps = append(b.steps, name)
	if compensate != nil {
		s.Compensate = b.compensate(compensate)
	}
	return s
}

// answer returns what makes a call and takes its result: with an expression
// over the answer where there is one. An answer that the expression does not
// fit has had its effect all the same.
func (b *builder) answer(c *call, result *yamlpos.Node) func(context.Context, *scope, string) (json.RawMessage, error) {
	var e *expression
	if result != nil {
		e = b.expression(result, "result", inAnswer)
	}
	return func(ctx context.Context, s *scope, key string) (json.RawMessage, error) {
		page, err := c.do(ctx, s, key)
		if err != nil {
			return nil, err
		}
		if e == nil {
			return page, nil
		}
		out, err := e.json(s.with("page", page))
		if err != nil {
			return page, nil
		}
		return out, nil
	}
}

// keyPlacement reads "none", or {in: header, name: Idempotency-Key}.
func (b *builder) keyPlacement(n *yamlpos.Node) (in contract.KeyPlacement, name string) {
	if n.Kind == yamlpos.String {
		word := b.word(n, "key", "none", "header")
		if word == "header" {
			return contract.KeyInHeader, "Idempotency-Key"
		}
		return contract.KeyPlacement(word), ""
	}
	b.fields(n, "key",
		field{"in", func(n *yamlpos.Node) {
			in = contract.KeyPlacement(b.word(n, "in", "argument", "header", "_meta", "none"))
		}},
		field{"name", func(n *yamlpos.Node) { name = b.text(n, "name") }},
	)
	switch {
	case n.Kind != yamlpos.Map:
	case n.Get("in") == nil:
		b.errs.At(n, "", "key needs in: one of argument, header, _meta, none")
	case in == contract.KeyInHeader && name == "":
		name = "Idempotency-Key"
	case in != contract.KeyInNothing && name == "":
		b.errs.At(n, "", "key needs the name of the %s", in)
	}
	return in, name
}

// each reads {items, id}: what a step is submitted for, one by one.
func (b *builder) each(n *yamlpos.Node) func(*contract.Invocation) ([]contract.Item, error) {
	var items, id *expression
	b.fields(n, "each",
		field{"items", func(n *yamlpos.Node) { items = b.expression(n, "items", inCall) }},
		field{"id", func(n *yamlpos.Node) { id = b.expression(n, "id", inCall) }},
	)
	if items == nil || id == nil {
		if n.Kind == yamlpos.Map && (n.Get("items") == nil || n.Get("id") == nil) {
			b.errs.At(n, `write {items: params.items, id: item.id}`, "each needs items and id")
		}
		return nil
	}
	return func(in *contract.Invocation) ([]contract.Item, error) {
		s := scopeOf(in)
		raw, err := items.json(s)
		if err != nil {
			return nil, err
		}
		doc, err := jsontape.Parse(raw)
		if err != nil {
			return nil, err
		}
		if doc.Root().Kind() != jsontape.Array {
			return nil, contract.Reject(contract.ReasonInvalid, "%s is %s; a list of items is wanted", items.src, doc.Root().Kind())
		}
		var all []contract.Item
		for it := doc.Root().Iter(); it.Next(); {
			value := it.Value().AppendCompact(nil)
			name, err := id.plain(s.with("item", value))
			if err != nil {
				return nil, err
			}
			if name == "" {
				return nil, contract.Reject(contract.ReasonInvalid, "item %d has no id: %s is null", len(all)+1, id.src)
			}
			all = append(all, contract.Item{ID: name, Value: value})
		}
		return all, nil
	}
}

// precondition reads {revision, current, enforced}.
func (b *builder) precondition(n *yamlpos.Node) *contract.Precondition {
	p := &contract.Precondition{}
	b.places["Mutation.Precondition"] = n
	b.fields(n, "precondition",
		field{"revision", func(n *yamlpos.Node) {
			if e := b.expression(n, "revision", inParams); e != nil {
				p.Text = e.src
				p.Demand = func(in *contract.Invocation) (string, error) { return e.plain(scopeOf(in)) }
			}
		}},
		field{"current", func(n *yamlpos.Node) { p.Current = b.current(n) }},
		field{"enforced", func(n *yamlpos.Node) { p.Enforced = b.truth(n, "enforced") }},
	)
	return p
}

// current reads the call that reads the revision there is.
func (b *builder) current(n *yamlpos.Node) func(context.Context, *contract.Invocation) (string, error) {
	var c *call
	var value *expression
	b.fields(n, "current",
		field{"call", func(n *yamlpos.Node) { c = b.call(n, "call", inCall) }},
		field{"value", func(n *yamlpos.Node) { value = b.expression(n, "value", inAnswer) }},
	)
	if c == nil || value == nil {
		if n.Kind == yamlpos.Map && (n.Get("call") == nil || n.Get("value") == nil) {
			b.errs.At(n, "", "current needs a call and the value in its answer")
		}
		return nil
	}
	return func(ctx context.Context, in *contract.Invocation) (string, error) {
		s := scopeOf(in)
		page, err := c.do(ctx, s, "")
		if err != nil {
			return "", classify(nil, s, err)
		}
		return value.plain(s.with("page", page))
	}
}

// preview reads {call, result}: what would happen. Without a call it is an
// expression over the parameters.
func (b *builder) preview(n *yamlpos.Node) func(context.Context, *contract.Invocation) (json.RawMessage, error) {
	var c *call
	var result *expression
	b.fields(n, "preview",
		field{"call", func(n *yamlpos.Node) { c = b.call(n, "call", inCall) }},
		field{"result", func(n *yamlpos.Node) { result = b.expression(n, "result", inAnswer) }},
	)
	if c == nil && result == nil {
		if n.Kind == yamlpos.Map && len(n.Pairs) == 0 {
			b.errs.At(n, "", "preview needs a call, a result, or both")
		}
		return nil
	}
	return func(ctx context.Context, in *contract.Invocation) (json.RawMessage, error) {
		s := scopeOf(in)
		page := []byte("null")
		if c != nil {
			var err error
			if page, err = c.do(ctx, s, ""); err != nil {
				return nil, classify(nil, s, err)
			}
		}
		if result == nil {
			return page, nil
		}
		return result.json(s.with("page", page))
	}
}

// reconcile reads {call, present, absent, result}. What is neither present nor
// absent is undetermined; so is an error, unless absent says what it means.
func (b *builder) reconcile(n *yamlpos.Node) func(context.Context, *contract.Invocation) (contract.Finding, error) {
	var c *call
	var present, absent, result *expression
	b.fields(n, "reconcile",
		field{"call", func(n *yamlpos.Node) { c = b.call(n, "call", inCall) }},
		field{"present", func(n *yamlpos.Node) { present = b.expression(n, "present", inFailure) }},
		field{"absent", func(n *yamlpos.Node) { absent = b.expression(n, "absent", inFailure) }},
		field{"result", func(n *yamlpos.Node) { result = b.expression(n, "result", inAnswer) }},
	)
	if n.Kind == yamlpos.Map && (n.Get("call") == nil || n.Get("present") == nil) {
		b.errs.At(n, "", "reconcile needs a call, and present: when its answer shows that the step happened")
	}
	if n.Kind == yamlpos.Map && n.Get("absent") == nil {
		b.set.Warnings.At(n, "add absent: when the answer proves that the step did not happen", "this reconcile can find the step, and never prove its absence")
	}
	if c == nil || present == nil {
		return nil
	}
	return func(ctx context.Context, in *contract.Invocation) (contract.Finding, error) {
		none := contract.Finding{State: contract.Undetermined}
		s := scopeOf(in)
		page, failed := c.do(ctx, s, "")
		answer := s.with("page", page)
		if failed != nil {
			f := classify(nil, s, failed)
			ce, ok := failed.(*CallError)
			if !ok || absent == nil || ce.Kind == "start" || ce.Kind == "transport" {
				return none, f
			}
			gone, err := absent.truth(answer.with("error", ce.json(f.Code)))
			if err != nil || !gone {
				return none, f
			}
			return contract.Finding{State: contract.Absent}, nil
		}
		there, err := present.truth(answer)
		if err != nil {
			return none, err
		}
		if there {
			if result == nil {
				return contract.Finding{State: contract.Present, Result: page}, nil
			}
			raw, err := result.json(answer)
			return contract.Finding{State: contract.Present, Result: raw}, err
		}
		if absent != nil {
			gone, err := absent.truth(answer)
			if err != nil {
				return none, err
			}
			if gone {
				return contract.Finding{State: contract.Absent}, nil
			}
		}
		return none, nil
	}
}

// compensate reads {call, result}: what undoes a completed step.
func (b *builder) compensate(n *yamlpos.Node) func(context.Context, *contract.Invocation) (json.RawMessage, error) {
	var c *call
	var result *yamlpos.Node
	var rows []row
	b.fields(n, "compensate",
		field{"call", func(n *yamlpos.Node) { c = b.call(n, "call", inCall) }},
		field{"result", func(n *yamlpos.Node) { result = n }},
		field{"classify", func(n *yamlpos.Node) { rows = b.table(n, inFailure) }},
	)
	if c == nil {
		if n.Kind == yamlpos.Map && n.Get("call") == nil {
			b.errs.At(n, "", "compensate needs a call")
		}
		return nil
	}
	do := b.answer(c, result)
	return func(ctx context.Context, in *contract.Invocation) (json.RawMessage, error) {
		s := scopeOf(in)
		out, err := do(ctx, s, in.StepKey)
		if err != nil {
			return nil, classify(rows, s, err)
		}
		return out, nil
	}
}
