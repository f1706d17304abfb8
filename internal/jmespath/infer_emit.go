package jmespath

import (
	"bytes"

	"github.com/spillway-mcp/spillway/internal/jsontape"
	"github.com/spillway-mcp/spillway/internal/schema/schemadoc"
)

const (
	maxInferred = 64 << 10 // bytes of one inferred schema; a larger one says nothing
	maxEmit     = 48       // how deep it nests
	maxInline   = 120      // bytes of an upstream schema repeated in place; a longer one is referred to
	maxConst    = 64       // bytes of a constant told; longer ones are only typed
)

// schema writes t as a JSON Schema of the keywords that draft-07 and 2020-12
// share.
func (in *inference) schema(t *typ) []byte {
	b := in.emit(t, 0)
	if len(b) > maxInferred {
		return []byte("{}")
	}
	return b
}

func (in *inference) emit(t *typ, depth int) []byte {
	if depth > maxEmit || !in.spend(1) {
		return []byte("{}")
	}
	switch {
	case t.alts != nil:
		return in.emitUnion(t, depth)
	case t.node.Exists():
		return in.emitNodes(t)
	case t.literal.Exists() && !t.literal.IsContainer() && len(t.literal.Raw()) <= maxConst:
		return append(t.literal.AppendCompact([]byte(`{"const":`)), '}')
	case t.isTuple || t.elem != nil:
		b := []byte(`{"type":"array"`)
		if items := in.emit(in.elem(t), depth+1); string(items) != "{}" {
			b = append(append(b, `,"items":`...), items...)
		}
		return append(b, '}')
	case t.closed || t.fields != nil || t.rest != nil:
		return in.emitObject(t, depth)
	}
	return emitKinds(t.kinds)
}

func (in *inference) emitObject(t *typ, depth int) []byte {
	b := []byte(`{"type":"object"`)
	required := 0
	for i, f := range t.fields {
		if i == 0 {
			b = append(b, `,"properties":{`...)
		} else {
			b = append(b, ',')
		}
		b = append(jsontape.AppendQuote(b, f.name), ':')
		b = append(b, in.emit(f.typ, depth+1)...)
		if f.required {
			required++
		}
	}
	if len(t.fields) > 0 {
		b = append(b, '}')
	}
	if required > 0 {
		b = append(b, `,"required":[`...)
		for _, f := range t.fields {
			if f.required {
				b = append(jsontape.AppendQuote(b, f.name), ',')
			}
		}
		b[len(b)-1] = ']'
	}
	if t.rest != nil {
		if rest := in.emit(t.rest, depth+1); string(rest) != "{}" {
			b = append(append(b, `,"additionalProperties":`...), rest...)
		}
	}
	return append(b, '}')
}

func (in *inference) emitUnion(t *typ, depth int) []byte {
	simple := kinds(0)
	var parts [][]byte
	for _, a := range t.alts {
		if k := in.kinds(a); k == 0 {
			continue
		} else if a.isPlain() || a.node.Exists() && in.typesOnly(a) {
			simple |= k
			continue
		}
		b := in.emit(a, depth+1)
		if string(b) == "{}" {
			return b
		}
		parts = appendNew(parts, b)
	}
	if simple != 0 {
		if simple == kAll {
			return []byte("{}")
		}
		parts = append(parts, emitKinds(simple))
	}
	return anyOf(parts)
}

func appendNew(parts [][]byte, b []byte) [][]byte {
	for _, p := range parts {
		if bytes.Equal(p, b) {
			return parts
		}
	}
	return append(parts, b)
}

func anyOf(parts [][]byte) []byte {
	switch len(parts) {
	case 0:
		return []byte("{}")
	case 1:
		return parts[0]
	}
	b := append([]byte(`{"anyOf":[`), bytes.Join(parts, []byte(","))...)
	return append(b, "]}"...)
}

func emitKinds(k kinds) []byte {
	if k == 0 || k == kAll {
		return []byte("{}")
	}
	return append(appendKinds([]byte(`{"type":`), k), '}')
}

// appendKinds appends the value of a type keyword.
func appendKinds(b []byte, k kinds) []byte {
	start, n := len(b), 0
	b = append(b, '[')
	for _, one := range [...]struct {
		kinds kinds
		name  string
	}{
		{kObject, "object"}, {kArray, "array"}, {kString, "string"}, {kFloat, "number"}, {kInt, "integer"}, {kBool, "boolean"}, {kNull, "null"},
	} {
		if k&one.kinds == 0 || one.kinds == kInt && k&kFloat != 0 {
			continue
		}
		b = append(append(append(b, '"'), one.name...), `",`...)
		n++
	}
	b[len(b)-1] = ']'
	if n == 1 {
		b = append(b[:start], b[start+1:len(b)-1]...)
	}
	return b
}

// annotations are the keywords that a schema may have beside its type for
// the kinds to be all it says. The applicators among them have been looked
// into.
var annotations = map[string]bool{
	"type": true, "nullable": true, "title": true, "description": true, "default": true, "examples": true, "$comment": true,
	"deprecated": true, "readOnly": true, "writeOnly": true, "anyOf": true, "oneOf": true, "allOf": true,
	"$defs": true, "definitions": true, "$schema": true,
}

// typesOnly reports whether t, which has a node, says no more than its kinds.
func (in *inference) typesOnly(t *typ) bool {
	for _, f := range in.flats(t) {
		for _, n := range f.nodes {
			for it := n.Iter(); it.Next(); {
				if !annotations[it.Key().Str()] {
					return false
				}
			}
		}
	}
	return true
}

// emitNodes writes what the upstream's own schemas say.
func (in *inference) emitNodes(t *typ) []byte {
	k := in.kinds(t)
	if k == 0 || in.typesOnly(t) {
		return emitKinds(k)
	}
	whole := *t
	whole.kinds = kAll
	narrowed := k != in.kinds(&whole)
	if narrowed && len(t.also) == 0 {
		if b, ok := retype(t.node, k); ok {
			return b
		}
	}
	var parts [][]byte
	for _, n := range append([]jsontape.Value{t.node}, t.also...) {
		if b := in.emitNode(n); string(b) != "{}" {
			parts = appendNew(parts, b)
		}
	}
	switch {
	case len(parts) == 0:
		return emitKinds(k)
	case len(parts) == 1 && !narrowed:
		return parts[0]
	}
	b := []byte{'{'}
	if narrowed {
		b = append(appendKinds(append(b, `"type":`...), k), ',')
	}
	b = append(append(b, `"allOf":[`...), bytes.Join(parts, []byte(","))...)
	return append(b, "]}"...)
}

// retype writes a small schema with another type.
func retype(n jsontape.Value, k kinds) ([]byte, bool) {
	if n.Kind() != jsontape.Object || len(n.Raw()) > maxInline || !movable(n) || n.Get("$ref").Exists() {
		return nil, false
	}
	b := appendKinds([]byte(`{"type":`), k)
	for it := n.Iter(); it.Next(); {
		if key := it.Key(); !key.Is("type") && !key.Is("nullable") {
			b = append(key.AppendCompact(append(b, ',')), ':')
			b = it.Value().AppendCompact(b)
		}
	}
	return append(b, '}'), true
}

// emitNode writes one upstream schema, in place or as a reference to it.
func (in *inference) emitNode(n jsontape.Value) []byte {
	if n.Kind() != jsontape.Object {
		return []byte("{}")
	}
	if len(n.Raw()) <= maxInline && movable(n) {
		return n.AppendCompact(nil)
	}
	if pointer, ok := in.doc.Pointer(n); ok && in.reachable(pointer, n) {
		return append(jsontape.AppendQuote([]byte(`{"$ref":`), pointer), '}')
	}
	return []byte("{}")
}

// reachable reports whether a reference leads to n: an embedded resource or a
// duplicate key may stand in its way.
func (in *inference) reachable(pointer string, n jsontape.Value) bool {
	target, place := in.doc.Resolve(pointer)
	return place == schemadoc.Local && same(target, n)
}

// movable reports whether a schema means the same in another place: nothing in
// it has a name of its own or depends on the dynamic scope.
func movable(n jsontape.Value) bool {
	raw := n.Raw()
	for _, name := range [...]string{`"$id"`, `"$anchor"`, `"$dynamic`, `"$recursive`, `\u`} {
		if bytes.Contains(raw, []byte(name)) {
			return false
		}
	}
	return true
}
