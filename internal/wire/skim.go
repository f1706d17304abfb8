package wire

// skim finds the id and method of a message that is streamed past it and not
// kept: TypeScript servers write the id behind the result, so the first bytes
// do not tell it.
type skim struct {
	depth          int
	inString, esc  bool
	value          bool   // at depth 1: behind the colon
	capture        bool   // tok collects the current token
	tok            []byte // a key or scalar value of the top level
	key            []byte
	id, method     []byte
	tooLong, ended bool
}

const skimToken = 1 << 10

func (s *skim) feed(b []byte) {
	for _, c := range b {
		if s.ended {
			return
		}
		s.step(c)
	}
}

func (s *skim) step(c byte) {
	if s.inString {
		s.collect(c)
		switch {
		case s.esc:
			s.esc = false
		case c == '\\':
			s.esc = true
		case c == '"':
			s.inString = false
		}
		return
	}
	switch c {
	case '"':
		s.inString = true
		if s.depth == 1 {
			s.collect(c)
		}
	case '{', '[':
		s.depth++
		s.capture = s.depth == 1
		s.drop()
	case '}', ']':
		if s.depth == 1 {
			s.endValue()
			s.ended = true
		}
		s.depth--
	case ':':
		if s.depth == 1 {
			s.key = append(s.key[:0], s.tok...)
			s.drop()
			s.value, s.capture = true, true
		}
	case ',':
		if s.depth == 1 {
			s.endValue()
		}
	case ' ', '\t', '\r', '\n':
	default:
		if s.depth == 1 {
			s.collect(c)
		}
	}
}

func (s *skim) collect(c byte) {
	if !s.capture {
		return
	}
	if len(s.tok) == skimToken {
		s.tooLong = true
		return
	}
	s.tok = append(s.tok, c)
}

func (s *skim) drop() { s.tok, s.tooLong = s.tok[:0], false }

func (s *skim) endValue() {
	if s.value && s.capture && !s.tooLong && len(s.tok) > 0 {
		switch {
		case StringIs(s.key, "id"):
			s.id = append([]byte(nil), s.tok...)
		case StringIs(s.key, "method"):
			s.method = append([]byte(nil), s.tok...)
		}
	}
	s.drop()
	s.value, s.capture = false, true
}

// Skim returns the id and the method that a line seems to have which is no
// valid message; nil where it has none. They are copies.
func Skim(line []byte) (id, method []byte) {
	if len(line) == 0 || line[0] != '{' {
		return nil, nil
	}
	var s skim
	s.feed(line)
	return s.id, s.method
}

func (s *skim) tooLarge(size int64, limit int) *TooLargeError {
	return &TooLargeError{Size: size, Limit: limit, ID: s.id, Method: s.method}
}
