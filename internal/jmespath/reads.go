package jmespath

import (
	"slices"
	"strings"

	"github.com/spillway-mcp/spillway/internal/jsontape"
)

// Kinds is a set of JSON types; the empty set stands for any, null included.
type Kinds uint16

// KindsOf makes a set.
func KindsOf(kinds ...jsontape.Kind) Kinds {
	var s Kinds
	for _, k := range kinds {
		s |= 1 << k
	}
	return s
}

// Has reports whether a value of kind k is in the set.
func (s Kinds) Has(k jsontape.Kind) bool { return s == 0 || s&(1<<k) != 0 }

// The sets that operators ask for.
var (
	KindsBool   = KindsOf(jsontape.True, jsontape.False)
	KindsNumber = KindsOf(jsontape.Number)
	KindsString = KindsOf(jsontape.String)
	KindsArray  = KindsOf(jsontape.Array)
	KindsObject = KindsOf(jsontape.Object)
	kindsSome   = KindsBool | KindsNumber | KindsString | KindsArray | KindsObject
)

// FieldRead is a plain path from the value searched that an expression reads,
// and the types that let it mean what it says.
type FieldRead struct {
	Path  []string
	Kinds Kinds
}

// Reads lists the fields that e takes for granted when its result is meant to
// be of one of the kinds: each must be there, with one of its types, or the
// result is an accident of JMESPath's null. A field that is compared with
// `null`, stands left of || where no boolean is wanted, or goes into
// not_null() or type() is not taken for granted. Parts behind && count even
// where an evaluation would not get to them.
func (e *Expr) Reads(kinds Kinds) []FieldRead {
	var r reads
	r.walk(e.root, kinds)
	return r.all
}

type reads struct{ all []FieldRead }

func (r *reads) add(path []string, kinds Kinds) {
	for i := range r.all {
		if slices.Equal(r.all[i].Path, path) {
			switch have := r.all[i].Kinds; {
			case have == 0:
				r.all[i].Kinds = kinds
			case kinds != 0 && have&kinds != 0:
				r.all[i].Kinds = have & kinds
			}
			return
		}
	}
	r.all = append(r.all, FieldRead{path, kinds})
}

// readPath returns the names of a.b.c from the current value.
func readPath(n node) ([]string, bool) {
	switch n := n.(type) {
	case *fieldNode:
		return []string{n.name}, true
	case *subNode:
		left, ok := readPath(n.left)
		if !ok {
			if _, current := n.left.(*currentNode); !current {
				return nil, false
			}
		}
		right, ok := readPath(n.right)
		if !ok {
			return nil, false
		}
		return append(slices.Clip(left), right...), true
	}
	return nil, false
}

func (r *reads) walk(n node, want Kinds) {
	if path, ok := readPath(n); ok {
		r.add(path, want)
		return
	}
	switch n := n.(type) {
	case *subNode:
		r.walk(n.left, kindsSome)
	case *pipeNode:
		r.walk(n.left, 0)
	case *projectNode:
		switch n.op {
		case projectObject:
			r.walk(n.left, KindsObject)
		default:
			r.walk(n.left, KindsArray)
		}
	case *orNode:
		if want == KindsBool {
			r.walk(n.left, want)
		}
		r.walk(n.right, want)
	case *andNode:
		r.walk(n.left, KindsBool)
		r.walk(n.right, want)
	case *notNode:
		r.walk(n.of, KindsBool)
	case *compareNode:
		r.compare(n)
	case *arithmeticNode:
		if n.left != nil {
			r.walk(n.left, KindsNumber)
		}
		r.walk(n.right, KindsNumber)
	case *ternaryNode:
		r.walk(n.cond, KindsBool)
		r.walk(n.yes, 0)
		r.walk(n.no, 0)
	case *listNode:
		for _, item := range n.items {
			r.walk(item, 0)
		}
	case *hashNode:
		for _, m := range n.members {
			r.walk(m.val, 0)
		}
	case *callNode:
		r.call(n)
	case *letNode:
		for _, v := range n.values {
			r.walk(v, 0)
		}
		r.walk(n.body, want)
	}
}

func (r *reads) compare(n *compareNode) {
	literal := func(n node) (jsontape.Kind, bool) {
		l, ok := n.(*literalNode)
		if !ok {
			return 0, false
		}
		return l.val.Kind(), true
	}
	sides := [2]node{n.left, n.right}
	for i, side := range sides {
		want := kindsSome
		if n.op != opEqual && n.op != opNotEqual {
			want = KindsNumber | KindsString
		}
		switch k, ok := literal(sides[1-i]); {
		case !ok:
		case k == jsontape.Null:
			continue
		case k == jsontape.True || k == jsontape.False:
			want = KindsBool
		default:
			want = KindsOf(k)
		}
		r.walk(side, want)
	}
}

func (r *reads) call(n *callNode) {
	switch name := n.fn.name; {
	case name == "not_null" || name == "type":
	case name == "length":
		r.walk(n.args[0], KindsString|KindsArray|KindsObject)
	case name == "contains":
		r.walk(n.args[0], KindsString|KindsArray)
		r.walk(n.args[1], 0)
	case name == "starts_with" || name == "ends_with" || name == "lower" || name == "upper" || strings.HasPrefix(name, "trim"):
		for _, a := range n.args {
			r.walk(a, KindsString)
		}
	default:
		for _, a := range n.args {
			if _, ref := a.(*refNode); !ref {
				r.walk(a, 0)
			}
		}
	}
}
