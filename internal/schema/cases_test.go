package schema_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/spillway-mcp/spillway/internal/jsontape"
	"github.com/spillway-mcp/spillway/internal/schema"
	"github.com/spillway-mcp/spillway/internal/schema/schematest"
	"github.com/spillway-mcp/spillway/reduce"
)

// reduced returns the structuredContent that a rule makes of a value with its
// text mirror, after holding it to the listed schema.
func reduced(t *testing.T, upstream, value string, rule reduce.Rule) jsontape.Value {
	t.Helper()
	doc, err := jsontape.Parse([]byte(upstream))
	if err != nil {
		t.Fatal(err)
	}
	listed := schema.RewriteOutput(doc.Root(), schematest.Options(rule, false))
	v, err := schematest.Compile(listed, "")
	if err != nil {
		t.Fatal(err)
	}
	r, err := reduce.Compile(rule)
	if err != nil {
		t.Fatal(err)
	}
	result := fmt.Sprintf(`{"content":[{"type":"text","text":%s}],"structuredContent":%s}`, jsontape.AppendQuote(nil, value), value)
	out := r.Reduce([]byte(result), reduce.Env{Expand: "reducer_expand", Schema: true})
	got, err := jsontape.Parse(out.Result)
	if err != nil {
		t.Fatal(err)
	}
	sc := got.Root().Get("structuredContent")
	if err := v.Validate(sc.AppendCompact(nil)); err != nil {
		t.Fatalf("%v\nlisted  %s\nreduced %s", err, listed, sc.Raw())
	}
	return sc
}

const itemsSchema = `{"type":"object","properties":{"items":{"type":"array","items":{"type":"object","properties":{"id":{"type":"integer"},"body":{"type":"string"}},"required":["id","body"],"additionalProperties":false}}},"required":["items"],"additionalProperties":false}`

func TestK01_TwoHundredItemsUnderACap(t *testing.T) {
	var items []string
	for i := range 200 {
		items = append(items, fmt.Sprintf(`{"id":%d,"body":"%s"}`, i, strings.Repeat("b", 100)))
	}
	sc := reduced(t, itemsSchema, `{"items":[`+strings.Join(items, ",")+`]}`, reduce.Rule{MaxBytes: 4000})
	if n := sc.Get("items").Len(); n == 0 || n >= 200 || !sc.Get("_spillway").Exists() {
		t.Errorf("%d items in %s", n, sc.Raw())
	}
}

func TestK02_OneLongStringUnderACap(t *testing.T) {
	upstream := `{"type":"object","properties":{"text":{"type":"string","minLength":1500}},"required":["text"],"additionalProperties":false}`
	sc := reduced(t, upstream, `{"text":"`+strings.Repeat("t", 2000)+`"}`, reduce.Rule{MaxBytes: 1000})
	if n := len(sc.Raw()); n > 1000 || !sc.Get("text").Exists() {
		t.Errorf("%d bytes: %s", n, sc.Raw())
	}
}

func TestK15_EmptyAndFullHaveOneShape(t *testing.T) {
	rule := reduce.Rule{Keep: "items[*].{id: id}"}
	full := reduced(t, itemsSchema, `{"items":[{"id":1,"body":"b"},{"id":2,"body":"b"}]}`, rule)
	empty := reduced(t, itemsSchema, `{"items":[]}`, rule)
	for _, sc := range []jsontape.Value{full, empty} {
		if sc.Get("rows").Kind() != jsontape.Array {
			t.Errorf("no rows in %s", sc.Raw())
		}
	}
}
