package schema_test

import (
	"encoding/json"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/spillway-mcp/spillway/internal/jmespath"
	"github.com/spillway-mcp/spillway/internal/jsontape"
	"github.com/spillway-mcp/spillway/internal/schema"
	"github.com/spillway-mcp/spillway/internal/schema/schematest"
	"github.com/spillway-mcp/spillway/reduce"
)

// options is what a caller derives of a rule.
func options(r reduce.Rule, modern bool) schema.Options {
	opt := schema.Options{
		HasRows:  r.MaxRows != nil || r.Rows != "",
		MaxBytes: r.MaxBytes > 0,
		Strip:    len(r.Strip) > 0,
		Modern:   modern,
	}
	if r.Keep != "" {
		opt.Keep, _ = jmespath.Compile(r.Keep)
	}
	return opt
}

func drawRule(t *rapid.T) reduce.Rule {
	var r reduce.Rule
	switch rapid.IntRange(0, 5).Draw(t, "keep") {
	case 0, 1:
		r.Keep = schematest.Expression(t)
	case 2:
		r.Keep = rapid.SampledFrom([]string{
			"items[*].{id: id, name: name}", "[*].name", "{a: a, n: length(items)}", "@", "items", "result.items[?a].b", "values(@)", "keys(@)",
			"a.b", "{content: content}", "merge(@, {id: `1`})", "*", "items[0]", "data.{id: id, a: a}",
		}).Draw(t, "common keep")
	}
	if rapid.IntRange(0, 2).Draw(t, "rows") == 0 {
		n := rapid.SampledFrom([]int{0, 1, 2, 10}).Draw(t, "max_rows")
		r.MaxRows = &n
		r.Rows = rapid.SampledFrom([]string{"", "", "items", "a", "result.items", "*[]"}).Draw(t, "rows expression")
	}
	if rapid.IntRange(0, 3).Draw(t, "cap") > 0 {
		r.MaxBytes = rapid.SampledFrom([]int{600, 650, 800, 1000, 2000, 5000}).Draw(t, "max_bytes")
	}
	if rapid.Bool().Draw(t, "strip") {
		r.Strip = []string{"image", "audio", "blob", "base64"}
	}
	r.Text = rapid.SampledFrom([]string{"", "tail", "ends"}).Draw(t, "text")
	if rapid.Bool().Draw(t, "always") {
		r.Always = []string{rapid.SampledFrom(schematest.Names).Draw(t, "always name"), "a.b", "!note"}
	}
	return r
}

// drawResult is a CallToolResult around a value, with the mirrors that servers
// write.
func drawResult(t *rapid.T, value string) string {
	block := func(text string) string { return `{"type":"text","text":` + string(jsontape.AppendQuote(nil, text)) + `}` }
	var blocks []string
	doc, err := jsontape.Parse([]byte(value))
	if err != nil {
		t.Fatal(err)
	}
	var strs []string
	for it := doc.Root().Iter(); it.Next(); {
		if it.Value().Kind() == jsontape.String {
			strs = append(strs, it.Value().Str())
		}
	}
	switch k := rapid.IntRange(0, 4).Draw(t, "mirror"); {
	case len(strs) > 0 && k < 3:
		blocks = append(blocks, block(strs[rapid.IntRange(0, len(strs)-1).Draw(t, "member")]))
	case k < 4:
		blocks = append(blocks, block(value))
	default:
		blocks = append(blocks, block("a remark"), `{"type":"image","mimeType":"image/png","data":"`+strings.Repeat("QUJD", 200)+`"}`)
	}
	return `{"content":[` + strings.Join(blocks, ",") + `],"structuredContent":` + value + `}`
}

// asDraft07 is how a widely used client reads every schema.
func asDraft07(s string) string {
	return strings.Replace(s, schematest.Draft2020, schematest.Draft07, 1)
}

// Every result that a rule makes of a valid one is valid under the listed
// schema, read in its own dialect and as draft-07; and so is the original.
func TestRED13_EveryReducedResultIsValidUnderTheListedSchema(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) { checkReduced(t, false) })
}

func TestRED13_EveryReducedResultOfAnyRootIsValidForModernClients(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) { checkReduced(t, true) })
}

func checkReduced(t *rapid.T, modern bool) {
	draw := schematest.Root
	if modern {
		draw = schematest.AnyRoot
	}
	c := draw(t)
	upstream, err := schematest.Compile([]byte(c.Schema), "")
	if err != nil {
		t.Skip("no schema to the library: ", err)
	}
	upstream07, _ := schematest.Compile([]byte(asDraft07(c.Schema)), "")
	var values []string
	for range 3 {
		if v := c.Value(t); upstream.Validate([]byte(v)) == nil && (modern || v[0] == '{') {
			values = append(values, v)
		}
	}
	if len(values) == 0 {
		t.Skip("no valid value drawn")
	}
	doc, err := jsontape.Parse([]byte(c.Schema))
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		rule := drawRule(t)
		r, err := reduce.Compile(rule)
		if err != nil {
			continue
		}
		listed := schema.RewriteOutput(doc.Root(), options(rule, modern))
		v, err := schematest.Compile(listed, "")
		if err != nil {
			t.Fatalf("schema %s\nlisted %s\n%v", c.Schema, listed, err)
		}
		v07, _ := schematest.Compile([]byte(asDraft07(string(listed))), "")
		for _, value := range values {
			result := drawResult(t, value)
			out := r.Reduce([]byte(result), reduce.Env{Expand: rapid.SampledFrom([]string{"", "reducer_expand"}).Draw(t, "expand"), Schema: true})
			reduced := structuredContent(t, out.Result)
			fail := func(what string, err error) {
				text, _ := json.MarshalIndent(rule, "", " ")
				t.Fatalf("%s\nschema  %s\nrule    %s\nresult  %s\nreduced %s\nlisted  %s\n%v", what, c.Schema, text, result, out.Result, listed, err)
			}
			if err := v.Validate([]byte(value)); err != nil {
				fail("original", err)
			}
			if err := v.Validate(reduced); err != nil {
				fail("reduced", err)
			}
			if upstream07 == nil || upstream07.Validate([]byte(value)) != nil {
				continue
			}
			if v07 == nil {
				fail("no draft-07 schema", nil)
			}
			if err := v07.Validate([]byte(value)); err != nil {
				fail("original, as draft-07", err)
			}
			if err := v07.Validate(reduced); err != nil {
				fail("reduced, as draft-07", err)
			}
		}
	}
}

func structuredContent(t *rapid.T, result []byte) []byte {
	doc, err := jsontape.Parse(result)
	if err != nil {
		t.Fatalf("%v: %s", err, result)
	}
	sc := doc.Root().Get("structuredContent")
	if !sc.Exists() {
		t.Fatalf("no structuredContent in %s", result)
	}
	return sc.AppendCompact(nil)
}
