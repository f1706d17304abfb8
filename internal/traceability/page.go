package traceability

import (
	"fmt"
	"slices"
	"strings"
)

// Markdown writes docs/traceability.md.
func Markdown(statements []Statement, tests map[ID][]Test, exclusions map[ID]string) string {
	var b strings.Builder
	b.WriteString(`# From rule to test

Each numbered statement of these pages, and the tests that carry its number.
This page is written by ` + "`go test ./internal/traceability -update`" + `, and the
suite fails where it is not up to date. What has no test has a reason in
[traceability-exclusions.md](traceability-exclusions.md).

Names of Go tests stand after their package. A ` + "`.txtar`" + ` file is a golden or a
script that its package runs. ` + "`peers/`" + ` are checks against real servers and
clients, which [internal/peertest](../internal/peertest) runs.
`)
	document := ""
	for _, s := range byDocument(statements) {
		if s.In != document {
			document = s.In
			fmt.Fprintf(&b, "\n## %s\n\n| | statement | tests |\n| --- | --- | --- |\n", strings.TrimPrefix(document, "docs/"))
		}
		fmt.Fprintf(&b, "| %s | %s | %s |\n", s.ID, cell(s.Text), evidence(tests[s.ID], exclusions[s.ID]))
	}
	return b.String()
}

// byDocument keeps the order of numbers within each document.
func byDocument(statements []Statement) []Statement {
	list := slices.Clone(statements)
	slices.SortStableFunc(list, func(a, b Statement) int {
		return slices.Index(Documents, a.In) - slices.Index(Documents, b.In)
	})
	return list
}

// evidence writes the tests of a statement, each place once.
func evidence(tests []Test, reason string) string {
	if len(tests) == 0 {
		if reason == "" {
			return "**none**"
		}
		return "none: " + cell(reason)
	}
	var places []string
	for i := 0; i < len(tests); {
		k := i
		var names []string
		for ; k < len(tests) && tests[k].Where == tests[i].Where; k++ {
			if tests[k].Name != "" {
				names = append(names, cell(tests[k].Name))
			}
		}
		place := "`" + tests[i].Where + "`"
		if len(names) > 0 {
			place += " " + strings.Join(names, ", ")
		}
		places = append(places, place)
		i = k
	}
	return strings.Join(places, "<br>")
}

// cell keeps a text inside its cell of a table.
func cell(s string) string {
	return strings.ReplaceAll(strings.Join(strings.Fields(s), " "), "|", `\|`)
}
