// Package draft writes a first rule for a tool from results of it: where its
// rows are, what its columns take and say, what of it is binary. It is a help
// for the person who writes the rule. What it prints is marked as not reviewed,
// and nothing applies it.
package draft

import (
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/spillway-mcp/spillway/internal/jmespath"
	"github.com/spillway-mcp/spillway/internal/jsontape"
	"github.com/spillway-mcp/spillway/internal/rules"
	"github.com/spillway-mcp/spillway/reduce"
)

// Input is what a draft is made from.
type Input struct {
	Server, Tool string
	Results      [][]byte       // CallToolResults
	Needed       map[string]int // how often recorded sessions used a field, by its path; nil where nothing is known
}

// Rule returns a rules file with one rule and comments that say why it is as it
// is. It can be read by package rules. The error says that there is nothing to
// draft from.
func Rule(in Input) ([]byte, error) {
	if len(in.Results) == 0 {
		return nil, errors.New("no result of this tool to draft a rule from")
	}
	if in.Tool == "default" || strings.ContainsAny(in.Tool, "*?") {
		return nil, fmt.Errorf("the tool's name %q has another meaning in a rules file", in.Tool)
	}
	s := read(in)
	body := s.body(true)
	if _, err := rules.Parse("draft", []byte(s.key()+body)); err != nil {
		// A column whose name no expression can hold: leave the choice open.
		if body = s.body(false); body == "" {
			return nil, err
		}
	}
	text := s.head() + s.key() + body
	set, err := rules.Parse("draft", []byte(text))
	if err != nil {
		return nil, fmt.Errorf("the draft cannot be read: %w", err)
	}
	return []byte(text + s.effect(set)), nil
}

// key is the lines that name the server and the tool.
func (s *study) key() string {
	return yamlKey(s.in.Server) + ":\n  " + yamlKey(s.in.Tool) + ":\n"
}

func (s *study) head() string {
	var b strings.Builder
	fmt.Fprintf(&b, "# DRAFT, NOT REVIEWED. A rule for %s of %s, from %s.\n", oneLine(s.in.Tool), oneLine(s.in.Server), count(len(s.in.Results), "result"))
	b.WriteString("# It drops fields by size and sameness, not by what they mean. Read what is\n" +
		"# dropped, keep what your tasks need, and check it with: spillway replay\n")
	return b.String()
}

// body is the rule's keys, each with its reason above it.
func (s *study) body(keep bool) string {
	var b strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&b, "    "+format+"\n", args...) }
	switch {
	case s.rows > 0:
		line("# rows: %s, %s in %s", or(s.base, "the payload itself"), group(s.rows), count(len(s.in.Results), "result"))
		line("# %-28s %9s %6s %8s %8s", "column", "bytes", "share", "in rows", "distinct")
		for _, c := range s.columns {
			line("# %-28s %9s %5d%% %7d%% %8s  %s", clip(oneLine(c.path), 28), group(c.bytes), share(c.bytes, s.rowBytes), share(c.in, s.rows), c.distinct(), c.verdict)
		}
		if s.mixed() {
			line("# no column is in most of the rows: results of several kinds, each of which wants a rule of its own, with when")
		}
		if expr := s.expression(); keep && expr != "" {
			if len(s.beyond) > 0 {
				line("# beside the rows, and dropped: %s", clip(oneLine(strings.Join(s.beyond, ", ")), 80))
			}
			line("keep: %s", quote(expr))
		}
		if s.most > defaultRows {
			line("# the largest result has %s rows; those not shown can be fetched", group(s.most))
			line("max_rows: %d", defaultRows)
		}
	case s.rare != "":
		line("# %s: too few to make a rule of; where it depends on arguments, when tells results apart", s.rare)
	case s.json > 0:
		line("# no array of objects is large enough to be the rows of this tool")
	}
	if len(s.always) > 0 {
		line("# scalars beside the rows, that say something about all of them; the built-in names are kept anyway")
		var names []string
		for _, name := range s.always {
			names = append(names, quote(name))
		}
		line("always: [%s]", strings.Join(names, ", "))
	}
	if s.text > s.json {
		line("# text in %s, %s at most: head keeps its first lines, tail its last, ends both", count(s.text, "result"), bytesOf(s.longest))
		line("text: head")
	}
	if len(s.strip) > 0 {
		line("# binary content: %s", s.binary())
		line("strip: [%s]", strings.Join(s.strip, ", "))
	}
	line("max_bytes: 20k")
	return b.String()
}

const defaultRows = 25

// expression is the projection to the columns that stay.
func (s *study) expression() string {
	var members []string
	kept := 0
	used := map[string]bool{}
	for _, c := range s.columns {
		if c.drop {
			continue
		}
		kept++
		name := c.names[len(c.names)-1]
		if used[name] {
			name = strings.Join(c.names, "_")
		}
		used[name] = true
		members = append(members, identifier(name)+": "+path(c.names))
	}
	if kept == 0 || kept == len(s.columns) {
		return ""
	}
	expr := s.base + "[*].{" + strings.Join(members, ", ") + "}"
	if _, err := jmespath.Compile(expr); err != nil {
		return ""
	}
	return expr
}

// effect says what the draft makes of the results that it was made from.
func (s *study) effect(set *rules.Set) string {
	v := set.For(s.in.Server, s.in.Tool).Pick(jsontape.Value{})
	if v == nil {
		return ""
	}
	var before, after []int
	for _, result := range s.in.Results {
		out := v.Reducer.Reduce(result, reduce.Env{Expand: rules.ExpandName})
		before, after = append(before, larger(out.Before)), append(after, larger(out.After))
	}
	slices.Sort(before)
	slices.Sort(after)
	at := (len(before)+1)/2 - 1
	return fmt.Sprintf("# These results, each by its larger copy: median %s before, %s after; largest %s before, %s after.\n",
		bytesOf(before[at]), bytesOf(after[at]), bytesOf(before[len(before)-1]), bytesOf(after[len(after)-1]))
}

func larger(s reduce.Sizes) int { return max(s.Text, s.Structured) }

var (
	plainName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)
	plainKey  = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_-]*$`)
)

// identifier is a name as JMESPath writes it.
func identifier(name string) string {
	if plainName.MatchString(name) {
		return name
	}
	return quote(name)
}

func path(names []string) string {
	parts := make([]string, len(names))
	for i, name := range names {
		parts[i] = identifier(name)
	}
	return strings.Join(parts, ".")
}

func yamlKey(name string) string {
	if plainKey.MatchString(name) && !slices.Contains([]string{"true", "false", "null", "yes", "no", "on", "off", "y", "n"}, strings.ToLower(name)) {
		return name
	}
	return quote(name)
}

func quote(s string) string { return string(jsontape.AppendQuote(nil, s)) }

// oneLine keeps a name from ending a comment.
func oneLine(s string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x85 || r == 0x2028 || r == 0x2029 || r == 0x7f {
			return ' '
		}
		return r
	}, s)
}

func clip(s string, n int) string {
	if r := []rune(s); len(r) > n {
		return string(r[:n-1]) + "…"
	}
	return s
}

func or(s, otherwise string) string { return cmp.Or(s, otherwise) }

func share(part, whole int) int {
	if whole == 0 {
		return 0
	}
	return part * 100 / whole
}

func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return group(n) + " " + what + "s"
}

func times(n int) string {
	if n == 1 {
		return "once"
	}
	return count(n, "time")
}

func bytesOf(n int) string { return count(n, "byte") }

func group(n int) string {
	s := fmt.Sprint(n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}
