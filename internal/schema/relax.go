package schema

import (
	"bytes"

	"github.com/spillway-mcp/spillway/internal/jsontape"
	"github.com/spillway-mcp/spillway/internal/schema/schemadoc"
)

// mode says what stands where a schema is relaxed.
type mode uint8

const (
	// inner is a value below the payload's root. A cut shortens strings and
	// takes elements off the end of arrays; it changes no key.
	inner mode = iota
	// cutRoot is the payload's root: _spillway may stand beside its members.
	cutRoot
	// keptRoot is the object that a projection made: always fields may too.
	keptRoot
)

const (
	noteName  = "_spillway"
	noteKey   = `"_spillway"`
	movedKey  = `"_spillway_upstream"` // where the upstream's own member of that name goes
	noteField = `"_spillway":{"type":"string"}`

	maxNodes   = 20_000 // schemas relaxed for one listed schema
	maxRelax   = 100    // how deep they nest
	minSaving  = 64     // bytes for which a reference to UPSTREAM is worth reading
	shortConst = 64     // bytes of a string that no cut touches: the ladder of RED-12 ends there
)

// rooted is how a schema at the root of a branch is written.
type rooted struct {
	mode  mode
	top   bool // the branch itself, not a part of it
	noted bool // _spillway is required
	typed bool // say type object: the listed root does not
}

// relax writes a schema that every value valid under v satisfies after any
// cut. It keeps only keywords that it knows to hold, in the vocabulary that
// draft-07 and 2020-12 share; everything else, what negates or chooses
// (not, if, unevaluated*, dependent*) above all, is dropped.
func (w *writer) relax(v jsontape.Value, depth int) []byte {
	if w.budget--; w.budget < 0 || depth > maxRelax || v.Kind() != jsontape.Object || w.embedded(v) {
		return []byte("{}")
	}
	if ref := v.Get("$ref"); ref.Kind() == jsontape.String {
		return w.reference(ref.Str(), depth)
	}
	var s assembly
	s.types(v)
	w.values(&s, v)
	for _, keyword := range [...]string{"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "maxItems"} {
		if n := v.Get(keyword); n.Kind() == jsontape.Number {
			s.set(keyword, n.Raw())
		}
	}
	w.members(&s, v, rooted{}, depth)
	if items := v.Get("items"); items.Kind() == jsontape.Object && !v.Get("prefixItems").Exists() {
		if b := w.relax(items, depth+1); string(b) != "{}" {
			s.set("items", b)
		}
	}
	w.choices(&s, v, func(c jsontape.Value) []byte { return w.relax(c, depth+1) })
	b := s.bytes()
	// Where no cut can matter, UPSTREAM says the same, and once is enough.
	if len(b) > minSaving && w.isClean(v) {
		if ref, ok := w.original(v); ok && len(ref)+minSaving <= len(b) {
			return ref
		}
	}
	return b
}

// root writes the schema of an object at the root of a branch.
func (w *writer) root(v jsontape.Value, r rooted, depth int) []byte {
	var s assembly
	if r.typed {
		s.set("type", []byte(`"object"`))
	}
	beyond := w.budget <= 0 || depth > maxRelax || v.Kind() != jsontape.Object || w.embedded(v)
	if w.budget--; beyond {
		v = jsontape.Value{}
	}
	if ref := v.Get("$ref"); ref.Kind() == jsontape.String {
		target, where := w.doc.Resolve(ref.Str())
		if where != schemadoc.Local || w.busy[schemadoc.Key(target)] {
			return w.root(jsontape.Value{}, r, depth)
		}
		w.busy[schemadoc.Key(target)] = true
		defer delete(w.busy, schemadoc.Key(target))
		return w.root(target, r, depth+1)
	}
	w.members(&s, v, r, depth)
	r.top, r.noted, r.typed = false, false, false
	w.choices(&s, v, func(c jsontape.Value) []byte { return w.root(c, r, depth+1) })
	return s.bytes()
}

// members relaxes what a schema says of an object's members.
func (w *writer) members(s *assembly, v jsontape.Value, r rooted, depth int) {
	var required list
	if r.noted {
		required.add([]byte(noteKey))
	}
	names := v.Get("required")
	if names.Kind() == jsontape.Array {
		for it := names.Iter(); it.Next(); {
			switch name := it.Value(); {
			case name.Kind() != jsontape.String:
			case r.mode != inner && name.Is(noteName):
				required.add([]byte(movedKey))
			default:
				required.add(name.AppendCompact(nil))
			}
		}
	}
	if !required.empty() {
		s.set("required", required.array())
	}
	rest := w.rest(v, r, depth)
	var properties list
	if r.top || r.mode == cutRoot && rest != nil {
		properties.add([]byte(noteField))
	}
	if of := v.Get("properties"); of.Kind() == jsontape.Object {
		for it := of.Iter(); it.Next(); {
			key, value := it.Key(), it.Value()
			name := key.Str()
			switch {
			case schemadoc.Key(of.Get(name)) != schemadoc.Key(value): // a later duplicate counts
			case r.mode == keptRoot && !requires(names, name): // an always field may stand in its place
			case w.strip && (name == "data" || name == "blob"):
				properties.add(append(append(key.AppendCompact(nil), ':'), onlyTypes(value)...))
			default:
				b := key.AppendCompact(nil)
				if r.mode != inner && name == noteName {
					b = []byte(movedKey)
				}
				properties.add(append(append(b, ':'), w.relax(value, depth+1)...))
			}
		}
	}
	if !properties.empty() {
		s.set("properties", properties.object())
	}
	if rest != nil {
		s.set("additionalProperties", rest)
	}
}

// rest relaxes additionalProperties; nil where nothing is said of the members
// that are not named.
func (w *writer) rest(v jsontape.Value, r rooted, depth int) []byte {
	if r.mode == keptRoot || v.Get("patternProperties").Len() > 0 {
		return nil
	}
	switch rest := v.Get("additionalProperties"); rest.Kind() {
	case jsontape.False:
		return []byte("false")
	case jsontape.Object:
		if b := w.relax(rest, depth+1); string(b) != "{}" {
			return b
		}
	}
	return nil
}

func requires(names jsontape.Value, name string) bool {
	if names.Kind() != jsontape.Array {
		return false
	}
	for it := names.Iter(); it.Next(); {
		if it.Value().Is(name) {
			return true
		}
	}
	return false
}

// choices relaxes allOf, anyOf and oneOf. A cut can make two branches of a oneOf
// match, so that it becomes an anyOf.
func (w *writer) choices(s *assembly, v jsontape.Value, relax func(jsontape.Value) []byte) {
	if all := v.Get("allOf"); all.Kind() == jsontape.Array {
		var parts [][]byte
		for it := all.Iter(); it.Next(); {
			if b := relax(it.Value()); string(b) != "{}" {
				parts = appendNew(parts, b)
			}
		}
		s.setParts("allOf", parts)
	}
	of := v.Get("anyOf")
	if of.Kind() != jsontape.Array {
		of = v.Get("oneOf")
	}
	if of.Kind() != jsontape.Array {
		return
	}
	var parts [][]byte
	for it := of.Iter(); it.Next(); {
		if it.Value().Kind() == jsontape.False {
			continue
		}
		b := relax(it.Value())
		if string(b) == "{}" {
			return // one branch takes everything
		}
		parts = appendNew(parts, b)
	}
	if types := joinTypes(parts); types != nil && !s.has("type") {
		s.set("type", types)
	} else {
		s.setParts("anyOf", parts)
	}
}

// joinTypes returns one value of a type keyword for schemas that each say a
// type and nothing else; nil for others.
func joinTypes(parts [][]byte) []byte {
	var types list
	for _, p := range parts {
		one, ok := bytes.CutPrefix(p, []byte(`{"type":`))
		one, end := bytes.CutSuffix(one, []byte("}"))
		if one = bytes.Trim(one, "[]"); !ok || !end || bytes.ContainsAny(one, ":[]{}") {
			return nil
		}
		for name := range bytes.SplitSeq(one, []byte(",")) {
			if !bytes.Contains(types.b, name) {
				types.add(name)
			}
		}
	}
	switch types.n {
	case 0:
		return nil
	case 1:
		return types.b
	}
	return types.array()
}

// values relaxes const and enum: they stay where no cut can change a value.
func (w *writer) values(s *assembly, v jsontape.Value) {
	if c := v.Get("const"); c.Exists() {
		if w.untouched(c) {
			s.set("const", c.AppendCompact(nil))
		} else if !s.has("type") {
			s.set("type", typesOf(c))
		}
	}
	e := v.Get("enum")
	if e.Kind() != jsontape.Array || e.Len() == 0 {
		return
	}
	if w.allUntouched(e) {
		s.set("enum", e.AppendCompact(nil))
	} else if !s.has("type") {
		s.set("type", typesOf(e.Elements(nil)...))
	}
}

func (w *writer) allUntouched(e jsontape.Value) bool {
	for it := e.Iter(); it.Next(); {
		if !w.untouched(it.Value()) {
			return false
		}
	}
	return true
}

// untouched reports whether no cut changes this value.
func (w *writer) untouched(v jsontape.Value) bool {
	if v.Kind() != jsontape.String {
		return !v.IsContainer()
	}
	return len(v.Raw())-2 <= shortConst
}

// onlyTypes relaxes the schema of a string that strip may replace.
func onlyTypes(v jsontape.Value) []byte {
	var s assembly
	if !v.Get("$ref").Exists() {
		s.types(v)
	}
	return s.bytes()
}

// typesOf returns the value of a type keyword for what these values are.
func typesOf(values ...jsontape.Value) []byte {
	var names list
	seen := map[string]bool{}
	for _, v := range values {
		name := ""
		switch v.Kind() {
		case jsontape.Null:
			name = `"null"`
		case jsontape.True, jsontape.False:
			name = `"boolean"`
		case jsontape.Number:
			name = `"number"`
		case jsontape.String:
			name = `"string"`
		case jsontape.Array:
			name = `"array"`
		case jsontape.Object:
			name = `"object"`
		}
		if !seen[name] {
			seen[name] = true
			names.add([]byte(name))
		}
	}
	if len(seen) == 1 {
		return names.b
	}
	return names.array()
}
