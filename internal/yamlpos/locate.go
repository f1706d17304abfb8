package yamlpos

import (
	"strconv"
	"unicode/utf8"
)

// Pos returns the line and column of the byte off of a string's value in the
// file, through quotes, escapes, folding and indentation. For other kinds, and
// for off < 0, it is where n starts.
func (n *Node) Pos(off int) (line, col int) {
	if n.Kind != String || off < 0 || n.src == nil {
		return n.Line, n.Col
	}
	raw, i := n.src.data[n.start:n.end], 0
	switch n.style {
	case single, double:
		i = 1
	case literal, folded:
		for i < len(raw) && raw[i] != '\n' { // the header line
			i++
		}
		i++
	}
	// Both are walked side by side. What only the source has is line folding
	// and indentation; what only the value has is the white space that
	// folding left.
	val := n.Text[:min(off, len(n.Text))]
	for j := 0; j < len(val) && i < len(raw); {
		if used, made := n.escape(raw[i:]); used > 0 {
			i, j = i+used, j+made
			continue
		}
		r, w := utf8.DecodeRune(raw[i:])
		v, x := utf8.DecodeRuneInString(val[j:])
		switch {
		case r == v:
			i, j = i+w, j+x
		case space(r):
			i += w
		case space(v):
			j += x
		default: // cannot happen while the reader and this walk agree
			return n.Line, n.Col
		}
	}
	// Indentation before the wanted character is no part of it.
	if off < len(n.Text) && !space(rune(n.Text[off])) {
		for i < len(raw) {
			if used, made := n.escape(raw[i:]); used > 0 && made == 0 {
				i += used
			} else if space(rune(raw[i])) {
				i++
			} else {
				break
			}
		}
	}
	return n.src.pos(n.start + min(i, len(raw)))
}

// escape returns how many bytes of raw an escape takes, and how many bytes of
// the value it makes; 0 where raw starts with none.
func (n *Node) escape(raw []byte) (used, made int) {
	switch {
	case n.style == single && len(raw) > 1 && raw[0] == '\'' && raw[1] == '\'':
		return 2, 1
	case n.style != double || len(raw) < 2 || raw[0] != '\\':
		return 0, 0
	}
	digits := map[byte]int{'x': 2, 'u': 4, 'U': 8}[raw[1]]
	switch {
	case raw[1] == '\n':
		return 2, 0
	case raw[1] == 'N', raw[1] == '_':
		return 2, 2 // U+0085, U+00A0
	case raw[1] == 'L', raw[1] == 'P':
		return 2, 3 // U+2028, U+2029
	case digits == 0 || len(raw) < 2+digits:
		return 2, 1
	}
	r := hex(raw[2 : 2+digits])
	if r >= 0xd800 && r < 0xdc00 && len(raw) >= 12 && raw[6] == '\\' && raw[7] == 'u' {
		return 12, 4
	}
	if n := utf8.RuneLen(r); n > 0 {
		return 2 + digits, n
	}
	return 2 + digits, len(string(utf8.RuneError))
}

func hex(b []byte) rune {
	v, err := strconv.ParseUint(string(b), 16, 31)
	if err != nil {
		return utf8.RuneError
	}
	return rune(v)
}

func space(r rune) bool { return r == ' ' || r == '\n' || r == '\t' }
