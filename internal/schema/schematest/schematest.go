// Package schematest draws JSON Schemas, values that are valid under them and
// JMESPath expressions for property tests, and validates by a library that
// fetches nothing. Only tests import it.
package schematest

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"pgregory.net/rapid"
)

// Draft07 and Draft2020 are the dialects that upstreams declare.
const (
	Draft07   = "http://json-schema.org/draft-07/schema#"
	Draft2020 = "https://json-schema.org/draft/2020-12/schema"
)

type noLoader struct{}

func (noLoader) Load(url string) (any, error) { return nil, fmt.Errorf("not loaded: %s", url) }

// Validator is a compiled schema.
type Validator struct{ s *jsonschema.Schema }

// Compile compiles a schema, formats asserted. At is a fragment of the document
// ("" for the root).
func Compile(schema []byte, at string) (*Validator, error) {
	doc, err := jsonschema.UnmarshalJSON(strings.NewReader(string(schema)))
	if err != nil {
		return nil, err
	}
	c := jsonschema.NewCompiler()
	c.UseLoader(noLoader{})
	c.DefaultDraft(jsonschema.Draft2020)
	c.AssertFormat()
	if err := c.AddResource("mem:///schema.json", doc); err != nil {
		return nil, err
	}
	s, err := c.Compile("mem:///schema.json" + at)
	if err != nil {
		return nil, err
	}
	return &Validator{s}, nil
}

// Validate returns what is wrong with a JSON text.
func (v *Validator) Validate(instance []byte) error {
	doc, err := jsonschema.UnmarshalJSON(strings.NewReader(string(instance)))
	if err != nil {
		return err
	}
	return v.s.Validate(doc)
}

// Case is a schema and a way to draw values for it. Not every value drawn is
// valid: validate it, and draw again.
type Case struct {
	Schema string
	Draft  string
	gen    func(t *rapid.T, depth int) string
}

// Value draws a value as JSON text.
func (c *Case) Value(t *rapid.T) string { return c.gen(t, 0) }

// Names are the members that schemas, values and expressions share, so that
// expressions find something.
var Names = []string{"a", "b", "c", "id", "name", "items", "result", "content", "data", "count", "total", "note", "a.b", "é"}

// drawn is one sub-schema.
type drawn struct {
	schema string
	gen    func(t *rapid.T, depth int) string
}

type generator struct {
	t     *rapid.T
	draft string
	defs  []*drawn
	names []string
	where string // $defs or definitions
}

// Root draws a schema whose root is an object, as legacy revisions ask.
func Root(t *rapid.T) *Case { return root(t, false) }

// AnyRoot draws a schema with any root.
func AnyRoot(t *rapid.T) *Case { return root(t, true) }

func root(t *rapid.T, anyRoot bool) *Case {
	g := &generator{t: t, draft: rapid.SampledFrom([]string{Draft07, Draft2020, ""}).Draw(t, "draft"), where: "$defs"}
	if g.draft == Draft07 || rapid.Bool().Draw(t, "old home") {
		g.where = "definitions"
	}
	for i := range rapid.IntRange(0, 2).Draw(t, "definitions") {
		g.names = append(g.names, "D"+strconv.Itoa(i))
		g.defs = append(g.defs, &drawn{})
	}
	for i := range g.defs {
		*g.defs[i] = g.node(2)
	}
	var d drawn
	switch {
	case anyRoot && rapid.Bool().Draw(t, "any root"):
		d = g.node(0)
	case len(g.defs) > 0 && rapid.IntRange(0, 9).Draw(t, "root is a ref") == 0:
		d = drawn{`{"type":"object","$ref":"#/` + g.where + `/D0"}`, g.defs[0].gen}
	default:
		d = g.object(0)
	}
	if d.schema == "true" || d.schema == "false" {
		d.schema = "{}"
	}
	var head []string
	if g.draft != "" {
		head = append(head, `"$schema":`+quote(g.draft))
	}
	if rapid.IntRange(0, 4).Draw(t, "has id") == 0 {
		head = append(head, `"$id":"https://example.com/schemas/out.json"`)
	}
	if len(g.defs) > 0 {
		var ds []string
		for i, def := range g.defs {
			ds = append(ds, quote(g.names[i])+":"+def.schema)
		}
		head = append(head, quote(g.where)+":{"+strings.Join(ds, ",")+"}")
	}
	return &Case{Schema: merge(d.schema, head), Draft: g.draft, gen: d.gen}
}

// merge adds members to the text of an object.
func merge(object string, members []string) string {
	if len(members) == 0 {
		return object
	}
	added := strings.Join(members, ",")
	if object == "{}" {
		return "{" + added + "}"
	}
	return "{" + added + "," + object[1:]
}

func quote(s string) string {
	b, err := json.Marshal(s)
	if err != nil {
		panic(err)
	}
	return string(b)
}

func chance(t *rapid.T, what string, percent int) bool {
	return rapid.IntRange(0, 99).Draw(t, what) < percent
}
