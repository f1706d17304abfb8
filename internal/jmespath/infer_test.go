package jmespath_test

import (
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"github.com/spillway-mcp/spillway/internal/jmespath"
	"github.com/spillway-mcp/spillway/internal/jsontape"
	"github.com/spillway-mcp/spillway/internal/schema/schematest"
)

func parse(t interface{ Fatal(...any) }, s string) jsontape.Value {
	doc, err := jsontape.Parse([]byte(s))
	if err != nil {
		t.Fatal(err, s)
	}
	return doc.Root()
}

// validator compiles a schema whose references point into root.
func validator(root string, inferred []byte) (*schematest.Validator, error) {
	doc := `{"x-inferred":` + string(inferred)
	if root == "{}" {
		doc += "}"
	} else {
		doc += "," + root[1:]
	}
	return schematest.Compile([]byte(doc), "#/x-inferred")
}

// Every result of an expression over a valid value is valid under the schema
// inferred from the value's schema.
func TestRED38_InferredSchemaHoldsForEveryResult(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := schematest.AnyRoot(t)
		schema, err := schematest.Compile([]byte(c.Schema), "")
		if err != nil {
			t.Skip("no schema to the library: ", err)
		}
		root := parse(t, c.Schema)
		var values []string
		for range 4 {
			if v := c.Value(t); schema.Validate([]byte(v)) == nil {
				values = append(values, v)
			}
		}
		if len(values) == 0 {
			t.Skip("no valid value drawn")
		}
		for range 6 {
			src := schematest.Expression(t)
			expr, err := jmespath.Compile(src)
			if err != nil {
				continue
			}
			inferred := expr.InferSchema(root)
			parts := expr.Infer(root, "")
			var out *schematest.Validator
			for _, v := range values {
				result, err := expr.AppendJSON(nil, parse(t, v))
				if err != nil || len(result) > 1<<20 {
					continue
				}
				if out == nil {
					if out, err = validator(c.Schema, inferred); err != nil {
						t.Fatalf("inferred schema %s of %s under %s: %v", inferred, src, c.Schema, err)
					}
				}
				if err := out.Validate(result); err != nil {
					t.Fatalf("schema %s\nexpression %s\nvalue %s\nresult %s\ninferred %s\n%v", c.Schema, src, v, result, inferred, err)
				}
				if err := holds(c.Schema, parts, result); err != nil {
					t.Fatalf("schema %s\nexpression %s\nvalue %s\nresult %s\nparts %s %s %v\n%v", c.Schema, src, v, result, parts.Object, parts.Other, parts.Null, err)
				}
			}
		}
	})
}

func holds(root string, parts jmespath.Inferred, result []byte) error {
	of := parts.Other
	switch result[0] {
	case 'n':
		if !parts.Null {
			return fmt.Errorf("null was excluded")
		}
		return nil
	case '{':
		of = parts.Object
	case '"':
		if !parts.Text {
			return fmt.Errorf("strings were excluded")
		}
	case '[':
		if !parts.List {
			return fmt.Errorf("arrays were excluded")
		}
	}
	if of == nil {
		return fmt.Errorf("this kind was excluded")
	}
	v, err := validator(root, of)
	if err != nil {
		return err
	}
	return v.Validate(result)
}
