package rules

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "rewrite what the cases in testdata want")

// TestGolden runs one file a case: a rules file, the line "-- want --", and
// either its errors or what is in force, with warnings.
func TestGolden(t *testing.T) {
	files, err := filepath.Glob("testdata/golden/*")
	if err != nil || len(files) == 0 {
		t.Fatal("no cases", err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			in, want, ok := strings.Cut(string(data), "-- want --\n")
			if !ok {
				t.Fatal("the case has no line -- want --")
			}
			got := ""
			set, err := Parse("rules.yaml", []byte(in))
			if err != nil {
				got = err.Error() + "\n"
			} else {
				got = inForce(set)
			}
			if got == want {
				return
			}
			if *update {
				if err := os.WriteFile(file, []byte(in+"-- want --\n"+got), 0o600); err != nil {
					t.Fatal(err)
				}
				return
			}
			t.Errorf("got:\n%s\nwant:\n%s", got, want)
		})
	}
}

// inForce writes a set for people: each entry, each rule, each key.
func inForce(set *Set) string {
	var b strings.Builder
	for _, w := range set.Warnings() {
		fmt.Fprintf(&b, "warning: %v\n", w)
	}
	e := set.Effective()
	writeTool(&b, "*", e.Default)
	for _, srv := range e.Servers {
		writeTool(&b, srv.Server, srv.Default)
		for _, t := range srv.Tools {
			writeTool(&b, srv.Server, t)
		}
	}
	return b.String()
}

func writeTool(b *strings.Builder, server string, t EffectiveTool) {
	fmt.Fprintf(b, "%s %s (%s)", server, t.Match, t.Level)
	if t.Rename != "" {
		fmt.Fprintf(b, " rename %s", t.Rename)
	}
	if t.Description != "" {
		fmt.Fprintf(b, " description %q", t.Description)
	}
	if t.Hide {
		b.WriteString(" hide")
	}
	if t.Pass {
		b.WriteString(" pass")
	}
	b.WriteString("\n")
	for _, r := range t.Rules {
		if len(t.Rules) > 1 || r.When != "" {
			fmt.Fprintf(b, "  when %s\n", r.When)
		}
		for _, o := range r.Keys {
			fmt.Fprintf(b, "    %s %v (%d:%d %s)\n", o.Key, o.Value, o.Line, o.Col, o.Level)
		}
	}
}
