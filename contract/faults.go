package contract

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"
	"golang.org/x/text/language"
	"golang.org/x/text/message"

	"github.com/spillway-mcp/spillway/internal/jsontape"
)

// fault is one thing that a JSON Schema finds wrong: where, as a JSON pointer,
// what was given and what is allowed. Texts are told by their length and not by
// what they say, but for words of a fixed list: they may be secrets.
type fault struct {
	path []string
	msg  string
}

func (f fault) pointer() string { return pointerOf(f.path) }

// maxFaults bounds what one answer says.
const maxFaults = 20

// faults finds all that is wrong with JSON text, in the order of pointers.
func (s *schema) faults(raw []byte) ([]fault, error) {
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(raw))
	if err != nil {
		return nil, err
	}
	err = s.compiled.Validate(v)
	if err == nil {
		return nil, nil
	}
	var ve *jsonschema.ValidationError
	if !errors.As(err, &ve) {
		return nil, err
	}
	var all []fault
	s.collect(ve, &all)
	slices.SortStableFunc(all, func(a, b fault) int { return slices.Compare(a.path, b.path) })
	return slices.CompactFunc(all, func(a, b fault) bool { return slices.Equal(a.path, b.path) && a.msg == b.msg }), nil
}

// collect gathers the leaves. Of alternatives none of which fits, what each of
// them wants would contradict one another: they are one fault.
func (s *schema) collect(ve *jsonschema.ValidationError, all *[]fault) {
	path := ve.InstanceLocation
	add := func(at []string, format string, args ...any) {
		*all = append(*all, fault{slices.Clone(at), fmt.Sprintf(format, args...)})
	}
	switch ve.ErrorKind.(type) {
	case *kind.AnyOf, *kind.OneOf:
		var forms []string
		for _, c := range ve.Causes {
			var inner []fault
			s.collect(c, &inner)
			for _, f := range inner {
				text := strings.TrimPrefix(pointerOf(f.path[min(len(path), len(f.path)):])+" "+f.msg, "/")
				if text = strings.TrimSpace(text); len(forms) < 4 && !slices.Contains(forms, text) {
					forms = append(forms, text)
				}
			}
		}
		if len(forms) == 0 {
			add(path, "fits more than one of the forms that exclude one another")
			return
		}
		add(path, "fits none of the forms it can have (%s)", strings.Join(forms, "; or "))
		return
	}
	if len(ve.Causes) > 0 {
		for _, c := range ve.Causes {
			s.collect(c, all)
		}
		return
	}
	switch k := ve.ErrorKind.(type) {
	case *kind.Required:
		for _, name := range k.Missing {
			add(append(path, name), "missing%s", s.wanted(append(path, name)))
		}
	case *kind.AdditionalProperties:
		for _, name := range k.Properties {
			add(append(path, name), "not a parameter%s", s.others(path))
		}
	case *kind.Type:
		add(path, "%s given, %s wanted", k.Got, strings.Join(k.Want, " or "))
	case *kind.Enum:
		add(path, "%s given, %s wanted", word(k.Got), oneOf(k.Want))
	case *kind.Const:
		add(path, "%s given, %s wanted", word(k.Got), word(k.Want))
	case *kind.Pattern:
		add(path, "%s given, text that matches %s wanted", counted(utf8.RuneCountInString(k.Got), "character"), k.Want)
	case *kind.Format:
		add(path, "no valid %s", k.Want)
	case *kind.MinLength:
		add(path, "%s given, %d or more wanted", counted(k.Got, "character"), k.Want)
	case *kind.MaxLength:
		add(path, "%s given, at most %d wanted", counted(k.Got, "character"), k.Want)
	case *kind.MinItems:
		add(path, "%s given, %d or more wanted", counted(k.Got, "item"), k.Want)
	case *kind.MaxItems:
		add(path, "%s given, at most %d wanted", counted(k.Got, "item"), k.Want)
	case *kind.Minimum:
		add(path, "%s given, %s or more wanted", number(k.Got), number(k.Want))
	case *kind.Maximum:
		add(path, "%s given, at most %s wanted", number(k.Got), number(k.Want))
	case *kind.ExclusiveMinimum:
		add(path, "%s given, more than %s wanted", number(k.Got), number(k.Want))
	case *kind.ExclusiveMaximum:
		add(path, "%s given, less than %s wanted", number(k.Got), number(k.Want))
	case *kind.MultipleOf:
		add(path, "%s given, a multiple of %s wanted", number(k.Got), number(k.Want))
	case *kind.UniqueItems:
		add(path, "the items %d and %d are equal", k.Duplicates[0]+1, k.Duplicates[1]+1)
	default:
		add(path, "%s", ve.ErrorKind.LocalizedString(message.NewPrinter(language.English)))
	}
}

// at is the schema of the value at a path of properties and items; none where
// the path goes through something else.
func (s *schema) at(path []string) jsontape.Value {
	v := s.doc
	for _, name := range path {
		v = deref(v, s.doc)
		if next := v.Get("properties").Get(name); next.Exists() {
			v = next
		} else {
			v = v.Get("items")
		}
	}
	return deref(v, s.doc)
}

// wanted says which type a missing member has.
func (s *schema) wanted(path []string) string {
	if t := s.at(path).Get("type").Str(); t != "" {
		return ", " + t + " wanted"
	}
	return ""
}

// others says which members there can be.
func (s *schema) others(path []string) string {
	var names []string
	for it := s.at(path).Get("properties").Iter(); it.Next(); {
		if len(names) == 12 {
			names = append(names, "…")
			break
		}
		names = append(names, it.Key().Str())
	}
	if names == nil {
		return ", there are none"
	}
	return ", it takes " + strings.Join(names, ", ")
}

// word is a value of a fixed list, or one that stands in place of such.
func word(v any) string {
	raw, err := json.Marshal(v)
	if err != nil || len(raw) > 60 {
		return "another value"
	}
	return string(raw)
}

func oneOf(values []any) string {
	var all []string
	for i, v := range values {
		if i == 20 {
			all = append(all, "…")
			break
		}
		all = append(all, word(v))
	}
	if len(all) == 1 {
		return all[0]
	}
	return "one of " + strings.Join(all, ", ")
}

func counted(n int, what string) string {
	if n != 1 {
		what += "s"
	}
	return fmt.Sprint(n, " ", what)
}

// number writes a number in its shortest decimal form, or as a fraction where it has none.
func number(r *big.Rat) string {
	if n, exact := r.FloatPrec(); exact {
		return r.FloatString(n)
	}
	return r.RatString()
}
