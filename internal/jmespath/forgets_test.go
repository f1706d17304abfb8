package jmespath

import "testing"

func TestForgetsNames(t *testing.T) {
	for src, want := range map[string]bool{
		"items[*].{a: a}":                 false,
		"items[?values(@)].a":             false,
		"people.*.age":                    true,
		"{a: b, c: [d, values(e)]}":       true,
		"let $x = values(@) in $x":        true,
		"map(&values(@), items)":          true,
		"keys(@)":                         false,
		"a || b.*":                        true,
		"a | b && c.*":                    true,
		"a == `1` ? values(b) : `[]`":     true,
		"items(@)[*].{name: [0]}":         false,
		"sort_by(items, &a)[0:2].b[]":     false,
		"reverse(sort_by(values(a), &b))": true,
	} {
		e, err := Compile(src)
		if err != nil {
			t.Errorf("%s: %v", src, err)
			continue
		}
		if got := e.ForgetsNames(); got != want {
			t.Errorf("%s: %v, want %v", src, got, want)
		}
	}
}
