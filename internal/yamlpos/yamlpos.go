// Package yamlpos reads the files people write for Spillway, YAML or JSON,
// into a tree in which every key and value knows its line and column, and
// formats them without losing a comment.
//
// It takes the part of YAML that such files need and refuses the rest by
// name: anchors, aliases, merge keys, tags, several documents, keys that are
// no strings, duplicate keys. Size and depth are bounded. What the keys mean
// is its callers' business.
//
// Start with [Read].
package yamlpos

const (
	// MaxBytes is the largest file that is read, in bytes.
	MaxBytes = 1 << 20
	// MaxDepth is how many maps and lists may stand within one another.
	MaxDepth = 32
	// MaxEntries is how many members of maps and items of lists a YAML file
	// may have: the parser's time grows with the square of neighbours.
	MaxEntries = 20_000
	// maxErrors is how many errors of one file are told.
	maxErrors = 100
)

// Kind is the type of a Node's value.
type Kind uint8

// The kinds. Int is a whole decimal number; Float any other number.
const (
	Null Kind = iota
	Bool
	Int
	Float
	String
	List
	Map
)

// String returns the kind as it stands in messages: "a string".
func (k Kind) String() string {
	return [...]string{"nothing", "true or false", "a whole number", "a number", "a string", "a list", "a map"}[k]
}

// style is how a scalar or a collection was written.
type style uint8

const (
	plain style = iota
	single
	double
	literal
	folded
	flow
	block
)

// Node is one value of a file.
type Node struct {
	Kind Kind
	// Text is a string's value; of a number, a truth value and null the
	// source text. Other kinds have none.
	Text string
	// Line and Col are where the value starts, from 1; columns count
	// characters, not bytes.
	Line, Col int
	Items     []*Node // of a List
	Pairs     []Pair  // of a Map, in the file's order, keys distinct

	src        *source
	style      style
	start, end int // bytes of the source; end is past the last one
}

// Pair is one member of a Map. Its key is a String.
type Pair struct {
	Key, Value *Node
}

// Get returns the value under key, or nil where there is none or n is no map.
func (n *Node) Get(key string) *Node {
	for _, p := range n.Pairs {
		if p.Key.Text == key {
			return p.Value
		}
	}
	return nil
}

// File returns the name of the file that n was read from.
func (n *Node) File() string { return n.src.name }

// JSON reports whether the file is JSON.
func (n *Node) JSON() bool { return n.src.json }

// Given describes n for a message about a wrong type: a kind, with the text of
// a scalar that is short enough. Do not use it where values may be secret.
func (n *Node) Given() string {
	switch {
	case n.Kind == Null, n.Kind == List, n.Kind == Map, len(n.Text) > 40:
		return n.Kind.String()
	case n.Kind == String:
		return "the string " + quote(n.Text)
	}
	return n.Text
}
