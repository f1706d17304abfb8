package peertest

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/spillway-mcp/spillway/internal/jsontape"
	"github.com/spillway-mcp/spillway/internal/schema"
	"github.com/spillway-mcp/spillway/internal/schema/schematest"
	"github.com/spillway-mcp/spillway/reduce"
)

// What is cut under an output schema is taken by the strict client, which has
// loaded the schema that is listed: a list, a string, an empty list and a full
// one under keep.
func TestK01_K02_K15_StrictClientTakesWhatIsCut(t *testing.T) {
	const items = `{"type":"object","properties":{"items":{"type":"array","items":{"type":"object","properties":{"id":{"type":"integer"},"body":{"type":"string"}},"required":["id","body"],"additionalProperties":false}}},"required":["items"],"additionalProperties":false}`
	rows := func(n int) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, `,{"id":%d,"body":"%s"}`, i, strings.Repeat("b", 100))
		}
		return `{"items":[` + strings.TrimPrefix(b.String(), ",") + `]}`
	}
	client := startStrictClient(t)
	for _, c := range []struct {
		name, upstream, value string
		rule                  reduce.Rule
		cut                   bool
	}{
		{"K01 200 items under 4 kB", items, rows(200), reduce.Rule{MaxBytes: 4_000}, true},
		{"K02 a string of 2,000 characters under 1,000", `{"type":"object","properties":{"text":{"type":"string","minLength":2000,"pattern":"^t+$"}},"required":["text"],"additionalProperties":false}`, `{"text":"` + strings.Repeat("t", 2_000) + `"}`, reduce.Rule{MaxBytes: 1_000}, true},
		{"K15 full", items, rows(2), reduce.Rule{Keep: "items[*].{id: id}"}, true},
		{"K15 empty", items, rows(0), reduce.Rule{Keep: "items[*].{id: id}"}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			doc, err := jsontape.Parse([]byte(c.upstream))
			if err != nil {
				t.Fatal(err)
			}
			r, err := reduce.Compile(c.rule)
			if err != nil {
				t.Fatal(err)
			}
			result := fmt.Sprintf(`{"content":[{"type":"text","text":%s}],"structuredContent":%s}`, jsontape.AppendQuote(nil, c.value), c.value)
			out := r.Reduce([]byte(result), reduce.Env{Expand: "reducer_expand", Schema: true})
			reduced, err := jsontape.Parse(out.Result)
			if err != nil {
				t.Fatal(err)
			}
			sc := reduced.Root().Get("structuredContent")
			if sc.Kind() != jsontape.Object || sc.Get("_spillway").Exists() != c.cut || !out.Changed || c.rule.MaxBytes > 0 && sc.CompactLen() > c.rule.MaxBytes {
				t.Fatalf("%s", sc.Raw())
			}
			verdict := client.check(t, listedCase{
				Upstream: []byte(c.upstream), Listed: schema.RewriteOutput(doc.Root(), schematest.Options(c.rule, false)),
				Values: []json.RawMessage{[]byte(c.value), sc.AppendCompact(nil)},
			})
			if verdict != "ok" {
				t.Error(verdict)
			}
		})
	}
}
