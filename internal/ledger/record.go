package ledger

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"math/bits"
	"strings"
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

// layout is the keys that the statistics know, in the order in which AppendJSON
// writes them, as they stand before a value. What a reader meets next is nearly
// always the next of them, so that is tried before the key is read.
var layout = [...]string{
	keyTS: `"ts":`, keyEvent: `"event":`, keyServer: `"server":`, keyTool: `"tool":`,
	keyBytesIn: `"bytes_in":`, keyBytesOut: `"bytes_out":`, keyTokensIn: `"tokens_in":`, keyTokensOut: `"tokens_out":`,
	keyEstimator: `"estimator":`, keyStructIn: `"structured_in":`, keyStructOut: `"structured_out":`,
	keyStructTokensIn: `"structured_tokens_in":`, keyStructTokensOut: `"structured_tokens_out":`,
	keyCut: `"cut":`, keyOverhead: `"overhead":`, keyStash: `"stash":`, keyOutcome: `"outcome":`, keySession: `"session":`,
	keyCaller: `"caller":`, keyRule: `"rule":`, keyEra: `"era":`, keyMS: `"ms":`, keyArgs: `"args":`, keyRepeat: `"repeat":`,
	keyFaults: `"faults":`, keyAsked: `"asked":`, keyReason: `"reason":`,
}

const (
	keyTS = iota
	keyEvent
	keyServer
	keyTool
	keyBytesIn
	keyBytesOut
	keyTokensIn
	keyTokensOut
	keyEstimator
	keyStructIn
	keyStructOut
	keyStructTokensIn
	keyStructTokensOut
	keyCut
	keyOverhead
	keyStash
	keyOutcome
	keySession
	keyCaller
	keyRule
	keyEra
	keyMS
	keyArgs
	keyRepeat
	keyFaults
	keyAsked
	keyReason
	keyOther // of a later version
)

// keyNames finds a key that does not stand where layout has it.
var keyNames = func() map[string]int {
	m := make(map[string]int, len(layout))
	for k, name := range layout {
		m[strings.Trim(name, `":`)] = k
	}
	return m
}()

// scan reads the line into r, in one pass over its bytes and without decoding
// what it does not need. It reports false for what is not one whole JSON object
// or has a known key of another type. Unknown keys may hold anything.
func (r *record) scan(line []byte) bool {
	*r = record{}
	s := scanner{b: line}
	if !s.byte('{') {
		return false
	}
	if !s.byte('}') {
		for next := 0; ; next++ {
			if !s.key(&next) || !r.value(&s, next) {
				return false
			}
			if s.byte(',') {
				continue
			}
			if !s.byte('}') {
				return false
			}
			break
		}
	}
	s.space()
	return s.i == len(s.b)
}

// key reads a key and its colon, and sets k, which is the key that layout has
// here, to the one it is. Keys that may be left out are why more than one is
// tried.
func (s *scanner) key(k *int) bool {
	for try := *k; try < len(layout); try++ {
		if name := layout[try]; len(s.b)-s.i >= len(name) && string(s.b[s.i:s.i+len(name)]) == name {
			s.i += len(name)
			*k = try
			return true
		}
		if try < keyArgs {
			break
		}
	}
	var name []byte
	if !s.string(&name) || !s.byte(':') {
		return false
	}
	s.space()
	known, ok := keyNames[string(name)]
	if !ok {
		known = keyOther
	}
	*k = known
	return true
}

// value reads the value of key k into r.
func (r *record) value(s *scanner, k int) bool {
	switch k {
	case keyTS:
		return s.string(&r.ts)
	case keyEvent:
		return s.string(&r.event)
	case keyServer:
		return s.string(&r.server)
	case keyTool:
		return s.string(&r.tool)
	case keyBytesIn:
		return s.figure(&r.bytesIn)
	case keyBytesOut:
		return s.figure(&r.bytesOut)
	case keyTokensIn:
		return s.figure(&r.tokensIn)
	case keyTokensOut:
		return s.figure(&r.tokensOut)
	case keyEstimator:
		return s.string(&r.estimator)
	case keyStructIn:
		return s.figure(&r.structIn)
	case keyStructOut:
		return s.figure(&r.structOut)
	case keyStructTokensIn:
		return s.figure(&r.structTokensIn)
	case keyStructTokensOut:
		return s.figure(&r.structTokensOut)
	case keyCut:
		return s.counts(&r.cut)
	case keyOverhead:
		return s.figure(&r.overhead)
	case keyStash:
		ok := s.string(&r.ref)
		r.stash = len(r.ref) > 0
		return ok
	case keyOutcome:
		return s.string(&r.outcome)
	case keySession:
		return s.string(&r.session)
	case keyRule:
		return s.string(&r.rule)
	case keyRepeat:
		return s.string(&r.repeat)
	case keyReason:
		return s.string(&r.reason)
	case keyFaults:
		return s.raw(&r.faults)
	case keyAsked:
		return s.raw(&r.asked)
	}
	return s.skip()
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

// counts reads an object of figures, and tells whether one of them is over 0.
func (s *scanner) counts(any *bool) bool {
	*any = false
	if !s.byte('{') {
		return false
	}
	if s.byte('}') {
		return true
	}
	for {
		var key []byte
		var n int64
		if !s.string(&key) || !s.byte(':') || !s.figure(&n) {
			return false
		}
		*any = *any || n > 0
		if s.byte(',') {
			continue
		}
		return s.byte('}')
	}
}

// raw reads a value of any kind as the bytes that it is.
func (s *scanner) raw(to *[]byte) bool {
	s.space()
	from := s.i
	ok := s.skip()
	*to = s.b[from:s.i]
	return ok
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
