package reduce

import (
	"bytes"
	stdjson "encoding/json"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/spillway-mcp/spillway/internal/jsontape"
	"pgregory.net/rapid"
)

// The generators make small values with what has broken reducers: escapes,
// long strings, binary, nested arrays, nulls, odd keys, digits.

var genKey = rapid.SampledFrom([]string{"id", "name", "items", "total_count", "next_cursor", "body", "children", "a", "b.c", "", "_spillway", "rows", "é", "\u2028", "content", "result"})

var genText = rapid.Custom(func(t *rapid.T) string {
	unit := rapid.SampledFrom([]string{"x", "é", "😀", "👨‍👩‍👧", "\n", "line of text\n", `"`, `\`, "\x01", "e\u0301", "🇩🇪", "word ", "{", "…[+1 bytes, r_000000000000]", "\r\n", "QUJDRGVmZ2gx"}).Draw(t, "unit")
	return strings.Repeat(unit, rapid.SampledFrom([]int{0, 1, 2, 7, 60, 300}).Draw(t, "times"))
})

func genValue(depth int) *rapid.Generator[string] {
	return rapid.Custom(func(t *rapid.T) string {
		kind := rapid.IntRange(0, 7).Draw(t, "kind")
		if depth == 0 {
			kind %= 5
		}
		switch kind {
		case 0:
			return rapid.SampledFrom([]string{"null", "true", "false"}).Draw(t, "const")
		case 1:
			return rapid.SampledFrom([]string{"0", "1.0", "9007199254740993", "1e400", "-0.0"}).Draw(t, "number")
		case 2, 3, 4:
			return string(jsontape.AppendQuote(nil, genText.Draw(t, "text")))
		case 5:
			n := rapid.SampledFrom([]int{0, 1, 3, 12}).Draw(t, "n")
			one := genValue(depth-1).Draw(t, "element")
			parts := make([]string, n)
			for i := range parts {
				parts[i] = one
			}
			return "[" + strings.Join(parts, ",") + "]"
		default:
			return genObject(depth-1).Draw(t, "object")
		}
	})
}

func genObject(depth int) *rapid.Generator[string] {
	return rapid.Custom(func(t *rapid.T) string {
		keys := rapid.SliceOfNDistinct(genKey, 0, 6, rapid.ID).Draw(t, "keys")
		parts := make([]string, len(keys))
		for i, k := range keys {
			parts[i] = string(jsontape.AppendQuote(nil, k)) + ":" + genValue(depth).Draw(t, "member")
		}
		return "{" + strings.Join(parts, ",") + "}"
	})
}

func genRows(t *rapid.T) string {
	row := genObject(2).Draw(t, "row")
	n := rapid.SampledFrom([]int{0, 1, 5, 60}).Draw(t, "rows")
	return `{"total_count":` + fmt.Sprint(n) + `,"items":[` + strings.TrimSuffix(strings.Repeat(row+",", n), ",") + `],"next_cursor":"c"}`
}

// genResult makes a CallToolResult in one of the forms that servers use.
var genResult = rapid.Custom(func(t *rapid.T) string {
	payload := genRows(t)
	if rapid.Bool().Draw(t, "odd") {
		payload = genValue(3).Draw(t, "payload")
	}
	block := func(s string) string { return `{"type":"text","text":` + string(jsontape.AppendQuote(nil, s)) + `}` }
	text := block(payload)
	var indented bytes.Buffer
	if rapid.Bool().Draw(t, "indent") && stdjson.Indent(&indented, []byte(payload), "", "  ") == nil {
		text = block(indented.String())
	}
	object := payload
	if !strings.HasPrefix(object, "{") {
		object = `{"result":` + payload + `}`
	}
	free := genText.Draw(t, "free")
	switch rapid.IntRange(0, 6).Draw(t, "form") {
	case 0:
		return `{"content":[` + text + `],"structuredContent":` + object + `}`
	case 1:
		return `{"content":[` + text + `]}`
	case 2:
		return `{"content":[` + block(free) + `],"structuredContent":{"content":` + string(jsontape.AppendQuote(nil, free)) + `}}`
	case 3:
		return `{"content":[` + block(free) + `,` + text + `,` + block(free) + `],"_meta":{"x":1}}`
	case 4:
		return `{"content":[` + block(free) + `],"structuredContent":` + object + `,"unknown":[1]}`
	case 5:
		return `{"content":[{"type":"image","mimeType":"image/png","data":"` + strings.Repeat("QUJD", 300) + `"},` + text + `]}`
	default:
		return `{"content":[],"structuredContent":` + object + `}`
	}
})

var genRule = rapid.Custom(func(t *rapid.T) Rule {
	var r Rule
	r.Keep = rapid.SampledFrom([]string{"", "", "items[*].{id: id, name: name}", "items[*].name", "{items: items[*].body, id: id}", "keys(@)", "items[?id].{a: body}", "items[].children[]", "length(items)"}).Draw(t, "keep")
	if rapid.Bool().Draw(t, "limit rows") {
		n := rapid.SampledFrom([]int{0, 1, 3, 100}).Draw(t, "max_rows")
		r.MaxRows = &n
	}
	r.Rows = rapid.SampledFrom([]string{"", "", "items", "result.items"}).Draw(t, "rows path")
	r.MaxBytes = rapid.SampledFrom([]int{0, 600, 601, 700, 1000, 4000, 20000}).Draw(t, "max_bytes")
	r.Text = rapid.SampledFrom([]string{"", "tail", "ends"}).Draw(t, "text")
	if rapid.Bool().Draw(t, "strip") {
		r.Strip = []string{"image", "base64", "blob"}
	}
	return r
})

// TestProperties holds every reduction to the promises that need no example.
func TestProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		result := genResult.Draw(t, "result")
		rule := genRule.Draw(t, "rule")
		if len(result) > 400_000 {
			t.Skip("too large to be worth the time")
		}
		env := Env{Expand: rapid.SampledFrom([]string{"", "reducer_expand"}).Draw(t, "expand"), Schema: rapid.Bool().Draw(t, "schema")}
		r, err := Compile(rule)
		if err != nil {
			t.Fatal(err)
		}
		src := []byte(result)
		o := r.Reduce(src, env)
		if string(src) != result {
			t.Fatal("the input was changed")
		}
		if o.Err != nil {
			t.Fatalf("%v", o.Err)
		}
		checkOutcome(t, result, rule, env, o)
		if again := r.Reduce(src, env); !bytes.Equal(again.Result, o.Result) {
			t.Fatalf("RED-42: two runs differ:\n%s\n%s", o.Result, again.Result)
		}
		if o.Ref != "" {
			ref, _, err := Ref(src)
			if err != nil || ref != o.Ref {
				t.Fatalf("RED-22: Ref gives %s (%v), the outcome %s", ref, err, o.Ref)
			}
		}
	})
}

func checkOutcome(t *rapid.T, result string, rule Rule, env Env, o Outcome) {
	if !stdjson.Valid(o.Result) || !utf8.Valid(o.Result) {
		t.Fatalf("RED-11: not valid JSON in UTF-8:\n%q", o.Result)
	}
	if !o.Changed {
		if string(o.Result) != result || o.Ref != "" {
			t.Fatalf("unchanged, but not the bytes that came (ref %q)", o.Ref)
		}
		return
	}
	d, err := jsontape.Parse(o.Result)
	if err != nil {
		t.Fatal(err)
	}
	after := &job{r: plain, root: d.Root()}
	after.read(after.root)
	if got := after.sizes(); got != o.After {
		t.Fatalf("sizes after: reported %+v, measured %+v\n%s", o.After, got, o.Result)
	}
	if !env.Schema && o.After.Text+o.After.Structured >= o.Before.Text+o.Before.Structured && len(rule.Strip) == 0 {
		t.Fatalf("RED-05: %+v became %+v", o.Before, o.After)
	}
	// The one case in which the cap gives way: protected scalars beside a
	// summary, see renderSummary.
	summary := strings.Contains(o.Note, "only a summary") && limitOfProtected(o)
	if limit := rule.MaxBytes; limit > 0 && !summary && (o.After.Text > limit || o.After.Structured > limit) {
		t.Fatalf("RED-15: cap %d, sizes %+v\n%s", limit, o.After, o.Result)
	}
	if env.Expand == "" && (o.Ref != "" || bytes.Contains(o.Result, []byte("reducer_expand"))) {
		t.Fatalf("RED-19: a ref or a tool is named to a caller without it:\n%s", o.Result)
	}
	if o.Ref != "" && !strings.Contains(o.Note, o.Ref) && !strings.Contains(string(o.Result), o.Ref) {
		t.Fatalf("the ref is printed nowhere: %s", o.Result)
	}
	if o.Ref != "" && o.Note == "" {
		t.Fatalf("RED-16: a cut without a note:\n%s", o.Result)
	}
}

// limitOfProtected reports that what is shown is a note and protected scalars
// alone.
func limitOfProtected(o Outcome) bool {
	return !bytes.Contains(o.Result, []byte(`summary\":{`)) && !bytes.Contains(o.Result, []byte(`"summary":`))
}
