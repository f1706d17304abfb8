package yamlpos

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
)

// Format returns the file in its canonical layout. It changes layout only:
// values, their order and every comment stay. Formatting twice gives the same
// bytes as once.
//
// YAML: two spaces a level, lists indented under their key, block style except
// for maps and lists that were written on one line, at most one blank line in
// a row, two spaces before a comment that ends a line, double quotes where
// quotes are needed (single ones around text that has " or \ in it), none
// around names. JSON: two spaces a level.
//
// The error is an [Errors] if the file cannot be read.
func Format(name string, data []byte) ([]byte, error) {
	root, comments, err := read(name, data)
	if err != nil {
		return nil, err
	}
	if root.src.json {
		var out bytes.Buffer
		if err := json.Indent(&out, bytes.TrimSpace(root.src.data), "", "  "); err != nil {
			return nil, Errors{{File: name, Msg: err.Error()}}
		}
		out.WriteByte('\n')
		return out.Bytes(), nil
	}
	// A formatter that loses something is worse than none: what it made is
	// read again and compared. Block text and plain values can hold what reads
	// differently elsewhere; in quotes nothing does.
	for _, quoted := range []bool{false, true} {
		f := formatter{src: root.src, comments: comments, starts: startLines(root), quoted: quoted}
		f.file(root)
		out := f.out.Bytes()
		again, kept, err := read(name, out)
		if err == nil && same(root, again) && slices.Equal(texts(comments), texts(kept)) {
			return out, nil
		}
	}
	return nil, Errors{{File: name, Msg: "the file cannot be formatted without changing it", Hint: "put its strings in quotes"}}
}

// same reports whether two trees hold the same data in the same order.
func same(a, b *Node) bool {
	return a.Kind == b.Kind && (a.Text == b.Text || a.Kind == Null) &&
		slices.EqualFunc(a.Items, b.Items, same) &&
		slices.EqualFunc(a.Pairs, b.Pairs, func(p, q Pair) bool {
			return p.Key.Text == q.Key.Text && same(p.Value, q.Value)
		})
}

func texts(comments []comment) []string {
	list := make([]string, len(comments))
	for i, c := range comments {
		list[i] = c.text
	}
	return list
}

// formatter writes a tree in block style, and each comment before, beside or
// after the node it stood by.
type formatter struct {
	src      *source
	comments []comment // those not yet written
	starts   []int     // lines of the source on which a scalar starts, in order
	quoted   bool      // no plain values but names, no block text
	out      bytes.Buffer
	last     int  // source line of what was written last
	opened   bool // the line written last opened a block, or is the file's first
}

func (f *formatter) file(root *Node) {
	f.opened = true
	switch {
	case len(root.Items)+len(root.Pairs) > 0: // on one line it could come out as JSON
		f.block(root, 0, 0)
	case root.Kind != Null || root.Text != "":
		f.above(root.Line, 0)
		f.out.WriteString(f.inline(root))
		f.endLine(f.lineOf(root.end))
	}
	f.below(0, 0)
}

// spread reports whether a collection is written in block style: it has
// something in it, and was not on one line.
func (f *formatter) spread(n *Node) bool {
	if len(n.Items)+len(n.Pairs) == 0 {
		return false
	}
	return n.style == block || f.lineOf(n.start) != f.lineOf(n.end-1)
}

func (f *formatter) lineOf(off int) int { return f.src.lineOf(max(off, 0)) }

// block writes the members of a collection; outer is the source column of the
// collection around it.
func (f *formatter) block(n *Node, indent, outer int) {
	for i, p := range n.Pairs {
		f.above(p.Key.Line, indent)
		if i > 0 || !f.afterDash() {
			f.indent(indent)
		}
		f.out.WriteString(f.scalar(p.Key))
		f.out.WriteByte(':')
		f.value(p.Value, p.Key, indent, n.Col)
	}
	for i, item := range n.Items {
		f.above(f.firstLine(item), indent)
		if i > 0 || !f.afterDash() {
			f.indent(indent)
		}
		f.out.WriteByte('-')
		f.value(item, n, indent, n.Col)
	}
	col := n.Col
	if n.style == flow {
		col = outer + 1
	}
	f.below(max(col, outer+1), indent)
}

// afterDash reports whether the out ends in "- ", so that the first member of
// a list's item goes on the same line.
func (f *formatter) afterDash() bool { return bytes.HasSuffix(f.out.Bytes(), []byte("- ")) }

// value writes what stands after "key:" or "-", to the end of its lines.
func (f *formatter) value(n, before *Node, indent, outer int) {
	line := before.Line
	if before.Kind == List {
		line = n.Line
	}
	switch {
	case f.spread(n) && before.Kind == List:
		f.out.WriteByte(' ')
		f.opened = true
		f.block(n, indent+2, outer)
	case f.spread(n):
		if n.style == flow {
			line = n.Line
		}
		f.endLine(line)
		f.opened = true
		f.block(n, indent+2, outer)
	case n.Kind == Null && n.Text == "":
		f.endLine(line)
	case n.style == literal || n.style == folded:
		f.text(n, indent+2)
	default:
		f.out.WriteByte(' ')
		f.out.WriteString(f.inline(n))
		f.endLine(f.lineOf(n.end - 1))
	}
}

// firstLine returns the source line of the first scalar in n. Comments before
// it go above the dash of a list's item.
func (f *formatter) firstLine(n *Node) int {
	switch {
	case !f.spread(n):
		return n.Line
	case n.Kind == Map:
		return n.Pairs[0].Key.Line
	}
	return f.firstLine(n.Items[0])
}

// inline writes a scalar, or a collection on one line.
func (f *formatter) inline(n *Node) string {
	var parts []string
	switch n.Kind {
	case Map:
		for _, p := range n.Pairs {
			s := f.scalar(p.Key) + ":"
			if v := f.inline(p.Value); v != "" {
				s += " " + v
			}
			parts = append(parts, s)
		}
		return "{" + strings.Join(parts, ", ") + "}"
	case List:
		for _, item := range n.Items {
			parts = append(parts, f.inline(item))
		}
		return "[" + strings.Join(parts, ", ") + "]"
	}
	return f.scalar(n)
}

// above writes the comments that stand on lines of their own before a source
// line, and one blank line where there was one.
func (f *formatter) above(line, indent int) {
	for len(f.comments) > 0 && f.comments[0].line < line {
		f.comment(indent)
	}
	f.blank(line)
	f.last = line
}

// below writes the comments after a collection, before the next node, that are
// indented as its members are.
func (f *formatter) below(col, indent int) {
	next, _ := slices.BinarySearch(f.starts, f.last+1)
	for len(f.comments) > 0 && f.comments[0].col >= col &&
		(next == len(f.starts) || f.comments[0].line < f.starts[next]) {
		f.comment(indent)
	}
}

// startLines returns the lines on which scalars start, in order.
func startLines(n *Node) (lines []int) {
	switch {
	case n.Kind == Null && n.Text == "" && n.end == 0: // an empty file
		return nil
	case len(n.Pairs)+len(n.Items) == 0:
		return []int{n.Line}
	}
	for _, p := range n.Pairs {
		lines = append(append(lines, p.Key.Line), startLines(p.Value)...)
	}
	for _, item := range n.Items {
		lines = append(lines, startLines(item)...)
	}
	return lines
}

func (f *formatter) comment(indent int) {
	c := f.comments[0]
	f.comments = f.comments[1:]
	f.blank(c.line)
	f.indent(indent)
	f.out.WriteString(c.text)
	f.out.WriteByte('\n')
	f.last, f.opened = c.line, false
}

// blank keeps a blank line before a source line, but not at a block's start.
func (f *formatter) blank(line int) {
	if !f.opened && f.src.blank(line-1) && line > f.last {
		f.out.WriteByte('\n')
	}
	f.opened = false
}

func (f *formatter) indent(n int) { f.out.WriteString(strings.Repeat(" ", n)) }

// endLine ends the line, with the comment that ended the source line.
func (f *formatter) endLine(line int) {
	if len(f.comments) > 0 && !f.comments[0].own && f.comments[0].line <= line {
		f.out.WriteString("  " + f.comments[0].text)
		f.comments = f.comments[1:]
	}
	f.out.WriteByte('\n')
	f.last, f.opened = line, false
}
