package reduce

import (
	"bytes"
	stdjson "encoding/json"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/spillway-mcp/spillway/internal/fixture"
	"github.com/spillway-mcp/spillway/internal/jsontape"
)

var listed = Env{Expand: "reducer_expand"}

func mustCompile(t testing.TB, rule Rule) *Reducer {
	t.Helper()
	r, err := Compile(rule)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func intp(n int) *int { return &n }

func textResult(text string) []byte {
	return []byte(`{"content":[{"type":"text","text":` + string(jsontape.AppendQuote(nil, text)) + `}]}`)
}

func TestRED01_WhatPasses(t *testing.T) {
	r := mustCompile(t, Rule{MaxRows: intp(0), MaxBytes: MinMaxBytes})
	long := strings.Repeat("a line\n", 1000)
	text := string(textResult(long))
	for _, c := range []struct {
		name, result string
		env          Env
	}{
		{"isError", strings.TrimSuffix(text, "}") + `,"isError":true}`, listed},
		{"input_required", strings.TrimSuffix(text, "}") + `,"resultType":"input_required"}`, listed},
		{"unknown resultType", strings.TrimSuffix(text, "}") + `,"resultType":"hologram"}`, listed},
		{"an MCP App", text, Env{Expand: "reducer_expand", UI: true}},
	} {
		if o := r.Reduce([]byte(c.result), c.env); o.Changed || string(o.Result) != c.result {
			t.Errorf("%s was changed", c.name)
		}
	}
	if o := r.Reduce([]byte(strings.TrimSuffix(text, "}")+`,"resultType":"complete"}`), listed); !o.Changed {
		t.Error("a complete result was not reduced")
	}
	if o := mustCompile(t, Rule{MaxRows: intp(0), Pass: true}).Reduce([]byte(text), listed); o.Changed {
		t.Error("a rule with pass reduced")
	}
}

func TestRED02_JSONIsNotRewrittenUnlessCut(t *testing.T) {
	pretty := "{\n  \"b\": 1.0,\n  \"a\": [1,   2]\n}\n"
	o := mustCompile(t, Rule{MaxBytes: 20000, MaxRows: intp(5)}).Reduce(textResult(pretty), listed)
	if o.Changed {
		t.Errorf("an uncut file was rewritten: %s", o.Result)
	}
}

func TestK04_EveryCapGivesValidOutput(t *testing.T) {
	text := strings.Repeat("a", 999) + "\"\\\r" + "👩‍🚀" + "tail of the text"
	for limit := 990; limit <= 1020; limit++ {
		r := mustCompile(t, Rule{MaxBytes: limit})
		for _, result := range [][]byte{
			textResult(text),
			[]byte(`{"content":[{"type":"text","text":` + string(jsontape.AppendQuote(nil, text)) + `}],"structuredContent":{"content":` + string(jsontape.AppendQuote(nil, text)) + `}}`),
			[]byte(`{"content":[],"structuredContent":{"list":[` + string(jsontape.AppendQuote(nil, text)) + `]}}`),
		} {
			o := r.Reduce(result, listed)
			if o.Err != nil || !stdjson.Valid(o.Result) || !utf8.Valid(o.Result) || o.After.Text > limit || o.After.Structured > limit {
				t.Fatalf("cap %d: err %v, sizes %+v\n%s", limit, o.Err, o.After, o.Result)
			}
		}
	}
}

// The note takes a part of the cap, so that the cut falls well before what is
// special there: here it is moved to where the cut falls.
func TestK04_CutsWithinEscapesAndClusters(t *testing.T) {
	const special = "\"\\\r" + "👩‍🚀"
	r := mustCompile(t, Rule{MaxBytes: 1000})
	within := 0
	for n := 300; n < 1000; n++ {
		text := strings.Repeat("a", n) + special + strings.Repeat("tail ", 400)
		quoted := string(jsontape.AppendQuote(nil, text))
		for _, result := range [][]byte{
			textResult(text),
			[]byte(`{"content":[{"type":"text","text":` + quoted + `}],"structuredContent":{"content":` + quoted + `}}`),
			textResult(`{"v":` + quoted + `}`), // its strings are cut by characters, at 512
		} {
			o := r.Reduce(result, listed)
			if !o.Changed || !stdjson.Valid(o.Result) || !utf8.Valid(o.Result) || o.After.Text > 1000 || o.After.Structured > 1000 {
				t.Fatalf("%d letters: changed %v, sizes %+v: %s", n, o.Changed, o.After, o.Result)
			}
			shown := strings.Join(textsOf(t, o.Result), "\n")
			var inside struct{ V string }
			if stdjson.Unmarshal([]byte(shown), &inside) == nil {
				shown = inside.V
			}
			_, cut, _ := strings.Cut(shown, strings.Repeat("a", 300))
			cut, _, _ = strings.Cut(strings.TrimLeft(cut, "a"), "…[")
			if strings.HasPrefix(cut, `"`) && !strings.HasPrefix(cut, special) {
				within++
			}
			if strings.Contains(cut, "👩") && !strings.Contains(cut, "👩‍🚀") || strings.ContainsRune(cut, utf8.RuneError) {
				t.Fatalf("%d letters: a cluster is split: %q", n, cut)
			}
		}
	}
	if within == 0 {
		t.Error("no cut fell where it was meant to")
	}
}

func TestRED11_CutsFallBetweenWhatIsSeenAsOne(t *testing.T) {
	for _, cluster := range []string{"é", "e\u0301", "👩‍🚀", "👍🏽", "🇩🇪", "\r\n", "각", "\u1100\u1161\u11a8", "❤️"} {
		s := []byte("x" + cluster + "y")
		for n := range len(s) + 1 {
			b := border(s, n)
			if 1 < b && b < 1+len(cluster) {
				t.Errorf("border(%q, %d) = %d is inside the cluster", s, n, b)
			}
			if a := borderAfter(s, n); 1 < a && a < 1+len(cluster) || a < n {
				t.Errorf("borderAfter(%q, %d) = %d", s, n, a)
			}
		}
	}
	flags := []byte(strings.Repeat("🇩🇪", 40))
	if b := border(flags, 8*20+4); b != 8*20 {
		t.Errorf("a run of flags is cut at %d", b)
	}
}

func TestRED11_BinaryIsNeverCutInside(t *testing.T) {
	data := strings.Repeat("iVBORw0KGgoAAAANSUhEUgAA", 400)
	result := []byte(`{"content":[],"structuredContent":{"items":[{"name":"x","png":"` + data + `"}]}}`)
	o := mustCompile(t, Rule{MaxBytes: 2000}).Reduce(result, listed)
	if !o.Changed || bytes.Contains(o.Result, []byte("iVBOR")) || !bytes.Contains(o.Result, []byte("…[+9,600 bytes, "+o.Ref+"]")) {
		t.Errorf("%s", o.Result)
	}
}

func TestRED15_TheCapHoldsForBothViewsWithTheNote(t *testing.T) {
	// Quotes and line feeds take twice as much in structuredContent.
	text := strings.Repeat("\"\n", 5000)
	quoted := string(jsontape.AppendQuote(nil, text))
	result := []byte(`{"content":[{"type":"text","text":` + quoted + `}],"structuredContent":{"content":` + quoted + `}}`)
	for _, limit := range []int{600, 1000, 5000} {
		o := mustCompile(t, Rule{MaxBytes: limit}).Reduce(result, listed)
		if o.After.Structured > limit || o.After.Text > limit || o.After.Structured < limit*8/10 {
			t.Errorf("cap %d: %+v", limit, o.After)
		}
	}
}

func TestK06_TheNoteIsInTheFirstTenKilobytes(t *testing.T) {
	o := mustCompile(t, Rule{MaxBytes: 11_000}).Reduce(textResult(strings.Repeat("a line of some text\n", 600)), listed)
	d, _ := jsontape.Parse(o.Result)
	first := d.Root().Get("content").Index(0).Get("text").Str()
	if !strings.HasPrefix(first, "Showing lines 1-") || !strings.Contains(first[:min(len(first), 10_000)], o.Ref) {
		t.Errorf("first block: %.200s", first)
	}
}

func TestK07_OneRowOver(t *testing.T) {
	r := mustCompile(t, Rule{MaxRows: intp(10)})
	at := r.Reduce(textResult(rowsOf(10, 300)), listed)
	over := r.Reduce(textResult(rowsOf(11, 300)), listed)
	if at.Changed || !strings.HasPrefix(over.Note, "Showing 10 of 11 rows") {
		t.Errorf("at the cap changed: %v; over it: %s", at.Changed, over.Note)
	}
}

func TestK11_AProgramParsesTheText(t *testing.T) {
	payload := `[` + strings.TrimSuffix(strings.Repeat(`{"id":1,"v":"xxxxxxxxxxxxxxxxxxxxxxx"},`, 100), ",") + `]`
	o := mustCompile(t, Rule{MaxRows: intp(0)}).Reduce(textResult(payload), listed)
	d, _ := jsontape.Parse(o.Result)
	var v struct {
		Note string `json:"_spillway"`
		Rows []any  `json:"rows"`
	}
	text := d.Root().Get("content").Index(0).Get("text").Str()
	if err := stdjson.Unmarshal([]byte(text), &v); err != nil || v.Rows == nil || !strings.HasPrefix(v.Note, "Showing 0 of 100 rows") || !strings.HasPrefix(text, `{"_spillway":`) {
		t.Errorf("%v: %s", err, text)
	}
}

func TestRED12_ATreeWhoseFirstRowHoldsEverything(t *testing.T) {
	var tree func(depth int) string
	tree = func(depth int) string {
		kids := make([]string, 9)
		for i := range kids {
			if depth == 0 {
				kids[i] = fmt.Sprintf(`{"name":"file%d.go","type":"file"}`, i)
			} else {
				kids[i] = fmt.Sprintf(`{"name":"dir%d","type":"directory","children":%s}`, i, tree(depth-1))
			}
		}
		return "[" + strings.Join(kids, ",") + "]"
	}
	payload := `[{"name":"root","type":"directory","children":` + tree(2) + `}]`
	o := mustCompile(t, Rule{MaxBytes: 10_000, MaxRows: intp(1000)}).Reduce(textResult(payload), listed)
	if n := bytes.Count(o.Result, []byte(`\"name\"`)); n < 80 || !strings.Contains(o.Note, "Shortened inside: children ") {
		t.Errorf("%d entries of a tree fit in 10 kB: %s", n, o.Note)
	}
}

func TestRED12_SummaryWhereNoRowFits(t *testing.T) {
	wide := `{"` + strings.Join(func() []string {
		var m []string
		for i := range 400 {
			m = append(m, fmt.Sprintf(`member%d":{"x":[%d]}`, i, i))
		}
		return m
	}(), `,"`) + `,"next_cursor":"c1"}`
	o := mustCompile(t, Rule{MaxBytes: 1000}).Reduce(textResult(wide), listed)
	d, _ := jsontape.Parse(o.Result)
	text := d.Root().Get("content").Index(0).Get("text").Str()
	if !strings.Contains(text, `"next_cursor":"c1"`) || !strings.Contains(text, `"summary":{`) || !strings.Contains(text, "more members") || len(text) > 1000 {
		t.Errorf("%s", text)
	}
}

func TestRED22_RefIsOfCanonicalContentWithoutMeta(t *testing.T) {
	ref := func(s string) string {
		r, _, err := Ref([]byte(s))
		if err != nil || !IsRef(r) {
			t.Fatalf("%s: %q, %v", s, r, err)
		}
		return r
	}
	a := ref(`{"content":[{"type":"text","text":"a"}],"structuredContent":{"x":1,"y":2}}`)
	if b := ref(`{ "structuredContent" : {"y":2,"x":1} , "_meta":{"trace":7}, "content":[{"text":"\u0061","type":"text"}] }`); a != b {
		t.Errorf("%s and %s differ by order, space and _meta alone", a, b)
	}
	if b := ref(`{"content":[{"type":"text","text":"a"}],"structuredContent":{"x":1,"y":2.0}}`); a == b {
		t.Error("2 and 2.0 are two originals")
	}
	if x, y := ref(`{"content":[],"structuredContent":[9007199254740993]}`), ref(`{"content":[],"structuredContent":[9007199254740992]}`); x == y {
		t.Error("two 64-bit ids share a ref")
	}
}

func TestK23_BrokenTextIsAnsweredAndParses(t *testing.T) {
	r := mustCompile(t, Rule{MaxRows: intp(1), MaxBytes: 800})
	for _, text := range []string{`"` + strings.Repeat(`\ud800 lone\n`, 200) + `"`, `"` + strings.Repeat("\xff raw\\n", 400) + `"`} {
		result := []byte(`{"content":[{"type":"text","text":` + text + `}]}`)
		o := r.Reduce(result, listed)
		if o.Err != nil || !o.Changed || !stdjson.Valid(o.Result) {
			t.Errorf("%v %v", o.Err, o.Changed)
		}
		if strings.Contains(text, "ud800") && !bytes.Contains(o.Result, []byte(`\ud800 lone`)) {
			t.Errorf("the escape was changed: %s", o.Result)
		}
	}
}

func TestK24_AllBlocksPassByteForByte(t *testing.T) {
	result := []byte(`{"content": [ {"type":"text","text":"a\u0041","odd":[1.0]}, {"type":"image","data":"QUJD","mimeType":"image/png"},
 {"type":"audio","data":"QUJD","mimeType":"audio/wav"},{"type":"resource","resource":{"uri":"x:y","text":"t"}},
 {"type":"resource_link","uri":"x:y","name":"n"},{"type":"hologram","x":null} ],"_meta":{"a":1},"unknown":{"b":[]}, "isError":false}`)
	for _, rule := range []Rule{{}, {MaxBytes: 20000, MaxRows: intp(100)}, {Keep: "a.b"}} {
		if o := mustCompile(t, rule).Reduce(result, listed); o.Changed || !bytes.Equal(o.Result, result) {
			t.Errorf("%+v changed it: %s", rule, o.Result)
		}
	}
}

func TestK27_EmptyStaysAList(t *testing.T) {
	o := mustCompile(t, Rule{Keep: "items[*].{id: id}"}).Reduce([]byte(`{"content":[],"structuredContent":{"items":[]}}`), Env{Expand: "reducer_expand", Schema: true})
	if want := `{"content":[],"structuredContent":{"rows":[]}}`; string(o.Result) != want {
		t.Errorf("got %s, want %s", o.Result, want)
	}
}

func TestRED44_DuplicateKeys(t *testing.T) {
	result := []byte(`{"content":[],"structuredContent":{"items":[{"id":1,"id":2,"x":"` + strings.Repeat("y", 700) + `"}]}}`)
	o := mustCompile(t, Rule{Keep: "items[*].{id: id}"}).Reduce(result, listed)
	if !bytes.Contains(o.Result, []byte(`"rows":[{"id":2}]`)) {
		t.Errorf("%s", o.Result)
	}
	if o := mustCompile(t, Rule{MaxBytes: 20000}).Reduce(result, listed); o.Changed {
		t.Error("duplicates did not pass")
	}
}

func TestRED49_Markers(t *testing.T) {
	for _, c := range []struct{ args, want string }{
		{`{"content":"abc…[+48,213 bytes, r_9f2c41d08a3b]\n"}`, "r_9f2c41d08a3b"},
		{`{"content":"abc\u2026[+48,213 bytes, r_9f2c41d08a3b]"}`, "r_9f2c41d08a3b"},
		{`{"content":"abc...[+7 bytes, r_9f2c41d08a3b]"}`, "r_9f2c41d08a3b"},
		{`{"a":[{"b":"…[image/png, 9,259 bytes, r_9f2c41d08a3b] …[+1 bytes, r_000000000000] …[+1 bytes, r_9f2c41d08a3b]"}]}`, "r_9f2c41d08a3b r_000000000000"},
		{`{"…[+7 bytes, r_9f2c41d08a3b]":1}`, "r_9f2c41d08a3b"},
		{`{"x":"\u2026[+7 bytes, \u0072_9f2c41d08a3b]"}`, "r_9f2c41d08a3b"},
		{`{"x":"Full result stored as r_9f2c41d08a3b; call reducer_expand"}`, ""},
		{`{"x":"[+7 bytes, r_9F2C41D08A3B]"}`, ""},
		{`{"x":"bytes, r_9f2c41d08a3b]"}`, ""},
		{`{"x":"r_9f2c41d08a3b"}`, ""},
		{`not json r_9f2c41d08a3b`, ""},
	} {
		if got := strings.Join(Markers([]byte(c.args)), " "); got != c.want {
			t.Errorf("%s: %q, want %q", c.args, got, c.want)
		}
	}
	// Whatever the reducer writes, it recognises.
	o := mustCompile(t, Rule{MaxBytes: 900}).Reduce(textResult(lines(5000)), listed)
	d, _ := jsontape.Parse(o.Result)
	shown := d.Root().Get("content").Index(1).Get("text").Str()
	if got := Markers([]byte(`{"content":` + string(jsontape.AppendQuote(nil, shown)) + `}`)); len(got) != 1 || got[0] != o.Ref {
		t.Errorf("%v in %s", got, shown)
	}
}

// TestMainJob is the acceptance line of the project: 100 hits of a code search
// lose 98.5 % or more of their bytes, totals stay, and one expand brings back
// what was dropped.
func TestRED26_CodeSearchInOneCallAndBack(t *testing.T) {
	result := fixture.Result(fixture.CodeSearch(100), fixture.Options{})
	r := mustCompile(t, Rule{
		Keep:     "items[*].{repo: repository.full_name, path: path, url: html_url}",
		Always:   []string{"total_count", "incomplete_results", "next_cursor", "truncated"},
		MaxRows:  intp(25),
		MaxBytes: 20_000,
	})
	o := r.Reduce(result, listed)
	if o.After.Text*1000 > o.Before.Text*15 || o.After.Structured*1000 > o.Before.Structured*15 {
		t.Errorf("%+v became %+v", o.Before, o.After)
	}
	if !bytes.Contains(o.Result, []byte(`"total_count":1306`)) || !bytes.Contains(o.Result, []byte(`"incomplete_results":false`)) {
		t.Error("the totals are gone")
	}
	back, err := r.Expand(result, ExpandRequest{Ref: o.Ref, Rows: "26-50", Fields: []string{"node_id"}}, 0)
	if err != nil {
		t.Fatal(err)
	}
	d, _ := jsontape.Parse(back)
	answer, err := jsontape.Parse([]byte(d.Root().Get("content").Index(0).Get("text").Str()))
	if err != nil {
		t.Fatal(err)
	}
	rows := answer.Root().Get("rows")
	original, _ := jsontape.Parse(result)
	items := original.Root().Lookup("structuredContent", "items")
	for i := range 25 {
		if got, want := rows.Index(i).Get("node_id").Str(), items.Index(25+i).Get("node_id").Str(); got != want || got == "" {
			t.Fatalf("row %d: node_id %q, want %q", 26+i, got, want)
		}
	}
	if rows.Len() != 25 || answer.Root().Get("done").Kind() != jsontape.True {
		t.Errorf("%d rows: %s", rows.Len(), answer.Bytes())
	}
}

func TestCompileErrorsNameTheKey(t *testing.T) {
	for _, c := range []struct {
		rule      Rule
		key, want string
	}{
		{Rule{Keep: "items["}, "keep", "at byte 6"},
		{Rule{Rows: "a..b"}, "rows", "at byte"},
		{Rule{MaxRows: intp(-1)}, "max_rows", "-1 is negative"},
		{Rule{MaxBytes: 599}, "max_bytes", "the smallest cap is 600 bytes"},
		{Rule{Text: "middle"}, "text", `"middle" is not one of head, tail, ends`},
		{Rule{Strip: []string{"video"}}, "strip", `"video" is not one of image, audio, blob, base64`},
		{Rule{Always: []string{"a..b"}}, "always", `"a..b" is not a field name`},
		{Rule{Write: "echo"}, "write", `"echo" is not one of auto`},
	} {
		_, err := Compile(c.rule)
		e, ok := err.(*RuleError)
		if !ok || e.Key != c.key || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v", c.rule, err)
		}
	}
}
