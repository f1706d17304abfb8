package report

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/spillway-mcp/spillway/internal/ledger"
	"github.com/spillway-mcp/spillway/internal/record"
	"github.com/spillway-mcp/spillway/internal/replay"
	"github.com/spillway-mcp/spillway/internal/rules"
)

var update = flag.Bool("update", false, "write the tables of docs/measurement.md anew")

// prune takes lines of sessions that are recorded no more out of the ledger that
// was written beside the recordings; recording a task anew adds its lines.
func prune(t *testing.T) {
	const path = "testdata/ledger.jsonl"
	ids := map[string]bool{}
	for _, file := range sessions(t) {
		s, err := record.Load(file)
		if err != nil {
			t.Fatal(err)
		}
		ids[s.Header.Session] = true
	}
	old, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var kept strings.Builder
	for line := range strings.Lines(string(old)) {
		var l ledger.Line
		if err := json.Unmarshal([]byte(line), &l); err != nil {
			t.Fatal(err)
		}
		if ids[l.Session] {
			kept.WriteString(line)
		}
	}
	if kept.String() != string(old) {
		if err := os.WriteFile(path, []byte(kept.String()), 0o666); err != nil {
			t.Fatal(err)
		}
	}
}

// The tables of docs/measurement.md are what the recorded sessions give.
func TestDocsCarryTheFigures(t *testing.T) {
	if *update {
		prune(t)
	}
	const path = "../../docs/measurement.md"
	page, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	set, err := rules.Load("../../rules/reviewed.yaml")
	if err != nil {
		t.Fatal(err)
	}
	o200k := counter(t, "o200k_base")
	r, err := Build(sessions(t), Options{Counter: o200k, Replay: replayed(t, set)})
	if err != nil {
		t.Fatal(err)
	}
	text := string(page)
	for name, table := range map[string]string{"rules": ruleFigures(r), "sessions": sessionFigures(r), "spread": spreadFigures(t)} {
		from, to := "<!-- measured "+name+" -->\n", "<!-- end -->"
		before, rest, ok := strings.Cut(text, from)
		old, after, closed := strings.Cut(rest, to)
		if !ok || !closed {
			t.Errorf("%s has no place for %s", path, name)
			continue
		}
		if old != table && !*update {
			t.Errorf("%s: the table of %s differs; write it with -update", path, name)
		}
		text = before + from + table + to + after
	}
	if *update && text != string(page) {
		if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
}

// The front page says of these tables what a reader takes away: both medians, and
// how many sessions came out at a loss.
func TestReadmeSaysWhatTheTablesSay(t *testing.T) {
	readme, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	flat := strings.Join(strings.Fields(string(readme)), " ")
	cells := map[string][]string{} // by retention and host
	for line := range strings.Lines(spreadFigures(t)) {
		if c := strings.Split(line, " | "); len(c) == 6 {
			cells[strings.TrimPrefix(c[0], "| ")+" "+c[1]] = c
		}
	}
	once, again := cells["none text"], cells["all text"]
	if once == nil || again == nil {
		t.Fatal("the spread has no rows for text, carried once and carried again")
	}
	few, of, _ := strings.Cut(strings.TrimSuffix(once[5], " |\n"), " of ")
	many, _, _ := strings.Cut(again[5], " of ")
	for _, want := range []string{
		"Over " + of + " recorded sessions",
		"the median session saved " + once[2] + " of its tokens with all costs taken off, and " + again[2] + " where every request carries everything again",
		few + " and " + many + " of them came out at a loss",
	} {
		if !strings.Contains(flat, want) {
			t.Errorf("README.md does not say %q", want)
		}
	}
}

func ruleFigures(r *Report) string {
	var b strings.Builder
	b.WriteString("\n| rule | results | cut | bytes before, median | p90 | after, median | p90 | saved, median | p90 | expands for one cut | needed | shown | one expand away | lost |\n| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |\n")
	rates := map[string]*float64{}
	for _, s := range r.Stats.Servers {
		for _, tool := range s.Tools {
			rates[s.Server+"."+tool.Tool] = tool.ExpandRate
		}
	}
	row := func(name string, f *replay.Figures, e replay.Tally, expands *float64) {
		v := f.Text
		fmt.Fprintf(&b, "| %s | %d | %d | %s | %s | %s | %s | %s | %s | %s | %d | %d | %d | %d |\n", name, f.Results, f.Changed,
			grouped(v.BytesBefore.Median), grouped(v.BytesBefore.P90), grouped(v.BytesAfter.Median), grouped(v.BytesAfter.P90),
			share(v.Saved.Median).Show, share(v.Saved.P90).Show, rate(expands).Show, e.Needed, e.Shown, e.Expandable, e.Lost)
	}
	side := &r.Replay.Rules
	for i := range side.Tools {
		if tool := &side.Tools[i]; tool.Changed > 0 || tool.Evidence.Needed > 0 {
			row("`"+tool.Server+"."+tool.Tool+"`", &tool.Figures, tool.Evidence, rates[tool.Server+"."+tool.Tool])
		}
	}
	row("all results", &side.All, side.Evidence, r.Stats.All.ExpandRate)
	b.WriteString("\n")
	var none, idle []string
	for _, rule := range side.PerRule {
		name := "`" + rule.Rule + "`"
		if rule.When != "" {
			name += " when `" + strings.ReplaceAll(rule.When, "|", `\|`) + "`"
		}
		switch {
		case rule.Results == 0:
			none = append(none, name)
		case rule.Changed == 0:
			idle = append(idle, name)
		}
	}
	for _, x := range []struct {
		says  string
		rules []string
	}{{"Rules that no recorded result was of", none}, {"Rules that applied and changed nothing here", idle}} {
		if len(x.rules) == 0 {
			x.rules = []string{"none"}
		}
		fmt.Fprintf(&b, "%s: %s.\n\n", x.says, strings.Join(x.rules, ", "))
	}
	return b.String()
}

func sessionFigures(r *Report) string {
	var b strings.Builder
	b.WriteString("\n| session | calls | expands | text: without | with | saved | structured: without | with | saved |\n| --- | --- | --- | --- | --- | --- | --- | --- | --- |\n")
	for i := range r.Costs {
		c := &r.Costs[i]
		fmt.Fprintf(&b, "| %s | %d | %d |", c.name(), c.Calls, c.Expands)
		for h := range hosts {
			host := c.host(h)
			fmt.Fprintf(&b, " %s | %s | %s |", grouped(host.Without.Total.Tokens), grouped(host.With.Total.Tokens), share(portionOf(host)).Show)
		}
		b.WriteString("\n")
	}
	b.WriteString("\n")
	return b.String()
}

func portionOf(h *HostCosts) *float64 {
	f := float64(h.Saved.Tokens) / float64(h.Without.Total.Tokens)
	return &f
}

func spreadFigures(t *testing.T) string {
	var b strings.Builder
	b.WriteString("\n| retention | host shows | median | 90th percentile | worst | at a loss |\n| --- | --- | --- | --- | --- | --- |\n")
	for _, model := range []string{"none", "window:4", "all"} {
		retain, err := ParseRetention(model)
		if err != nil {
			t.Fatal(err)
		}
		r, err := Build(sessions(t), Options{Counter: counter(t, "o200k_base"), Retain: retain})
		if err != nil {
			t.Fatal(err)
		}
		for h, host := range hosts {
			var saved []int64 // millionths
			losses := 0
			for i := range r.Costs {
				c := r.Costs[i].host(h)
				saved = append(saved, ledger.Millionths(c.Saved.Tokens, c.Without.Total.Tokens))
				if c.Saved.Tokens < 0 {
					losses++
				}
			}
			median, p90, worst := ledger.Percentiles(saved)
			show := func(n int64) string { return percent(float64(n) / 1e6) }
			fmt.Fprintf(&b, "| %s | %s | %s | %s | %s | %d of %d |\n", model, host, show(median), show(p90), show(worst), losses, len(saved))
		}
	}
	b.WriteString("\n")
	return b.String()
}
