package yamlpos

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"
)

// name is a string that no YAML reader takes for anything else, unless it is
// one of the words below.
var name = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_./-]*$`)

// risky is plain text that reads differently in another place: in column 1, as
// a key, or because it was folded from several lines.
var risky = regexp.MustCompile(`^(%|---|\.\.\.|[?:-]( |$))|\n|:$`)

var words = []string{"y", "n", "yes", "no", "on", "off", "true", "false", "null", "nan", "inf"}

// scalar writes a scalar on one line. What was plain stays plain as it was,
// and what was quoted loses its quotes only where it is a name.
func (f *formatter) scalar(n *Node) string {
	raw := string(f.src.data[n.start:n.end])
	switch {
	case n.Kind != String:
		return strings.TrimSpace(raw)
	case n.style == plain && !f.quoted && !risky.MatchString(raw):
		return raw
	case name.MatchString(n.Text) && !slices.Contains(words, strings.ToLower(n.Text)):
		return n.Text
	case strings.ContainsAny(n.Text, `"\`) && !strings.Contains(n.Text, "'") && printable(n.Text):
		return "'" + n.Text + "'"
	}
	return doubleQuote(n.Text)
}

func printable(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return !unicode.IsPrint(r) })
}

// doubleQuote writes a YAML string; what does not print is escaped.
func doubleQuote(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\t':
			b.WriteString(`\t`)
		case unicode.IsPrint(r):
			b.WriteRune(r)
		case r <= 0xff:
			b.WriteString(`\x` + pad(r, 2))
		case r <= 0xffff:
			b.WriteString(`\u` + pad(r, 4))
		default:
			b.WriteString(`\U` + pad(r, 8))
		}
	}
	b.WriteByte('"')
	return b.String()
}

func pad(r rune, width int) string {
	s := strconv.FormatInt(int64(r), 16)
	return strings.Repeat("0", width-len(s)) + s
}

// text writes a block scalar, with its header, at an indentation. One that the
// reader would see differently there is written on one line.
func (f *formatter) text(n *Node, indent int) {
	lines, ok := f.textLines(n)
	f.out.WriteByte(' ')
	if !ok || f.quoted {
		f.out.WriteString(f.scalar(n))
		f.endLine(n.Line)
		f.last = f.lineOf(n.end)
		return
	}
	header := map[style]string{literal: "|", folded: ">"}[n.style]
	if !strings.HasSuffix(n.Text, "\n") {
		header += "-"
	}
	f.out.WriteString(header)
	f.endLine(n.Line)
	for _, line := range lines {
		if line != "" {
			f.indent(indent)
		}
		f.out.WriteString(line + "\n")
	}
	f.last = f.lineOf(n.end)
}

// textLines returns a block scalar's lines without their indentation. It
// reports false if they need an indicator to be read the same way.
func (f *formatter) textLines(n *Node) ([]string, bool) {
	first, last := n.Line+1, f.lineOf(n.end)
	header := strings.TrimRight(strings.SplitN(string(f.src.data[n.start:f.src.lineEnd(n.Line)]), "#", 2)[0], " \t")
	if len(header) > 2 || len(header) == 2 && header[1] != '-' || last < first || n.Text == "" {
		return nil, false
	}
	indent := -1
	var lines []string
	for l := first; l <= last; l++ {
		line := string(f.src.line(l))
		if strings.TrimSpace(line) == "" {
			if len(line) > max(indent, 0) { // its spaces may be text
				return nil, false
			}
			line = ""
		} else if indent < 0 {
			indent = indentation([]byte(line))
		}
		switch {
		case line == "":
		case indentation([]byte(line)) < indent, strings.HasPrefix(line[indent:], "\t"):
			return nil, false
		default:
			line = line[indent:]
		}
		lines = append(lines, line)
	}
	return lines, true
}
