package report

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/spillway-mcp/spillway/internal/replay"
)

// Table is one table of the report, as the page and CSV have it.
type Table struct {
	ID      string // of the page's anchor, and the name that --csv takes
	Caption string
	Columns []Column
	Rows    [][]Cell

	quiet []bool // rows that the page only names: there is nothing in them
	aside string // what the page says before those names
}

// add adds a row; quiet tells that it says nothing but that it is there.
func (t *Table) add(quiet bool, row ...Cell) {
	t.Rows = append(t.Rows, row)
	t.quiet = append(t.quiet, quiet)
}

// Column is one column of a table.
type Column struct {
	Name  string // for people
	Field string // for programs, the header of CSV
	Text  bool   // set to the left
}

// Cell is a value: as a person reads it, and plain.
type Cell struct {
	Show  string
	Plain string
	Bad   bool // a loss, or a flag
}

func word(s string) Cell { return Cell{Show: clean(s), Plain: s} }

// clean makes what a ledger names fit for a page: one line, no control
// characters, none that turns the direction of text.
func clean(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r < ' ', r >= 0x7f && r < 0xa0, r >= 0x202a && r <= 0x202e, r >= 0x2066 && r <= 0x2069, r == 0x200e, r == 0x200f:
			return '\uFFFD'
		}
		return r
	}, s)
}

func number(n int64) Cell { return Cell{Show: grouped(n), Plain: strconv.FormatInt(n, 10)} }

// net is a saving: under 0 it is a loss.
func net(n int64) Cell {
	c := number(n)
	c.Bad = n < 0
	return c
}

// share is a fraction as per cent, cut downwards to one digit.
func share(f *float64) Cell {
	if f == nil {
		return Cell{Show: "–"}
	}
	return Cell{Show: percent(*f), Plain: strconv.FormatFloat(*f, 'f', -1, 64), Bad: *f < 0}
}

func percent(f float64) string {
	n, sign := int64(math.Floor(f*1000+1e-6)), ""
	if n < 0 {
		n, sign = -n, "−"
	}
	return fmt.Sprintf("%s%s.%d %%", sign, grouped(n/10), n%10)
}

// rate is a cost for one: it has no per cent sign, since it may be over 1.
func rate(f *float64) Cell {
	if f == nil {
		return Cell{Show: "–"}
	}
	return Cell{Show: strconv.FormatFloat(*f, 'f', 2, 64), Plain: strconv.FormatFloat(*f, 'f', -1, 64)}
}

func grouped(n int64) string {
	s := strconv.FormatInt(n, 10)
	sign := ""
	if s[0] == '-' {
		sign, s = "−", s[1:]
	}
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return sign + s
}

// Tables returns every table of the report that has rows, in the page's order.
func (r *Report) Tables() []Table {
	var all []Table
	for _, t := range []Table{
		r.sessionTable(), r.spreadTable(), r.toolTable(), r.missTable(), r.survivalTable(), r.missedTable(), r.costTable(), r.ownTable(), r.curveTable(),
	} {
		if len(t.Rows) > 0 {
			all = append(all, t)
		}
	}
	return all
}

func (r *Report) sessionTable() Table {
	t := Table{ID: "sessions", Caption: "Net saving of each session, the greatest loss first", Columns: []Column{
		{"Session", "session", true},
		{"Text in, bytes", "bytes_in", false}, {"Saved, bytes", "net_saved", false}, {"Saved", "net_fraction", false},
		{"Structured in, bytes", "structured_in", false}, {"Saved, bytes", "structured_saved", false}, {"Saved", "structured_fraction", false},
	}}
	names := map[string]string{}
	for i := range r.Costs {
		names[r.Costs[i].Session] = r.Costs[i].name()
	}
	for _, s := range r.Sessions {
		session := word(s.Session)
		if name, ok := names[s.Session]; ok {
			session.Show = clean(name)
		}
		t.Rows = append(t.Rows, []Cell{
			session,
			number(s.BytesIn), net(s.NetSaved), share(s.NetFraction),
			number(s.StructuredIn), net(s.StructuredSaved), share(s.StructuredPortion),
		})
	}
	return t
}

func (r *Report) spreadTable() Table {
	t := Table{ID: "spread", Caption: "Sessions by the share of their results' bytes that was saved", Columns: []Column{
		{"Saved", "saved", true}, {"Sessions, text hosts", "text", false}, {"Sessions, structured hosts", "structured", false},
	}}
	if len(r.Sessions) == 0 {
		return t
	}
	for _, b := range r.Spread {
		t.Rows = append(t.Rows, []Cell{word(b.label()), number(int64(b.Text)), number(int64(b.Structured))})
	}
	return t
}

func (b Bin) label() string {
	if b.From == nil {
		return "a loss"
	}
	return fmt.Sprintf("%.0f–%.0f %%", *b.From*100, b.To*100)
}

func (r *Report) toolTable() Table {
	t := Table{ID: "tools", Caption: "Tools: what servers sent, and what was saved once every cost is taken off", Columns: []Column{
		{"Server", "server", true}, {"Tool", "tool", true}, {"Calls", "calls", false}, {"Errors", "errors", false}, {"Cut", "reduced", false},
		{"Text in, bytes", "bytes_in", false}, {"Out", "bytes_out", false}, {"Expanded", "bytes_expanded", false}, {"Saved, bytes", "net_saved", false}, {"Saved", "net_fraction", false},
		{"Structured saved", "structured_fraction", false},
		{"Median of a session", "median_fraction", false}, {"90th percentile", "p90_fraction", false}, {"Expands for one cut", "expand_rate", false},
	}}
	for _, s := range r.Stats.Servers {
		for _, a := range s.Tools {
			t.Rows = append(t.Rows, []Cell{
				word(s.Server), word(a.Tool), number(a.Calls), number(a.Errors), number(a.Reduced),
				number(a.Text.BytesIn), number(a.Text.BytesOut), number(a.Text.BytesExpanded), net(a.Text.NetSaved), share(a.Text.NetFraction),
				share(a.Structured.NetFraction),
				share(a.Text.Sessions.MedianFraction), share(a.Text.Sessions.P90Fraction), rate(a.ExpandRate),
			})
		}
	}
	return t
}

func (r *Report) missTable() Table {
	t := Table{ID: "misses", Caption: "Rules: how often what they cut was wanted after all", aside: "Rules that cut nothing, of which nothing was asked again:", Columns: []Column{
		{"Server", "server", true}, {"Tool", "tool", true}, {"Rule", "rule", true}, {"Cut", "reduced", false},
		{"Expands", "expands", false}, {"For one cut", "expand_rate", false},
		{"Asked again, equal", "equal", false}, {"Narrower", "narrower", false},
		{"Writes confirmed", "envelopes", false}, {"Asked for in full", "verified", false}, {"Expired before use", "expired", false},
		{"Fields asked for", "asked_fields", true}, {"Flags", "flags", true},
	}}
	for _, m := range r.Misses {
		fields := make([]string, 0, len(m.AskedFields))
		for _, f := range m.AskedFields {
			fields = append(fields, f.Field+" ("+strconv.FormatInt(f.Times, 10)+")")
		}
		flags := word(strings.Join(m.Flags, "; "))
		flags.Bad = len(m.Flags) > 0
		rule := word(m.Rule)
		if m.Rule == "" {
			rule.Show = "none"
		} else if len(m.Rule) > 8 {
			rule.Show = m.Rule[:8]
		}
		quiet := m.Reduced+m.Expands+m.Expired+m.Unknown+m.Refused+m.Equal+m.Narrower+m.Verified == 0 && len(m.Flags) == 0
		t.add(quiet,
			word(m.Server), word(m.Tool), rule, number(m.Reduced), number(m.Expands), rate(m.ExpandRate),
			number(m.Equal), number(m.Narrower), number(m.Envelopes), number(m.Verified), number(m.Expired),
			word(strings.Join(fields, ", ")), flags,
		)
	}
	return t
}

func (r *Report) survivalTable() Table {
	t := Table{ID: "survival", Caption: "Evidence: values that a session used later, and whether the rules still show them", aside: "Rules that never fired, since no recorded result was theirs:", Columns: []Column{
		{"Rule", "rule", true}, {"When", "when", true}, {"Results", "results", false}, {"Changed", "changed", false},
		{"Needed", "needed", false}, {"Shown", "shown", false}, {"One expand away", "expandable", false}, {"Lost", "lost", false}, {"Survival", "survival", false},
		{"Fields missed", "fields", true},
	}}
	if r.Replay == nil {
		return t
	}
	for _, rule := range r.Replay.Rules.PerRule {
		var fields []string
		for _, f := range rule.Fields {
			fields = append(fields, fmt.Sprintf("%s (%d)", f.Field, f.Missed))
		}
		missed := word(strings.Join(fields, ", "))
		missed.Bad = len(fields) > 0
		t.add(rule.Results == 0, append([]Cell{word(rule.Rule), word(rule.When), number(int64(rule.Results)), number(int64(rule.Changed))},
			append(tally(rule.Evidence), missed)...)...)
	}
	all := &r.Replay.Rules
	t.add(false, append([]Cell{word("all"), word(""), number(int64(all.All.Results)), number(int64(all.All.Changed))}, append(tally(all.Evidence), word(""))...)...)
	return t
}

func tally(e replay.Tally) []Cell {
	lost := number(int64(e.Lost))
	lost.Bad = e.Lost > 0
	return []Cell{number(int64(e.Needed)), number(int64(e.Shown)), number(int64(e.Expandable)), lost, share(e.Survival)}
}

func (r *Report) missedTable() Table {
	t := Table{ID: "missed", Caption: "What was needed and not shown", Columns: []Column{
		{"Session", "session", true}, {"Rule", "rule", true}, {"Tool", "tool", true}, {"Call", "call", false}, {"Field", "field", true}, {"Row", "row", false},
		{"Needed by", "by", true}, {"Brought back by", "expand", true},
	}}
	if r.Replay == nil {
		return t
	}
	for _, m := range r.Replay.Rules.Missed {
		by := m.By
		if m.ByTool != "" {
			by += " of " + m.ByTool
		}
		if m.Argument != "" {
			by += ": " + m.Argument
		}
		back := word(m.Expand)
		if m.Expand == "" {
			back = Cell{Show: "nothing", Bad: true}
		}
		row := number(int64(m.Row))
		if m.Row == 0 {
			row.Show = "–"
		}
		session := word(m.Session)
		session.Show = clean(sessionName(m.Session))
		t.Rows = append(t.Rows, []Cell{session, word(m.Rule), word(m.Server + "." + m.Tool), number(int64(m.Call)), word(m.Field), row, word(by), back})
	}
	return t
}

var hosts = [2]string{"text", "structured"}

func (s *SessionCosts) host(i int) *HostCosts {
	if i == 1 {
		return &s.Structured
	}
	return &s.Text
}

func (r *Report) costTable() Table {
	t := Table{ID: "costs", Caption: "The five costs of each recorded session, in tokens of " + r.Estimator + ", with results sent again: " + r.Retention, Columns: []Column{
		{"Session", "file", true}, {"Host shows", "host", true}, {"Spillway", "spillway", true},
		{"Definitions", "definitions", false}, {"Arguments", "arguments", false}, {"Results", "results", false},
		{"Carried again", "carried", false}, {"Failures", "failures", false}, {"Together", "total", false}, {"Saved", "saved", false},
	}}
	for i := range r.Costs {
		s := &r.Costs[i]
		for h, host := range hosts {
			c := s.host(h)
			for _, side := range []struct {
				name  string
				c     *Costs
				saved Cell
			}{{"without", &c.Without, Cell{Show: "–"}}, {"with", &c.With, net(c.Saved.Tokens)}} {
				t.Rows = append(t.Rows, []Cell{
					word(s.name()), word(host), word(side.name),
					number(side.c.Definitions.Tokens), number(side.c.Arguments.Tokens), number(side.c.Results.Tokens),
					number(side.c.Carried.Tokens), number(side.c.Failures.Tokens), number(side.c.Total.Tokens), side.saved,
				})
			}
		}
	}
	return t
}

func (r *Report) ownTable() Table {
	t := Table{ID: "own", Caption: "What of that is Spillway's own, in tokens of " + r.Estimator + ", sent once", Columns: []Column{
		{"Session", "file", true}, {"Host shows", "host", true}, {"Notes", "notes", false}, {"Definitions", "definitions", false}, {"Expands", "expands", false},
	}}
	for i := range r.Costs {
		s := &r.Costs[i]
		for h, host := range hosts {
			o := s.host(h).Own
			t.Rows = append(t.Rows, []Cell{word(s.name()), word(host), number(o.Notes.Tokens), number(o.Definitions.Tokens), number(o.Expands.Tokens)})
		}
	}
	return t
}

func (r *Report) curveTable() Table {
	t := Table{ID: "curve", Caption: "Tokens that a context holds after each turn, by " + r.Estimator, Columns: []Column{
		{"Session", "file", true}, {"Turn", "turn", false}, {"Text, without", "without", false}, {"Text, with", "with", false},
		{"Structured, without", "structured_without", false}, {"Structured, with", "structured_with", false},
	}}
	for i := range r.Costs {
		s := &r.Costs[i]
		for _, p := range s.Curve {
			t.Rows = append(t.Rows, []Cell{word(s.name()), number(int64(p.Turn)), number(p.Without), number(p.With), number(p.StructuredWithout), number(p.StructuredWith)})
		}
	}
	return t
}

func (s *SessionCosts) name() string { return sessionName(s.File) }

func sessionName(file string) string {
	return strings.TrimSuffix(strings.TrimSuffix(file, ".zst"), ".jsonl")
}
