package jsontape

import "fmt"

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

// step says what parsing goes on with.
type step uint8

const (
	atValue  step = iota // a value is expected
	atOpen               // behind an opening bracket
	atKey                // a key is expected
	atColon              // behind a key
	atAfter              // behind a value
	inString             // inside a string that is a value
	inKey                // inside one that is a key
)

// place is where parsing goes on.
type place struct {
	step  step
	pos   int
	begun int    // of a string, the offset of its opening quote
	kind  Kind   // of that string so far
	bits  uint64 // of the bytes of all strings so far; hi8 tells whether one is over 0x7F
}

// room makes the tape hold as many tokens as size bytes usually have.
func (d *Doc) room(size int) {
	if want := size/20 + 16; cap(d.tape) < want {
		d.tape = make([]word, 0, want)
	}
}

// parse fills the tape from where it stopped. The loop has a label for each
// step. Unless this is the final call it stops where a token does not end with
// the source, and goes on there when it is called with more.
func (d *Doc) parse(maxDepth int, final bool) error {
	src, tape, stack := d.src, d.tape, d.stack
	at := d.at
	i := at.pos
	spaces := d.spaces

	switch at.step {
	case atValue:
		goto value
	case atOpen:
		goto open
	case atKey:
		goto key
	case atColon:
		goto colon
	case atAfter:
		goto after
	}
	{
		end, kind, hb, want := scanString(src, i, at.kind)
		at.bits |= hb
		if want != "" {
			if !final && end == len(src) {
				at.pos, at.kind = resumeString(src, end), kind
				goto pause
			}
			return d.fail(end, want)
		}
		tape = append(tape, makeWord(kind, end-at.begun, at.begun))
		i = end
		if at.step == inKey {
			goto colon
		}
		goto after
	}

value:
	for i < len(src) && src[i] <= ' ' {
		if !isSpace(src[i]) {
			return d.fail(i, "a value")
		}
		spaces = true
		i++
	}
	if i >= len(src) {
		if !final {
			at.step, at.pos = atValue, i
			goto pause
		}
		return d.fail(i, "a value")
	}
	switch c := src[i]; c {
	case '"':
		end, kind, hb, want := scanString(src, i+1, String)
		at.bits |= hb
		if want != "" {
			if !final && end == len(src) {
				at.step, at.begun, at.pos, at.kind = inString, i, resumeString(src, end), kind
				goto pause
			}
			return d.fail(end, want)
		}
		tape = append(tape, makeWord(kind, end-i, i))
		i = end
	case '{', '[':
		if len(stack) >= maxDepth {
			return &SyntaxError{Offset: i, Msg: fmt.Sprintf("nested deeper than %d containers", maxDepth)}
		}
		stack = append(stack, frame{open: uint32(len(tape))})
		kind := Array
		if c == '{' {
			kind = Object
		}
		tape = append(tape, makeWord(kind, 0, i))
		i++
		goto open
	case 't', 'f', 'n':
		text, kind := "true", True
		switch c {
		case 'f':
			text, kind = "false", False
		case 'n':
			text, kind = "null", Null
		}
		if !final && len(src)-i < len(text) {
			at.step, at.pos = atValue, i
			goto pause
		}
		if string(src[i:min(i+len(text), len(src))]) != text {
			return d.fail(i, "a value")
		}
		tape = append(tape, makeWord(kind, len(text), i))
		i += len(text)
	default:
		end, want := scanNumber(src, i)
		if !final && end == len(src) {
			at.step, at.pos = atValue, i
			goto pause
		}
		if want != "" {
			return d.fail(end, want)
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
	if i >= len(src) && !final {
		at.step, at.pos = atAfter, i
		goto pause
	}
	if len(stack) == 0 {
		if i < len(src) {
			return d.fail(i, "the end of the document")
		}
		at.step, at.pos = atAfter, i
		goto pause
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
			return d.fail(i, "',' or '}' after a member")
		}
		return d.fail(i, "',' or ']' after an element")
	}

open:
	for i < len(src) && src[i] <= ' ' {
		if !isSpace(src[i]) {
			break
		}
		spaces = true
		i++
	}
	if i >= len(src) && !final {
		at.step, at.pos = atOpen, i
		goto pause
	}
	{
		top := &stack[len(stack)-1]
		object := tape[top.open].kind() == Object
		if i < len(src) && (src[i] == '}' && object || src[i] == ']' && !object) {
			goto end
		}
		top.count = 1
		if !object {
			goto value
		}
	}

key:
	for i < len(src) && src[i] <= ' ' {
		if !isSpace(src[i]) {
			break
		}
		spaces = true
		i++
	}
	if i >= len(src) && !final {
		at.step, at.pos = atKey, i
		goto pause
	}
	if i >= len(src) || src[i] != '"' {
		return d.fail(i, "a key in double quotes")
	}
	{
		end, kind, hb, want := scanString(src, i+1, String)
		at.bits |= hb
		if want != "" {
			if !final && end == len(src) {
				at.step, at.begun, at.pos, at.kind = inKey, i, resumeString(src, end), kind
				goto pause
			}
			return d.fail(end, want)
		}
		tape = append(tape, makeWord(kind, end-i, i))
		i = end
	}

colon:
	for i < len(src) && src[i] <= ' ' {
		if !isSpace(src[i]) {
			break
		}
		spaces = true
		i++
	}
	if i >= len(src) && !final {
		at.step, at.pos = atColon, i
		goto pause
	}
	if i >= len(src) || src[i] != ':' {
		return d.fail(i, "':' after a key")
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

pause:
	d.tape, d.stack, d.at, d.spaces = tape, stack, at, spaces
	return nil
}

func isSpace(c byte) bool { return c == ' ' || c == '\n' || c == '\t' || c == '\r' }

func (d *Doc) fail(at int, want string) error {
	found := "the end of the document"
	if at < len(d.src) {
		found = fmt.Sprintf("%q", d.src[at])
		if d.src[at] >= 0x80 {
			found = fmt.Sprintf("byte 0x%02X", d.src[at])
		}
	}
	return &SyntaxError{Offset: at, Msg: "expected " + want + ", found " + found}
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
