package jsontape

import (
	"encoding/binary"
	"fmt"
	"math/bits"
)

// SyntaxError says where a source stops being one JSON value, or which limit
// it passes.
type SyntaxError struct {
	Offset int // in bytes from the start of the source
	Msg    string
}

func (e *SyntaxError) Error() string {
	return fmt.Sprintf("invalid JSON at byte %d: %s", e.Offset, e.Msg)
}

func limitMsg(n, limit int) string {
	return fmt.Sprintf("the document has %d bytes, over the limit of %d", n, limit)
}

// frame is an open container while parsing.
type frame struct {
	open  uint32 // index of its opening word
	count uint32 // elements or members begun
}

const (
	lo8 = 0x0101010101010101
	hi8 = 0x8080808080808080
)

// parse fills the tape. The loop has three states, as labels: a value is
// expected, a key is expected, a value has just ended. It reports whether a
// byte over 0x7F stands in any string.
func (d *Doc) parse(maxDepth int) (high bool, err error) {
	src := d.src
	tape := d.tape
	if want := len(src)/20 + 16; cap(tape) < want {
		tape = make([]word, 0, want)
	}
	stack := d.stack[:0]
	var hibits uint64
	spaces := false
	i := 0
	fail := func(at int, want string) (bool, error) {
		d.tape, d.stack = tape, stack
		return false, d.syntax(at, want)
	}

value:
	for i < len(src) && src[i] <= ' ' {
		if !isSpace(src[i]) {
			return fail(i, "a value")
		}
		spaces = true
		i++
	}
	if i >= len(src) {
		return fail(i, "a value")
	}
	switch c := src[i]; c {
	case '"':
		end, kind, hb, at := scanString(src, i)
		if at != "" {
			return fail(end, at)
		}
		hibits |= hb
		tape = append(tape, makeWord(kind, end-i, i))
		i = end
	case '{', '[':
		if len(stack) >= maxDepth {
			d.tape, d.stack = tape, stack
			return false, &SyntaxError{Offset: i, Msg: fmt.Sprintf("nested deeper than %d containers", maxDepth)}
		}
		stack = append(stack, frame{open: uint32(len(tape))})
		kind := Array
		if c == '{' {
			kind = Object
		}
		tape = append(tape, makeWord(kind, 0, i))
		i++
		for i < len(src) && src[i] <= ' ' {
			if !isSpace(src[i]) {
				break
			}
			spaces = true
			i++
		}
		if i < len(src) && (src[i] == '}' && kind == Object || src[i] == ']' && kind == Array) {
			goto end
		}
		stack[len(stack)-1].count = 1
		if kind == Object {
			goto key
		}
		goto value
	case 't':
		if string(src[i:min(i+4, len(src))]) != "true" {
			return fail(i, "a value")
		}
		tape = append(tape, makeWord(True, 4, i))
		i += 4
	case 'f':
		if string(src[i:min(i+5, len(src))]) != "false" {
			return fail(i, "a value")
		}
		tape = append(tape, makeWord(False, 5, i))
		i += 5
	case 'n':
		if string(src[i:min(i+4, len(src))]) != "null" {
			return fail(i, "a value")
		}
		tape = append(tape, makeWord(Null, 4, i))
		i += 4
	default:
		end, want := scanNumber(src, i)
		if want != "" {
			return fail(end, want)
		}
		tape = append(tape, makeWord(Number, end-i, i))
		i = end
	}

after:
	for i < len(src) && src[i] <= ' ' {
		if !isSpace(src[i]) {
			break
		}
		spaces = true
		i++
	}
	if len(stack) == 0 {
		if i < len(src) {
			return fail(i, "the end of the document")
		}
		d.tape, d.stack, d.spaces = tape, stack, spaces
		return hibits&hi8 != 0, nil
	}
	{
		top := &stack[len(stack)-1]
		object := tape[top.open].kind() == Object
		if i < len(src) {
			switch src[i] {
			case ',':
				i++
				top.count++
				if object {
					goto key
				}
				goto value
			case '}':
				if object {
					goto end
				}
			case ']':
				if !object {
					goto end
				}
			}
		}
		if object {
			return fail(i, "',' or '}' after a member")
		}
		return fail(i, "',' or ']' after an element")
	}

key:
	for i < len(src) && src[i] <= ' ' {
		if !isSpace(src[i]) {
			break
		}
		spaces = true
		i++
	}
	if i >= len(src) || src[i] != '"' {
		return fail(i, "a key in double quotes")
	}
	{
		end, kind, hb, at := scanString(src, i)
		if at != "" {
			return fail(end, at)
		}
		hibits |= hb
		tape = append(tape, makeWord(kind, end-i, i))
		i = end
	}
	for i < len(src) && src[i] <= ' ' {
		if !isSpace(src[i]) {
			break
		}
		spaces = true
		i++
	}
	if i >= len(src) || src[i] != ':' {
		return fail(i, "':' after a key")
	}
	i++
	goto value

end:
	{
		top := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		i++
		tape = append(tape, makeWord(closing, int(top.count), i))
		open := tape[top.open]
		tape[top.open] = makeWord(open.kind(), len(tape), open.offset())
	}
	goto after
}

func isSpace(c byte) bool { return c == ' ' || c == '\n' || c == '\t' || c == '\r' }

func (d *Doc) syntax(at int, want string) error {
	found := "the end of the document"
	if at < len(d.src) {
		found = fmt.Sprintf("%q", d.src[at])
		if d.src[at] >= 0x80 {
			found = fmt.Sprintf("byte 0x%02X", d.src[at])
		}
	}
	return &SyntaxError{Offset: at, Msg: "expected " + want + ", found " + found}
}

// scanString reads the string that starts at the quote src[i]. It returns the
// offset after the closing quote, its kind, and the bits of all its bytes, of
// which hi8 tells whether one is over 0x7F. A fault is returned as what was
// expected, and end is where.
func scanString(src []byte, i int) (end int, kind Kind, bitsSeen uint64, want string) {
	kind = String
	i++
	for {
		for i+8 <= len(src) {
			w := binary.LittleEndian.Uint64(src[i:])
			q := w ^ ('"' * lo8)
			b := w ^ ('\\' * lo8)
			m := ((q-lo8)&^q | (b-lo8)&^b | (w-' '*lo8)&^w) & hi8
			if m == 0 {
				bitsSeen |= w
				i += 8
				continue
			}
			n := bits.TrailingZeros64(m) >> 3
			bitsSeen |= w & (1<<(8*n) - 1)
			i += n
			goto special
		}
		for i < len(src) && src[i] >= ' ' && src[i] != '"' && src[i] != '\\' {
			bitsSeen |= uint64(src[i])
			i++
		}
		if i >= len(src) {
			return i, kind, bitsSeen, "'\"' at the end of a string"
		}
	special:
		switch src[i] {
		case '"':
			return i + 1, kind, bitsSeen, ""
		case '\\':
			if kind == String {
				kind = stringEsc
			}
			if i+1 >= len(src) {
				return i + 1, kind, bitsSeen, "an escape after '\\'"
			}
			switch src[i+1] {
			case '"', '\\', 'b', 'f', 'n', 'r', 't':
				i += 2
			case '/':
				kind = stringOdd
				i += 2
			case 'u':
				kind = stringOdd
				for k := i + 2; k < i+6; k++ {
					if k >= len(src) || hexVal(src[k]) < 0 {
						return min(k, len(src)), kind, bitsSeen, "four hexadecimal digits after '\\u'"
					}
				}
				i += 6
			default:
				return i + 1, kind, bitsSeen, "one of \" \\ / b f n r t u after '\\'"
			}
		default:
			return i, kind, bitsSeen, "an escape in place of a control character"
		}
	}
}

func hexVal(c byte) int {
	switch {
	case '0' <= c && c <= '9':
		return int(c - '0')
	case 'a' <= c && c <= 'f':
		return int(c-'a') + 10
	case 'A' <= c && c <= 'F':
		return int(c-'A') + 10
	}
	return -1
}

// scanNumber reads the number at src[i]; want is not empty where there is none.
func scanNumber(src []byte, i int) (end int, want string) {
	start := i
	if src[i] == '-' {
		i++
	}
	switch {
	case i < len(src) && src[i] == '0':
		i++
	case i < len(src) && '1' <= src[i] && src[i] <= '9':
		for i < len(src) && '0' <= src[i] && src[i] <= '9' {
			i++
		}
	case i == start:
		return i, "a value"
	default:
		return i, "a digit after '-'"
	}
	if i < len(src) && src[i] == '.' {
		i++
		first := i
		for i < len(src) && '0' <= src[i] && src[i] <= '9' {
			i++
		}
		if i == first {
			return i, "a digit after '.'"
		}
	}
	if i < len(src) && (src[i] == 'e' || src[i] == 'E') {
		i++
		if i < len(src) && (src[i] == '+' || src[i] == '-') {
			i++
		}
		first := i
		for i < len(src) && '0' <= src[i] && src[i] <= '9' {
			i++
		}
		if i == first {
			return i, "a digit in the exponent"
		}
	}
	return i, ""
}
