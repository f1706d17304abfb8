package jmespath

import (
	"errors"
	"strings"
	"testing"

	"github.com/spillway-mcp/spillway/internal/jsontape"
)

// TestDeepExpressions: each of these killed an engine by stack overflow.
func TestDeepExpressions(t *testing.T) {
	const n = 100_000
	repeat := strings.Repeat
	for name, src := range map[string]string{
		"parentheses":  repeat("(", n) + "a" + repeat(")", n),
		"open":         repeat("(", n),
		"lists":        repeat("[", n) + "a" + repeat("]", n),
		"hashes":       repeat("{a:", n) + "a" + repeat("}", n),
		"not":          repeat("!", n) + "a",
		"minus":        repeat("- ", n) + "a",
		"calls":        repeat("abs(", n) + "a" + repeat(")", n),
		"refs":         repeat("map(&", n) + "a" + repeat(",@)", n),
		"pipes":        "a" + repeat("|a", n),
		"dots":         "a" + repeat(".a", n),
		"ors":          "a" + repeat("||a", n),
		"sums":         "a" + repeat("+a", n),
		"comparisons":  "a" + repeat("==a", n),
		"ternaries":    repeat("a?a:", n) + "a",
		"indices":      "a" + repeat("[0]", n),
		"flattens":     "a" + repeat("[]", n),
		"projections":  "a" + repeat("[*]", n),
		"values":       "a" + repeat(".*", n),
		"filters":      "a" + repeat("[?a]", n),
		"conditions":   repeat("[?", n) + "a" + repeat("]", n),
		"slices":       "a" + repeat("[:]", n),
		"lets":         repeat("let $a=a in ", n) + "a",
		"let values":   repeat("let $a=", n) + "a" + repeat(" in a", n),
		"deep literal": "`" + repeat("[", n) + repeat("]", n) + "`",
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Compile(src)
			var bad *SyntaxError
			if !errors.As(err, &bad) || bad.Offset > len(src) || len(bad.Msg) > 200 {
				t.Fatalf("%.200v is no good error", err)
			}
			if !strings.Contains(bad.Msg, "deeper than") && name != "open" {
				t.Errorf("%v does not say that the expression is too deep", err)
			}
		})
	}
}

func TestDeepDocuments(t *testing.T) {
	deep := strings.Repeat("[", 100_000) + strings.Repeat("]", 100_000)
	if _, err := jsontape.Parse([]byte(deep)); err == nil {
		t.Error("a document 100,000 deep was read")
	}
	const n = jsontape.DefaultMaxDepth
	doc := strings.Repeat(`{"a":[`, n/2) + strings.Repeat(`]}`, n/2)
	runSearches(t, []searchCase{
		{"a[0].a | length(@)", doc, "1"},
		{"@ == [@][0]", doc, "true"},
		{"[@] == [merge(@)]", doc, "true"},
		{"length(to_string(@))", doc, "40000"},
		{"length(to_string([@][]))", doc, "40002"},
	})
}

// TestHighButLegal runs expressions as high as is allowed.
func TestHighButLegal(t *testing.T) {
	runSearches(t, []searchCase{
		{"@" + strings.Repeat("|@", maxHeight-2), "7", "7"},
		{strings.Repeat("[", maxHeight-2) + "@" + strings.Repeat("]", maxHeight-2), "7", strings.Repeat("[", maxHeight-2) + "7" + strings.Repeat("]", maxHeight-2)},
		{strings.Repeat("!", maxHeight-1) + "@", "7", "false"},
	})
}

// TestMultiplying expressions are small and mean results without end.
func TestMultiplying(t *testing.T) {
	double := "[@,@]" + strings.Repeat("|[@,@]", 60)
	hundred := "[" + strings.TrimSuffix(strings.Repeat("@,", 100), ",") + "]"
	for _, c := range []searchCase{
		{double, "1", "limit"},
		{"length(to_string(" + double + "))", "1", "limit"},
		{"(" + double + ") == (" + double + ")", "1", "limit"},
		{"contains([" + double + "], " + double + ")", "1", "limit"},
		{"@" + strings.Repeat("|[@,@][]", 60), "[1]", "limit"},
		{strings.Repeat(hundred+"[].map(&[@,@],"+hundred+")|", 9) + "@", "[1,2,3]", "limit"},
		{"pad_left('', `1000000000`)", "1", "limit"},
		{"pad_left('', `1e999999999`)", "1", "limit"},
		{"'aaaaaaaa'" + strings.Repeat("|replace(@,'a','aaaaaaaa')", 30), "1", "limit"},
		{"'aaaaaaaa'" + strings.Repeat("|join(@,[@,@,@,@])", 30), "1", "limit"},
		{"[*].map(&$[*].map(&$, $), $)", "[" + strings.Repeat("1,", 5000) + "1]", "limit"},
	} {
		if got := search(t, c.expression, c.doc); got != c.want {
			t.Errorf("%.60s gives %.60s, want %s", c.expression, got, c.want)
		}
	}
}

func TestInputStays(t *testing.T) {
	src := `{"l": [3, 1, 2], "o": {"b": 1, "a": [2, 1]}, "s": "\u0062a"}`
	for _, expression := range []string{
		"sort(l)", "reverse(l)", "sort_by([o, {b: `0`}], &b)", "l[::-1]", "merge(o, {b: l})", "reverse(s)",
		"upper(s)", "replace(s, 'a', 'bb')", "pad_right(s, `9`)", "trim(s)", "split(s, '')", "zip(l, l)", "o.a[]",
	} {
		raw := []byte(src)
		doc, err := jsontape.Parse(raw)
		if err != nil {
			t.Fatal(err)
		}
		e, err := Compile(expression)
		if err != nil {
			t.Fatal(err)
		}
		first, err := e.AppendJSON(nil, doc.Root())
		if err != nil {
			t.Fatalf("%s: %v", expression, err)
		}
		second, _ := e.AppendJSON(nil, doc.Root())
		if string(raw) != src || string(first) != string(second) {
			t.Errorf("%s changes its input: %s, then %s", expression, first, second)
		}
	}
}

// TestLimitsLeaveRoom: work that is no more than the document is large is not
// refused.
func TestLimitsLeaveRoom(t *testing.T) {
	doc := `{"items":[` + strings.TrimSuffix(strings.Repeat(`{"id":1,"n":"abc","t":["x","y"]},`, 30_000), ",") + `]}`
	d, err := jsontape.Parse([]byte(doc))
	if err != nil {
		t.Fatal(err)
	}
	for _, src := range []string{
		"length(join(',', items[*].n))",
		"length(split(join(',', items[*].n), ','))",
		"length(items[?n == $.items[0].n])",
	} {
		e, err := Compile(src)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := e.Search(d.Root()); err != nil {
			t.Errorf("%s: %v", src, err)
		}
	}
}
