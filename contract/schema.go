package contract

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	gen "github.com/google/jsonschema-go/jsonschema"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"
	"golang.org/x/text/language"
	"golang.org/x/text/message"

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

// validate checks JSON text. The error is the first leaf: where, as a JSON
// pointer, and what is wrong, without the value.
func (s *schema) validate(raw []byte) (pointer string, err error) {
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(raw))
	if err != nil {
		return "", err
	}
	err = s.compiled.Validate(v)
	if err == nil {
		return "", nil
	}
	var ve *jsonschema.ValidationError
	if !errors.As(err, &ve) {
		return "", err
	}
	for len(ve.Causes) > 0 {
		ve = ve.Causes[0]
	}
	path := ve.InstanceLocation
	switch k := ve.ErrorKind.(type) {
	case *kind.Required:
		if len(k.Missing) > 0 {
			return pointerOf(append(path, k.Missing[0])), errors.New("missing")
		}
	case *kind.AdditionalProperties:
		if len(k.Properties) > 0 {
			return pointerOf(append(path, k.Properties[0])), errors.New("not a parameter")
		}
	case *kind.Type:
		return pointerOf(path), fmt.Errorf("%s given, %s wanted", k.Got, strings.Join(k.Want, " or "))
	case *kind.Enum:
		return pointerOf(path), fmt.Errorf("not one of %s", listed(k.Want))
	case *kind.Const:
		return pointerOf(path), fmt.Errorf("not %s", listed([]any{k.Want}))
	case *kind.Pattern:
		return pointerOf(path), fmt.Errorf("does not match %s", k.Want)
	case *kind.Format:
		return pointerOf(path), fmt.Errorf("not a %s", k.Want)
	}
	text := ve.ErrorKind.LocalizedString(message.NewPrinter(language.English))
	return pointerOf(path), errors.New(text)
}

func listed(values []any) string {
	var all []string
	for _, v := range values {
		raw, _ := json.Marshal(v)
		all = append(all, string(raw))
	}
	return strings.Join(all, ", ")
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
