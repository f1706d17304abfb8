package schema_test

import (
	"encoding/json"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/spillway-mcp/spillway/internal/jsontape"
	"github.com/spillway-mcp/spillway/internal/schema"
	"github.com/spillway-mcp/spillway/internal/schema/schematest"
	"github.com/spillway-mcp/spillway/reduce"
)

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
		rule := schematest.Rule(t)
		r, err := reduce.Compile(rule)
		if err != nil {
			continue
		}
		listed := schema.RewriteOutput(doc.Root(), schematest.Options(rule, modern))
		v, err := schematest.Compile(listed, "")
		if err != nil {
			t.Fatalf("schema %s\nlisted %s\n%v", c.Schema, listed, err)
		}
		v07, _ := schematest.Compile([]byte(asDraft07(string(listed))), "")
		for _, value := range values {
			result := schematest.Result(t, value)
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
