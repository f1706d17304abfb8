package replay

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode/utf8"
)

// WriteText writes the report for people.
func (r *Report) WriteText(w io.Writer) error {
	var b strings.Builder
	s := &r.Rules
	fmt.Fprintf(&b, "%s, %s of %s, tokens by %s\n", count(r.Sessions, "session"), count(s.All.Results, "result"), count(len(s.Tools), "tool"), r.Estimator)
	b.WriteString("\nText that hosts show, before > after the rules (median, 90th percentile, worst):\n")
	t := table{{"", "results", "changed", "bytes", "p90", "worst", "tokens", "saved", "p90", "worst"}}
	for _, tool := range s.Tools {
		t = append(t, row(tool.Server+"/"+tool.Tool, &tool.Figures))
	}
	t = append(t, row("all results", &s.All), row("per session", &s.PerSession))
	t.write(&b)

	var idle []string
	for _, rule := range s.PerRule {
		switch {
		case rule.Results == 0:
			idle = append(idle, "  "+rule.name()+": never fired\n")
		case rule.Changed == 0:
			idle = append(idle, fmt.Sprintf("  %s: applied to %s, changed none\n", rule.name(), count(rule.Results, "result")))
		}
	}
	if len(idle) > 0 {
		b.WriteString("\nRules without effect here:\n" + strings.Join(idle, ""))
	}
	r.writeChanges(&b)
	s.writeEvidence(&b)
	s.writeChecks(&b)
	_, err := io.WriteString(w, b.String())
	return err
}

func (r *Report) writeChanges(b *strings.Builder) {
	if r.Against == nil {
		return
	}
	b.WriteString("\nAgainst " + or(r.Against.File, "the built-in rules") + ":\n")
	t := table{{"", "results", "differ", "bytes then", "now", "tokens then", "now"}}
	var news []string
	for _, c := range r.Changes {
		name := c.Server + "/" + c.Tool
		t = append(t, []string{name, group(int64(c.Results)), group(int64(c.Differ)), group(c.BytesAgainst), group(c.BytesRules), group(c.TokensAgainst), group(c.TokensRules)})
		for _, f := range c.NewlyMissed {
			news = append(news, "  "+name+": "+f+" was needed and is no longer shown\n")
		}
		for _, f := range c.NewlyShown {
			news = append(news, "  "+name+": "+f+" was needed and is now shown\n")
		}
	}
	t.write(b)
	b.WriteString(strings.Join(news, ""))
}

func (s *Side) writeEvidence(b *strings.Builder) {
	e := s.Evidence
	if e.Needed == 0 {
		b.WriteString("\nEvidence: no later call and no declared answer uses a value of an earlier result, so nothing can be said.\n")
		return
	}
	fmt.Fprintf(b, "\nEvidence: of %s that later calls or the answer use, %s shown (%s), %s one expand away, %s lost.\n",
		count(e.Needed, "value"), group(int64(e.Shown)), percent(e.Survival), group(int64(e.Expandable)), group(int64(e.Lost)))
	for _, rule := range s.PerRule {
		for _, f := range rule.Fields {
			fmt.Fprintf(b, "  %s does not show %s: needed %s", rule.name(), f.Field, times(f.Missed))
			if f.Expandable < f.Missed {
				fmt.Fprintf(b, ", %s beyond one expand", group(int64(f.Missed-f.Expandable)))
			}
			b.WriteString("\n")
		}
	}
	const most = 20
	for i, m := range s.Missed {
		if i == most {
			fmt.Fprintf(b, "    and %s more, all in --json\n", group(int64(len(s.Missed)-most)))
			break
		}
		by := "the final answer"
		switch m.By {
		case "argument":
			by = fmt.Sprintf("%s of call %d, %s", m.Argument, m.ByCall, m.ByTool)
		case "expect":
			by = "expect: " + m.Argument
		}
		way := "no expand brings it back"
		if m.Expand != "" {
			way = "an expand (" + m.Expand + ") would"
		}
		value := ""
		if m.Value != "" {
			value = " " + strconv.Quote(clip(m.Value, 60))
		}
		fmt.Fprintf(b, "    %s: call %d, %s: %s%s, for %s; %s\n", m.Session, m.Call, m.Tool, m.Field, value, by, way)
	}
}

func (s *Side) writeChecks(b *strings.Builder) {
	if len(s.Checks) == 0 {
		return
	}
	failed := 0
	for _, c := range s.Checks {
		if !c.OK {
			failed++
		}
	}
	fmt.Fprintf(b, "\nChecks: %d of %d hold.\n", len(s.Checks)-failed, len(s.Checks))
	for _, c := range s.Checks {
		if !c.OK {
			fmt.Fprintf(b, "  %s: %s %q: %s\n", c.Session, c.Kind, c.Name, c.Why)
		}
	}
}

func (r *Rule) name() string {
	if r.When != "" {
		return r.Rule + " (when " + clip(r.When, 60) + ")"
	}
	return r.Rule
}

func row(name string, f *Figures) []string {
	v := &f.Text
	pair := func(a, b int64) string { return group(a) + " > " + group(b) }
	return []string{
		name, group(int64(f.Results)), group(int64(f.Changed)),
		pair(v.BytesBefore.Median, v.BytesAfter.Median), pair(v.BytesBefore.P90, v.BytesAfter.P90), pair(v.BytesBefore.Worst, v.BytesAfter.Worst),
		pair(v.TokensBefore.Median, v.TokensAfter.Median),
		percent(v.Saved.Median), percent(v.Saved.P90), percent(v.Saved.Worst),
	}
}

// table is lines of cells; the first cell of each stands left, the others right.
type table [][]string

func (t table) write(b *strings.Builder) {
	var width []int
	for _, line := range t {
		for i, cell := range line {
			if i == len(width) {
				width = append(width, 0)
			}
			width[i] = max(width[i], utf8.RuneCountInString(cell))
		}
	}
	for _, line := range t {
		text := "  "
		for i, cell := range line {
			pad := strings.Repeat(" ", width[i]-utf8.RuneCountInString(cell))
			if i == 0 {
				text += cell + pad
			} else {
				text += "  " + pad + cell
			}
		}
		b.WriteString(strings.TrimRight(text, " ") + "\n")
	}
}

func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return group(int64(n)) + " " + what + "s"
}

func times(n int) string {
	if n == 1 {
		return "once"
	}
	return group(int64(n)) + " times"
}

// percent writes a fraction in tenths of a percent, rounded down.
func percent(f *float64) string {
	if f == nil {
		return "-"
	}
	n := int64(*f * 1000)
	if float64(n) > *f*1000 {
		n--
	}
	sign := ""
	if n < 0 {
		sign, n = "-", -n
	}
	return fmt.Sprintf("%s%d.%d %%", sign, n/10, n%10)
}

// group writes a number for people: 1,234,567.
func group(n int64) string {
	s := strconv.FormatInt(n, 10)
	sign := ""
	if n < 0 {
		sign, s = "-", s[1:]
	}
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return sign + s
}

func or(s, otherwise string) string {
	if s == "" {
		return otherwise
	}
	return s
}

func clip(s string, n int) string {
	if utf8.RuneCountInString(s) <= n {
		return s
	}
	return string([]rune(s)[:n]) + "…"
}
