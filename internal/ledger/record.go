package ledger

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"math/bits"
)

// A record is what the statistics take from a line. Its byte slices point into
// the line, or into fresh memory where the line had escapes.
type record struct {
	ts, event, server, tool, outcome, estimator, session, repeat []byte
	rule, ref, reason, asked                                     []byte

	bytesIn, bytesOut, tokensIn, tokensOut               int64
	structIn, structOut, structTokensIn, structTokensOut int64
	overhead                                             int64
	stash, cut                                           bool // a ref; a count over 0 in cut
	faults                                               []byte
}

// maxFigure bounds one figure of one line, so that no sum of lines overflows.
// No frame is near it.
const maxFigure = 1 << 40

// scan reads the line into r, in one pass over its bytes and without decoding
// what it does not need. It reports false for what is not one whole JSON object
// or has a known key of another type. Unknown keys may hold anything.
func (r *record) scan(line []byte) bool {
	*r = record{}
	s := scanner{b: line}
	ok := s.object(func(key []byte) bool {
		switch string(key) {
		case "ts":
			return s.string(&r.ts)
		case "event":
			return s.string(&r.event)
		case "server":
			return s.string(&r.server)
		case "tool":
			return s.string(&r.tool)
		case "outcome":
			return s.string(&r.outcome)
		case "estimator":
			return s.string(&r.estimator)
		case "session":
			return s.string(&r.session)
		case "repeat":
			return s.string(&r.repeat)
		case "bytes_in":
			return s.figure(&r.bytesIn)
		case "bytes_out":
			return s.figure(&r.bytesOut)
		case "tokens_in":
			return s.figure(&r.tokensIn)
		case "tokens_out":
			return s.figure(&r.tokensOut)
		case "structured_in":
			return s.figure(&r.structIn)
		case "structured_out":
			return s.figure(&r.structOut)
		case "structured_tokens_in":
			return s.figure(&r.structTokensIn)
		case "structured_tokens_out":
			return s.figure(&r.structTokensOut)
		case "overhead":
			return s.figure(&r.overhead)
		case "stash":
			if !s.string(&r.ref) {
				return false
			}
			r.stash = len(r.ref) > 0
			return true
		case "rule":
			return s.string(&r.rule)
		case "reason":
			return s.string(&r.reason)
		case "asked":
			from := s.i
			if !s.skip() {
				return false
			}
			r.asked = s.b[from:s.i]
			return true
		case "cut":
			r.cut = false
			return s.object(func([]byte) bool {
				var n int64
				if !s.figure(&n) {
					return false
				}
				r.cut = r.cut || n > 0
				return true
			})
		case "faults":
			from := s.i
			if !s.skip() {
				return false
			}
			r.faults = s.b[from:s.i]
			return true
		}
		return s.skip()
	})
	s.space()
	return ok && s.i == len(s.b)
}

// faultNames returns the line's faults; what is not a list of strings has none.
func (r *record) faultNames() (names []string) {
	if json.Unmarshal(r.faults, &names) != nil {
		return nil
	}
	return names
}

// A scanner walks the bytes of one line. Each method leaves it behind what it
// read, and reports false where that is not there.
type scanner struct {
	b []byte
	i int
}

func (s *scanner) space() {
	for s.i < len(s.b) && (s.b[s.i] == ' ' || s.b[s.i] == '\t' || s.b[s.i] == '\r') {
		s.i++
	}
}

func (s *scanner) byte(c byte) bool {
	if s.i < len(s.b) && s.b[s.i] <= ' ' {
		s.space()
	}
	if s.i < len(s.b) && s.b[s.i] == c {
		s.i++
		return true
	}
	return false
}

// object calls member with each key, standing before its value.
func (s *scanner) object(member func(key []byte) bool) bool {
	if !s.byte('{') {
		return false
	}
	if s.byte('}') {
		return true
	}
	for {
		var key []byte
		if !s.string(&key) || !s.byte(':') {
			return false
		}
		s.space()
		if !member(key) {
			return false
		}
		if s.byte(',') {
			continue
		}
		return s.byte('}')
	}
}

// string reads a string, or null as "".
func (s *scanner) string(to *[]byte) bool {
	s.space()
	if s.i < len(s.b) && s.b[s.i] == 'n' {
		*to = nil
		return s.word("null")
	}
	from := s.i
	escaped, ok := s.quoted()
	if !ok {
		return false
	}
	if !escaped {
		*to = s.b[from+1 : s.i-1]
		return true
	}
	var text string
	if json.Unmarshal(s.b[from:s.i], &text) != nil {
		return false
	}
	*to = []byte(text)
	return true
}

// quoted passes a string and tells whether it has escapes. It looks at eight
// bytes at a time for what could end a string, as most are of that length.
func (s *scanner) quoted() (escaped, ok bool) {
	if s.i >= len(s.b) || s.b[s.i] != '"' {
		return false, false
	}
	b, i := s.b, s.i+1
	for {
		for i+8 <= len(b) {
			w := binary.LittleEndian.Uint64(b[i:])
			quote, slash := w^('"'*ones), w^('\\'*ones)
			// The lowest bit set is exact: borrows only run upwards.
			if hit := ((quote-ones)&^quote | (slash-ones)&^slash | (w-' '*ones)&^w) & (128 * ones); hit != 0 {
				i += bits.TrailingZeros64(hit) / 8
				break
			}
			i += 8
		}
		if i >= len(b) {
			return false, false
		}
		switch c := b[i]; {
		case c == '"':
			s.i = i + 1
			return escaped, true
		case c == '\\':
			escaped = true
			i++
		case c < ' ':
			return false, false
		}
		i++
	}
}

const ones = 0x0101010101010101

func (s *scanner) word(w string) bool {
	if !bytes.HasPrefix(s.b[s.i:], []byte(w)) {
		return false
	}
	s.i += len(w)
	return true
}

// figure reads a whole number from 0 to maxFigure, or null as 0.
func (s *scanner) figure(to *int64) bool {
	s.space()
	if s.i < len(s.b) && s.b[s.i] == 'n' {
		*to = 0
		return s.word("null")
	}
	from, n := s.i, int64(0)
	for s.i < len(s.b) {
		d := s.b[s.i] - '0'
		if d > 9 {
			break
		}
		if n = n*10 + int64(d); n > maxFigure {
			return false
		}
		s.i++
	}
	*to = n
	return s.i > from && (s.i == from+1 || s.b[from] != '0') && s.ends()
}

// ends reports whether a number or word ends here.
func (s *scanner) ends() bool {
	if s.i == len(s.b) {
		return true
	}
	switch s.b[s.i] {
	case ',', '}', ']', ' ', '\t', '\r':
		return true
	}
	return false
}

// skip passes a value of any kind, without looking at it closer than to find
// its end.
func (s *scanner) skip() bool {
	depth := 0
	for {
		s.space()
		if s.i >= len(s.b) {
			return false
		}
		switch c := s.b[s.i]; {
		case c == '"':
			if _, ok := s.quoted(); !ok {
				return false
			}
		case c == '{' || c == '[':
			depth++
			s.i++
			continue
		case c == '}' || c == ']':
			if depth--; depth < 0 {
				return false
			}
			s.i++
		case c == ',' || c == ':':
			if depth == 0 {
				return false
			}
			s.i++
			continue
		default:
			for s.i < len(s.b) && !s.ends() && s.b[s.i] != ':' && s.b[s.i] != '"' {
				s.i++
			}
		}
		if depth == 0 {
			return true
		}
	}
}
