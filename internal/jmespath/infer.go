package jmespath

import (
	"github.com/spillway-mcp/spillway/internal/jsontape"
	"github.com/spillway-mcp/spillway/internal/schema/schemadoc"
)

// Inferred is what an expression makes of every value that is valid under a
// schema, taken apart by the kind of result. References in the schemas point
// into the document that was inferred from.
type Inferred struct {
	Object []byte // the schema of the results that are objects; nil if there are none
	Other  []byte // the schema of those that are neither objects nor null; nil if there are none
	Null   bool   // a result may be null
	Text   bool   // a result may be a string
	List   bool   // a result may be an array
}

// InferSchema evaluates e over a JSON Schema instead of a value: every result
// of Search over a value that is valid under root, where Search does not fail,
// is valid under the schema returned (RED-38). It is {} where nothing can be
// said. Local references of root are followed and kept, as "#/…" into root;
// others are never fetched. Draft-07 and 2020-12 are read alike.
func (e *Expr) InferSchema(root jsontape.Value) []byte {
	in := newInference(root)
	return in.schema(in.result(e, in.root))
}

// Infer is InferSchema over a member of the values that are valid under root,
// or with an empty name over those values, as separate schemas for the kinds
// of results. It returns the zero Inferred where no valid value has the
// member.
func (e *Expr) Infer(root jsontape.Value, member string) Inferred {
	in := newInference(root)
	of := in.root
	if member != "" {
		var ok bool
		if of, ok = in.present(of, member); !ok {
			return Inferred{}
		}
	}
	t := in.result(e, of)
	var r Inferred
	k := in.kinds(t)
	r.Null, r.Text, r.List = k&kNull != 0, k&kString != 0, k&kArray != 0
	if k&kObject != 0 {
		r.Object = in.schema(t.only(kObject))
	}
	if rest := k &^ (kNull | kObject); rest != 0 {
		r.Other = in.schema(t.only(rest))
	}
	return r
}

// inference is one evaluation over one schema.
type inference struct {
	doc   *schemadoc.Doc
	root  *typ   // of the values under the document's root
	given *typ   // what $ stands for
	slots []*typ // of let
	work  int    // steps left, see spend
	known map[*byte][]flat
}

// maxWork bounds the steps of one inference; past it nothing is known.
const maxWork = 200_000

func newInference(root jsontape.Value) *inference {
	in := &inference{doc: schemadoc.Open(root), work: maxWork, known: map[*byte][]flat{}}
	in.root = anything
	if schemadoc.IsSchema(root) {
		in.root = fromSchema(root)
	}
	return in
}

func (in *inference) spend(n int) bool {
	in.work -= n
	return in.work > 0
}

func (in *inference) result(e *Expr, of *typ) *typ {
	in.given = of
	in.slots = make([]*typ, e.slots)
	return in.eval(e.root, of)
}

// eval is the evaluation of n with @ standing for every value of cur.
func (in *inference) eval(n node, cur *typ) *typ {
	if !in.spend(1) {
		return anything
	}
	switch n := n.(type) {
	case *currentNode:
		return cur
	case *rootNode:
		return in.given
	case *fieldNode:
		return in.field(cur, n.name)
	case *indexNode:
		return in.index(cur, n.n)
	case *sliceNode:
		return in.slice(cur)
	case *literalNode:
		return fromLiteral(n.val)
	case *variableNode:
		if n.slot < len(in.slots) && in.slots[n.slot] != nil {
			return in.slots[n.slot]
		}
		return anything
	case *subNode:
		left := in.eval(n.left, cur)
		if !isMultiSelect(n.right) {
			return in.eval(n.right, left)
		}
		k := in.kinds(left)
		if k == kNull {
			return left
		}
		return orElse(in.eval(n.right, left.only(kAll&^kNull)), plain(k), kAll&^kNull)
	case *pipeNode:
		return in.eval(n.right, in.eval(n.left, cur))
	case *projectNode:
		return in.project(n, cur)
	case *orNode:
		left := in.eval(n.left, cur)
		return in.or(left, func() *typ { return in.eval(n.right, cur) })
	case *andNode:
		left := in.eval(n.left, cur)
		if in.kinds(left) == kNull {
			return left
		}
		return union(left.only(falsyKinds), in.eval(n.right, cur))
	case *notNode:
		return plain(kBool)
	case *compareNode:
		return in.compare(n, cur)
	case *arithmeticNode:
		return plain(kInt | kFloat)
	case *ternaryNode:
		return union(in.eval(n.yes, cur), in.eval(n.no, cur))
	case *listNode:
		t := &typ{kinds: kArray, tuple: make([]*typ, len(n.items)), isTuple: true}
		for i, item := range n.items {
			t.tuple[i] = in.eval(item, cur)
		}
		return t
	case *hashNode:
		t := &typ{kinds: kObject, closed: true}
		for _, m := range n.members {
			t.fields = append(t.fields, typField{name: m.name, typ: in.eval(m.val, cur), required: true})
		}
		return t
	case *callNode:
		return in.call(n, cur)
	case *letNode:
		return in.let(n, cur)
	}
	return anything
}

// falsyKinds are those with a value that counts as false; truthyKinds those
// with one that counts as true; numbers all do.
const (
	falsyKinds  = kNull | kBool | kString | kArray | kObject
	truthyKinds = kAll &^ kNull
)

func (in *inference) or(left *typ, right func() *typ) *typ {
	switch k := in.kinds(left); {
	case k == kNull:
		return right()
	case k&falsyKinds == 0:
		return left
	}
	return union(left.only(truthyKinds), right())
}

func (in *inference) compare(n *compareNode, cur *typ) *typ {
	if n.op == opEqual || n.op == opNotEqual {
		return plain(kBool)
	}
	l, r := in.kinds(in.eval(n.left, cur)), in.kinds(in.eval(n.right, cur))
	const number = kInt | kFloat
	if l|number == number && r|number == number || l == kString && r == kString {
		return plain(kBool)
	}
	return plain(kBool | kNull)
}

func (in *inference) let(n *letNode, cur *typ) *typ {
	values := make([]*typ, len(n.values))
	for i, v := range n.values {
		values[i] = in.eval(v, cur)
	}
	for i, v := range values {
		if at := n.first + i; at < len(in.slots) {
			in.slots[at] = v
		}
	}
	return in.eval(n.body, cur)
}

// project is left-projection-right: an array of what right makes of each
// element, without nulls; null where left is of another kind.
func (in *inference) project(n *projectNode, cur *typ) *typ {
	left := in.eval(n.left, cur)
	k := in.kinds(left)
	var elem *typ
	takes := kArray
	switch n.op {
	case projectObject:
		takes = kObject
		elem = in.values(left)
	case projectFlatten:
		elem = in.flatten(left)
	default:
		elem = in.elem(left)
	}
	result := &typ{}
	if isMultiSelect(n.right) {
		elem = elem.only(kAll &^ kNull)
	}
	if k&takes != 0 {
		rows := in.eval(n.right, elem).only(kAll &^ kNull)
		result = arrayOf(rows)
	}
	if n.op == projectSlice && k&kString != 0 {
		result = union(result, in.eval(n.right, plain(kString)))
		takes |= kString
	}
	if k&^takes != 0 {
		result = union(result, plain(kNull))
	}
	return result
}
