package report

import (
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"slices"
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
	Aside       string // what is said of rows that are only named
}

type shownRow struct{ Cells []Cell }

// Table returns the table of that name; nil where it has no rows.
func (p *page) Table(id string) *shownTable {
	for _, t := range p.tables {
		if t.ID != id {
			continue
		}
		s := &shownTable{ID: t.ID, Caption: t.Caption, Columns: t.Columns}
		var quiet []string
		for i, row := range t.Rows {
			if i < len(t.quiet) && t.quiet[i] {
				quiet = append(quiet, rowName(row, t.Columns))
			} else {
				s.Rows = append(s.Rows, shownRow{row})
			}
		}
		s.joinServer()
		for _, c := range s.Columns {
			s.Left = append(s.Left, c.Text)
		}
		if len(quiet) > 0 {
			s.Aside = t.aside + " " + strings.Join(quiet[:min(len(quiet), maxRows)], ", ") + "."
		}
		if s.More = max(0, len(s.Rows)-maxRows); s.More > 0 {
			s.Rows = s.Rows[:maxRows]
		}
		return s
	}
	return nil
}

// joinServer puts server and tool into one column, as rules files name them. It
// stays in view where a table is wider than the window.
func (s *shownTable) joinServer() {
	if s.Columns[0].Field != "server" {
		return
	}
	s.Columns = slices.Clone(s.Columns[1:])
	for i := range s.Rows {
		cells := slices.Clone(s.Rows[i].Cells[1:])
		server := s.Rows[i].Cells[0]
		cells[0] = Cell{Show: server.Show + "." + cells[0].Show, Plain: server.Plain + "." + cells[0].Plain}
		s.Rows[i].Cells = cells
	}
}

// rowName is a row in one word: its names up to the first figure.
func rowName(row []Cell, columns []Column) string {
	var words []string
	for i, c := range columns {
		if !c.Text || len(words) == 2 {
			break
		}
		if row[i].Show != "" {
			words = append(words, row[i].Show)
		}
	}
	if columns[0].Field == "server" {
		return strings.Join(words, ".")
	}
	return strings.Join(words, " when ")
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
