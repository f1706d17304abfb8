package jmespath

import (
	"slices"

	"github.com/spillway-mcp/spillway/internal/jsontape"
)

// kinds is a set of JSON types, with the integers apart from other numbers.
type kinds uint8

const (
	kNull kinds = 1 << iota
	kBool
	kInt
	kFloat // numbers that are not integers
	kString
	kArray
	kObject

	kAll = kNull | kBool | kInt | kFloat | kString | kArray | kObject
)

// typ is a set of JSON values: those whose kind is in kinds and that satisfy
// everything else that is set. Types never change once made.
type typ struct {
	kinds kinds
	// node is the upstream's schema that the values, passed on untouched,
	// are valid under, together with those of also.
	node jsontape.Value
	also []jsontape.Value
	// literal is the one value there is.
	literal jsontape.Value
	// elem is the type of the elements of an array, tuple (if isTuple) those
	// of an array of exactly these.
	elem    *typ
	tuple   []*typ
	isTuple bool
	// fields are the members of an object; closed says it has no others, rest
	// is what the others are.
	fields []typField
	closed bool
	rest   *typ
	// alts are the types of which any holds; all else but kinds is then
	// unset.
	alts []*typ
}

type typField struct {
	name     string
	typ      *typ
	required bool
}

// anything is every JSON value.
var anything = &typ{kinds: kAll}

func plain(k kinds) *typ { return &typ{kinds: k} }

func fromSchema(nodes ...jsontape.Value) *typ {
	if len(nodes) == 0 {
		return anything
	}
	return &typ{kinds: kAll, node: nodes[0], also: nodes[1:]}
}

func fromLiteral(v jsontape.Value) *typ {
	return &typ{kinds: kindOf(v), literal: v}
}

func arrayOf(elem *typ) *typ {
	return &typ{kinds: kArray, elem: elem}
}

func kindOf(v jsontape.Value) kinds {
	switch v.Kind() {
	case jsontape.Null:
		return kNull
	case jsontape.True, jsontape.False:
		return kBool
	case jsontape.String:
		return kString
	case jsontape.Array:
		return kArray
	case jsontape.Object:
		return kObject
	case jsontape.Number:
		for _, c := range v.Raw() {
			if c == '.' || c == 'e' || c == 'E' {
				return kInt | kFloat // 1.0 is an integer to some
			}
		}
		return kInt
	}
	return kAll
}

// isPlain reports whether nothing but the kinds is known.
func (t *typ) isPlain() bool {
	return !t.node.Exists() && !t.literal.Exists() && t.elem == nil && !t.isTuple && t.fields == nil && !t.closed && t.rest == nil && t.alts == nil
}

// only returns the part of t that is of the kinds k.
func (t *typ) only(k kinds) *typ {
	if t.kinds&^k == 0 {
		return t
	}
	if t.alts != nil {
		u := &typ{}
		for _, a := range t.alts {
			u = union(u, a.only(k))
		}
		return u
	}
	c := *t
	c.kinds &= k
	if c.kinds == 0 {
		return &typ{}
	}
	return &c
}

// maxAlts bounds how finely a union is told apart.
const maxAlts = 12

// union returns the values of either type.
func union(a, b *typ) *typ {
	switch {
	case a == b, b.kinds == 0:
		return a
	case a.kinds == 0:
		return b
	}
	var alts []*typ
	simple := kinds(0)
	for _, t := range []*typ{a, b} {
		parts := t.alts
		if parts == nil {
			parts = []*typ{t}
		}
		for _, p := range parts {
			if p.isPlain() {
				simple |= p.kinds
			} else if !slices.Contains(alts, p) {
				alts = append(alts, p)
			}
		}
	}
	kept := alts[:0]
	all := simple
	for _, p := range alts {
		if p.kinds&^simple != 0 { // else it is part of the plain kinds
			kept = append(kept, p)
			all |= p.kinds
		}
	}
	switch {
	case len(kept) > maxAlts:
		return plain(all)
	case simple == 0 && len(kept) == 1:
		return kept[0]
	case len(kept) == 0:
		return plain(simple)
	}
	if simple != 0 {
		kept = append(kept, plain(simple))
	}
	return &typ{kinds: all, alts: kept}
}
