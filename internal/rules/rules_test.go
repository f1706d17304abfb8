package rules

import (
	"slices"
	"strings"
	"testing"

	"github.com/spillway-mcp/spillway/internal/jsontape"
	"github.com/spillway-mcp/spillway/reduce"
)

func mustParse(t *testing.T, text string) *Set {
	t.Helper()
	set, err := Parse("rules.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return set
}

func TestMatch(t *testing.T) {
	for _, tt := range []struct {
		pattern, name string
		want          bool
	}{
		{"*", "", true}, {"*", "anything", true}, {"a", "a", true}, {"a", "ab", false}, {"", "", true},
		{"list_*", "list_", true}, {"list_*", "list_issues", true}, {"list_*", "a_list_x", false},
		{"*_list", "my_list", true}, {"*_list", "my_lists", false},
		{"*a*b*", "xxaxxbxx", true}, {"*a*b*", "xxbxxaxx", false}, {"a*a", "a", false}, {"a*a", "aa", true},
		{"get_?", "get_é", true}, {"get_?", "get_", false}, {"get_?", "get_ab", false}, {"?*", "", false},
		{"a.b", "axb", false}, {"[ab]*", "ax", false}, {"é*é", "éxé", true},
		{strings.Repeat("*a", 30) + "b", strings.Repeat("a", 200), false},
	} {
		if got := match(tt.pattern, tt.name); got != tt.want {
			t.Errorf("%q matches %q: %v", tt.pattern, tt.name, got)
		}
	}
}

func TestRED06MatchOrder(t *testing.T) {
	set := mustParse(t, `
default: {max_rows: 1}
s:
  default: {max_rows: 2}
  "*": {max_rows: 3}
  "list_*": {max_rows: 4}
  "list_??": {max_rows: 5}
  "*_items": {max_rows: 6}
  list_all: {max_rows: 7}
bare: {x: {}}
`)
	for _, tt := range []struct {
		server, tool string
		want         int
	}{
		{"s", "list_all", 7},   // exact
		{"s", "list_xy", 5},    // as many letters as list_*, and more said about the rest
		{"s", "list_xyz", 4},   // longer than *
		{"s", "list_items", 6}, // *_items has one letter more than list_*
		{"s", "other", 3},
		{"bare", "x", 1},
		{"bare", "y", 1},
		{"S", "list_all", 1}, // names are exact
	} {
		v := set.For(tt.server, tt.tool).Pick(jsontape.Value{})
		if got := *v.Reducer.Rule().MaxRows; got != tt.want {
			t.Errorf("%s %s: max_rows %d, want %d", tt.server, tt.tool, got, tt.want)
		}
	}
}

func TestRED06FirstConditionThatHolds(t *testing.T) {
	set := mustParse(t, `
default: {max_bytes: 9k}
s:
  "*": {max_rows: 9}
  write:
    - {when: method == 'create', max_rows: 1}
    - {when: method == 'update' || force, max_rows: 2}
    - {when: "contains(method, 'x')", max_rows: 3}
`)
	tool := set.For("s", "write")
	if !tool.Conditional() || set.For("s", "other").Conditional() {
		t.Error("Conditional does not tell whether arguments matter")
	}
	for args, want := range map[string]int{
		`{"method":"create"}`:              1,
		`{"method":"create","force":true}`: 1,
		`{"force":true}`:                   2,
		`{"method":"axb"}`:                 3,
		`{"method":7}`:                     9, // the last condition fails: it does not hold
		`{}`:                               9, // none holds: the next level's rule
		``:                                 9,
		`{"force":[]}`:                     9, // an empty list is not true
	} {
		var v jsontape.Value
		if args != "" {
			doc, err := jsontape.Parse([]byte(args))
			if err != nil {
				t.Fatal(err)
			}
			v = doc.Root()
		}
		rule := tool.Pick(v).Reducer.Rule()
		if *rule.MaxRows != want || rule.MaxBytes != 9000 {
			t.Errorf("%s: max_rows %d, want %d; max_bytes %d", args, *rule.MaxRows, want, rule.MaxBytes)
		}
	}
}

func TestRED06Default(t *testing.T) {
	set := Default()
	v := set.For("any", "tool").Pick(jsontape.Value{})
	if v == nil || v.Reducer.Rule().MaxBytes != 20_000 {
		t.Fatalf("with no file: %+v", v)
	}
	if o := v.Origin[0]; o.Level != LevelBuiltIn || o.File != "" || o.Line != 0 {
		t.Errorf("comes from %+v", o)
	}
	if same := mustParse(t, "default: {max_bytes: 20000}"); same.Digest() != set.Digest() {
		t.Error("the same rules in a file have another digest")
	}
	// A file says all there is: the built-in default is not under it.
	if v := mustParse(t, "s: {t: {max_rows: 1}}").For("s", "u").Pick(jsontape.Value{}); v != nil {
		t.Errorf("a tool that the file says nothing about has %+v", v)
	}
	if v := mustParse(t, "").For("s", "u").Pick(jsontape.Value{}); v != nil {
		t.Errorf("an empty file has %+v", v)
	}
}

func TestRED08AlwaysIsUnited(t *testing.T) {
	set := mustParse(t, `
default: {always: [total, a]}
s:
  default: {always: ["!total", b]}
  t: {keep: x, always: ["!a", "!next", total]}
`)
	got := set.For("s", "t").Pick(jsontape.Value{}).Reducer.Rule().Always
	if want := []string{"b", "!a", "!next", "total"}; !slices.Equal(got, want) {
		t.Errorf("always %q, want %q", got, want)
	}
	got = set.For("s", "u").Pick(jsontape.Value{}).Reducer.Rule().Always
	if want := []string{"a", "!total", "b"}; !slices.Equal(got, want) {
		t.Errorf("always %q, want %q", got, want)
	}
}

func TestEveryKeyReachesTheReducer(t *testing.T) {
	set := mustParse(t, `
s:
  t: {keep: a, always: [b], max_rows: 0, rows: c, max_bytes: 600, text: tail, strip: [image],
      write: off, light_key: [d], heavy: true, token_param: true, allow_markers: true, pass: true}
`)
	zero := 0
	want := reduce.Rule{
		Keep: "a", Always: []string{"b"}, MaxRows: &zero, Rows: "c", MaxBytes: 600, Text: "tail", Strip: []string{"image"},
		Write: "off", LightKey: []string{"d"}, Heavy: true, TokenParam: true, AllowMarkers: true, Pass: true,
	}
	tool := set.For("s", "t")
	got := tool.Pick(jsontape.Value{}).Reducer.Rule()
	if got.MaxRows == nil || *got.MaxRows != 0 {
		t.Errorf("max_rows %v", got.MaxRows)
	}
	got.MaxRows, want.MaxRows = nil, nil
	if ok := got.Keep == want.Keep && slices.Equal(got.Always, want.Always) && got.Rows == want.Rows &&
		got.MaxBytes == want.MaxBytes && got.Text == want.Text && slices.Equal(got.Strip, want.Strip) &&
		got.Write == want.Write && slices.Equal(got.LightKey, want.LightKey) && got.Heavy && got.TokenParam &&
		got.AllowMarkers && got.Pass; !ok {
		t.Errorf("got %+v\nwant %+v", got, want)
	}
	if !tool.Pass {
		t.Error("the tool is not exempt")
	}
}

func TestDigest(t *testing.T) {
	a := mustParse(t, "default: {max_bytes: 20k}\nb: {t: {max_rows: 1}}\na: {t: {strip: [image, blob]}, u: {}}\n")
	for _, same := range []string{
		"# c\na: {u: {}, t: {strip: [blob, image, blob]}}\nb: {t: {max_rows: 1}}\ndefault: {max_bytes: '20000'}\n",
		`{"default": {"max_bytes": 20000}, "b": {"t": {"max_rows": 1}}, "a": {"t": {"strip": ["image", "blob"]}, "u": {}}}`,
	} {
		if mustParse(t, same).Digest() != a.Digest() {
			t.Errorf("another digest: %s", same)
		}
	}
	for _, other := range []string{
		"default: {max_bytes: 20k}\nb: {t: {max_rows: 2}}\na: {t: {strip: [image, blob]}, u: {}}\n",
		"default: {max_bytes: 20k}\nb: {t: {max_rows: 1}}\na: {t: {strip: [image, blob]}}\n",
		"default: {max_bytes: 20k}\nb: {u: {max_rows: 1}}\na: {t: {strip: [image, blob]}, u: {}}\n",
		"b: {t: {max_rows: 1}}\na: {t: {strip: [image, blob]}, u: {}}\n",
	} {
		if mustParse(t, other).Digest() == a.Digest() {
			t.Errorf("the same digest: %s", other)
		}
	}
	// A rule's own digest is about the rule, wherever it was written.
	x := mustParse(t, "default: {max_rows: 1}\ns: {t: {max_bytes: 1k}}").For("s", "t").Variants[0].Digest
	y := mustParse(t, "r: {u: {max_bytes: 1000, max_rows: 1}}").For("r", "u").Variants[0].Digest
	if x != y || len(x) != 16 {
		t.Errorf("digests %q and %q", x, y)
	}
}

func TestUnmatched(t *testing.T) {
	set := mustParse(t, "s:\n  search_cod: {}\n  'get_*': {}\n  'list_*': {}\n  other: {}\n  default: {}\n")
	got := set.Unmatched("s", []string{"search_code", "list_x"}).Error()
	want := `rules.yaml:2:3: "search_cod" is no tool of "s"; did you mean "search_code"?
rules.yaml:3:3: "get_*" matches no tool of "s"
rules.yaml:5:3: "other" is no tool of "s"`
	if got != want {
		t.Errorf("got:\n%s\nwant:\n%s", got, want)
	}
	if set.Unmatched("t", nil) != nil {
		t.Error("a server without rules has rules that match nothing")
	}
}

func TestElsewhere(t *testing.T) {
	set := mustParse(t, "default: {max_bytes: 20k}\ngithub: {a: {}}\nfilesystem: {b: {}}\n")
	got := set.Elsewhere([]string{"githb", "filesystem"}).Error()
	if want := `rules.yaml:2:1: "github" is no server of the configuration; did you mean "githb"?`; got != want {
		t.Errorf("got:\n%s\nwant:\n%s", got, want)
	}
	if errs := set.Elsewhere([]string{"filesystem", "github", "more"}); errs != nil {
		t.Errorf("every server is there, got %v", errs)
	}
}

func TestRED41Clashes(t *testing.T) {
	set := mustParse(t, "s: {a: {rename: b}, c: {hide: true}, d: {rename: c}}")
	errs := set.Clashes("s", []string{"a", "b", "c", "d"})
	if len(errs) != 1 || errs[0].Error() != `s: the tools "a" and "b" would both be listed as "b"` {
		t.Errorf("got %v", errs)
	}
}

// TestConditionsAreBounded holds the number of rules that the conditions of
// tools and globs combine to.
func TestConditionsAreBounded(t *testing.T) {
	var b strings.Builder
	list := func(name string) {
		b.WriteString("  " + name + ":\n")
		for i := range maxAlternatives {
			b.WriteString("    - {when: a" + strings.Repeat("a", i) + "}\n")
		}
	}
	b.WriteString("s:\n")
	list(`"*"`)
	for _, c := range "abcdefghijklmnopqrstuvwxyz" {
		list(string(c))
	}
	_, err := Parse("rules.yaml", []byte(b.String()))
	if err == nil || !strings.Contains(err.Error(), "combine to more than 10000 rules") || strings.Count(err.Error(), "\n") > 0 {
		t.Errorf("got %v", err)
	}
}
