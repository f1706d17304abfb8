package yamlpos

import (
	"bytes"
	"errors"
	"path"
	"strings"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/lexer"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"
)

// Read reads a file, YAML or JSON, whose name is used in positions only. A
// file without content is a Null. The error is an [Errors] with everything
// that can be told at once; syntax errors come one at a time.
func Read(name string, data []byte) (*Node, error) {
	n, _, err := read(name, data)
	return n, err
}

// read also returns the comments of a YAML file.
func read(name string, data []byte) (*Node, []comment, error) {
	src, bad := newSource(name, data)
	if bad != nil {
		return nil, nil, Errors{*bad}
	}
	n, ok, bad := readJSON(src)
	switch {
	case ok && bad == nil:
		return n, nil, duplicates(n).Err()
	case bad != nil && (ok || strings.EqualFold(path.Ext(name), ".json")):
		return nil, nil, Errors{*bad}
	}
	return readYAML(src)
}

func readYAML(src *source) (n *Node, comments []comment, err error) {
	// The parser is fuzzed by its authors and by us; a panic in it is still
	// only a file that cannot be read.
	defer func() {
		if recover() != nil {
			n, comments, err = nil, nil, Errors{{File: src.name, Msg: "the file is no YAML that can be read"}}
		}
	}()
	tokens := lexer.Tokenize(string(src.data))
	if errs := checkTokens(src, tokens); len(errs) > 0 {
		return nil, nil, errs.Err()
	}
	for _, t := range tokens {
		if t.Type == token.CommentType {
			comments = append(comments, newComment(src, t))
		}
	}
	// The parser keeps and moves tokens: it gets its own.
	file, err := parser.ParseBytes(src.data, 0, parser.AllowDuplicateMapKey())
	if err != nil {
		return nil, nil, Errors{syntaxError(src, err)}
	}
	r := reader{src: src}
	root := &Node{src: src, Line: 1, Col: 1}
	for _, doc := range file.Docs {
		if doc.Body != nil {
			root = r.node(doc.Body, root)
		}
	}
	if root.Kind == Null && root.end == 0 {
		r.nothing()
	}
	r.errs = append(r.errs, duplicates(root)...)
	return root, comments, r.errs.Err()
}

// nothing reports text in a file that the parser found empty: it drops a tag
// that nothing follows.
func (r *reader) nothing() {
	for i := range r.src.lines {
		line := strings.TrimSpace(string(r.src.line(i + 1)))
		if line != "" && line[0] != '#' && !strings.HasPrefix(line, "---") {
			r.errs = append(r.errs, *r.src.errorAt(r.src.lines[i], "this line cannot be read"))
			return
		}
	}
}

// syntaxError turns the parser's error into ours. Its message names tokens of
// the grammar, never values of the file; the excerpt that it can print is not
// taken, since a value may be secret.
func syntaxError(src *source, err error) Error {
	var at interface {
		GetToken() *token.Token
		GetMessage() string
	}
	if !errors.As(err, &at) || at.GetToken() == nil {
		return Error{File: src.name, Msg: "the file is no YAML that can be read"}
	}
	pos, msg := at.GetToken().Position, at.GetMessage()
	if strings.HasPrefix(msg, "invalid header option") { // it would quote the rest of the value
		msg = "after | or > comes nothing but + or - on this line"
	}
	e := Error{File: src.name, Line: pos.Line, Col: max(pos.Column, 1), Msg: msg}
	if pos.Line < 1 || pos.Line > len(src.lines) {
		return e
	}
	line := string(src.line(pos.Line))
	switch {
	case strings.Contains(msg, "invalid tag character"):
		e.Msg, e.Hint = tagMsg, tagHint
		before := line[:src.offset(e.Line, e.Col)-src.lines[e.Line-1]]
		e.Line, e.Col = src.pos(src.lines[e.Line-1] + max(strings.LastIndexByte(before, '!'), 0))
	case strings.Contains(msg, "mapping value is not allowed"), strings.Contains(msg, "is a reserved character"),
		strings.Contains(msg, "unexpected directive value"):
		e.Hint = "put the value in quotes, as every expression with \": \" or \" #\" in it, or with one of @ ` % { [ * & ! at its start"
	case strings.Contains(msg, "cannot start any token"), strings.HasPrefix(line, "\t"):
		e.Msg, e.Hint = "a tab cannot indent", "use spaces"
	case strings.Contains(msg, "value is not allowed in this context"):
		e.Hint = "check the indentation and the quotes"
	}
	return e
}

// reader turns the parser's tree into ours.
type reader struct {
	src  *source
	errs Errors
}

// node converts one value; parent is where a value that has no text of its own
// is said to be.
func (r *reader) node(from ast.Node, parent *Node) *Node {
	n := &Node{src: r.src, Line: parent.Line, Col: parent.Col, start: parent.end, end: parent.end}
	switch from := from.(type) {
	case nil:
		return n
	case *ast.NullNode:
		switch {
		case from.Token.Type == token.NullType:
			r.scalar(n, from.Token)
			n.Text = from.Token.Value
		case parent.Kind == List:
			r.place(n, from.Token)
			n.end = n.start
		}
	case *ast.BoolNode:
		r.scalar(n, from.Token)
		n.Kind, n.Text = Bool, strings.ToLower(from.Token.Value)
	case *ast.IntegerNode:
		r.number(n, from.Token)
	case *ast.FloatNode:
		r.number(n, from.Token)
	case *ast.InfinityNode:
		r.number(n, from.Token)
	case *ast.NanNode:
		r.number(n, from.Token)
	case *ast.StringNode:
		r.scalar(n, from.Token)
		n.Kind, n.Text = String, from.Value
	case *ast.LiteralNode:
		r.place(n, from.Start)
		n.Kind, n.Text, n.style = String, from.Value.Value, literal
		if from.Start.Type == token.FoldedType {
			n.style = folded
		}
		n.end = blockEnd(r.src, n, parent)
	case *ast.SequenceNode:
		r.list(n, from)
	case *ast.MappingNode:
		r.mapping(n, from)
	case *ast.MappingValueNode:
		n.Kind, n.style = Map, block
		r.pair(n, from)
	default:
		r.place(n, from.GetToken())
		r.errs.At(n, "", "this kind of YAML value is not allowed: write strings, numbers, true, false, lists and maps")
	}
	return n
}

func (r *reader) list(n *Node, from *ast.SequenceNode) {
	n.Kind, n.style = List, block
	r.place(n, from.Start)
	if from.IsFlowStyle {
		n.style = flow
	}
	for _, v := range from.Values {
		item := r.node(v, n)
		if n.style == block && item.Col <= n.Col && item.end > item.start {
			r.errs.At(item, "", "an item of a list must be indented more than its dash")
		}
		r.braces(n, item)
		n.Items = append(n.Items, item)
		n.end = max(n.end, item.end)
	}
	if from.IsFlowStyle && from.End != nil {
		n.end = r.src.offset(from.End.Position.Line, from.End.Position.Column) + 1
	}
}

func (r *reader) mapping(n *Node, from *ast.MappingNode) {
	n.Kind, n.style = Map, block
	if from.IsFlowStyle {
		n.style = flow
		r.place(n, from.Start)
	}
	for _, v := range from.Values {
		r.pair(n, v)
	}
	if from.IsFlowStyle && from.End != nil {
		n.end = r.src.offset(from.End.Position.Line, from.End.Position.Column) + 1
	}
}

func (r *reader) pair(n *Node, from *ast.MappingValueNode) {
	key := r.node(from.Key, n)
	if key.Kind != String || key.style == literal || key.style == folded {
		r.errs.At(key, "put it in quotes", "a key must be a string, not %s", key.Kind)
		key.Kind = String
	}
	value := r.node(from.Value, key)
	switch {
	case n.style != block:
	case len(n.Pairs) == 0:
		n.Line, n.Col, n.start = key.Line, key.Col, key.start
	case key.Col != n.Col:
		r.errs.At(key, "", "the key %s must stand under the first of its map, in column %d", quote(key.Text), n.Col)
	}
	if n.style == block && value.Line > key.Line && value.Col <= key.Col && (value.Kind != List || value.Col < key.Col) {
		r.errs.At(value, "", "a value on a line of its own must be indented more than its key")
	}
	r.braces(n, value)
	n.Pairs = append(n.Pairs, Pair{key, value})
	n.end = max(n.end, key.end, value.end)
}

// braces refuses a bare pair inside [ ] or { }.
func (r *reader) braces(outer, inner *Node) {
	if outer.style == flow && inner.style == block {
		r.errs.At(inner, "", "a map inside [ ] or { } needs braces of its own")
	}
}

func (r *reader) number(n *Node, t *token.Token) {
	r.scalar(n, t)
	n.Text = strings.TrimSpace(t.Value)
	n.Kind = numberKind(n.Text)
}

// place sets where n starts.
func (r *reader) place(n *Node, t *token.Token) {
	n.start = r.find(t)
	n.end = min(n.start+1, len(r.src.data))
	n.Line, n.Col = r.src.pos(n.start)
}

// find returns where a token stands. The scanner's position of a plain value
// is off before trailing white space and over several lines; such a value
// stands after the punctuation before it.
func (r *reader) find(t *token.Token) int {
	off := r.src.offset(t.Position.Line, t.Position.Column)
	first, _, _ := strings.Cut(strings.TrimSpace(t.Origin), "\n")
	first = strings.TrimRight(first, " \t")
	if t.Type == token.DoubleQuoteType || t.Type == token.SingleQuoteType || first == "" || t.Prev == nil ||
		bytes.HasPrefix(r.src.data[off:], []byte(first)) {
		return off
	}
	before := t.Prev
	for before.Type == token.CommentType && before.Prev != nil {
		before = before.Prev
	}
	if len(before.Value) != 1 {
		return off
	}
	at := r.src.offset(before.Position.Line, before.Position.Column) + 1
	for at < len(r.src.data) {
		switch c := r.src.data[at]; {
		case c == '#':
			at = r.src.lineEnd(r.src.lineOf(at))
		case space(rune(c)):
			at++
		case bytes.HasPrefix(r.src.data[at:], []byte(first)):
			return at
		default:
			return off
		}
	}
	return off
}

// scalar places n and finds its end.
func (r *reader) scalar(n *Node, t *token.Token) {
	r.place(n, t)
	switch t.Type {
	case token.DoubleQuoteType:
		n.style = double
		n.end = quoteEnd(r.src.data, n.start, '"')
	case token.SingleQuoteType:
		n.style = single
		n.end = quoteEnd(r.src.data, n.start, '\'')
	default:
		n.end = min(n.start+len(strings.TrimSpace(t.Origin)), len(r.src.data))
		// The parser misplaces some plain values over several lines, keeps
		// line ends in others, and takes "a: b" for a value inside { }.
		raw := fold(string(r.src.data[n.start:n.end]))
		if raw != strings.TrimSpace(t.Value) || strings.Contains(raw, ": ") || strings.Contains(raw, " #") {
			r.errs.At(n, "put it in quotes", "this value cannot be read for certain")
		}
	}
}

// fold joins the lines of a plain value: one line end is a space, each further
// one a line end.
func fold(raw string) string {
	if !strings.Contains(raw, "\n") {
		return raw
	}
	var b strings.Builder
	breaks := 0
	for line := range strings.SplitSeq(raw, "\n") {
		line = strings.Trim(line, " \t")
		switch {
		case line == "":
			breaks++
			continue
		case b.Len() > 0 && breaks == 0:
			b.WriteByte(' ')
		}
		b.WriteString(strings.Repeat("\n", breaks) + line)
		breaks = 0
	}
	return b.String()
}

// quoteEnd returns the offset after the quote that closes the one at start.
func quoteEnd(data []byte, start int, quote byte) int {
	for i := start + 1; i < len(data); i++ {
		switch {
		case data[i] == '\\' && quote == '"':
			i++
		case data[i] == quote && quote == '\'' && i+1 < len(data) && data[i+1] == quote:
			i++
		case data[i] == quote:
			return i + 1
		}
	}
	return len(data)
}

// blockEnd returns where a block scalar's text ends: before the first line
// that is not blank and not indented more than the line it hangs on.
func blockEnd(src *source, n, parent *Node) int {
	indent := indentation(src.line(n.Line))
	if parent.Line == n.Line && parent.Kind == String { // a key after "- " counts from itself
		indent = parent.Col - 1
	}
	end := src.lineEnd(n.Line)
	for line := n.Line + 1; line <= len(src.lines); line++ {
		if src.blank(line) {
			continue
		}
		if indentation(src.line(line)) <= indent {
			break
		}
		end = src.lineEnd(line)
	}
	return end
}

func indentation(line []byte) int {
	return len(line) - len(strings.TrimLeft(string(line), " "))
}

// duplicates reports every key that its map has already.
func duplicates(n *Node) (errs Errors) {
	seen := map[string]*Node{}
	for _, p := range n.Pairs {
		if first := seen[p.Key.Text]; first != nil {
			errs.At(p.Key, "", "the key %s stands here a second time; the first is at %d:%d", quote(p.Key.Text), first.Line, first.Col)
		} else {
			seen[p.Key.Text] = p.Key
		}
		errs = append(errs, duplicates(p.Value)...)
	}
	for _, item := range n.Items {
		errs = append(errs, duplicates(item)...)
	}
	return errs
}
