package schema_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spillway-mcp/spillway/internal/jsontape"
	"github.com/spillway-mcp/spillway/internal/schema"
	"github.com/spillway-mcp/spillway/internal/schema/schematest"
	"github.com/spillway-mcp/spillway/reduce"
)

type tool struct {
	Name         string
	OutputSchema json.RawMessage
}

// sample writes a large value for a schema as the reference servers write
// them: types, enum, const, anyOf, no references.
func sample(s jsontape.Value, n int) string {
	if c := s.Get("const"); c.Exists() {
		return string(c.Raw())
	}
	if e := s.Get("enum"); e.Exists() {
		return string(e.Index(0).Raw())
	}
	if of := s.Get("anyOf"); of.Exists() {
		return sample(of.Index(n%of.Len()), n)
	}
	switch t := s.Get("type"); {
	case t.Is("string"):
		return `"` + strings.Repeat("line of text\\n", 1+n%40) + `"`
	case t.Is("number"), t.Is("integer"):
		return "41"
	case t.Is("boolean"):
		return "true"
	case t.Is("array"):
		var parts []string
		for i := range 30 {
			parts = append(parts, sample(s.Get("items"), n+i))
		}
		return "[" + strings.Join(parts, ",") + "]"
	}
	var parts []string
	for it := s.Get("properties").Iter(); it.Next(); {
		parts = append(parts, string(it.Key().Raw())+":"+sample(it.Value(), n+7))
	}
	return "{" + strings.Join(parts, ",") + "}"
}

// Every output schema of the reference servers, under rules mild and sharp.
func TestRED13_ReferenceServersSchemas(t *testing.T) {
	one := 1
	rules := []reduce.Rule{
		{MaxBytes: 20000}, {MaxBytes: 600}, {MaxRows: &one}, {Strip: []string{"image", "audio", "blob", "base64"}, MaxBytes: 1000},
		{Keep: "*[].name"}, {Keep: "entities[*].{n: name}", MaxBytes: 700}, {Keep: "{x: content}"}, {Keep: "[*].data"}, {Keep: "content"},
		{Keep: "relations[?from == 'a'].to || results[*].entityName"}, {Keep: "length(@)"}, {Keep: "temperature"},
	}
	files, err := filepath.Glob("testdata/servers/*.json")
	if err != nil || len(files) != 3 {
		t.Fatal(files, err)
	}
	count := 0
	before, after := 0, 0
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var tools []tool
		if err := json.Unmarshal(data, &tools); err != nil {
			t.Fatal(file, err)
		}
		for _, tool := range tools {
			count++
			doc, err := jsontape.Parse(tool.OutputSchema)
			if err != nil {
				t.Fatal(err)
			}
			value := sample(doc.Root(), 5)
			upstream, err := schematest.Compile(tool.OutputSchema, "")
			if err != nil {
				t.Fatal(tool.Name, err)
			}
			if err := upstream.Validate([]byte(value)); err != nil {
				t.Fatal(tool.Name, err)
			}
			for i, rule := range rules {
				listed := schema.RewriteOutput(doc.Root(), schematest.Options(rule, false))
				checkListed(t, listed, false)
				v, err := schematest.Compile(listed, "")
				if err != nil {
					t.Fatal(tool.Name, err)
				}
				if i == 0 {
					before, after = before+len(tool.OutputSchema), after+len(listed)
				}
				for _, text := range mirrors(value) {
					result := fmt.Sprintf(`{"content":[{"type":"text","text":%s}],"structuredContent":%s}`, jsontape.AppendQuote(nil, text), value)
					checkOne(t, tool.Name, rule, v, result)
				}
			}
		}
	}
	if count != 24 {
		t.Errorf("%d schemas, want the 24 that the servers have", count)
	}
	t.Logf("under max_bytes alone the 24 schemas grow from %d to %d bytes", before, after)
}

// mirrors are the texts that may stand beside a value.
func mirrors(value string) []string {
	texts := []string{value, "a remark"}
	doc, err := jsontape.Parse([]byte(value))
	if err != nil {
		return texts
	}
	for it := doc.Root().Iter(); it.Next(); {
		if it.Value().Kind() == jsontape.String {
			texts = append(texts, it.Value().Str())
		}
	}
	return texts
}

func checkOne(t *testing.T, name string, rule reduce.Rule, v *schematest.Validator, result string) {
	t.Helper()
	r, err := reduce.Compile(rule)
	if err != nil {
		t.Fatal(err)
	}
	for _, expand := range []string{"", "reducer_expand"} {
		out := r.Reduce([]byte(result), reduce.Env{Expand: expand, Schema: true})
		doc, err := jsontape.Parse(out.Result)
		if err != nil {
			t.Fatal(err)
		}
		if err := v.Validate(doc.Root().Get("structuredContent").AppendCompact(nil)); err != nil {
			t.Errorf("%s under %+v: %v\n%s", name, rule, err, out.Result)
		}
	}
}

// filesystem answers text and structuredContent {content: TEXT}; where the text
// is JSON, rules with rows or fields reach into it (RED-02).
func TestRED13_JSONInAStringMember(t *testing.T) {
	upstream := `{"type":"object","properties":{"content":{"type":"string"}},"required":["content"],"additionalProperties":false}`
	doc, err := jsontape.Parse([]byte(upstream))
	if err != nil {
		t.Fatal(err)
	}
	entry := `{"name":"` + strings.Repeat("n", 30) + `","type":"file"}`
	tree := "[" + strings.Repeat(entry+",", 173) + entry + "]"
	none, ten := 0, 10
	for _, rule := range []reduce.Rule{
		{MaxBytes: 1000}, {MaxRows: &none}, {MaxRows: &ten}, {Keep: "[*].name"}, {Keep: "[*].name", MaxBytes: 600}, {Keep: "{n: length(@)}"}, {Keep: "nope"},
		{Keep: "[0]"}, {MaxRows: &ten, MaxBytes: 600}, {Rows: "[0]", MaxRows: &none},
	} {
		v, err := schematest.Compile(schema.RewriteOutput(doc.Root(), schematest.Options(rule, false)), "")
		if err != nil {
			t.Fatal(err)
		}
		for _, text := range []string{tree, `{"a":` + tree + `}`, entry + "\n" + entry, "plain\ntext\n" + strings.Repeat("more ", 900)} {
			q := string(jsontape.AppendQuote(nil, text))
			checkOne(t, "filesystem", rule, v, `{"content":[{"type":"text","text":`+q+`}],"structuredContent":{"content":`+q+`}}`)
		}
	}
}

// Members that keep's object need not have may be filled in by always, with
// values of their own.
func TestRED08_AlwaysBesideAKeptObject(t *testing.T) {
	upstream := `{"type":"object","properties":{"user":{"type":"object","properties":{"id":{"type":"integer"},"note":{"type":"integer"}},"required":["id"],"additionalProperties":false},"note":{"type":"string"},"count":{"type":"integer"}},"required":["user"],"additionalProperties":false}`
	doc, err := jsontape.Parse([]byte(upstream))
	if err != nil {
		t.Fatal(err)
	}
	rule := reduce.Rule{Keep: "user", Always: []string{"user.id"}}
	v, err := schematest.Compile(schema.RewriteOutput(doc.Root(), schematest.Options(rule, false)), "")
	if err != nil {
		t.Fatal(err)
	}
	value := `{"user":{"id":7},"note":"read this","count":3}`
	checkOne(t, "user", rule, v, `{"content":[],"structuredContent":`+value+`}`)
}
