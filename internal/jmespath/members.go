package jmespath

import "slices"

// membersOf returns the names of the members of @ that n is computed from. ok
// is false where it reads @ or $ as a whole, or a variable, which may be either.
func membersOf(n node) (names []string, ok bool) {
	m := members{names: []string{}, known: true}
	m.walk(n)
	if readsAround(n) {
		return nil, false
	}
	return m.names, m.known
}

type members struct {
	names []string
	known bool
}

// walk collects what n reads of @. What is evaluated against something else,
// the right of a dot or of a projection, a condition, an &expression, is no
// part of it.
func (m *members) walk(n node) {
	switch n := n.(type) {
	case *fieldNode:
		if !slices.Contains(m.names, n.name) {
			m.names = append(m.names, n.name)
		}
	case *literalNode, *refNode:
	case *subNode:
		m.chain(n.left, n.right)
	case *pipeNode:
		m.chain(n.left, n.right)
	case *projectNode:
		m.walk(n.left)
	case *orNode:
		m.all(n.left, n.right)
	case *andNode:
		m.all(n.left, n.right)
	case *compareNode:
		m.all(n.left, n.right)
	case *notNode:
		m.walk(n.of)
	case *arithmeticNode:
		if n.left != nil {
			m.walk(n.left)
		}
		m.walk(n.right)
	case *ternaryNode:
		m.all(n.cond, n.yes, n.no)
	case *listNode:
		m.all(n.items...)
	case *hashNode:
		for i := range n.members {
			m.walk(n.members[i].val)
		}
	case *callNode:
		m.all(n.args...)
	default:
		m.known = false
	}
}

func (m *members) all(nodes ...node) {
	for _, n := range nodes {
		m.walk(n)
	}
}

func (m *members) chain(left, right node) {
	if _, current := left.(*currentNode); current {
		m.walk(right)
	} else {
		m.walk(left)
	}
}

// readsAround reports whether n holds $ or a variable, wherever it stands.
func readsAround(n node) bool {
	switch n := n.(type) {
	case *rootNode, *variableNode, *letNode:
		return true
	case *subNode:
		return readsAround(n.left) || readsAround(n.right)
	case *pipeNode:
		return readsAround(n.left) || readsAround(n.right)
	case *projectNode:
		return readsAround(n.left) || readsAround(n.right) || n.cond != nil && readsAround(n.cond)
	case *orNode:
		return readsAround(n.left) || readsAround(n.right)
	case *andNode:
		return readsAround(n.left) || readsAround(n.right)
	case *compareNode:
		return readsAround(n.left) || readsAround(n.right)
	case *notNode:
		return readsAround(n.of)
	case *arithmeticNode:
		return n.left != nil && readsAround(n.left) || readsAround(n.right)
	case *ternaryNode:
		return readsAround(n.cond) || readsAround(n.yes) || readsAround(n.no)
	case *listNode:
		return slices.ContainsFunc(n.items, readsAround)
	case *hashNode:
		return slices.ContainsFunc(n.members, func(m hashMember) bool { return readsAround(m.val) })
	case *callNode:
		return slices.ContainsFunc(n.args, readsAround)
	case *refNode:
		return readsAround(n.of)
	}
	return false
}
