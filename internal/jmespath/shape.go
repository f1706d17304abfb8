package jmespath

import "slices"

// Shape is what can be said of an expression's result without data. It is
// never wrong: what cannot be told is left out.
type Shape struct {
	// Base selects the array that the leftmost projection walks: items in
	// items[*].{path: path}; of a filter, slice, flatten or sort, the array
	// that goes into it. It is nil where no array is projected.
	Base *Expr
	// Aligned reports that nothing between Base and the rows filters,
	// flattens, slices or reorders: row i of the result is element i of Base,
	// unless nulls were dropped.
	Aligned bool
	// Projected reports that the result is made by a projection (an array of
	// rows), as opposed to a single value or object.
	Projected bool
	// Over selects what the rows are made from, before the multi-select hash
	// of Fields is applied: items in items[*].{path: path}, items[?open] in
	// items[?open].{path: path}. It is nil where there is no such hash, and
	// where the result is not Projected.
	Over *Expr
	// Fields are the members of the multi-select hash that a row (or, with
	// no projection, the result) is made of, in order. It is empty for others.
	Fields []Field
}

// Field is one selected member.
type Field struct {
	Name string
	// Path is the plain path that the member is taken from: where the result
	// is Projected from a row, which is an element of Base (of one that is an
	// array and is flattened, an element of that), else from the payload. It
	// is nil where the member is computed otherwise.
	Path []string
	// Rows is the shape of a member of an unprojected result that is itself
	// projected, as rows in {n: total, rows: items[*].{path: path}}; else nil.
	Rows *Shape
	// Members are the names, of what Path counts from, that the member's value
	// is taken or computed from; nil where that cannot be told.
	Members []string

	path []string // from an element of Over, or from the payload
}

// Shape analyses e.
func (e *Expr) Shape() Shape { return e.shape(shapeOf(e.root)) }

func (e *Expr) shape(s shape) Shape {
	out := Shape{Aligned: s.base != nil && s.aligned, Projected: s.projected}
	if s.base != nil {
		out.Base = &Expr{src: format(s.base), root: s.base, slots: e.slots}
	}
	if s.over != nil {
		out.Over = &Expr{src: format(s.over), root: s.over, slots: e.slots}
	}
	for _, f := range s.fields {
		field := Field{Name: f.name, path: f.path}
		if !s.projected || s.whole {
			field.Path, field.Members = f.path, f.members
		}
		if f.inner != nil && f.inner.projected {
			inner := e.shape(*f.inner)
			field.Rows = &inner
		}
		out.Fields = append(out.Fields, field)
	}
	return out
}

// shape is a Shape on the way: of a part of the expression, against its own @.
type shape struct {
	base      node
	aligned   bool
	projected bool
	// whole reports that the rows are elements of base, or of its elements;
	// with fields, that these are made from such rows.
	whole  bool
	over   node
	fields []shapeField
}

type shapeField struct {
	name    string
	path    []string
	members []string
	inner   *shape
}

// below moves a field's path and members under those of what it is applied to.
func (f *shapeField) below(prefix []string) {
	switch {
	case prefix == nil:
		f.path, f.members = nil, nil
		return
	case f.path != nil:
		f.path = append(slices.Clone(prefix), f.path...)
	}
	if f.members != nil {
		f.members = prefix[:1]
	}
}

func newField(m *hashMember) shapeField {
	f := shapeField{name: m.name, path: plainPath(m.val)}
	if names, ok := membersOf(m.val); ok {
		f.members = names
	}
	return f
}

// withoutPaths is for a result that has the members of a row, or of something
// else that Field.Path does not count from.
func withoutPaths(fields []shapeField) []shapeField {
	fields = slices.Clone(fields)
	for i := range fields {
		fields[i].path, fields[i].members, fields[i].inner = nil, nil, nil
	}
	return fields
}

func shapeOf(n node) shape {
	switch n := n.(type) {
	case *projectNode:
		return shapeOfProjection(n)
	case *hashNode:
		return shapeOfHash(n)
	case *subNode:
		return shapeOfChain(n.left, n.right, func(right node) node { return &subNode{n.meta, n.left, right} })
	case *pipeNode:
		return shapeOfChain(n.left, n.right, func(right node) node { return &pipeNode{n.meta, n.left, right} })
	case *letNode:
		return rebase(shapeOf(n.body), func(body node) node {
			let := *n
			let.body = body
			return &let
		})
	case *callNode:
		return shapeOfCall(n)
	}
	return shape{}
}

// rebase puts base and over in their place below what is around them.
func rebase(s shape, around func(node) node) shape {
	if s.base != nil {
		s.base = around(s.base)
	}
	if s.over != nil {
		s.over = around(s.over)
	}
	s.fields = slices.Clone(s.fields)
	for i := range s.fields {
		if s.fields[i].inner != nil {
			inner := rebase(*s.fields[i].inner, around)
			s.fields[i].inner = &inner
		}
	}
	return s
}

// shapeOfHash takes base from the first member that is projected.
func shapeOfHash(n *hashNode) shape {
	var s shape
	for i := range n.members {
		m := &n.members[i]
		inner := shapeOf(m.val)
		if s.base == nil && inner.base != nil {
			s.base, s.aligned = inner.base, inner.aligned
		}
		f := newField(m)
		f.inner = &inner
		s.fields = append(s.fields, f)
	}
	return s
}

// rowFields returns the fields of what is applied to each row: a hash, or one
// below a plain path.
func rowFields(n node) []shapeField {
	var prefix []string
	if sub, ok := n.(*subNode); ok {
		if prefix = plainPath(sub.left); prefix == nil {
			if _, isHash := sub.right.(*hashNode); isHash {
				return withoutPaths(rowFields(sub.right))
			}
			return nil
		}
		n = sub.right
	}
	h, ok := n.(*hashNode)
	if !ok {
		return nil
	}
	var fields []shapeField
	for i := range h.members {
		f := newField(&h.members[i])
		if prefix != nil {
			f.below(prefix)
		}
		fields = append(fields, f)
	}
	return fields
}

func shapeOfProjection(n *projectNode) shape {
	left := n.left
	if n.op == projectSlice {
		left = withoutSlice(left)
	}
	from := shapeOf(left)
	if !from.projected && from.base == nil && n.op != projectObject {
		from = shape{base: left, aligned: true, whole: true}
		if call, ok := left.(*callNode); ok && reorders(call) {
			from.base, from.aligned = call.args[0], false
		}
	} else if !from.projected {
		from.aligned = false
	}
	return projectRows(n, from)
}

// projectRows is the shape of a projection over rows.
func projectRows(n *projectNode, rows shape) shape {
	s := shape{base: rows.base, aligned: rows.aligned && n.op == projectArray, projected: true}
	s.whole = rows.whole && rows.fields == nil && n.op != projectObject
	if _, same := n.right.(*currentNode); same {
		// A row of fields is an object, and not flattened further.
		if rows.fields != nil && n.op != projectObject {
			s.whole, s.over, s.fields = rows.whole, rows.over, rows.fields
		}
		return s
	}
	s.fields = rowFields(n.right)
	if s.fields == nil {
		s.whole = false
	} else {
		over := *n
		over.right = &currentNode{meta{int32(n.right.at()), 1}}
		s.over = &over
	}
	return s
}

// withoutSlice returns what the slice at the end of n is of.
func withoutSlice(n node) node {
	if sub, ok := n.(*subNode); ok {
		return sub.left
	}
	return &currentNode{meta{int32(n.at()), 1}}
}

// shapeOfChain is the shape of left.right or left | right.
func shapeOfChain(left, right node, around func(right node) node) shape {
	from := shapeOf(left)
	if !from.projected && from.base == nil {
		s := rebase(shapeOf(right), around)
		if !s.projected {
			prefix := plainPath(left)
			for i := range s.fields {
				s.fields[i].below(prefix)
			}
		}
		return s
	}
	lost := shape{base: from.base}
	if !from.projected {
		return lost
	}
	switch right := right.(type) {
	case *currentNode:
		return from
	case *indexNode:
		lost.fields = withoutPaths(from.fields)
	case *hashNode:
		lost.fields = withoutPaths(shapeOfHash(right).fields)
	case *callNode:
		if reorders(right) {
			if _, ok := right.args[0].(*currentNode); ok {
				from.aligned = false
				return from
			}
		}
	case *projectNode:
		of := right.left
		if right.op == projectSlice {
			of = withoutSlice(of)
		}
		if _, ok := of.(*currentNode); ok {
			s := projectRows(right, from)
			if _, same := right.right.(*currentNode); !same && s.over != nil {
				s.over = around(s.over)
			}
			return s
		}
	}
	return lost
}

// reorders reports whether the result of the call has the elements of its
// first argument, in another order.
func reorders(n *callNode) bool {
	switch n.fn.name {
	case "sort", "sort_by", "reverse":
		return true
	}
	return false
}

func shapeOfCall(n *callNode) shape {
	if n.fn.name == "map" {
		if s := shapeOf(n.args[1]); s.base != nil || s.projected {
			return shape{base: s.base}
		}
		s := shape{base: n.args[1], aligned: true, projected: true, fields: rowFields(n.args[0].(*refNode).of)}
		if s.whole = s.fields != nil; s.whole {
			s.over = n.args[1]
		}
		return s
	}
	if reorders(n) {
		if s := shapeOf(n.args[0]); s.projected {
			s.aligned = false
			return s
		}
	}
	return shape{}
}
