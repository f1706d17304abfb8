package jsontape

import (
	stdjson "encoding/json"
	"strings"
	"testing"
)

// accepted and refused are held against the standard library too, see
// FuzzParse.
var accepted = []string{
	`null`, ` true `, "\t\r\n false", `0`, `-0`, `-0.0e-0`, `1E400`, `9007199254740993`, `"a"`, `""`, `"\ud800"`,
	`"\u0000\"\\\/\b\f\n\r\t"`, "\"\x7f\"", "\"\xff\"", `[]`, `[ ]`, `{}`, `{ }`, `[1,2 , 3]`, `{"a":{"b":[{}]}}`, `{"a":1,"a":2}`,
	`"` + strings.Repeat("x", 100) + `"`, `[[[[]]]]`,
}

var refused = []struct {
	src, want string
}{
	{``, "byte 0: expected a value, found the end of the document"},
	{`nul`, "byte 0: expected a value, found 'n'"},
	{`[1,]`, "byte 3: expected a value, found ']'"},
	{`[1 2]`, "byte 3: expected ',' or ']' after an element, found '2'"},
	{`[}`, "byte 1: expected a value, found '}'"},
	{`{]`, "byte 1: expected a key in double quotes, found ']'"},
	{`{"a":1,}`, "byte 7: expected a key in double quotes, found '}'"},
	{`{"a" 1}`, "byte 5: expected ':' after a key, found '1'"},
	{`{"a":1]`, "byte 6: expected ',' or '}' after a member, found ']'"},
	{`{1:1}`, "byte 1: expected a key in double quotes, found '1'"},
	{`01`, "byte 1: expected the end of the document, found '1'"},
	{`1.`, "byte 2: expected a digit after '.', found the end of the document"},
	{`1e+`, "byte 3: expected a digit in the exponent, found the end of the document"},
	{`-`, "byte 1: expected a digit after '-', found the end of the document"},
	{`+1`, "byte 0: expected a value, found '+'"},
	{`"a`, `byte 2: expected '"' at the end of a string, found the end of the document`},
	{"\"a\nb\"", `byte 2: expected an escape in place of a control character, found '\n'`},
	{`"\x"`, `byte 2: expected one of " \ / b f n r t u after '\', found 'x'`},
	{`"\u12g4"`, `byte 5: expected four hexadecimal digits after '\u', found 'g'`},
	{`1 2`, "byte 2: expected the end of the document, found '2'"},
	{"\ufeff1", "byte 0: expected a value, found byte 0xEF"},
	{"[1]\x00", `byte 3: expected the end of the document, found '\x00'`},
}

func TestParse(t *testing.T) {
	for _, src := range accepted {
		if _, err := Parse([]byte(src)); err != nil || !stdjson.Valid([]byte(src)) {
			t.Errorf("Parse(%q): %v", src, err)
		}
	}
	for _, c := range refused {
		_, err := Parse([]byte(c.src))
		if err == nil || !strings.HasSuffix(err.Error(), c.want) {
			t.Errorf("Parse(%q):\n got %v\nwant …%s", c.src, err, c.want)
		}
		if stdjson.Valid([]byte(c.src)) {
			t.Errorf("%q is refused here and valid to encoding/json", c.src)
		}
	}
}

func TestLimits(t *testing.T) {
	deep := func(n int) []byte { return []byte(strings.Repeat("[", n) + strings.Repeat("]", n)) }
	if _, err := Parse(deep(DefaultMaxDepth)); err != nil {
		t.Errorf("depth %d: %v", DefaultMaxDepth, err)
	}
	for _, n := range []int{DefaultMaxDepth + 1, 100_000} {
		_, err := Parse(deep(n))
		if err == nil || !strings.Contains(err.Error(), "nested deeper than 10000 containers") {
			t.Errorf("depth %d: %v", n, err)
		}
	}
	err := new(Doc).Reset([]byte(`[1,2,3]`), Limits{MaxBytes: 5})
	if err == nil || !strings.Contains(err.Error(), "the document has 7 bytes, over the limit of 5") {
		t.Errorf("size limit: %v", err)
	}
	var d Doc
	if err := d.Reset([]byte(`[`), Limits{}); err == nil || d.Root().Exists() {
		t.Error("a document that failed to parse has a root")
	}
}

func TestAccess(t *testing.T) {
	d, err := Parse([]byte(`{"a": [1, "x\n", null], "b\u0062": {"c": true}, "a2": 1.50, "a": [7, 8]}`))
	if err != nil {
		t.Fatal(err)
	}
	root := d.Root()
	if root.Kind() != Object || root.Len() != 4 {
		t.Fatalf("root is %v of %d", root.Kind(), root.Len())
	}
	t.Run("RED-44 duplicate keys: the last wins", func(t *testing.T) {
		if got := string(root.Get("a").Raw()); got != "[7, 8]" {
			t.Errorf("a = %s", got)
		}
	})
	if got := root.Lookup("bb", "c").Kind(); got != True {
		t.Errorf("bb.c is %v", got)
	}
	if got := root.Lookup("bb", "nope", "c"); got.Exists() || got.Kind() != Invalid || got.Raw() != nil || got.Len() != 0 {
		t.Errorf("an absent path gives %v", got)
	}
	it := root.Iter()
	it.Next()
	if first := it.Value(); first.Index(1).Str() != "x\n" || first.Index(3).Exists() || first.Index(-1).Exists() {
		t.Errorf("elements of %s", first.Raw())
	}
	t.Run("RED-43 digits stay", func(t *testing.T) {
		if got := string(root.Get("a2").Raw()); got != "1.50" {
			t.Errorf("a2 = %s", got)
		}
	})
	if got, want := string(root.AppendCompact(nil)), `{"a":[1,"x\n",null],"b\u0062":{"c":true},"a2":1.50,"a":[7,8]}`; got != want || root.CompactLen() != len(want) {
		t.Errorf("compact:\n got %s (%d)\nwant %s (%d)", got, root.CompactLen(), want, len(want))
	}
}

func TestRED44_StringsKeepWhatTheyHold(t *testing.T) {
	for _, c := range []struct{ src, decoded, quoted string }{
		{`"\ud800"`, "\xed\xa0\x80", `"\ud800"`},
		{`"\ude00\ud83d"`, "\xed\xb8\x80\xed\xa0\xbd", `"\ude00\ud83d"`},
		{`"\ud83d\ude00"`, "😀", `"😀"`},
		{`"\/\u002f\u0022\u005c\u001f\u00e9"`, "//\"\\\x1fé", `"//\"\\\u001fé"`},
		{"\"\xff\"", "\xff", "\"\xff\""},
		{`"\uD83D\u0041"`, "\xed\xa0\xbdA", `"\ud83dA"`},
	} {
		d, err := Parse([]byte(c.src))
		if err != nil {
			t.Fatal(err)
		}
		if got := d.Root().Str(); got != c.decoded {
			t.Errorf("%s decodes to %q, want %q", c.src, got, c.decoded)
		}
		if got := string(AppendQuote(nil, c.decoded)); got != c.quoted {
			t.Errorf("%q quotes to %s, want %s", c.decoded, got, c.quoted)
		}
		if got := string(d.Root().AppendCanonical(nil)); got != c.quoted {
			t.Errorf("%s in canonical form is %s, want %s", c.src, got, c.quoted)
		}
		if !d.Root().Is(c.decoded) || d.Root().Is(c.decoded+"x") {
			t.Errorf("%s is not its own text", c.src)
		}
	}
}

func TestCompareNumbers(t *testing.T) {
	// In ascending order; numbers in one row are equal.
	rows := [][]string{
		{"-1e400"}, {"-9007199254740993"}, {"-9007199254740992"}, {"-1.5", "-15e-1"}, {"-1e-400"},
		{"0", "-0", "0.0", "0e99999999999999999999", "-0.000"},
		{"1e-99999999999999999999999"}, {"1e-400"}, {"0.1", "1e-1", "0.10"}, {"1", "1.0", "1e0", "10e-1", "0.1e1"},
		{"1.00000000000000000001"}, {"10", "1e1", "1E+1"}, {"9007199254740992"}, {"9007199254740993", "9007199254740993.0"},
		{"1e400", "10e399"}, {"1e401"}, {"1e99999999999999999999"}, {"1e100000000000000000000", "10e99999999999999999999"},
	}
	for i, row := range rows {
		for j, other := range rows {
			for _, a := range row {
				for _, b := range other {
					if got, want := CompareNumbers([]byte(a), []byte(b)), cmpInt(i, j); got != want {
						t.Errorf("CompareNumbers(%s, %s) = %d, want %d", a, b, got, want)
					}
				}
			}
		}
	}
}

func TestEqual(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want bool
	}{
		{`{"a":1,"b":[2,{"c":3}]}`, ` { "b" : [ 2.0 , {"c":3e0} ] , "a" : 1 } `, true},
		{`{"a":1}`, `{"a":1,"b":null}`, false},
		{`{"a":1,"a":2}`, `{"a":2,"a":1}`, false},
		{`{"a":1,"b":0,"a":2}`, `{"b":0,"a":1,"a":2}`, true},
		{`["\u0061"]`, `["a"]`, true},
		{`[9007199254740993]`, `[9007199254740992]`, false},
		{`[1,2]`, `[2,1]`, false},
		{`"1"`, `1`, false},
		{`true`, `false`, false},
		{`{}`, `[]`, false},
	} {
		a, _ := Parse([]byte(c.a))
		b, _ := Parse([]byte(c.b))
		if got := Equal(a.Root(), b.Root()); got != c.want {
			t.Errorf("Equal(%s, %s) = %v", c.a, c.b, got)
		}
	}
}

func TestResetReusesMemory(t *testing.T) {
	src := []byte(`{"a":[1,2,{"b":"c"}],"d":"e"}`)
	var d Doc
	if err := d.Reset(src, Limits{}); err != nil {
		t.Fatal(err)
	}
	if n := testing.AllocsPerRun(100, func() { _ = d.Reset(src, Limits{}) }); n != 0 {
		t.Errorf("Reset allocates %v times", n)
	}
}
