package jmespath

import (
	"fmt"
	"strings"
	"testing"

	"github.com/spillway-mcp/spillway/internal/jsontape"
)

// describe puts a shape in one line.
func describe(s Shape) string {
	var b strings.Builder
	if s.Base != nil {
		b.WriteString("base " + s.Base.String())
		if s.Aligned {
			b.WriteString(" aligned")
		}
	}
	if s.Projected {
		b.WriteString(" rows")
	}
	if s.Over != nil {
		b.WriteString(" over " + s.Over.String())
	}
	for _, f := range s.Fields {
		b.WriteString(" " + f.Name + "=")
		switch {
		case f.Rows != nil:
			b.WriteString("<" + describe(*f.Rows) + ">")
		case f.Path == nil:
			b.WriteString("?")
		default:
			b.WriteString(strings.Join(f.Path, "."))
		}
	}
	return strings.TrimSpace(b.String())
}

func TestRED26_Shape(t *testing.T) {
	for _, c := range []struct{ src, want string }{
		{"items[*].{repo: repository.full_name, path: path, url: html_url}",
			"base items aligned rows over items[*] repo=repository.full_name path=path url=html_url"},
		{"[*].name", "base @ aligned rows"},
		{"[*]", "base @ aligned rows"},
		{"items", ""},
		{"{a: a, b: b.c}", "a=a b=b.c"},
		{"{a: a, b: b[0], c: length(c)}", "a=a b=? c=?"},
		{"data.{a: a, b: b.c}", "a=data.a b=data.b.c"},
		{"data | {a: a}", "a=data.a"},
		{"data[0].{a: a}", "a=?"},
		{"data.items[*].{a: a}", "base data.items aligned rows over data | (items[*]) a=a"},
		{"data | items[*].{a: a}", "base data | items aligned rows over data | (items[*]) a=a"},
		{"(a || b)[*].{a: a}", "base a || b aligned rows over (a || b)[*] a=a"},
		{"items[?open].{a: a}", "base items rows over items[?open] a=a"},
		{"items[?open]", "base items rows"},
		{"items[].{a: a}", "base items rows over items[] a=a"},
		{"[].{a: a}", "base @ rows over @[] a=a"},
		{"items[0:5].{a: a}", "base items rows over items[0:5] a=a"},
		{"[:5]", "base @ rows"},
		{"[:5].{a: a}", "base @ rows over [:5] a=a"},
		{"a.b[::2].{a: a}", "base a.b rows over a | (b[::2]) a=a"},
		{"items.*.{a: a}", "rows over items.* a=?"},
		{"*.items[*].{a: a}", "rows"},
		{"items[*].sub.{a: a, b: b.c}", "base items aligned rows over items[*] a=sub.a b=sub.b.c"},
		{"items[*].sub[0].{a: a}", "base items aligned rows over items[*] a=?"},
		{"items[*].subs[*].{a: a}", "base items aligned rows"},
		{"items[*].[a, b]", "base items aligned rows"},
		{"items[*].subs[].{a: a}", "base items rows over (items[*].subs)[] a=?"},
		{"items[*].{a: a} | [0]", "base items a=?"},
		{"items[*].{a: a}[0]", "base items a=?"},
		{"items[*].{a: a} | @", "base items aligned rows over items[*] a=a"},
		{"items[*].{a: a} | [?a]", "base items rows over items[*] a=a"},
		{"items[*].{a: a} | [:3]", "base items rows over items[*] a=a"},
		{"items[*].{a: a} | [*].a", "base items aligned rows"},
		{"items[*].{a: a} | [*].{b: a}", "base items aligned rows over (items[*].{a: a}) | (@[*]) b=?"},
		{"items[*].{a: a} | sort_by(@, &a)", "base items rows over items[*] a=a"},
		{"items[*].{a: a} | length(@)", "base items"},
		{"items[*].{a: a} | {n: length(@), first: [0]}", "base items n=? first=?"},
		{"items[*].a | {n: a}", "base items n=?"},
		{"sort_by(items, &x)[*].{a: a}", "base items rows over sort_by(items, &x)[*] a=a"},
		{"sort_by(items[*].{a: a}, &a)", "base items rows over items[*] a=a"},
		{"reverse(items)[:3].{a: a}", "base items rows over reverse(items)[:3] a=a"},
		{"map(&{a: a}, items)", "base items aligned rows over items a=a"},
		{"length(items[*])", ""},
		{"items[*].{a: a} || `[]`", ""},
		{"x ? items[*].{a: a} : y", ""},
		{"let $o = org in items[*].{a: a, org: $o}", "base let $o = org in items aligned rows over let $o = org in items[*] a=a org=?"},
		{"let $o = org in {a: a, o: $o}", "a=a o=?"},
		{"{total: total_count, rows: items[*].{a: a}}", "base items aligned total=total_count rows=<base items aligned rows over items[*] a=a>"},
		{"{t: t, a: x[?y], b: z[*].q}", "base x t=t a=<base x rows> b=<base z aligned rows>"},
		{"data.{t: t, rows: items[*].{a: a}}", "base data.items aligned t=data.t rows=<base data.items aligned rows over data | (items[*]) a=a>"},
		{"[a, items[*].b]", ""},
		{"items[*].{a: $.a, b: @, c: \"d e\".f}", "base items aligned rows over items[*] a=? b=? c=d e.f"},
		{"@", ""},
		{"(items[*])[*].{a: a}", "base items aligned rows over (items[*])[*] a=a"},
		{"(items[*] | [0]).subs[*].{a: a}", "base items"},
	} {
		e, err := Compile(c.src)
		if err != nil {
			t.Errorf("%s: %v", c.src, err)
			continue
		}
		s := e.Shape()
		if got := describe(s); got != c.want {
			t.Errorf("%s:\n got %s\nwant %s", c.src, got, c.want)
		}
		for _, sub := range []*Expr{s.Base, s.Over} {
			if sub == nil {
				continue
			}
			if _, err := Compile(sub.String()); err != nil {
				t.Errorf("%s: the expression %s of its shape: %v", c.src, sub, err)
			}
		}
	}
}

// The members that fields are made of are what a note does not list as dropped.
func TestRED16_ShapeMembers(t *testing.T) {
	for _, c := range []struct{ src, want string }{
		{"items[*].{a: a, b: b.c, l: labels[*].name}", "a=[a] b=[b] l=[labels]"},
		{"items[*].{n: length(body), m: merged_at || closed.at, x: `1`}", "n=[body] m=[merged_at closed] x=[]"},
		{"items[*].{f: files[?size > `3`].name, s: sort_by(of, &at)[0].x, t: !gone, u: [p, {q: r}]}", "f=[files] s=[of] t=[gone] u=[p r]"},
		{"items[*].{a: @, b: keys(@), c: [*].x, d: $.total, e: let $v = a in b, f: @.g}", "a=? b=? c=? d=? e=? f=[g]"},
		{"items[*].sub.{a: a, n: length(b)}", "a=[sub] n=[sub]"},
		{"items[*].sub[0].{a: a}", "a=?"},
		{"items.*.{a: a}", "a=?"},
		{"data.{a: a, n: length(b)}", "a=[data] n=[data]"},
		{"{rows: items[*].{a: a}, n: total}", "rows=[items] n=[total]"},
		{"items[*].{a: a} | [*].{b: a}", "b=?"},
	} {
		e, err := Compile(c.src)
		if err != nil {
			t.Fatal(c.src, err)
		}
		var got []string
		for _, f := range e.Shape().Fields {
			what := f.Name + "=?"
			if f.Members != nil {
				what = fmt.Sprint(f.Name, "=", f.Members)
			}
			got = append(got, what)
		}
		if s := strings.Join(got, " "); s != c.want {
			t.Errorf("%s\n got %s\nwant %s", c.src, s, c.want)
		}
	}
}

func TestShapeBaseIsSearchable(t *testing.T) {
	doc, err := jsontape.Parse([]byte(`{"org": "x", "items": [{"a": 1}, {"a": 2}], "data": {"items": [{"a": 3}]}}`))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ src, base, over string }{
		{"let $o = org in items[*].{a: a, org: $o}", `[{"a":1},{"a":2}]`, `[{"a":1},{"a":2}]`},
		{"data | items[?a == `3`].{a: a}", `[{"a":3}]`, `[{"a":3}]`},
		{"items[?a == `2`].{a: a}", `[{"a":1},{"a":2}]`, `[{"a":2}]`},
		{"items[*].{a: a} | [*].{b: a}", `[{"a":1},{"a":2}]`, `[{"a":1},{"a":2}]`},
	} {
		e, err := Compile(c.src)
		if err != nil {
			t.Fatal(err)
		}
		s := e.Shape()
		for _, part := range []struct {
			e    *Expr
			want string
		}{{s.Base, c.base}, {s.Over, c.over}} {
			got, err := part.e.AppendJSON(nil, doc.Root())
			if err != nil || compact(t, string(got)) != compact(t, part.want) {
				t.Errorf("%s: %s gives %s, want %s (%v)", c.src, part.e, got, part.want, err)
			}
		}
	}
}

func compact(t *testing.T, src string) string {
	t.Helper()
	d, err := jsontape.Parse([]byte(src))
	if err != nil {
		t.Fatal(err)
	}
	return string(d.Root().AppendCompact(nil))
}

func TestRED10_Absent(t *testing.T) {
	const doc = `{"total": null, "items": [{"a": 1, "o": {"x": null}}, null, {"b": 2, "o": {}}, 7], "none": []}`
	for _, c := range []struct{ src, want string }{
		{"items[*].{a: a, b: b, x: o.x}", "[], 3 rows"},
		{"items[*].{a: a, c: c, y: o.y}", "[c y], 3 rows"},
		{"items[?b].{a: a, x: o.x}", "[a x], 1 rows"},
		{"items[*].{n: length('a'), c: c}", "[c], 3 rows"},
		{"items[*].{n: length('a')}", "[], 0 rows"},
		{"none[*].{a: a}", "[], 0 rows"},
		{"missing[*].{a: a}", "[], 0 rows"},
		{"{t: total, m: missing.x}", "[m], 1 rows"},
		{"items[*].o.{x: x, z: z}", "[z], 3 rows"},
		{"items[*].[{x: a, z: z}]", "[], 0 rows"},
		{"items[*].{q: a, o: o} | [*].{r: q, s: s}", "[s], 3 rows"},
	} {
		e, err := Compile(c.src)
		if err != nil {
			t.Fatal(err)
		}
		d, err := jsontape.Parse([]byte(doc))
		if err != nil {
			t.Fatal(err)
		}
		absent, rows, err := e.Shape().Absent(d.Root())
		names := []string{}
		for _, f := range absent {
			names = append(names, f.Name)
		}
		if got := fmt.Sprintf("%v, %d rows", names, rows); got != c.want || err != nil {
			t.Errorf("%s: %s, %v, want %s", c.src, got, err, c.want)
		}
	}
}

func TestFormatMeansTheSame(t *testing.T) {
	doc, err := jsontape.Parse([]byte(fuzzDoc))
	if err != nil {
		t.Fatal(err)
	}
	for _, src := range fuzzExpressions {
		checkFormat(t, src, doc.Root())
	}
}

// checkFormat holds format to its word for an expression that compiles.
func checkFormat(t *testing.T, src string, v jsontape.Value) {
	t.Helper()
	e, err := Compile(src)
	if err != nil {
		return
	}
	text := format(e.root)
	again, err := Compile(text)
	if err != nil {
		if strings.Contains(err.Error(), "deeper than") {
			return
		}
		t.Fatalf("%s is written as %s, which does not compile: %v", src, text, err)
	}
	if twice := format(again.root); twice != text {
		t.Errorf("%s is written as %s, and that as %s", src, text, twice)
	}
	out, code, _ := evaluate(src, v)
	out2, code2, _ := evaluate(text, v)
	if out != out2 || code != code2 {
		t.Errorf("%s gives %s %s, and as %s it gives %s %s", src, out, code, text, out2, code2)
	}
}
