package schema

import (
	"bytes"
	"slices"

	"github.com/spillway-mcp/spillway/internal/jsontape"
)

// assembly is an object in the making.
type assembly struct {
	b    []byte
	keys []string
	sole []byte // stands for all of it
}

// setParts sets allOf or anyOf. Where it is all that is said and has one part,
// that part stands for it.
func (s *assembly) setParts(key string, parts [][]byte) {
	switch {
	case len(parts) == 0:
	case len(parts) == 1 && len(s.keys) == 0:
		s.sole = parts[0]
	default:
		s.set(key, append(append([]byte{'['}, bytes.Join(parts, []byte(","))...), ']'))
	}
}

func (s *assembly) set(key string, value []byte) {
	if s.sole != nil {
		sole := s.sole
		s.sole = nil
		s.set("allOf", append(append([]byte{'['}, sole...), ']'))
	}
	if len(s.keys) == 0 {
		s.b = append(s.b, '{')
	} else {
		s.b = append(s.b, ',')
	}
	s.keys = append(s.keys, key)
	s.b = append(jsontape.AppendQuote(s.b, key), ':')
	s.b = append(s.b, value...)
}

func (s *assembly) has(key string) bool { return slices.Contains(s.keys, key) }

func (s *assembly) bytes() []byte {
	if s.sole != nil {
		return s.sole
	}
	if len(s.keys) == 0 {
		return []byte("{}")
	}
	return append(s.b, '}')
}

var typeNames = map[string]bool{
	"null": true, "boolean": true, "integer": true, "number": true, "string": true, "array": true, "object": true,
}

// types copies the type keyword, where all of it is known.
func (s *assembly) types(v jsontape.Value) {
	t := v.Get("type")
	var names list
	null := false
	add := func(n jsontape.Value) bool {
		name := n.Str()
		null = null || name == "null"
		names.add(n.AppendCompact(nil))
		return n.Kind() == jsontape.String && typeNames[name]
	}
	switch t.Kind() {
	case jsontape.String:
		if !add(t) {
			return
		}
	case jsontape.Array:
		for it := t.Iter(); it.Next(); {
			if !add(it.Value()) {
				return
			}
		}
	}
	if names.empty() {
		return
	}
	if v.Get("nullable").Kind() == jsontape.True && !null {
		names.add([]byte(`"null"`)) // of OpenAPI; a widely used validator heeds it
	}
	if names.n == 1 {
		s.set("type", names.b)
		return
	}
	s.set("type", names.array())
}

// list is a comma-separated list in the making.
type list struct {
	b []byte
	n int
}

func (l *list) add(item []byte) {
	if l.n > 0 {
		l.b = append(l.b, ',')
	}
	l.n++
	l.b = append(l.b, item...)
}

func (l *list) empty() bool    { return l.n == 0 }
func (l *list) array() []byte  { return append(append([]byte{'['}, l.b...), ']') }
func (l *list) object() []byte { return append(append([]byte{'{'}, l.b...), '}') }
