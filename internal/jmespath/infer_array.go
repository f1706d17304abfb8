package jmespath

import (
	"github.com/spillway-mcp/spillway/internal/jsontape"
	"github.com/spillway-mcp/spillway/internal/schema/schemadoc"
)

// elem is what an element of an array of t can be.
func (in *inference) elem(t *typ) *typ {
	return in.each(t, func(t *typ) *typ {
		t = t.only(kArray)
		switch {
		case t.kinds == 0:
			return t
		case t.node.Exists():
			u := &typ{}
			for _, f := range in.flats(t) {
				u = union(u, flatElem(f))
			}
			return u
		case t.literal.Exists():
			return literals(t.literal)
		case t.isTuple:
			u := &typ{}
			for _, e := range t.tuple {
				u = union(u, e)
			}
			return u
		case t.elem != nil:
			return t.elem
		}
		return anything
	})
}

// flatElem joins what the nodes say of every element; a tuple counts where
// none says that.
func flatElem(f flat) *typ {
	var nodes []jsontape.Value
	var tuple *typ
	for _, n := range f.nodes {
		items, prefix := n.Get("items"), n.Get("prefixItems")
		switch {
		case prefix.Kind() == jsontape.Array && prefix.Len() > 0:
			tuple = tupleElem(prefix, items)
		case items.Kind() == jsontape.Array:
			tuple = tupleElem(items, n.Get("additionalItems"))
		case items.Kind() == jsontape.False:
			return &typ{}
		case items.Kind() == jsontape.Object:
			nodes = append(nodes, items)
		}
	}
	if nodes == nil && tuple != nil {
		return tuple
	}
	return fromSchema(nodes...)
}

func tupleElem(tuple, rest jsontape.Value) *typ {
	u := &typ{}
	switch {
	case tuple.Len() > maxAlts:
		return anything
	case rest.Kind() == jsontape.False:
	case schemadoc.IsSchema(rest):
		u = fromSchema(rest)
	default:
		return anything
	}
	for it := tuple.Iter(); it.Next(); {
		if it.Value().Kind() != jsontape.False {
			u = union(u, fromSchema(it.Value()))
		}
	}
	return u
}

// index is one element of an array of t, null where there is none.
func (in *inference) index(t *typ, i int) *typ {
	return in.each(t, func(t *typ) *typ {
		switch {
		case t.node.Exists():
			return union(in.eachFlat(t, kArray, func(f flat) *typ { return flatIndex(f, i) }), plain(kNull))
		case t.kinds&kArray == 0:
			return plain(kNull)
		case t.isTuple:
			at := i
			if i < 0 {
				at += len(t.tuple)
			}
			if at < 0 || at >= len(t.tuple) {
				return plain(kNull)
			}
			return orElse(t.tuple[at], t, kArray)
		}
		return union(in.elem(t), plain(kNull))
	})
}

func flatIndex(f flat, i int) *typ {
	for _, n := range f.nodes {
		tuple := n.Get("prefixItems")
		if tuple.Kind() != jsontape.Array {
			tuple = n.Get("items")
		}
		if tuple.Kind() == jsontape.Array && i >= 0 && i < tuple.Len() {
			if s := tuple.Index(i); schemadoc.IsSchema(s) {
				return fromSchema(s)
			}
		}
	}
	return flatElem(f)
}

// flatten is what an element of an array of t, flattened by one level, can be.
func (in *inference) flatten(t *typ) *typ {
	elem := in.elem(t)
	rest := elem.only(kAll &^ kArray)
	if in.kinds(elem)&kArray == 0 {
		return rest
	}
	return union(rest, in.elem(elem.only(kArray)))
}

// slice is a part of an array or a string of t, else null.
func (in *inference) slice(t *typ) *typ {
	u := &typ{}
	k := in.kinds(t)
	if k&kArray != 0 {
		u = arrayOf(in.elem(t))
	}
	if k&kString != 0 {
		u = union(u, plain(kString))
	}
	if k&^(kArray|kString) != 0 {
		u = union(u, plain(kNull))
	}
	return u
}
