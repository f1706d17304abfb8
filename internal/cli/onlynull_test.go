package cli

import (
	"slices"
	"testing"

	"github.com/spillway-mcp/spillway/internal/jmespath"
)

func TestNullsOfADeclaredSchema(t *testing.T) {
	const strict = `{"type":"object","additionalProperties":false,"properties":{"items":{"type":"array","items":{
		"type":"object","additionalProperties":false,"properties":{"a":{"type":"string"},
		"r":{"type":"object","additionalProperties":false,"properties":{"n":{"type":"string"}}}}}}}}`
	const open = `{"type":"object","properties":{"items":{"type":"array","items":{"type":"object"}}}}`
	const wrapped = `{"type":"object","properties":{"result":` + strict + `},"additionalProperties":false}`
	for _, c := range []struct {
		keep, schema string
		all          bool
		fields       []string
	}{
		{"items[*].{a: a}", strict, false, nil},
		{"items[*].{a: a, b: b}", strict, false, []string{"b"}},
		{"items[*].{b: b, c: r.zz}", strict, true, nil},
		{"items[*].r.n", strict, false, nil},
		{"items[*].b", strict, true, nil},
		{"things[*].{a: a}", strict, true, nil},
		{"nothing", strict, true, nil},
		{"{x: nothing, y: items[0].a}", strict, false, []string{"x"}},
		{"length(items)", strict, false, nil},
		{"nothing", open, false, nil},
		{"items[*].{b: b}", open, false, nil},
		{"items[*].{a: a}", wrapped, false, nil},
		{"items[*].{b: b}", wrapped, true, nil},
		{"items[*].a", "true", false, nil},
		{"[*].name", `{"type":"object","additionalProperties":false,"properties":{"content":{"type":"string"}}}`, false, nil},
	} {
		keep, err := jmespath.Compile(c.keep)
		if err != nil {
			t.Fatal(err)
		}
		got, err := nullsOf(keep, []byte(c.schema))
		if err != nil || got.all != c.all || !slices.Equal(got.fields, c.fields) {
			t.Errorf("%s: got %+v, %v; want %v %v", c.keep, got, err, c.all, c.fields)
		}
	}
}
