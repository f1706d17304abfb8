package contract

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	gen "github.com/google/jsonschema-go/jsonschema"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/spillway-mcp/spillway/internal/jsontape"
)

// schema is a compiled JSON Schema and its own text.
type schema struct {
	compiled *jsonschema.Schema
	doc      jsontape.Value
}

// noLoader refuses: schemas refer only to themselves.
type noLoader struct{}

func (noLoader) Load(url string) (any, error) {
	return nil, fmt.Errorf("schema refers to %s; only references within itself are allowed", url)
}

const schemaURL = "spillway:schema"

func compileSchema(raw json.RawMessage) (*schema, error) {
	doc, err := jsontape.Parse(raw)
	if err != nil {
		return nil, err
	}
	decoded, err := jsonschema.UnmarshalJSON(bytes.NewReader(raw))
	if err != nil {
		return nil, err
	}
	c := jsonschema.NewCompiler()
	c.UseLoader(noLoader{})
	if err := c.AddResource(schemaURL, decoded); err != nil {
		return nil, err
	}
	compiled, err := c.Compile(schemaURL)
	if err != nil {
		return nil, err
	}
	return &schema{compiled, doc.Root()}, nil
}

// schemaOf makes the JSON Schema of a Go type.
func schemaOf[T any]() (json.RawMessage, error) {
	s, err := gen.For[T](&gen.ForOptions{})
	if err != nil {
		return nil, err
	}
	return json.Marshal(s)
}

// validate checks JSON text. The error is of the first fault.
func (s *schema) validate(raw []byte) (pointer string, err error) {
	all, err := s.faults(raw)
	if err != nil || len(all) == 0 {
		return "", err
	}
	return all[0].pointer(), errors.New(all[0].msg)
}

var pointerEscapes = strings.NewReplacer("~", "~0", "/", "~1")

func pointerOf(path []string) string {
	var b strings.Builder
	for _, p := range path {
		b.WriteByte('/')
		b.WriteString(pointerEscapes.Replace(p))
	}
	return b.String()
}
