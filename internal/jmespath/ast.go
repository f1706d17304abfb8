package jmespath

import "github.com/spillway-mcp/spillway/internal/jsontape"

// node is one node of a parsed expression, always a pointer to one of the
// types below. A node is evaluated against a current value, written @ here.
// Nodes never change after Compile.
type node interface {
	// at returns the byte offset in the source at which the node starts, or
	// its operator stands.
	at() int
	// height returns the length of the longest path down to a leaf.
	height() int
}

type meta struct {
	pos  int32
	high int32
}

func (m *meta) at() int     { return int(m.pos) }
func (m *meta) height() int { return int(m.high) }

// currentNode is @. It also stands where the source has nothing: to the left
// of [0] in an expression that starts with it, and to the right of a
// projection that ends with its brackets.
type currentNode struct{ meta }

// rootNode is $: the value given to Search.
type rootNode struct{ meta }

// fieldNode is a name: a member of @, null where @ is no object.
type fieldNode struct {
	meta
	name string // decoded
}

// indexNode is [n] of @, null where @ is no array. The array itself comes from
// the left side of a subNode. A negative n counts from the end.
type indexNode struct {
	meta
	n int
}

// sliceNode is [start:stop:step] of @: an array of an array, a string of a
// string, else null. It only stands as the left side of a projectNode of
// kind projectSlice, or below the left subNode of one.
type sliceNode struct {
	meta
	start, stop       int
	hasStart, hasStop bool
	step              int // never 0
}

// literalNode is `JSON` or 'raw string'.
type literalNode struct {
	meta
	val jsontape.Value // a document of its own
}

// variableNode is $name. slot counts bindings from the outermost.
type variableNode struct {
	meta
	name string
	slot int
}

// subNode is left.right, left[n]: right is evaluated with the result of left
// as @. Where right is a multi-select, a null left gives null.
type subNode struct {
	meta
	left, right node
}

// pipeNode is left | right: as subNode, but a multi-select on its right sees
// a null.
type pipeNode struct {
	meta
	left, right node
}

type projectOp uint8

const (
	projectArray   projectOp = iota // left[*]right: left must be an array
	projectObject                   // left.*right: the values of an object
	projectFlatten                  // left[]right: an array, flattened by one level
	projectFilter                   // left[?cond]right: an array
	projectSlice                    // left[a:b:c]right: left ends in a sliceNode; a string passes to right whole
)

// projectNode evaluates right for each element that op takes from left, and
// collects the results that are not null. It is null where left is not of the
// type that op needs.
type projectNode struct {
	meta
	op    projectOp
	left  node // evaluated against @; currentNode where the source has nothing
	right node // evaluated against each element; currentNode where the source has nothing
	cond  node // of projectFilter, evaluated against each element
}

// orNode is left || right, andNode is left && right, notNode is !of.
type orNode struct {
	meta
	left, right node
}

type andNode struct {
	meta
	left, right node
}

type notNode struct {
	meta
	of node
}

type compareOp uint8

const (
	opEqual compareOp = iota
	opNotEqual
	opLess
	opLessEqual
	opGreater
	opGreaterEqual
)

// compareNode is left == right and its like: a boolean, or null where an
// ordering operator meets anything but two numbers or two strings.
type compareNode struct {
	meta
	op          compareOp
	left, right node
}

// arithmeticNode is left op right, or with a nil left the sign op before
// right. op is one of + - * / % and I for integer division, //.
type arithmeticNode struct {
	meta
	op          byte
	left, right node
}

// ternaryNode is cond ? yes : no.
type ternaryNode struct {
	meta
	cond, yes, no node
}

// listNode is the multi-select list [a, b]: an array, null elements kept.
type listNode struct {
	meta
	items []node
}

// hashNode is the multi-select hash {k: v}: an object. Names may repeat; the
// last wins at the place of the first, and Compile has already merged them.
type hashNode struct {
	meta
	members []hashMember
	lookup  *hashLookup // how to fetch all members in one pass; nil where it cannot
}

type hashMember struct {
	name   string // decoded
	key    value  // name as a string
	quoted []byte // as JSON, with the colon: "name":
	val    node
}

// callNode is a function call; the count of args has been checked, and that
// an argument is a refNode exactly where fn takes one.
type callNode struct {
	meta
	fn   *function
	args []node
}

// refNode is &of, an argument that the function evaluates against each
// element of another.
type refNode struct {
	meta
	of node
}

// letNode is let $name = value, ... in body. The values are evaluated outside
// of the new scope; binding i fills slot first+i.
type letNode struct {
	meta
	first  int
	names  []string
	values []node
	body   node
}
