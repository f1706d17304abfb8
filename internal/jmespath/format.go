package jmespath

import (
	"bytes"
	"strconv"

	"github.com/spillway-mcp/spillway/internal/jsontape"
)

// format writes an expression that parses to the same nodes, or to ones that
// mean the same.
func format(n node) string { return string(appendNode(nil, n)) }

var compareSigns = [...]string{" == ", " != ", " < ", " <= ", " > ", " >= "}

func appendNode(dst []byte, n node) []byte {
	switch n := n.(type) {
	case *currentNode:
		return append(dst, '@')
	case *rootNode:
		return append(dst, '$')
	case *fieldNode:
		return appendName(dst, n.name)
	case *variableNode:
		return append(append(dst, '$'), n.name...)
	case *literalNode:
		dst = append(dst, '`')
		dst = append(dst, bytes.ReplaceAll(n.val.Raw(), []byte("`"), []byte("\\`"))...)
		return append(dst, '`')
	case *indexNode, *sliceNode:
		return appendRight(dst, n)
	case *listNode:
		return appendList(dst, '[', n.items, ']')
	case *hashNode:
		dst = append(dst, '{')
		for i, m := range n.members {
			if i > 0 {
				dst = append(dst, ", "...)
			}
			dst = append(appendName(dst, m.name), ": "...)
			dst = appendNode(dst, m.val)
		}
		return append(dst, '}')
	case *subNode:
		switch n.right.(type) {
		case *fieldNode, *indexNode, *sliceNode, *callNode:
			return appendRight(appendOperand(dst, n.left), n.right)
		case *listNode, *hashNode:
			return appendNode(append(appendOperand(dst, n.left), '.'), n.right)
		}
		return appendBinary(dst, n.left, " | ", n.right)
	case *pipeNode:
		return appendBinary(dst, n.left, " | ", n.right)
	case *projectNode:
		if n.op != projectSlice {
			dst = appendOperand(dst, n.left)
		} else {
			dst = appendNode(dst, n.left)
		}
		return appendProjection(dst, n)
	case *orNode:
		return appendBinary(dst, n.left, " || ", n.right)
	case *andNode:
		return appendBinary(dst, n.left, " && ", n.right)
	case *notNode:
		return appendOperand(append(dst, '!'), n.of)
	case *compareNode:
		return appendBinary(dst, n.left, compareSigns[n.op], n.right)
	case *arithmeticNode:
		if n.left == nil {
			return appendOperand(append(dst, n.op), n.right)
		}
		return appendBinary(dst, n.left, " "+n.sign()+" ", n.right)
	case *ternaryNode:
		dst = appendBinary(dst, n.cond, " ? ", n.yes)
		return appendOperand(append(dst, " : "...), n.no)
	case *callNode:
		return appendList(append(dst, n.fn.name...), '(', n.args, ')')
	case *refNode:
		return appendOperand(append(dst, '&'), n.of)
	case *letNode:
		for i, name := range n.names {
			sep := ", $"
			if i == 0 {
				sep = "let $"
			}
			dst = append(append(append(dst, sep...), name...), " = "...)
			dst = appendNode(dst, n.values[i])
		}
		return appendNode(append(dst, " in "...), n.body)
	}
	return dst
}

func appendName(dst []byte, name string) []byte {
	plain := name != "" && isNameStart(name[0])
	for i := 0; i < len(name) && plain; i++ {
		plain = isNameStart(name[i]) || isDigit(name[i])
	}
	if plain {
		return append(dst, name...)
	}
	return jsontape.AppendQuote(dst, name)
}

func appendList(dst []byte, open byte, items []node, shut byte) []byte {
	dst = append(dst, open)
	for i, item := range items {
		if i > 0 {
			dst = append(dst, ", "...)
		}
		dst = appendNode(dst, item)
	}
	return append(dst, shut)
}

func appendBinary(dst []byte, left node, sign string, right node) []byte {
	return appendOperand(append(appendOperand(dst, left), sign...), right)
}

// appendOperand sets what has operators in parentheses.
func appendOperand(dst []byte, n node) []byte {
	switch n := n.(type) {
	case *currentNode, *rootNode, *fieldNode, *variableNode, *literalNode, *callNode, *hashNode, *listNode, *indexNode:
		return appendNode(dst, n)
	case *subNode:
		switch n.right.(type) {
		case *fieldNode, *indexNode, *callNode:
			return appendNode(dst, n)
		}
	}
	return append(appendNode(append(dst, '('), n), ')')
}

// appendProjection writes a projection but for its left side.
func appendProjection(dst []byte, n *projectNode) []byte {
	switch n.op {
	case projectArray:
		dst = append(dst, "[*]"...)
	case projectObject:
		dst = append(dst, ".*"...)
	case projectFlatten:
		dst = append(dst, "[]"...)
	case projectFilter:
		dst = append(appendNode(append(dst, "[?"...), n.cond), ']')
	}
	return appendRight(dst, n.right)
}

// appendRight writes what is applied to something that has been written.
func appendRight(dst []byte, n node) []byte {
	switch n := n.(type) {
	case *currentNode:
		return dst
	case *indexNode:
		dst = strconv.AppendInt(append(dst, '['), int64(n.n), 10)
		return append(dst, ']')
	case *sliceNode:
		dst = append(dst, '[')
		if n.hasStart {
			dst = strconv.AppendInt(dst, int64(n.start), 10)
		}
		dst = append(dst, ':')
		if n.hasStop {
			dst = strconv.AppendInt(dst, int64(n.stop), 10)
		}
		if n.step != 1 {
			dst = strconv.AppendInt(append(dst, ':'), int64(n.step), 10)
		}
		return append(dst, ']')
	case *listNode:
		return appendNode(dst, n)
	case *subNode:
		dst = appendRight(dst, n.left)
		if _, ok := n.right.(*listNode); ok {
			dst = append(dst, '.')
		}
		return appendRight(dst, n.right)
	case *projectNode:
		return appendProjection(appendRight(dst, n.left), n)
	}
	return appendNode(append(dst, '.'), n)
}
