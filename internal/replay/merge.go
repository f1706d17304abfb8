package replay

import (
	"cmp"
	"slices"
	"strings"

	"github.com/spillway-mcp/spillway/internal/record"
	"github.com/spillway-mcp/spillway/internal/rules"
)

type toolKey struct{ server, tool string }

func compareKeys(a, b toolKey) int {
	return cmp.Or(strings.Compare(a.server, b.server), strings.Compare(a.tool, b.tool))
}

// merge makes the report, in the order of the sessions.
func merge(all []*outcome, opt *Options) *Report {
	r := &Report{Version: 1, Estimator: opt.Counter.Name(), Sessions: len(all), Changes: []Change{}}
	r.Rules = newSide(all, 0, opt.Rules, opt)
	if opt.Against != nil {
		against := newSide(all, 1, opt.Against, opt)
		r.Against = &against
		r.Changes = changes(all)
	}
	return r
}

// ruleKey is a variant of a rule.
type ruleKey struct {
	tool    *rules.Tool
	variant int
}

// tallied is a rule while it is added up.
type tallied struct {
	Rule
	fields map[string]*MissedField
}

func newSide(all []*outcome, i int, set *rules.Set, opt *Options) Side {
	s := Side{File: fileName(set.File()), Digest: set.Digest(), Tools: []Tool{}, PerFile: []Session{}, PerRule: []Rule{}, Missed: []Miss{}, Checks: []Check{}}
	var results, sessions samples
	tools := map[toolKey]*samples{}
	tallies := map[toolKey]*Tally{}
	var order []ruleKey
	byRule := map[ruleKey]*tallied{}
	stated := set.Entries()
	rule := func(k ruleKey) *tallied {
		if n := len(stated); n > 0 && k.tool.Level == rules.LevelServerDefault && stated[n-1].Level == rules.LevelDefault && !slices.Contains(stated, k.tool) {
			k.tool = stated[n-1] // of a server that states no default, the top one holds
		}
		t := byRule[k]
		if t == nil {
			t = &tallied{Rule: ruleOf(k), fields: map[string]*MissedField{}}
			byRule[k] = t
			order = append(order, k)
		}
		return t
	}
	for _, t := range stated {
		for v := range t.Variants {
			rule(ruleKey{t, v})
		}
	}
	for _, o := range all {
		session := sessionOf(o)
		var before, after sizes
		for _, r := range o.results {
			if r.failed {
				continue
			}
			d := &r.sides[i]
			k := toolKey{r.e.Server, r.e.Tool}
			if tools[k] == nil {
				tools[k], tallies[k] = new(samples), new(Tally)
			}
			tools[k].add(r.before, d.after, d.out.Changed)
			results.add(r.before, d.after, d.out.Changed)
			session.Results++
			if d.out.Changed {
				session.Changed++
			}
			before, after = before.plus(r.before), after.plus(d.after)
			if d.variant >= 0 {
				t := rule(ruleKey{d.rule, d.variant})
				t.Results++
				if d.out.Changed {
					t.Changed++
				}
			}
		}
		for _, n := range o.needs {
			m := n.sides[i]
			from := o.results[m.rule]
			t := tally(m)
			session.Evidence.add(t)
			s.Evidence.add(t)
			if k := (toolKey{from.e.Server, from.e.Tool}); tallies[k] != nil {
				tallies[k].add(t)
			}
			d := &from.sides[i]
			name := ""
			if d.variant >= 0 {
				x := rule(ruleKey{d.rule, d.variant})
				x.Evidence.add(t)
				name = x.Rule.Rule
				if !m.shown {
					x.miss(m)
				}
			}
			if !m.shown {
				miss := Miss{
					Session: session.File, Rule: name, Server: from.e.Server, Tool: from.e.Tool, Call: from.call,
					Field: m.where.field, Row: m.where.row, NeededBy: n.by, Expand: m.expand,
				}
				if d.variant >= 0 {
					miss.When = ruleOf(ruleKey{d.rule, d.variant}).When
				}
				if opt.Values {
					miss.Value = n.text
				}
				s.Missed = append(s.Missed, miss)
			}
		}
		if session.Results > 0 {
			sessions.add(before, after, session.Changed > 0)
		}
		session.BytesBefore, session.BytesAfter = before.text, after.text
		session.TokensBefore, session.TokensAfter = before.textTokens, after.textTokens
		session.StructuredBytesBefore, session.StructuredTokensBefore = before.structured, before.structuredTokens
		session.StructuredBytesAfter, session.StructuredTokensAfter = after.structured, after.structuredTokens
		session.Evidence.finish()
		s.PerFile = append(s.PerFile, session)
		if i == 0 { // what is declared is held against the rules that are judged
			s.Checks = append(s.Checks, o.checks...)
		}
	}
	s.All, s.PerSession = results.figures(), sessions.figures()
	s.Evidence.finish()
	for _, k := range slices.SortedFunc(mapKeys(tools), compareKeys) {
		tallies[k].finish()
		s.Tools = append(s.Tools, Tool{Server: k.server, Tool: k.tool, Figures: tools[k].figures(), Evidence: *tallies[k]})
	}
	for _, k := range order {
		s.PerRule = append(s.PerRule, byRule[k].finish())
	}
	return s
}

func mapKeys[V any](m map[toolKey]V) func(func(toolKey) bool) {
	return func(yield func(toolKey) bool) {
		for k := range m {
			if !yield(k) {
				return
			}
		}
	}
}

func (s sizes) plus(o sizes) sizes {
	return sizes{s.text + o.text, s.structured + o.structured, s.textTokens + o.textTokens, s.structuredTokens + o.structuredTokens}
}

func tally(m met) Tally {
	t := Tally{Needed: 1}
	switch {
	case m.shown:
		t.Shown = 1
	case m.expand != "":
		t.Expandable = 1
	default:
		t.Lost = 1
	}
	return t
}

func (t *tallied) miss(m met) {
	f := t.fields[m.where.field]
	if f == nil {
		f = &MissedField{Field: m.where.field}
		t.fields[m.where.field] = f
	}
	f.Missed++
	if m.expand != "" {
		f.Expandable++
	}
}

func (t *tallied) finish() Rule {
	t.Evidence.finish()
	t.Fields = []MissedField{}
	for _, f := range t.fields {
		t.Fields = append(t.Fields, *f)
	}
	slices.SortFunc(t.Fields, func(a, b MissedField) int {
		return cmp.Or(cmp.Compare(b.Missed, a.Missed), strings.Compare(a.Field, b.Field))
	})
	return t.Rule
}

// ruleOf names a rule.
func ruleOf(k ruleKey) Rule {
	v := k.tool.Variants[k.variant]
	r := Rule{Rule: k.tool.Match, Digest: v.Digest, Fields: []MissedField{}}
	if k.tool.Server != "" {
		r.Rule = k.tool.Server + "." + r.Rule
	}
	if v.When != nil {
		r.When = v.When.String()
	}
	return r
}

func sessionOf(o *outcome) Session {
	s := Session{
		File: fileName(o.s.Path), Server: o.s.Header.Server, Torn: o.s.Torn, Skipped: o.s.Skipped,
		Started: o.s.Header.Started.UTC().Format("2006-01-02T15:04:05.000Z"),
	}
	for i := range o.s.Events {
		e := &o.s.Events[i]
		switch {
		case e.State != "" || e.Kind != record.KindCall && e.Kind != record.KindRefused:
		case e.Dropped && e.Result == nil:
			s.Dropped++
		case e.Outcome == record.Error || e.Outcome == record.Stopped:
			s.Errors++
		}
	}
	return s
}

// changes says by tool what the two rule sets make different.
func changes(all []*outcome) []Change {
	type fields struct{ missed, shown map[string]bool }
	by := map[toolKey]*Change{}
	news := map[toolKey]*fields{}
	for _, o := range all {
		for _, r := range o.results {
			if r.failed {
				continue
			}
			k := toolKey{r.e.Server, r.e.Tool}
			c := by[k]
			if c == nil {
				c = &Change{Server: k.server, Tool: k.tool, NewlyMissed: []string{}, NewlyShown: []string{}}
				by[k], news[k] = c, &fields{map[string]bool{}, map[string]bool{}}
			}
			c.Results++
			if r.differ {
				c.Differ++
			}
			c.BytesRules += r.sides[0].after.text
			c.TokensRules += r.sides[0].after.textTokens
			c.BytesAgainst += r.sides[1].after.text
			c.TokensAgainst += r.sides[1].after.textTokens
		}
		for _, n := range o.needs {
			now, then := n.sides[0], n.sides[1]
			switch {
			case now.shown == then.shown:
			case then.shown:
				from := o.results[now.rule]
				if f := news[toolKey{from.e.Server, from.e.Tool}]; f != nil {
					f.missed[now.where.field] = true
				}
			default:
				from := o.results[then.rule]
				if f := news[toolKey{from.e.Server, from.e.Tool}]; f != nil {
					f.shown[then.where.field] = true
				}
			}
		}
	}
	list := []Change{}
	for _, k := range slices.SortedFunc(mapKeys(by), compareKeys) {
		c := by[k]
		for f := range news[k].missed {
			c.NewlyMissed = append(c.NewlyMissed, f)
		}
		for f := range news[k].shown {
			c.NewlyShown = append(c.NewlyShown, f)
		}
		slices.Sort(c.NewlyMissed)
		slices.Sort(c.NewlyShown)
		list = append(list, *c)
	}
	return list
}
