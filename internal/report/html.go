package report

import (
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"strings"
)

//go:embed page.html
var pageHTML string

//go:embed page.css
var pageCSS string

//go:embed page.js
var pageJS string

var pageTemplate = template.Must(template.New("page").Parse(pageHTML))

// maxRows bounds the rows of one table of the page, and maxCurves its pictures.
const (
	maxRows   = 500
	maxCurves = 24
)

// WriteHTML writes one page that holds everything it shows: no font, picture or
// script is fetched. Its script sorts tables, and the page is whole without it.
func (r *Report) WriteHTML(w io.Writer) error {
	return pageTemplate.Execute(w, &page{Report: r, CSS: template.CSS(pageCSS), JS: template.JS(pageJS), tables: r.Tables()})
}

// page is what the template reads.
type page struct {
	*Report
	CSS    template.CSS
	JS     template.JS
	tables []Table
}

type link struct{ ID, Name string }

// shownTable is a table as the page shows it.
type shownTable struct {
	ID, Caption string
	Columns     []Column
	Rows        []shownRow
	Left        []bool
	More        int
}

type shownRow struct{ Cells []Cell }

// Table returns the table of that name; nil where it has no rows.
func (p *page) Table(id string) *shownTable {
	for _, t := range p.tables {
		if t.ID != id {
			continue
		}
		s := &shownTable{ID: t.ID, Caption: t.Caption, Columns: t.Columns, More: max(0, len(t.Rows)-maxRows)}
		for _, c := range t.Columns {
			s.Left = append(s.Left, c.Text)
		}
		for _, row := range t.Rows[:min(len(t.Rows), maxRows)] {
			s.Rows = append(s.Rows, shownRow{row})
		}
		return s
	}
	return nil
}

// Nav names the sections that the page has.
func (p *page) Nav() (all []link) {
	for _, s := range []struct{ table, id, name string }{
		{"sessions", "s-sessions", "Sessions"}, {"tools", "s-tools", "Tools"}, {"misses", "s-misses", "Misses"},
		{"survival", "s-survival", "Evidence"}, {"costs", "s-costs", "Five costs"}, {"curve", "s-curve", "Tokens over a session"},
	} {
		if p.Table(s.table) != nil {
			all = append(all, link{s.id, s.name})
		}
	}
	return all
}

// From says what the page was made of.
func (p *page) From() string {
	ledgers, sessions := 0, 0
	for _, f := range p.Files {
		if f.Kind == "session" {
			sessions++
		} else {
			ledgers++
		}
	}
	var parts []string
	for _, x := range []struct {
		n    int
		name string
	}{{ledgers, "ledger"}, {sessions, "recorded session"}} {
		if x.n > 0 {
			parts = append(parts, plural(x.n, x.name))
		}
	}
	text := "Made of " + strings.Join(parts, " and ")
	if p.Stats.First != "" {
		text += ", " + day(p.Stats.First) + " to " + day(p.Stats.Last)
	}
	return text + "."
}

func day(ts string) string {
	ts, _, _ = strings.Cut(clean(ts), "T")
	return ts
}

func plural(n int, name string) string {
	if n != 1 {
		name += "s"
	}
	return grouped(int64(n)) + " " + name
}

type tile struct {
	Name, Value string
	Bad         bool
}

// Tiles are the figures at the top.
func (p *page) Tiles() []tile {
	all := &p.Stats.All
	text, structured := &all.Text.Sessions, &all.Structured.Sessions
	flagged := len(p.Flagged())
	tiles := []tile{
		{"Sessions", grouped(text.Count), false},
		{"Median saving, text", share(text.MedianFraction).Show, text.MedianFraction != nil && *text.MedianFraction < 0},
		{"90th percentile, text", share(text.P90Fraction).Show, false},
		{"Median saving, structured", share(structured.MedianFraction).Show, structured.MedianFraction != nil && *structured.MedianFraction < 0},
		{"Sessions at a loss", grouped(text.AtALoss), text.AtALoss > 0},
		{"Expands for one cut", rate(all.ExpandRate).Show, false},
		{"Rules flagged", grouped(int64(flagged)), flagged > 0},
	}
	if p.Replay != nil {
		e := p.Replay.Rules.Evidence
		tiles = append(tiles, tile{"Evidence still shown", share(e.Survival).Show, e.Lost > 0})
	}
	return tiles
}

// Notes are what a reader has to know of the files.
func (p *page) Notes() (all []string) {
	s := p.Stats.Skipped
	if n := s.Torn + s.Unreadable + s.UnknownEvent; n > 0 {
		all = append(all, grouped(n)+" of "+grouped(p.Stats.Lines)+" lines could not be booked and are in no figure.")
	}
	for _, f := range p.Files {
		if f.Torn {
			all = append(all, clean(f.File)+" ends within a line: its session was cut off.")
		}
		if f.Skipped > 0 {
			all = append(all, fmt.Sprintf("%s: %d lines could not be read.", clean(f.File), f.Skipped))
		}
	}
	for _, c := range p.Costs {
		if c.Dropped > 0 {
			all = append(all, fmt.Sprintf("%s: the contents of %s were redacted and are in no cost.", clean(c.name()), plural(c.Dropped, "call")))
		}
	}
	return all
}

type flagged struct {
	Name, Rule string
	Flags      []string
}

// Flagged are the rules that were found bad.
func (p *page) Flagged() (all []flagged) {
	for _, m := range p.Misses {
		if len(m.Flags) > 0 {
			all = append(all, flagged{clean(m.Server + "." + m.Tool), clean(m.Rule), m.Flags})
		}
	}
	return all
}

// RetentionText says the model in words.
func (p *page) RetentionText() string {
	switch {
	case p.Retention == "none":
		return "Nothing is taken to be sent again in later turns."
	case p.Retention == "all":
		return "Everything is taken to be sent again in each later turn, as hosts without a bound do; a price for cached input is not taken off."
	}
	return "What a turn wrote and read is taken to be in the " + strings.TrimPrefix(p.Retention, "window:") + " requests behind it, and definitions in all."
}
