package ledger

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
)

// WriteText writes the report for a person: plain text, no colour, columns of
// figures with a small bar a row. Rows are in order of what they saved.
func (r *Report) WriteText(w io.Writer) error {
	var p page
	r.heading(&p)
	if r.All.Calls+r.All.Expands+r.All.FailedExpands+r.All.Lists > 0 {
		rows := r.rows()
		r.bytes(&p, rows)
		r.sessions(&p, rows)
		r.calls(&p, rows)
		r.tokens(&p, rows)
		r.hosts(&p)
	}
	_, err := io.WriteString(w, p.String())
	return err
}

func (r *Report) heading(p *page) {
	if r.Lines == 0 {
		p.say("The ledger has no lines yet.")
		return
	}
	if r.First == "" {
		p.say("%s.", count(r.Lines, "ledger line"))
	} else {
		p.say("%s, %s to %s.", count(r.Lines, "ledger line"), clean(r.First), clean(r.Last))
	}
	if s := r.Skipped; s != (Skipped{}) {
		p.say("%s skipped: %s torn at the end, %s unreadable, %s of an event this version does not know.",
			count(s.Torn+s.Unreadable+s.UnknownEvent, "line"), group3(s.Torn), group3(s.Unreadable), group3(s.UnknownEvent))
	}
	p.say("")
}

// A row is a line of the tables: a server, a tool of it, or all.
type row struct {
	name string
	*Account
}

// rows returns the servers, each with its tools, and all. What saved most is first.
func (r *Report) rows() []row {
	var rows []row
	servers := slices.Clone(r.Servers)
	slices.SortStableFunc(servers, func(a, b ServerAccount) int { return cmp.Compare(b.Text.NetSaved, a.Text.NetSaved) })
	for i := range servers {
		s := &servers[i]
		rows = append(rows, row{name(s.Server), &s.Account})
		tools := slices.Clone(s.Tools)
		slices.SortStableFunc(tools, func(a, b ToolAccount) int { return cmp.Compare(b.Text.NetSaved, a.Text.NetSaved) })
		for j := range tools {
			rows = append(rows, row{"  " + name(tools[j].Tool), &tools[j].Account})
		}
	}
	return append(rows, row{"all", &r.All})
}

func (r *Report) bytes(p *page, rows []row) {
	table := [][]string{{"Bytes", "calls", "in", "out", "expanded", "lists", "net saved", "", ""}}
	for _, a := range rows {
		v := &a.Text
		table = append(table, append(append([]string{a.name, group3(a.Calls)}, view5(v)...), bar(v.NetFraction)))
	}
	p.table(table)
	p.say("")
	p.say("net saved = in - out - expanded - lists. In is what the servers sent, out is what the")
	p.say("model got, notes included; expanded is what was asked back later; lists is what our")
	p.say("definitions added to the lists of tools.")
	if net := r.All.Text.NetSaved; net < 0 {
		p.say("Nothing was saved: %s more reached the model than without Spillway.", count(-net, "byte"))
	} else if net == 0 {
		p.say("Nothing was saved.")
	}
	p.say("")
}

func view5(v *View) []string {
	return []string{group3(v.BytesIn), group3(v.BytesOut), group3(v.BytesExpanded), group3(v.BytesDefinitions), group3(v.NetSaved), percent(v.NetSaved, v.BytesIn)}
}

func (r *Report) sessions(p *page, rows []row) {
	table := [][]string{{"Net saved per session", "sessions", "at a loss", "median", "", "90th pct.", ""}}
	for _, a := range rows {
		s := &a.Text.Sessions
		table = append(table, []string{a.name, group3(s.Count), group3(s.AtALoss), optional(s.MedianBytes), share(s.MedianFraction), optional(s.P90Bytes), share(s.P90Fraction)})
	}
	p.table(table)
	p.say("")
}

func (r *Report) calls(p *page, rows []row) {
	table := [][]string{{"Calls", "calls", "errors", "reduced", "expands", "of the reduced"}}
	for _, a := range rows {
		rate := "–"
		if a.ExpandRate != nil {
			rate = tenths(-ratio(-a.Expands, a.Reduced, 1000))
		}
		table = append(table, []string{a.name, group3(a.Calls), group3(a.Errors), group3(a.Reduced), group3(a.Expands), rate})
	}
	p.table(table)
	if failed := r.All.FailedExpands; failed > 0 {
		p.say("%s more failed.", count(failed, "expand"))
	}
	if n, asked := r.All.Envelopes, r.All.Verifies; n > 0 || asked > 0 {
		p.say("%s confirmed; %s answered in full, as the caller asked.", count(n, "write"), group3(asked))
	}
	often := false
	for _, server := range r.Servers {
		for _, tool := range server.Tools {
			var marks []string
			if tool.Reduced >= minEvidence && tool.ExpandRate != nil && *tool.ExpandRate >= badExpandRate {
				often = true
				marks = append(marks, fmt.Sprintf("%s for %s", count(tool.Expands, "expand"), count(tool.Reduced, "cut result")))
			}
			for _, f := range slices.Sorted(maps.Keys(tool.Faults)) {
				marks = append(marks, fmt.Sprintf("%s (%s)", name(f), group3(tool.Faults[f])))
			}
			if len(marks) > 0 {
				p.say("Rule to look at: %s, %s: %s.", name(server.Server), name(tool.Tool), strings.Join(marks, ", "))
			}
		}
	}
	if often {
		p.say("spillway report says which rule it was, which fields were asked for, and what else was wanted after all.")
	}
	p.say("")
}

func (r *Report) tokens(p *page, rows []row) {
	all := r.All.Text.Tokens
	if len(all) == 0 {
		return
	}
	table := [][]string{{"Tokens", "estimator", "in", "out", "expanded", "lists", "net saved", ""}}
	for _, a := range rows {
		for _, t := range a.Text.Tokens {
			table = append(table, []string{a.name, name(t.Estimator), group3(t.In), group3(t.Out), group3(t.Expanded), group3(t.Definitions), group3(t.NetSaved), percent(t.NetSaved, t.In)})
		}
	}
	p.table(table)
	if slices.ContainsFunc(all, func(t Tokens) bool { return t.Estimator == "bytes/4" }) {
		p.say("bytes/4 is a rough estimate: a token for every four bytes.")
	}
	if len(all) > 1 {
		p.say("Lines were counted by different estimators; their tokens are not added.")
	}
	p.say("")
}

func (r *Report) hosts(p *page) {
	table := [][]string{{"Bytes, in a host that shows", "in", "out", "expanded", "lists", "net saved", ""}}
	for _, h := range []struct {
		name string
		v    *View
	}{{"  text only", &r.All.Text}, {"  structured content only", &r.All.Structured}} {
		table = append(table, append([]string{h.name}, view5(h.v)...))
	}
	p.table(table)
}
