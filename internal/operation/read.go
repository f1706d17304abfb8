package operation

import (
	"context"
	"fmt"

	"github.com/spillway-mcp/spillway/contract"
	"github.com/spillway-mcp/spillway/internal/yamlpos"
)

// read reads the part of a read.
func (b *builder) read(n *yamlpos.Node) *contract.ReadSpec {
	spec := &contract.ReadSpec{}
	var c *call
	var rows []row
	b.places["Read.Fetch"], b.places["Read.End"], b.places["Read.Aggregates"] = n, n, n
	if !b.fields(n, "read",
		field{"call", func(n *yamlpos.Node) { c = b.call(n, "call", inReadCall) }},
		field{"classify", func(n *yamlpos.Node) { rows = b.table(n, inReadAnswer) }},
		field{"items", func(n *yamlpos.Node) { spec.Items = b.source(n, "items", "Read.Items", inPage) }},
		field{"next", func(n *yamlpos.Node) { spec.Next = b.source(n, "next", "Read.Next", inPage) }},
		field{"end", func(n *yamlpos.Node) { spec.End = b.source(n, "end", "Read.End", inPage) }},
		field{"empty_cursor_ends", func(n *yamlpos.Node) { spec.EmptyCursorEnds = b.truth(n, "empty_cursor_ends") }},
		field{"where", func(n *yamlpos.Node) { spec.Where = b.recordSource(n, "where", "Read.Where") }},
		field{"aggregate", func(n *yamlpos.Node) { spec.Aggregates = b.aggregates(n, "Read.Aggregates") }},
		field{"dedupe", func(n *yamlpos.Node) { spec.Dedupe = b.recordSource(n, "dedupe", "Read.Dedupe") }},
		field{"invalid", func(n *yamlpos.Node) { spec.Invalid = contract.InvalidPolicy(b.word(n, "invalid", "stop", "skip")) }},
		field{"fields", func(n *yamlpos.Node) { spec.Fields = b.types(n) }},
		field{"concurrency", func(n *yamlpos.Node) {
			b.places["Read.Concurrency"] = n
			spec.Concurrency = b.count(n, "concurrency", 1, contract.MaxConcurrency)
		}},
		field{"consistency", func(n *yamlpos.Node) {
			spec.Consistency = contract.Consistency(b.word(n, "consistency", "snapshot", "live"))
		}},
	) {
		return nil
	}
	if c == nil {
		b.errs.At(n, "", "read needs a call")
		return nil
	}
	if c.http != nil && c.http.method != "GET" && c.http.method != "HEAD" && c.http.method != "POST" {
		b.errs.At(n.Get("call"), "", "a read calls with GET, or with POST where the upstream searches so, not with %s", c.http.method)
	}
	c.page = true
	spec.Fetch = func(ctx context.Context, in *contract.Invocation) ([]byte, error) {
		s := scopeOf(in)
		page, err := c.do(ctx, s, in.Key)
		if err != nil {
			return nil, classify(rows, s, err)
		}
		return page, nil
	}
	return spec
}

// types reads what types fields of a record must have.
func (b *builder) types(n *yamlpos.Node) map[string]string {
	if n.Kind != yamlpos.Map {
		b.errs.At(n, "", "fields needs a map from dotted paths to types, got %s", n.Given())
		return nil
	}
	b.places["Read.Fields"] = n
	out := map[string]string{}
	for _, p := range n.Pairs {
		out[p.Key.Text] = b.text(p.Value, "the type of "+p.Key.Text)
	}
	return out
}

var aggregateOps = []string{"count", "sum", "min", "max", "count_by", "group_by", "first", "project"}

// aggregates reads one aggregate ("count", or a map with op), or a map from
// the result's names to such.
func (b *builder) aggregates(n *yamlpos.Node, place string) []contract.Aggregate {
	b.places[place] = n
	if n.Kind == yamlpos.String || n.Kind == yamlpos.Map && n.Get("op") != nil && n.Get("op").Kind == yamlpos.String && has(aggregateOps, n.Get("op").Text) {
		return []contract.Aggregate{b.aggregate(n, "", place+"[0]")}
	}
	if n.Kind != yamlpos.Map {
		b.errs.At(n, "write {total: count}, or count alone", "aggregate needs a map from names to aggregates, got %s", n.Given())
		return nil
	}
	var all []contract.Aggregate
	for i, p := range n.Pairs {
		all = append(all, b.aggregate(p.Value, p.Key.Text, fmt.Sprintf("%s[%d]", place, i)))
	}
	return all
}

func (b *builder) aggregate(n *yamlpos.Node, name, place string) contract.Aggregate {
	a := contract.Aggregate{Name: name}
	b.places[place] = n
	if n.Kind == yamlpos.String {
		a.Op = contract.AggregateOp(b.word(n, "aggregate", aggregateOps...))
		return a
	}
	b.fields(n, "an aggregate",
		field{"op", func(n *yamlpos.Node) { a.Op = contract.AggregateOp(b.word(n, "op", aggregateOps...)) }},
		field{"of", func(n *yamlpos.Node) { a.Of = b.recordSource(n, "of", place+".Of") }},
		field{"by", func(n *yamlpos.Node) { a.By = b.recordSource(n, "by", place+".By") }},
		field{"where", func(n *yamlpos.Node) { a.Where = b.recordSource(n, "where", place+".Where") }},
		field{"aggregate", func(n *yamlpos.Node) { a.Aggregates = b.aggregates(n, place+".Aggregates") }},
	)
	if n.Kind == yamlpos.Map && n.Get("op") == nil {
		b.errs.At(n, "", "an aggregate needs op: one of count, sum, min, max, count_by, group_by, first, project")
	}
	return a
}
