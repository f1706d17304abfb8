package yamlpos

import (
	"bytes"
	"cmp"
	"errors"
	"unicode/utf8"

	"github.com/spillway-mcp/spillway/internal/jsontape"
)

// readJSON reads a file that starts as a JSON object or array. It reports
// false if the text is no JSON; YAML's flow style may still make sense of it.
func readJSON(s *source) (*Node, bool, *Error) {
	trimmed := bytes.TrimLeft(s.data, " \t\n")
	if len(trimmed) == 0 || trimmed[0] != '{' && trimmed[0] != '[' {
		return nil, false, nil
	}
	var doc jsontape.Doc
	err := doc.Reset(s.data, jsontape.Limits{MaxDepth: MaxDepth})
	var syntax *jsontape.SyntaxError
	if errors.As(err, &syntax) {
		return nil, false, s.errorAt(syntax.Offset, syntax.Msg)
	}
	if err != nil {
		return nil, false, &Error{File: s.name, Msg: err.Error()}
	}
	s.json = true
	n := jsonNode(s, doc.Root())
	if bad := n.badString(); bad != nil {
		return nil, true, &Error{File: s.name, Line: bad.Line, Col: bad.Col, Msg: "the string has half of a surrogate pair"}
	}
	return n, true, nil
}

func jsonNode(s *source, v jsontape.Value) *Node {
	n := &Node{src: s, style: flow}
	n.start, n.end = v.Span()
	n.Line, n.Col = s.pos(n.start)
	switch v.Kind() {
	case jsontape.Null:
		n.Text, n.style = "null", plain
	case jsontape.False, jsontape.True:
		n.Kind, n.Text, n.style = Bool, string(v.Raw()), plain
	case jsontape.Number:
		n.Text, n.style = string(v.Raw()), plain
		n.Kind = numberKind(n.Text)
	case jsontape.String:
		n.Kind, n.Text, n.style = String, v.Str(), double
	case jsontape.Array:
		n.Kind = List
		for it := v.Iter(); it.Next(); {
			n.Items = append(n.Items, jsonNode(s, it.Value()))
		}
	case jsontape.Object:
		n.Kind = Map
		for it := v.Iter(); it.Next(); {
			n.Pairs = append(n.Pairs, Pair{jsonNode(s, it.Key()), jsonNode(s, it.Value())})
		}
	}
	return n
}

// badString returns the first string below n that is not valid UTF-8.
func (n *Node) badString() *Node {
	if !utf8.ValidString(n.Text) {
		return n
	}
	for _, item := range n.Items {
		if bad := item.badString(); bad != nil {
			return bad
		}
	}
	for _, p := range n.Pairs {
		if bad := cmp.Or(p.Key.badString(), p.Value.badString()); bad != nil {
			return bad
		}
	}
	return nil
}

// numberKind tells whole decimal numbers from all others.
func numberKind(text string) Kind {
	digits := text
	if len(digits) > 0 && (digits[0] == '-' || digits[0] == '+') {
		digits = digits[1:]
	}
	if digits == "" || len(digits) > 1 && digits[0] == '0' {
		return Float
	}
	for _, c := range []byte(digits) {
		if c < '0' || c > '9' {
			return Float
		}
	}
	return Int
}
