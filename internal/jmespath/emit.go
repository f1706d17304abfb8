package jmespath

import "github.com/spillway-mcp/spillway/internal/jsontape"

// emit evaluates n with cur as @ and writes the result to ev.out, without
// making arrays and objects that would only be written. It reports whether
// the result is null.
func (ev *evaluator) emit(n node, cur value) (isNull bool, err error) {
	switch n := n.(type) {
	case *projectNode:
		return ev.emitProjection(n, cur)
	case *hashNode:
		return false, ev.emitHash(n, cur)
	case *listNode:
		ev.out = append(ev.out, '[')
		for i, item := range n.items {
			if i > 0 {
				ev.out = append(ev.out, ',')
			}
			if _, err := ev.emit(item, cur); err != nil {
				return false, err
			}
		}
		ev.out = append(ev.out, ']')
		return false, nil
	case *subNode:
		left, err := ev.eval(n.left, cur)
		if err != nil {
			return true, err
		}
		if left.isNull() && isMultiSelect(n.right) {
			return true, ev.write(n, null)
		}
		return ev.emit(n.right, left)
	case *pipeNode:
		left, err := ev.eval(n.left, cur)
		if err != nil {
			return true, err
		}
		return ev.emit(n.right, left)
	case *letNode:
		if err := ev.bind(n, cur); err != nil {
			return true, err
		}
		return ev.emit(n.body, cur)
	}
	v, err := ev.eval(n, cur)
	if err != nil {
		return true, err
	}
	return v.isNull(), ev.write(n, v)
}

// write writes a value that was evaluated.
func (ev *evaluator) write(n node, v value) error {
	if v.built != nil && (v.k == jsontape.Array || v.k == jsontape.Object) {
		if v.within(ev.limit-(len(ev.out)-ev.start)) < 0 {
			return ev.tooLong(n)
		}
	}
	ev.out = v.append(ev.out)
	if len(ev.out)-ev.start > ev.limit {
		return ev.tooLong(n)
	}
	return nil
}

func (ev *evaluator) tooLong(n node) error {
	return ev.fail(n, CodeLimit, "the result is longer than %d bytes", ev.limit)
}

func (ev *evaluator) emitProjection(n *projectNode, cur value) (bool, error) {
	begin := len(ev.out)
	ev.out = append(ev.out, '[')
	first := len(ev.out)
	skipNull := isMultiSelect(n.right)
	left, projected, err := ev.rows(n, cur, func(e value) error {
		if skipNull && e.isNull() {
			return nil
		}
		mark := len(ev.out)
		if mark > first {
			ev.out = append(ev.out, ',')
		}
		isNull, err := ev.emit(n.right, e)
		if isNull {
			ev.out = ev.out[:mark]
		}
		return err
	})
	switch {
	case err != nil:
		return true, err
	case projected:
		ev.out = append(ev.out, ']')
		return false, nil
	}
	ev.out = ev.out[:begin]
	if left.isNull() {
		return true, ev.write(n, null)
	}
	return ev.emit(n.right, left)
}

func (ev *evaluator) emitHash(n *hashNode, cur value) error {
	if n.lookup != nil && cur.k == jsontape.Object && cur.built == nil {
		return ev.emitLookup(n, cur.tape)
	}
	ev.out = append(ev.out, '{')
	for i := range n.members {
		m := &n.members[i]
		if i > 0 {
			ev.out = append(ev.out, ',')
		}
		ev.out = append(ev.out, m.quoted...)
		if _, err := ev.emit(m.val, cur); err != nil {
			return err
		}
	}
	ev.out = append(ev.out, '}')
	return nil
}

// maxLookup is the most distinct first names that one pass looks for.
const maxLookup = 16

// hashLookup is how to fetch all members of a hash of plain paths in one pass
// over an object: the distinct first names of the paths, and for each member
// which of them it starts at and the names that follow.
type hashLookup struct {
	names []string
	first []int
	rest  [][]string
}

// newLookup returns nil where a member is no plain path.
func newLookup(h *hashNode) *hashLookup {
	l := &hashLookup{}
	for i := range h.members {
		path := plainPath(h.members[i].val)
		if len(path) == 0 {
			return nil
		}
		at := -1
		for j, name := range l.names {
			if name == path[0] {
				at = j
			}
		}
		if at < 0 {
			at = len(l.names)
			l.names = append(l.names, path[0])
		}
		l.first = append(l.first, at)
		l.rest = append(l.rest, path[1:])
	}
	if len(l.names) > maxLookup {
		return nil
	}
	return l
}

// plainPath returns the names of a.b.c; nil where n is anything else.
func plainPath(n node) []string {
	switch n := n.(type) {
	case *fieldNode:
		return []string{n.name}
	case *subNode:
		right, ok := n.right.(*fieldNode)
		if !ok {
			return nil
		}
		if left := plainPath(n.left); left != nil {
			return append(left, right.name)
		}
	}
	return nil
}

func (ev *evaluator) emitLookup(n *hashNode, cur jsontape.Value) error {
	l := n.lookup
	var found [maxLookup]jsontape.Value
	cur.Find(l.names, found[:len(l.names)])
	ev.out = append(ev.out, '{')
	for i := range n.members {
		if i > 0 {
			ev.out = append(ev.out, ',')
		}
		ev.out = append(ev.out, n.members[i].quoted...)
		v := found[l.first[i]].Lookup(l.rest[i]...)
		if !v.Exists() {
			ev.out = append(ev.out, "null"...)
			continue
		}
		ev.out = v.AppendCompact(ev.out)
	}
	ev.out = append(ev.out, '}')
	if len(ev.out)-ev.start > ev.limit {
		return ev.tooLong(n)
	}
	return ev.charge(n, len(n.members)+cur.Len()>>walkShift)
}
