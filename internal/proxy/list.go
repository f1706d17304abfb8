package proxy

import (
	"bytes"
	"cmp"
	"slices"
	"time"

	"github.com/spillway-mcp/spillway/internal/jmespath"
	"github.com/spillway-mcp/spillway/internal/jsontape"
	"github.com/spillway-mcp/spillway/internal/ledger"
	"github.com/spillway-mcp/spillway/internal/rules"
	"github.com/spillway-mcp/spillway/internal/schema"
	"github.com/spillway-mcp/spillway/internal/wire"
	"github.com/spillway-mcp/spillway/reduce"
)

// toolList is what the client was shown, under the session's lock. The rules of
// the last listing stay in force until the next one, since clients hold on to
// the output schemas that they were shown (RED-51).
type toolList struct {
	rules   *rules.Set          // in force; nil before any list
	tools   map[string]toolInfo // by the name the client knows
	taken   map[string]string   // of the listing under way: shown name to the server's
	next    map[string]toolInfo // of the listing under way
	clashes map[string]bool     // server's names whose rename cannot be applied
	cursors map[string]bool     // given out in the listing under way
	expand  listed
	theirs  bool // the server has a tool of our expand tool's name
	until   time.Time
}

// listed tells whether the client's list has our expand tool.
type listed uint8

const (
	unknown listed = iota // no list was asked for on this connection
	yes
	no
)

// list rewrites a page of tools/list.
func (s *session) list(c *call, body []byte, m wire.Message) change {
	tools := wire.Member(body, m.Result, "tools")
	if !tools.Present() || body[tools.Start] != '[' {
		return change{}
	}
	next := wire.Member(body, m.Result, "nextCursor")
	hasNext := next.Present() && body[next.Start] == '"'

	server := s.serverName()
	s.mu.Lock()
	defer s.mu.Unlock()
	t := &s.tools
	if !c.hasCursor || t.next == nil {
		t.begin(s.opt.rules())
	}
	if ms := wire.Member(body, m.Result, "ttlMs"); c.modern && ms.Present() {
		t.until = time.Now().Add(milliseconds(ms.Of(body)))
	}
	var edits []wire.Edit
	if hasNext {
		key := string(next.Of(body))
		if t.cursors[key] || c.hasCursor && key == c.cursor {
			// K41: following it would never end.
			s.opt.Log.Error("server gave the same cursor again: its list of tools ends here", "server", server, "cursor", clip(next.Of(body), 100))
			edits = append(edits, dropMember(body, m.Result, "nextCursor"))
			hasNext = false
		}
		t.cursors[key] = true
	}

	kept := make([][]byte, 0, 64)
	changed := false
	for it := wire.ElementsOf(body, tools); it.Next(); {
		sp := it.Value()
		shown, hide, touched := s.showTool(c, server, body, sp)
		changed = changed || hide || touched
		if !hide {
			kept = append(kept, shown)
		}
	}
	if !hasNext {
		t.tools, t.next = t.next, nil
		add := len(t.tools) > 0 && !t.theirs && s.opt.Stash != nil && s.expandWanted(server)
		t.expand = no
		if add {
			t.expand = yes
			kept = append(kept, []byte(expandDefinition))
			changed = true
		}
		if own := s.listOperations(c); len(own) > 0 {
			kept = append(kept, own...)
			changed = true
		}
	} else if t.expand == unknown {
		t.expand = no
	}
	var array []byte
	if changed {
		array = slices.Concat([]byte("["), bytes.Join(kept, []byte(",")), []byte("]"))
		edits = append(edits, wire.Edit{Span: tools, With: array})
		if scope := wire.Member(body, m.Result, "cacheScope"); scope.Present() {
			edits = append(edits, wire.Edit{Span: scope, With: []byte(`"private"`)})
		}
	}
	slices.SortStableFunc(edits, func(a, b wire.Edit) int { return cmp.Compare(a.Start, b.Start) })
	before := tools.Of(body)
	if !changed {
		array = before
	}
	return change{edits: edits, after: func() { s.workers.Go(func() { s.accountList(c, before, array) }) }}
}

// begin starts a listing from its first page.
func (t *toolList) begin(set *rules.Set) {
	if set != t.rules {
		t.clashes = make(map[string]bool)
	}
	t.rules = set
	t.next = make(map[string]toolInfo)
	t.taken = make(map[string]string)
	t.cursors = make(map[string]bool)
	t.theirs = false
	if t.clashes == nil {
		t.clashes = make(map[string]bool)
	}
	if t.tools == nil {
		t.tools = make(map[string]toolInfo)
	}
}

// showTool returns a tool as the client is shown it. A tool that no rule
// touches keeps its bytes (RED-39).
func (s *session) showTool(c *call, server string, body []byte, sp wire.Span) (shown []byte, hide, touched bool) {
	t := &s.tools
	entry := describe(body, sp)
	info, nameSp := entry.info, entry.name
	name := info.name
	if !nameSp.Present() {
		return sp.Of(body), false, false
	}
	if name == expandName {
		t.theirs = true
		if s.once("theirs") {
			s.opt.Log.Warn("the server has a tool of this name: ours is not listed, and cuts name no way to get the rest", "tool", expandName)
		}
	}
	var rule *rules.Tool
	if t.rules != nil {
		rule = t.rules.For(s.origin(server, name))
	}
	if rule != nil && rule.Hide {
		return nil, true, true
	}
	var edits []wire.Edit
	as := name
	if s.opt.Origin == nil && rule != nil && rule.Rename != "" && rule.Rename != name && !t.clashes[name] && s.mayRename(name, rule.Rename) {
		as = rule.Rename
		edits = append(edits, wire.Edit{Span: nameSp, With: jsontape.AppendQuote(nil, as)})
	}
	if prior, ok := t.taken[as]; ok && prior != name {
		s.clash(prior, as, name)
	}
	if rule == nil {
		t.show(as, info)
		return sp.Of(body), false, false
	}
	if rule.Description != "" {
		edits = append(edits, wire.SetMember(body, sp, "description", jsontape.AppendQuote(nil, rule.Description)))
	}
	if info.schema && !info.ui && !rule.Pass {
		if listed := rewriteSchema(entry.out.Of(body), rule, info.write, c.modern); listed != nil {
			edits = append(edits, wire.Edit{Span: entry.out, With: listed})
		}
	}
	edits = append(edits, s.additions(info, rule).edit(body, entry.in, entry.props)...)
	t.show(as, info)
	if len(edits) == 0 {
		return sp.Of(body), false, false
	}
	slices.SortStableFunc(edits, func(a, b wire.Edit) int { return cmp.Compare(a.Start, b.Start) })
	return cut(body, sp, edits), false, true
}

// listedTool is a tool's entry in a list, and where its parts stand.
type listedTool struct {
	info                 toolInfo
	name, in, props, out wire.Span
}

// describe reads a tool's entry in a list.
func describe(body []byte, sp wire.Span) (t listedTool) {
	var meta, notes wire.Span
	for it := wire.MembersOf(body, sp); it.Next(); {
		switch k := it.Key(); {
		case wire.StringIs(k, "name"):
			t.name = it.Value()
		case wire.StringIs(k, "inputSchema"):
			t.in = it.Value()
		case wire.StringIs(k, "outputSchema"):
			t.out = it.Value()
		case wire.StringIs(k, "annotations"):
			notes = it.Value()
		case wire.StringIs(k, "_meta"):
			meta = it.Value()
		}
	}
	t.props = wire.Member(body, t.in, "properties")
	t.info = toolInfo{
		name:   wire.Text(t.name.Of(body)),
		known:  true,
		schema: isObject(body, t.out),
		ui:     wire.Member(body, meta, "ui").Present() || wire.Member(body, meta, "ui/resourceUri").Present(),
		write:  string(wire.Member(body, notes, "readOnlyHint").Of(body)) == "false",
		inputs: readInputs(body, t.in, t.props),
	}
	if t.info.schema {
		t.info.conform = newConformance(t.out.Of(body))
	}
	return t
}

func (t *toolList) show(as string, info toolInfo) {
	t.taken[as] = info.name
	t.next[as] = info
	t.tools[as] = info
}

// mayRename reports whether no other tool has the name that a rule gives one,
// and says so, once, where one has (RED-41). That the name is legal was checked
// when the rules were loaded.
func (s *session) mayRename(name, to string) bool {
	prior, clash := s.tools.taken[to]
	if !clash || prior == name {
		return true
	}
	s.tools.clashes[name] = true
	if s.once("clash " + name + " " + to) {
		s.opt.Log.Error("rename not applied: another tool has the name", "tool", name, "rename", to, "other", prior)
	}
	return false
}

// clash is a rename, already shown on an earlier page, to the name of a tool on
// this one. It is taken back, and the client told to list again.
func (s *session) clash(renamed, shown, name string) {
	s.tools.clashes[renamed] = true
	if s.once("clash " + renamed + " " + shown) {
		s.opt.Log.Error("rename taken back: another tool has the name", "tool", renamed, "rename", shown, "other", name)
		s.workers.Go(func() { s.toolsChanged() })
	}
}

// rewriteSchema returns the output schema to list, nil for the server's own.
func rewriteSchema(upstream []byte, rule *rules.Tool, write, modern bool) []byte {
	var opts []schema.Options
	for _, v := range rule.Variants {
		if v.Reducer == nil {
			continue
		}
		opt := schemaOptions(v.Reducer.Rule(), modern)
		opt.Envelope = v.Reducer.Writes(write)
		if schema.Changes(opt) {
			opts = append(opts, opt)
		}
	}
	if len(opts) == 0 {
		return nil
	}
	doc, err := jsontape.Parse(upstream)
	if err != nil {
		return nil
	}
	listed := schema.RewriteOutput(doc.Root(), opts...)
	if bytes.Equal(listed, upstream) {
		return nil
	}
	return listed
}

func schemaOptions(r reduce.Rule, modern bool) schema.Options {
	if r.Pass {
		return schema.Options{}
	}
	opt := schema.Options{
		HasRows:  r.MaxRows != nil || r.Rows != "",
		MaxBytes: r.MaxBytes > 0,
		Strip:    len(r.Strip) > 0,
		Probe:    r.Heavy,
		Modern:   modern,
	}
	if r.Keep != "" {
		opt.Keep, _ = jmespath.Compile(r.Keep) // it was compiled with the rule
	}
	return opt
}

// dropMember returns the edit that takes a member and one comma out of the
// object at sp.
func dropMember(src []byte, sp wire.Span, key string) wire.Edit {
	prev, take := sp.Start+1, false
	var gone wire.Span
	for it := wire.MembersOf(src, sp); it.Next(); {
		if take {
			// It was the first member: its comma is behind it.
			return wire.Edit{Span: wire.Span{Start: gone.Start, End: it.KeySpan().Start}}
		}
		if wire.StringIs(it.Key(), key) {
			if gone = (wire.Span{Start: prev, End: it.Value().End}); prev > sp.Start+1 {
				return wire.Edit{Span: gone}
			}
			gone.Start, take = it.KeySpan().Start, true
		}
		prev = it.Value().End
	}
	return wire.Edit{Span: gone}
}

// accountList books what the list has grown (RED-47).
func (s *session) accountList(c *call, before, after []byte) {
	s.recordList(c, before, after)
	s.account(func(l *ledger.Line) {
		s.timing(l, c)
		l.Event, l.Outcome = ledger.EventList, ledger.OutcomePassed
		if len(before) != len(after) || !bytes.Equal(before, after) {
			l.Outcome = ledger.OutcomeReduced
		}
		l.BytesIn, l.BytesOut = int64(len(before)), int64(len(after))
		l.TokensIn, l.TokensOut = s.count(before), s.count(after)
		l.Overhead = max(0, l.BytesOut-l.BytesIn)
	})
}
