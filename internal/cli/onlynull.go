package cli

import (
	"slices"

	"github.com/spillway-mcp/spillway/internal/jmespath"
	"github.com/spillway-mcp/spillway/internal/jsontape"
)

// wrapperNames are the members that a rule looks through where they stand alone (RED-02).
var wrapperNames = []string{"result", "content", "data"}

// nulls is what a declared schema tells of a projection.
type nulls struct {
	all    bool     // it yields null, or nothing, whatever the server sends
	fields []string // those of its fields that are null in every row, where not all are
}

// nullsOf evaluates keep over an output schema. The zero value means that nothing of it is bound to be null.
func nullsOf(keep *jmespath.Expr, outputSchema []byte) (nulls, error) {
	doc, err := jsontape.Parse(outputSchema)
	if err != nil {
		return nulls{}, err
	}
	root := doc.Root()
	if isTextPayload(root) {
		return nulls{}, nil
	}
	got := keep.Infer(root, soleWrapper(root))
	if got.Object == nil && got.Other == nil {
		return nulls{all: got.Null}, nil
	}
	if got.List && got.Object == nil && hasNoElements(keep, root) {
		return nulls{all: true}, nil
	}
	result := nulls{all: true}
	for _, schema := range [][]byte{got.Object, got.Other} {
		if schema == nil {
			continue
		}
		d, err := jsontape.Parse(schema)
		if err != nil {
			return nulls{}, err
		}
		all, fields := onlyNull(d.Root())
		result.all = result.all && all
		result.fields = append(result.fields, fields...)
	}
	if result.all {
		result.fields = nil
	}
	return result, nil
}

// isTextPayload reports whether a result is one string, which a rule looks into where it is JSON (RED-02): what stands
// there the schema does not say.
func isTextPayload(schema jsontape.Value) bool {
	properties := schema.Get("properties")
	if properties.Len() != 1 {
		return false
	}
	it := properties.Iter()
	it.Next()
	kind := it.Value().Get("type")
	if kind.Kind() == jsontape.Array {
		for types := kind.Iter(); types.Next(); {
			if types.Value().Is("string") {
				return true
			}
		}
		return false
	}
	return !kind.Exists() || kind.Is("string")
}

// hasNoElements reports whether the array that keep yields cannot have an element: a projection drops nulls.
func hasNoElements(keep *jmespath.Expr, root jsontape.Value) bool {
	first, err := jmespath.Compile("(" + keep.String() + ")[0]")
	if err != nil {
		return false
	}
	got := first.Infer(root, soleWrapper(root))
	return got.Object == nil && got.Other == nil && got.Null
}

// soleWrapper names the only property of a schema, if a rule looks through it.
func soleWrapper(schema jsontape.Value) string {
	properties := schema.Get("properties")
	if properties.Len() != 1 {
		return ""
	}
	it := properties.Iter()
	it.Next()
	if name := it.Key().Str(); slices.Contains(wrapperNames, name) {
		return name
	}
	return ""
}

// onlyNull reports whether every value under a schema is null, an array without elements but nulls, or an object whose
// members are; and of an object, or the objects of an array, the members that are. Of what it does not understand it
// says no.
func onlyNull(schema jsontape.Value) (bool, []string) {
	switch schema.Kind() {
	case jsontape.False:
		return true, nil // no value at all
	case jsontape.Object:
	default:
		return false, nil
	}
	if schema.Get("enum").Len() == 1 && schema.Get("enum").Index(0).Kind() == jsontape.Null {
		return true, nil
	}
	if c := schema.Get("const"); c.Exists() {
		return c.Kind() == jsontape.Null, nil
	}
	if any := schema.Get("anyOf"); any.Exists() {
		all, fields := true, []string(nil)
		for it := any.Iter(); it.Next(); {
			null, inner := onlyNull(it.Value())
			all, fields = all && null, append(fields, inner...)
		}
		return all, fields
	}
	switch kind := schema.Get("type"); {
	case kind.Is("null"):
		return true, nil
	case kind.Is("array"):
		if most := schema.Get("maxItems"); most.Exists() && string(most.Raw()) == "0" {
			return true, nil
		}
		return onlyNull(schema.Get("items"))
	case kind.Is("object"):
		return onlyNullMembers(schema)
	}
	return false, nil
}

// onlyNullMembers looks at the members that a multi-select always has.
func onlyNullMembers(schema jsontape.Value) (bool, []string) {
	properties, required := schema.Get("properties"), schema.Get("required")
	var fields []string
	for it := required.Iter(); it.Next(); {
		name := it.Value().Str()
		if null, _ := onlyNull(properties.Get(name)); null {
			fields = append(fields, name)
		}
	}
	return len(fields) > 0 && len(fields) == properties.Len(), fields
}
