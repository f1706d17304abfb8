// Package wire owns the bytes between JSON-RPC peers: newline framing, whole
// frames out, and finding the few members a proxy needs without decoding the
// rest. It knows nothing of MCP, and it never re-encodes: what is not replaced
// by an [Edit] leaves as the bytes that came.
package wire

// A Span is a half-open range of bytes in a frame. The zero Span is an absent
// member: no value of a member starts at offset 0.
type Span struct{ Start, End int }

// Present reports whether the member was there.
func (s Span) Present() bool { return s.End > s.Start }

// Of returns the spanned bytes of src, nil for an absent span. The result
// aliases src.
func (s Span) Of(src []byte) []byte {
	if !s.Present() {
		return nil
	}
	return src[s.Start:s.End:s.End]
}

// A Frame is one line of a stdio stream with its newline. The zero Frame holds
// nothing.
type Frame struct {
	line []byte
	bare bool // without its newline
}

// NewFrame makes a frame of body, which must hold no newline. It copies.
func NewFrame(body []byte) Frame {
	line := make([]byte, 0, len(body)+1)
	return Frame{line: append(append(line, body...), '\n')}
}

// BareFrame makes a frame of body, which must hold no newline if it is written
// to a stream. It takes body over.
func BareFrame(body []byte) Frame { return Frame{line: body, bare: true} }

// Body returns the frame without its line end. It aliases the frame.
func (f Frame) Body() []byte {
	if len(f.line) == 0 || f.bare {
		return f.line
	}
	n := len(f.line) - 1
	return f.line[:n:n]
}

// Len is the length of the body in bytes.
func (f Frame) Len() int { return len(f.Body()) }
