package jmespath

import (
	"slices"

	"github.com/spillway-mcp/spillway/internal/jsontape"
	"github.com/spillway-mcp/spillway/internal/schema/schemadoc"
)

// flat is one way in which a value can be valid under a schema: it is of one
// of the kinds, and valid under each of the nodes. References and allOf have
// been followed; of anyOf and oneOf one branch was taken.
type flat struct {
	kinds kinds
	nodes []jsontape.Value
}

const (
	maxFlats = 16 // ways told apart; past it anyOf and oneOf are not looked into
	maxChain = 24 // references and allOf followed within one schema
)

// flats takes t, which has a node, apart.
func (in *inference) flats(t *typ) []flat {
	var fs []flat
	key := schemadoc.Key(t.node)
	if known, ok := in.known[key]; ok && len(t.also) == 0 {
		fs = known
	} else {
		fs = in.expand([]flat{{kinds: kAll}}, t.node, 0)
		for _, n := range t.also {
			fs = in.expand(fs, n, 0)
		}
		if len(t.also) == 0 {
			in.known[key] = fs
		}
	}
	var masked []flat
	for _, f := range fs {
		if f.kinds &= t.kinds; f.kinds != 0 {
			masked = append(masked, f)
		}
	}
	return masked
}

// expand narrows each of fs by the schema n.
func (in *inference) expand(fs []flat, n jsontape.Value, depth int) []flat {
	switch {
	case n.Kind() == jsontape.False:
		return nil
	case n.Kind() != jsontape.Object, depth > maxChain, !in.spend(len(fs) + n.Len()), !same(n, in.doc.Value()) && schemadoc.EmbeddedID(n):
		return fs
	}
	if ref := n.Get("$ref"); ref.Kind() == jsontape.String {
		// What stands beside $ref counts in 2020-12 alone; it only narrows.
		if target, place := in.doc.Resolve(ref.Str()); place == schemadoc.Local {
			return in.expand(fs, target, depth+1)
		}
		return fs
	}
	if allHave(fs, n) {
		return fs // on the way through references, it has been met before
	}
	k := nodeKinds(n)
	narrowed := make([]flat, 0, len(fs))
	for _, f := range fs {
		if f.kinds &= k; f.kinds != 0 {
			f.nodes = append(f.nodes[:len(f.nodes):len(f.nodes)], n)
			narrowed = append(narrowed, f)
		}
	}
	fs = narrowed
	for it := iterArray(n.Get("allOf")); it.Next(); {
		fs = in.expand(fs, it.Value(), depth+1)
	}
	for _, keyword := range [...]string{"anyOf", "oneOf"} {
		of := n.Get(keyword)
		if of.Kind() != jsontape.Array || of.Len() == 0 {
			continue
		}
		var branches []flat
		for it := of.Iter(); it.Next() && len(branches) <= maxFlats; {
			branches = append(branches, in.expand(fs, it.Value(), depth+1)...)
		}
		if len(branches) <= maxFlats {
			fs = branches
		}
	}
	return fs
}

func allHave(fs []flat, n jsontape.Value) bool {
	for _, f := range fs {
		if !slices.Contains(f.nodes, n) {
			return false
		}
	}
	return true
}

func iterArray(v jsontape.Value) jsontape.Iter {
	if v.Kind() != jsontape.Array {
		return jsontape.Iter{}
	}
	return v.Iter()
}

func same(a, b jsontape.Value) bool {
	return a.Exists() && b.Exists() && schemadoc.Key(a) == schemadoc.Key(b) && len(a.Raw()) == len(b.Raw())
}

var kindNames = map[string]kinds{
	"null": kNull, "boolean": kBool, "integer": kInt, "number": kInt | kFloat,
	"string": kString, "array": kArray, "object": kObject,
}

// nodeKinds returns the kinds that type, enum and const of one node allow.
func nodeKinds(n jsontape.Value) kinds {
	k := kAll
	switch t := n.Get("type"); t.Kind() {
	case jsontape.String:
		k = kindNames[t.Str()]
		if k == 0 {
			k = kAll // no type that we know
		}
	case jsontape.Array:
		k = 0
		for it := t.Iter(); it.Next(); {
			one := kindNames[it.Value().Str()]
			if one == 0 {
				one = kAll
			}
			k |= one
		}
	}
	if n.Get("nullable").Kind() == jsontape.True {
		k |= kNull // of OpenAPI; a widely used validator heeds it
	}
	if c := n.Get("const"); c.Exists() {
		k &= kindOf(c)
	}
	if e := n.Get("enum"); e.Kind() == jsontape.Array {
		in := kinds(0)
		for it := e.Iter(); it.Next(); {
			in |= kindOf(it.Value())
		}
		k &= in
	}
	return k
}

// kinds returns the kinds that values of t can have.
func (in *inference) kinds(t *typ) kinds {
	switch {
	case t.alts != nil:
		k := kinds(0)
		for _, a := range t.alts {
			k |= in.kinds(a)
		}
		return k
	case t.node.Exists():
		k := kinds(0)
		for _, f := range in.flats(t) {
			k |= f.kinds
		}
		return k
	}
	return t.kinds
}

// each returns the union of what f makes of the alternatives of t.
func (in *inference) each(t *typ, f func(*typ) *typ) *typ {
	if t.alts == nil {
		return f(t)
	}
	u := &typ{}
	for _, a := range t.alts {
		if in.spend(1) {
			u = union(u, f(a))
		} else {
			return anything
		}
	}
	return u
}

// eachFlat returns the union of what f makes of t's ways to be of the kinds k,
// and null if t can be of another kind.
func (in *inference) eachFlat(t *typ, k kinds, f func(flat) *typ) *typ {
	u := &typ{}
	for _, fl := range in.flats(t) {
		if fl.kinds&k != 0 {
			u = union(u, f(fl))
		}
		if fl.kinds&^k != 0 {
			u = union(u, plain(kNull))
		}
	}
	return u
}

// orElse adds null to u if t has kinds outside of k.
func orElse(u, t *typ, k kinds) *typ {
	if t.kinds&k == 0 {
		return plain(kNull)
	}
	if t.kinds&^k != 0 {
		return union(u, plain(kNull))
	}
	return u
}

// present returns the values of t's member name where it is there; ok is
// false where it never is.
func (in *inference) present(t *typ, name string) (_ *typ, ok bool) {
	u := &typ{}
	if !t.node.Exists() {
		return anything, true
	}
	for _, f := range in.flats(t.only(kObject)) {
		if nodes, _, absent := memberNodes(f, name); !absent {
			u = union(u, fromSchema(nodes...))
			ok = true
		}
	}
	return u, ok
}

// field is a member of the values of t, null where it is missing.
func (in *inference) field(t *typ, name string) *typ {
	return in.each(t, func(t *typ) *typ {
		switch {
		case t.node.Exists():
			return in.eachFlat(t, kObject, func(f flat) *typ {
				nodes, required, absent := memberNodes(f, name)
				switch {
				case absent:
					return plain(kNull)
				case required:
					return fromSchema(nodes...)
				}
				return union(fromSchema(nodes...), plain(kNull))
			})
		case t.literal.Exists():
			if v := t.literal.Get(name); v.Exists() {
				return fromLiteral(v)
			}
			return plain(kNull)
		case t.kinds&kObject == 0:
			return plain(kNull)
		}
		for _, f := range t.fields {
			if f.name == name {
				if f.required {
					return orElse(f.typ, t, kObject)
				}
				return union(f.typ, plain(kNull))
			}
		}
		switch {
		case t.closed:
			return plain(kNull)
		case t.rest != nil:
			return union(t.rest, plain(kNull))
		}
		return anything
	})
}

// memberNodes returns the schemas of an object's member, whether it must be
// there, and whether it cannot be.
func memberNodes(f flat, name string) (nodes []jsontape.Value, required, absent bool) {
	for _, n := range f.nodes {
		s := n.Get("properties").Get(name)
		if !s.Exists() && n.Get("patternProperties").Len() == 0 {
			s = n.Get("additionalProperties")
		}
		switch s.Kind() {
		case jsontape.False:
			absent = true
		case jsontape.Object:
			nodes = append(nodes, s)
		}
		for it := iterArray(n.Get("required")); it.Next(); {
			required = required || it.Value().Is(name)
		}
	}
	return nodes, required, absent
}

// values is what a member of an object of t can be.
func (in *inference) values(t *typ) *typ {
	return in.each(t, func(t *typ) *typ {
		t = t.only(kObject)
		switch {
		case t.kinds == 0:
			return t
		case t.node.Exists():
			u := &typ{}
			for _, f := range in.flats(t) {
				u = union(u, flatValues(f))
			}
			return u
		case t.literal.Exists():
			return literals(t.literal)
		case !t.closed && t.rest == nil:
			return anything
		}
		u := &typ{}
		if t.rest != nil {
			u = t.rest
		}
		for _, f := range t.fields {
			u = union(u, f.typ)
		}
		return u
	})
}

// flatValues uses the first node that says what every member is.
func flatValues(f flat) *typ {
	for _, n := range f.nodes {
		rest := n.Get("additionalProperties")
		u := &typ{}
		switch rest.Kind() {
		case jsontape.Object:
			u = fromSchema(rest)
		case jsontape.False:
		default:
			continue
		}
		for _, keyword := range [...]string{"properties", "patternProperties"} {
			members := n.Get(keyword)
			if members.Kind() != jsontape.Object {
				continue
			}
			for it := members.Iter(); it.Next(); {
				if it.Value().Kind() != jsontape.False {
					u = union(u, fromSchema(it.Value()))
				}
			}
		}
		return u
	}
	return anything
}

func literals(v jsontape.Value) *typ {
	if v.Len() > maxAlts {
		return anything
	}
	u := &typ{}
	for it := v.Iter(); it.Next(); {
		u = union(u, fromLiteral(it.Value()))
	}
	return u
}
