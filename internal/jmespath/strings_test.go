package jmespath

import (
	"testing"

	"github.com/spillway-mcp/spillway/internal/jsontape"
)

func TestRED44_StringsKeepTheirBytes(t *testing.T) {
	runSearches(t, []searchCase{
		{"{a: a}", `{"a": "\u0041\/\n"}`, `{"a":"\u0041\/\n"}`},
		{"[a, b]", `{"a": "\ud800", "b": "\uD83D\uDE00"}`, `["\ud800","\uD83D\uDE00"]`},
		{"a.*", `{"a": {"\u0041": "\u00e9"}}`, `["\u00e9"]`},
		{"keys(@)", `{"\u0041": 1}`, `["\u0041"]`},
		{"merge(@)", `{"\u0041": 1}`, `{"\u0041":1}`},
		{"A", `{"\u0041": 1}`, "1"},
		{"\"\\u0041\"", `{"A": 1}`, "1"},
		{"sort(@)", `["b", "\u0061"]`, `["\u0061","b"]`},
		{"@[0]", "[\"\xff\xfe\"]", "\"\xff\xfe\""},
	})
}

func TestRED44_LoneSurrogatesAndInvalidUTF8(t *testing.T) {
	runSearches(t, []searchCase{
		{"length(@)", `"a\ud800b"`, "3"},
		{"length(@)", `"\ud83d\ude00"`, "1"},
		{"length(@)", "\"a\xffb\xe4\xb8\"", "5"},
		{"reverse(@)", `"a\ud800b"`, `"b\ud800a"`},
		{"reverse(@)", "\"a\xff\xe4\xb8\xadb\"", "\"b\xe4\xb8\xad\xffa\""},
		{"upper(@)", `"a\ud800b"`, `"A\ud800B"`},
		{"lower(@)", "\"A\xffB\"", "\"a\xffb\""},
		{"split(@, '')", `"a\udc00"`, `["a","\udc00"]`},
		{"@[1:]", `"a\udc00"`, `"\udc00"`},
		{"@[::-1]", `"\ud83d\ude00x"`, `"x😀"`},
		{"trim(@, a)", `"\ud800"`, "invalid-type"},
		{"trim(@)", `" \ud800 "`, `"\ud800"`},
		{"join('', [@, @])", `"\ud800"`, `"\ud800\ud800"`},
		{"to_string([@])", `"\ud800"`, `"[\"\\ud800\"]"`},
		{"@ == `\"\\ud800\"`", `"\uD800"`, "true"},
		{"sort(@)", `["\ud83d\ude00", "\uffff", "\ud800"]`, `["\ud800","\uffff","\ud83d\ude00"]`},
	})
}

func TestStringFunctions(t *testing.T) {
	runSearches(t, []searchCase{
		{"replace('abc', '', '-')", "1", `"-a-b-c-"`},
		{"replace('abc', '', '-', `2`)", "1", `"-a-bc"`},
		{"replace('aaa', 'a', '')", "1", `""`},
		{"replace('aaa', 'a', 'b', `1.0`)", "1", `"baa"`},
		{"replace('aaa', 'a', 'b', `1e300`)", "1", `"bbb"`},
		{"replace('aaa', 'a', 'b', `15e-1`)", "1", "invalid-value"},
		{"split('a--b', '-')", "1", `["a","","b"]`},
		{"split('', '-')", "1", `[""]`},
		{"split('ab', '', `0`)", "1", `["ab"]`},
		{"find_first('naïve', 'v')", "1", "3"},
		{"find_last('ïïï', 'ï')", "1", "2"},
		{"find_last('ïïï', 'ï', `0`, `2`)", "1", "1"},
		{"find_first('abc', 'c', `2`, `1`)", "1", "null"},
		{"pad_left('é', `3`, '→')", "1", `"→→é"`},
		{"pad_right('abc', `-1`)", "1", "invalid-value"},
		{"trim_left('xxaxx', 'x')", "1", `"axx"`},
		{"upper('straße ﬁ')", "1", `"STRAßE ﬁ"`},
		{"'foo'[0:2].length(@)", "1", "2"},
		{"a[0:1].b", `{"a": "xyz"}`, "null"},
		{"[a[:1]]", `{"a": ""}`, `[""]`},
	})
}

func TestCommunityEdges(t *testing.T) {
	runSearches(t, []searchCase{
		{"!a.b", `{"a": {"b": false}}`, "true"},
		{"!a[0].b", `{"a": [{"b": false}]}`, "true"},
		{"-a.b", `{"a": {"b": 2}}`, "-2"},
		{"a - -`1`", `{"a": 2}`, "3"},
		{"a -b", `{"a": 2, "b": 1}`, "1"},
		{"a * b", `{"a": 2, "b": 3}`, "6"},
		{"[a * b, *]", `{"a": 2, "b": 3}`, "[6,[2,3]]"},
		{"l[*] * `2`", `{"l": [1]}`, "invalid-type"},
		{"let $let = let in $let", `{"let": 1}`, "1"},
		{"let", `{"let": 1}`, "1"},
		{"in", `{"in": 1}`, "1"},
		{"let $a = in in in", `{"in": 1}`, "1"},
		{"a.let", `{"a": {"let": 1}}`, "1"},
		{"let $x = `1`, $y = (let $z = `2`, $w = `3` in $z) in [$x, $y]", "1", "[1,2]"},
		{"[*].[let $i = @ in $.[0] | [@, $i]]", `[1, 2]`, "syntax"},
		{"l[*].[let $i = @ in $.l | [length(@), $i]]", `{"l": [5, 6]}`, "[[[2,5]],[[2,6]]]"},
		{"map(&(let $v = @ in $v), l)", `{"l": [5, 6]}`, "[5,6]"},
		{"let $k = 'x' in sort_by(l, &a)[?b == $k].a", `{"l": [{"a": 2, "b": "x"}, {"a": 1, "b": "x"}]}`, "[1,2]"},
		{"$.a.b", `{"a": {"b": 1}}`, "1"},
		{"a ? b : c ? d : e", `{"e": 5}`, "5"},
		{"a.[x]", `{"a": null}`, "null"},
		{"a | [x]", `{"a": null}`, "[null]"},
		{"l[*].{x: @}", `{"l": [null, 1]}`, `[{"x":1}]`},
		{"l[*].{x: y}[0]", `{"l": [{"y": 1}, {"y": 2}]}`, `{"x":1}`},
		{"l[*][@, y]", `{"l": [{"y": 1}]}`, `[[{"y":1},1]]`},
		{"l[*].[@][0]", `{"l": [3, 4]}`, "[3]"},
		{"zip(a, b)", `{"a": [1, 2], "b": []}`, "[]"},
		{"l[-1]", `{"l": [1, 2]}`, "2"},
		{"l[99999999999999999999]", `{"l": [1, 2]}`, "null"},
		{"l[-99999999999999999999:99999999999999999999]", `{"l": [1, 2]}`, "[1,2]"},
		{"l[::-99999999999999999999]", `{"l": [1, 2]}`, "[2]"},
		{"[].a", `[[{"a": 1}], {"a": 2}, 3]`, "[1,2]"},
		{"to_array(@)", "null", "[null]"},
		{"not_null(a, b)", "{}", "null"},
		{"length(@)", "null", "invalid-type"},
	})
}

func TestResult(t *testing.T) {
	doc, err := jsontape.Parse([]byte(`{"l": [1, "x"], "n": null, "s": "\u0041", "e": [], "z": 0}`))
	if err != nil {
		t.Fatal(err)
	}
	find := func(src string) Result {
		t.Helper()
		e, err := Compile(src)
		if err != nil {
			t.Fatal(err)
		}
		r, err := e.Search(doc.Root())
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	if r := find("l"); r.Kind() != jsontape.Array || r.Len() != 2 || !r.Truthy() || r.IsNull() {
		t.Errorf("l: %v, %d", r.Kind(), r.Len())
	}
	if v, ok := find("l").Tape(); !ok || string(v.Raw()) != `[1, "x"]` {
		t.Errorf("l is not the value of the document: %q", v.Raw())
	}
	if _, ok := find("l[*]").Tape(); ok {
		t.Error("a made array passes for one of the document")
	}
	if r := find("missing"); !r.IsNull() || r.Len() != -1 || r.Truthy() {
		t.Error("what is missing is not null")
	}
	if find("e").Truthy() || find("n").Truthy() || !find("z").Truthy() || !find("!e").Truthy() {
		t.Error("not JMESPath's truth")
	}
	if got := find("s").Text() + find("[s][0]").Text() + find("z").Text() + find("@").Get("l").Get("x").Text(); got != "AA" {
		t.Errorf("texts are %q", got)
	}
	n := 0
	for e := range find("[l, e, n]").Elements() {
		n += e.Len()
	}
	if n != 2+0-1 {
		t.Errorf("the lengths add up to %d", n)
	}
	var none Result
	if !none.IsNull() || string(none.AppendJSON(nil)) != "null" {
		t.Error("the zero Result is not null")
	}
	e, _ := Compile("@")
	if out, err := e.AppendJSON(nil, jsontape.Value{}); string(out) != "null" || err != nil {
		t.Errorf("nothing evaluates to %s, %v", out, err)
	}
}
