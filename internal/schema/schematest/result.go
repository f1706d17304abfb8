package schematest

import (
	"slices"
	"strings"

	"pgregory.net/rapid"

	"github.com/spillway-mcp/spillway/internal/jmespath"
	"github.com/spillway-mcp/spillway/internal/jsontape"
	"github.com/spillway-mcp/spillway/internal/schema"
	"github.com/spillway-mcp/spillway/reduce"
)

// Options is what a caller derives of a rule.
func Options(r reduce.Rule, modern bool) schema.Options {
	opt := schema.Options{
		HasRows:  r.MaxRows != nil || r.Rows != "",
		MaxBytes: r.MaxBytes > 0,
		Strip:    len(r.Strip) > 0,
		Modern:   modern,
		Envelope: slices.Contains([]string{"create", "update", "delete"}, r.Write),
		Probe:    r.Heavy,
	}
	if r.Keep != "" {
		opt.Keep, _ = jmespath.Compile(r.Keep)
	}
	return opt
}

// Rule draws a rule for results that Root and AnyRoot describe.
func Rule(t *rapid.T) reduce.Rule {
	var r reduce.Rule
	switch rapid.IntRange(0, 5).Draw(t, "keep") {
	case 0, 1:
		r.Keep = Expression(t)
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
		r.Always = []string{rapid.SampledFrom(Names).Draw(t, "always name"), "a.b", "!note"}
	}
	if rapid.IntRange(0, 2).Draw(t, "writes") == 0 {
		r.Write = rapid.SampledFrom([]string{"create", "update", "delete"}).Draw(t, "write")
		r.LightKey = rapid.SampledFrom([][]string{nil, {"name", "count", "a"}}).Draw(t, "light_key")
	}
	r.Heavy = rapid.IntRange(0, 5).Draw(t, "heavy") == 0
	return r
}

// Result draws a CallToolResult around a value, with the mirrors that servers
// write.
func Result(t *rapid.T, value string) string {
	block := func(text string) string {
		return `{"type":"text","text":` + string(jsontape.AppendQuote(nil, text)) + `}`
	}
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
