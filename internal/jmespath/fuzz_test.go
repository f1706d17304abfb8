package jmespath

import (
	"errors"
	"testing"

	"github.com/spillway-mcp/spillway/internal/jsontape"
)

const fuzzDoc = `{"a": {"b": [1, 2.50, "x", null, {"c": "\u0041"}], "c": "\ud800"}, "items": [{"n": 1, "s": "b", "t": [1]},
	{"n": 1.0, "s": "a", "t": []}, {"n": 9007199254740993, "s": "é", "t": [[2]]}], "dup": 1, "dup": 2, "": [[], {}], "z": false}`

var fuzzExpressions = []string{
	"a.b[*].c", "items[*].{n: n, s: s, x: a.b}", "items[?n > `1`].s | [0]", "items[].t[]", "a.*", "*.b[::-1]", "@", "$.a",
	"sort_by(items, &n)[-1]", "let $x = a, $y = $x in [$x, $y.b]", "items[*].[n, s][]", "z ? a : items[0] ? 'y' : 'n'", "[a, z] || {q: z}",
	"!a.b && (z == `false`)", "-items[0].n + `2` * items[1].n / `3`", "sum(items[*].n) // `2` % `7`", "length(keys(@))", "to_string(@)",
	"group_by(items, &s)", "zip(items[*].n, items[*].s)", "from_items(zip(items[*].s, items[*].n))", "merge(@, a)", "values(a)[0][2:]",
	"\"\"[1]", "a.c[::-1]", "upper(items[0].s)", "find_first('subject', 'j', `1`)", "split('a,b', ',') | join('-', @)", "pad_left('x', `3`, '.')",
	"replace('aa', 'a', `\"\\\\u00e9\"`)", "trim(' x ')", "contains(a.b, `{\"c\": \"A\"}`)", "max_by(items, &n).s", "map(&t[], items)",
	"not_null(q, z, a)", "items[*].t[*]", "items[*].t[?@]", "items[:2].{a: @}", "[?a]", "[*][0]", "[[*], *]", "a.[b, c]", "items[*].t.[@][0]",
	"`[1, \"\\`\"]`[1]", "'it\\'s'", "items[0].{a: s}.a", "{a: items}.a[*].s", "(items[*].s)[0]", "items.length(@)", "items[*].to_string(n)",
	"items[*][n, s].a", "a.let", "items[*].{a: n} | sort_by(@, &a)", "a | b | c", "dup < n", "a != z", "items[*].n.abs(@)", "reverse(items)[*].n",
	"items[*].a.{b: c}.b", "let $f = (let $g = a in $g) in $f.c", "+items[0].n", "a ? (z | a) : z", "[z ? a : z]", "items[?s == 'a' || n >= `2`]",
}

func FuzzCompile(f *testing.F) {
	for _, src := range fuzzExpressions {
		f.Add(src)
	}
	f.Add("a[")
	f.Add("`{\"a\\`")
	f.Fuzz(func(t *testing.T, src string) {
		e, err := Compile(src)
		if err == nil {
			e.Shape()
			return
		}
		var bad *SyntaxError
		if !errors.As(err, &bad) || bad.Offset < 0 || bad.Offset > len(src) || bad.Code == "" || bad.Msg == "" {
			t.Fatalf("%q: %#v is not as documented", src, err)
		}
	})
}

// FuzzSearch holds evaluation to its promises: the same bytes twice and by
// both ways, which is valid JSON, over an unchanged input.
func FuzzSearch(f *testing.F) {
	for _, src := range fuzzExpressions {
		f.Add(src, fuzzDoc)
	}
	f.Fuzz(func(t *testing.T, src, data string) {
		raw := []byte(data)
		doc, err := jsontape.Parse(raw)
		if err != nil {
			return
		}
		out, _, err := evaluate(src, doc.Root())
		if string(raw) != data {
			t.Fatalf("%q changes its input", src)
		}
		if err != nil {
			return
		}
		if again, _, _ := evaluate(src, doc.Root()); again != out {
			t.Fatalf("%q gives %s, then %s", src, out, again)
		}
		var read jsontape.Doc
		if err := read.Reset([]byte(out), jsontape.Limits{MaxDepth: 2 * jsontape.DefaultMaxDepth}); err != nil {
			t.Fatalf("%q gives %s: %v", src, out, err)
		}
		checkFormat(t, src, doc.Root())
		e, _ := Compile(src)
		s := e.Shape()
		for _, part := range []*Expr{s.Base, s.Over} {
			if part != nil {
				part.Search(doc.Root())
				checkFormat(t, part.String(), doc.Root())
			}
		}
		if _, _, err := s.Absent(doc.Root()); err != nil {
			var bad *EvalError
			if !errors.As(err, &bad) {
				t.Fatal(err)
			}
		}
		if s.Projected && out != "null" && out[0] != '[' && out[0] != '"' {
			t.Fatalf("%q is said to be projected and gives %s", src, out)
		}
	})
}
