package jmespath

import (
	"fmt"

	"github.com/spillway-mcp/spillway/internal/jsontape"
)

// limitFor bounds the JSON text of a result, and of any string made on the way,
// in bytes: four times the document is more than a rule has reason to make of
// a large one.
func limitFor(v jsontape.Value) int {
	start, end := v.Span()
	return min(32<<20+4*(end-start), jsontape.MaxBytes)
}

// evaluator holds one evaluation.
type evaluator struct {
	root  value
	vars  []value
	steps int // what may still be done; every node, element and comparison takes one
	limit int // of the result, and of every string, in bytes
	out   []byte
	start int // of the result in out
}

// stepsFor bounds the work of one evaluation by the size of its document, so
// that expressions that multiply, as [@,@]|[@,@]|..., end in an error. The
// bound is far from what a rule needs: dozens of visits to each value, and
// millions for a small document.
func stepsFor(v jsontape.Value) int { return 4<<20 + 64*v.Tokens() }

// elementSteps makes an element that is kept dearer than one passed by.
const elementSteps = 3

// walkShift makes members passed by in a lookup, and bytes of strings, cheaper
// than nodes.
const walkShift = 4

func (ev *evaluator) fail(n node, code, format string, args ...any) error {
	return &EvalError{Offset: n.at(), Code: code, Msg: fmt.Sprintf(format, args...)}
}

// charge takes steps for work of the given amount.
func (ev *evaluator) charge(n node, amount int) error {
	ev.steps -= amount
	if ev.steps < 0 {
		return ev.fail(n, CodeLimit, "the expression takes more steps than a document of this size allows")
	}
	return nil
}

// eval evaluates n with cur as @.
func (ev *evaluator) eval(n node, cur value) (value, error) {
	if ev.steps--; ev.steps < 0 {
		return null, ev.charge(n, 0)
	}
	switch n := n.(type) {
	case *currentNode:
		return cur, nil
	case *fieldNode:
		if cur.k != jsontape.Object {
			return null, nil
		}
		ev.steps -= cur.tape.Len() >> walkShift
		return cur.get(n.name), nil
	case *subNode:
		left, err := ev.eval(n.left, cur)
		if err != nil || left.isNull() && isMultiSelect(n.right) {
			return null, err
		}
		return ev.eval(n.right, left)
	case *indexNode:
		if cur.k != jsontape.Array {
			return null, nil
		}
		// Elements are passed by from the first on.
		passed := n.n
		if passed < 0 {
			passed += cur.tape.Len()
		}
		ev.steps -= max(min(passed, cur.tape.Len()), 0) >> walkShift
		return cur.index(n.n), nil
	case *literalNode:
		return fromTape(n.val), nil
	case *projectNode:
		return ev.project(n, cur)
	case *hashNode:
		members := make([]member, len(n.members))
		for i := range n.members {
			val, err := ev.eval(n.members[i].val, cur)
			if err != nil {
				return null, err
			}
			members[i] = member{n.members[i].key, val}
		}
		return newObject(members), nil
	case *listNode:
		elems := make([]value, len(n.items))
		for i, item := range n.items {
			var err error
			if elems[i], err = ev.eval(item, cur); err != nil {
				return null, err
			}
		}
		return newArray(elems), nil
	case *pipeNode:
		left, err := ev.eval(n.left, cur)
		if err != nil {
			return null, err
		}
		return ev.eval(n.right, left)
	case *compareNode:
		left, err := ev.eval(n.left, cur)
		if err != nil {
			return null, err
		}
		right, err := ev.eval(n.right, cur)
		if err != nil {
			return null, err
		}
		return ev.compare(n, left, right)
	case *orNode:
		left, err := ev.eval(n.left, cur)
		if err != nil || left.truthy() {
			return left, err
		}
		return ev.eval(n.right, cur)
	case *andNode:
		left, err := ev.eval(n.left, cur)
		if err != nil || !left.truthy() {
			return left, err
		}
		return ev.eval(n.right, cur)
	case *notNode:
		of, err := ev.eval(n.of, cur)
		return boolean(!of.truthy()), err
	case *callNode:
		return ev.call(n, cur)
	case *arithmeticNode:
		return ev.arithmetic(n, cur)
	case *ternaryNode:
		cond, err := ev.eval(n.cond, cur)
		if err != nil {
			return null, err
		}
		if cond.truthy() {
			return ev.eval(n.yes, cur)
		}
		return ev.eval(n.no, cur)
	case *sliceNode:
		return ev.slice(n, cur)
	case *rootNode:
		return ev.root, nil
	case *variableNode:
		return ev.vars[n.slot], nil
	case *letNode:
		if err := ev.bind(n, cur); err != nil {
			return null, err
		}
		return ev.eval(n.body, cur)
	}
	return null, ev.fail(n, CodeSyntax, "an expression with '&' is no value")
}

func isMultiSelect(n node) bool {
	switch n.(type) {
	case *hashNode, *listNode:
		return true
	}
	return false
}

// bind sets the variables of a let. They are set after all values are known:
// a let within a value uses the same slots.
func (ev *evaluator) bind(n *letNode, cur value) error {
	var few [4]value
	vals := few[:0]
	for _, of := range n.values {
		val, err := ev.eval(of, cur)
		if err != nil {
			return err
		}
		vals = append(vals, val)
	}
	copy(ev.vars[n.first:], vals)
	return nil
}

// rows walks what a projection is over: visit gets each element, before the
// right side is applied. It reports whether the left side is projected at all;
// if it is not, left is the projection's result, or for a sliced string what
// right applies to.
func (ev *evaluator) rows(n *projectNode, cur value, visit func(value) error) (left value, projected bool, err error) {
	left, err = ev.eval(n.left, cur)
	if err != nil {
		return null, false, err
	}
	if n.op == projectObject {
		if left.k != jsontape.Object {
			return null, false, nil
		}
		members := left.members()
		if err := ev.charge(n, len(members)); err != nil {
			return null, false, err
		}
		for i := range members {
			if err := visit(members[i].val); err != nil {
				return null, false, err
			}
		}
		return left, true, nil
	}
	if left.k != jsontape.Array {
		if n.op == projectSlice && left.k == jsontape.String {
			return left, false, nil
		}
		return null, false, nil
	}
	it := left.walk()
	for {
		e, ok := it.next()
		if !ok {
			return left, true, nil
		}
		switch {
		case n.op == projectFlatten && e.k == jsontape.Array:
			inner := e.walk()
			for {
				e, ok := inner.next()
				if !ok {
					break
				}
				if err := visit(e); err != nil {
					return null, false, err
				}
			}
			continue
		case n.op == projectFilter:
			cond, err := ev.eval(n.cond, e)
			if err != nil {
				return null, false, err
			}
			if !cond.truthy() {
				continue
			}
		}
		if err := visit(e); err != nil {
			return null, false, err
		}
	}
}

func (ev *evaluator) project(n *projectNode, cur value) (value, error) {
	var elems []value
	skipNull := isMultiSelect(n.right)
	left, projected, err := ev.rows(n, cur, func(e value) error {
		if skipNull && e.isNull() {
			return nil
		}
		e, err := ev.eval(n.right, e)
		if err == nil && !e.isNull() {
			elems = append(elems, e)
			ev.steps -= elementSteps
		}
		return err
	})
	switch {
	case err != nil:
		return null, err
	case projected:
		return newArray(elems), nil
	case left.isNull():
		return null, nil
	}
	return ev.eval(n.right, left)
}

func (ev *evaluator) slice(n *sliceNode, cur value) (value, error) {
	switch cur.k {
	case jsontape.String:
		return newString(sliceText(n, cur.text())), nil
	case jsontape.Array:
	default:
		return null, nil
	}
	start, stop := n.bounds(cur.size())
	all := cur.elements()
	if err := ev.charge(n, len(all)); err != nil {
		return null, err
	}
	if n.step == 1 {
		return newArray(all[min(start, stop):stop]), nil
	}
	var elems []value
	for i := start; n.step > 0 && i < stop || n.step < 0 && i > stop; i += n.step {
		elems = append(elems, all[i])
	}
	return newArray(elems), nil
}

// bounds returns where the walk starts and which index it does not reach, for
// something of the given length.
func (n *sliceNode) bounds(length int) (start, stop int) {
	low, high := 0, length
	start, stop = 0, length
	if n.step < 0 {
		low, high = -1, length-1
		start, stop = length-1, -1
	}
	clamp := func(i int) int {
		if i < 0 {
			i += length
		}
		return min(max(i, low), high)
	}
	if n.hasStart {
		start = clamp(n.start)
	}
	if n.hasStop {
		stop = clamp(n.stop)
	}
	return start, stop
}

func (ev *evaluator) compare(n *compareNode, left, right value) (value, error) {
	if n.op <= opNotEqual {
		same, err := ev.equal(n, left, right)
		return boolean(same == (n.op == opEqual)), err
	}
	if left.k != right.k || left.k != jsontape.Number && left.k != jsontape.String {
		return null, nil
	}
	c := order(left, right)
	switch n.op {
	case opLess:
		return boolean(c < 0), nil
	case opLessEqual:
		return boolean(c <= 0), nil
	case opGreater:
		return boolean(c > 0), nil
	}
	return boolean(c >= 0), nil
}
