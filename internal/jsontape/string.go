package jsontape

import (
	"bytes"
	"encoding/binary"
	"math/bits"
	"slices"
)

const (
	lo8 = 0x0101010101010101
	hi8 = 0x8080808080808080
	lo7 = 0x7F * lo8
)

// denseFrom is how many escapes a string has before it is taken for text that
// is itself JSON, and read by blocks.
const denseFrom = 16

// scanString reads a string from src[i], which is behind its opening quote, or
// where an earlier call ran out of bytes; kind is String, or what that call
// returned. It returns the offset after the closing quote, the kind, and the
// bits of all bytes, of which hi8 tells whether one is over 0x7F. A fault is
// returned as what was expected, and end is where; it is len(src) where more
// bytes could mend it.
func scanString(src []byte, i int, kind Kind) (end int, k Kind, seen uint64, want string) {
	escapes := 0
	for {
		for i+8 <= len(src) {
			w := binary.LittleEndian.Uint64(src[i:])
			q := w ^ ('"' * lo8)
			b := w ^ ('\\' * lo8)
			m := ((q-lo8)&^q | (b-lo8)&^b | (w-' '*lo8)&^w) & hi8
			if m == 0 {
				seen |= w
				i += 8
				continue
			}
			n := bits.TrailingZeros64(m) >> 3
			seen |= w & (1<<(8*n) - 1)
			i += n
			goto special
		}
		for i < len(src) && src[i] >= ' ' && src[i] != '"' && src[i] != '\\' {
			seen |= uint64(src[i])
			i++
		}
		if i >= len(src) {
			return i, kind, seen, "'\"' at the end of a string"
		}
	special:
		switch src[i] {
		case '"':
			return i + 1, kind, seen, ""
		case '\\':
			if i+1 >= len(src) {
				return i + 1, kind, seen, "an escape after '\\'"
			}
			switch escapeKind[src[i+1]] {
			case stringEsc:
				kind = max(kind, stringEsc)
				i += 2
			case stringOdd:
				kind = stringOdd
				if src[i+1] != 'u' {
					i += 2
					break
				}
				for k := i + 2; k < i+6; k++ {
					if k >= len(src) || hexVal(src[k]) < 0 {
						return min(k, len(src)), kind, seen, "four hexadecimal digits after '\\u'"
					}
				}
				i += 6
			default:
				return i + 1, kind, seen, "one of \" \\ / b f n r t u after '\\'"
			}
			if escapes++; escapes == denseFrom {
				var hb uint64
				i, kind, hb = scanDense(src, i, kind)
				seen |= hb
				escapes = 0
			}
		default:
			return i, kind, seen, "an escape in place of a control character"
		}
	}
}

// escapeKind is the kind of a string that has the escape; 0 of none.
var escapeKind = [256]Kind{'"': stringEsc, '\\': stringEsc, 'b': stringEsc, 'f': stringEsc, 'n': stringEsc,
	'r': stringEsc, 't': stringEsc, '/': stringOdd, 'u': stringOdd}

// resumeString returns where to go on with a string that ran out of bytes at
// end: there, or at the escape that is not whole.
func resumeString(src []byte, end int) int {
	for back := 1; back <= 5 && back <= end; back++ {
		if src[end-back] != '\\' {
			continue
		}
		run := 1
		for run < end-back+1 && src[end-back-run] == '\\' {
			run++
		}
		if run%2 == 1 && (back == 1 || src[end-back+1] == 'u') {
			return end - back
		}
		return end
	}
	return end
}

// scanDense reads a string that has an escape every few bytes, by blocks of 64
// from src[i], which is not behind a backslash. It stops before the first block
// that has the string's end or a fault, and before what is less than a block.
func scanDense(src []byte, i int, kind Kind) (end int, k Kind, seen uint64) {
	var carry uint64 // 1: the block's first byte is escaped
	for ; i+64 <= len(src); i += 64 {
		block := (*[64]byte)(src[i:])
		var quotes, slashes, control, all uint64
		for k := 56; k >= 0; k -= 8 {
			w := binary.LittleEndian.Uint64(block[k:])
			quotes = quotes<<8 | zeroBytes(w^'"'*lo8)
			slashes = slashes<<8 | zeroBytes(w^'\\'*lo8)
			control |= (w - ' '*lo8) &^ w
			all |= w
		}
		escaped, next := escapedBytes(slashes, carry)
		if quotes&^escaped != 0 || control&hi8 != 0 {
			break
		}
		worst := kind
		for e := escaped &^ quotes &^ slashes; e != 0; e &= e - 1 {
			at := bits.TrailingZeros64(e)
			esc := escapeKind[block[at]]
			if esc == Invalid || block[at] == 'u' && !isHex4(src[i+at+1:]) {
				return i - int(carry), kind, seen
			}
			worst = max(worst, esc)
		}
		if escaped != 0 {
			worst = max(worst, stringEsc)
		}
		kind, carry = worst, next
		seen |= all
	}
	return i - int(carry), kind, seen
}

// zeroBytes returns eight bits, set where a byte of w is zero.
func zeroBytes(w uint64) uint64 {
	z := ^((w&lo7 + lo7) | w | lo7) // 0x80 for each zero byte, exactly
	return (z >> 7) * 0x0102040810204080 >> 56
}

// escapedBytes returns which bytes of a block are escaped by a backslash before
// them, and the carry into the next block. A run of backslashes escapes every
// second byte from its start: adding the runs that start on an odd bit flips
// which bits of those runs count (the method of simdjson).
func escapedBytes(slashes, carry uint64) (escaped, next uint64) {
	const even = 0x5555555555555555
	slashes &^= carry
	follows := slashes<<1 | carry
	odd := slashes &^ (even | follows)
	sum, next := bits.Add64(odd, slashes, 0)
	return (even ^ sum<<1) & follows, next
}

func isHex4(s []byte) bool {
	return len(s) >= 4 && hexVal(s[0])|hexVal(s[1])|hexVal(s[2])|hexVal(s[3]) >= 0
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

// appendUnescaped decodes the inside of a string that has been validated. It
// copies whole words, and so may write behind what it returns, but nowhere
// that the undecoded string would not reach.
func appendUnescaped(dst, s []byte) []byte {
	n := len(dst)
	dst = slices.Grow(dst, len(s))
	out := dst[:n+len(s)]
	for {
		for len(s) >= 8 {
			w := binary.LittleEndian.Uint64(s)
			binary.LittleEndian.PutUint64(out[n:], w)
			b := w ^ ('\\' * lo8)
			m := (b - lo8) &^ b & hi8
			if m == 0 {
				n += 8
				s = s[8:]
				continue
			}
			k := bits.TrailingZeros64(m) >> 3
			n += k
			s = s[k:]
			goto escape
		}
		{
			k := bytes.IndexByte(s, '\\')
			if k < 0 {
				n += copy(out[n:], s)
				return out[:n]
			}
			n += copy(out[n:], s[:k])
			s = s[k:]
		}
	escape:
		if c := s[1]; c != 'u' {
			out[n] = unescape[c]
			n++
			s = s[2:]
			continue
		}
		r, k := unescapeRune(s)
		n = len(appendRune(out[:n], r))
		s = s[k:]
	}
}

var unescape = [256]byte{'"': '"', '\\': '\\', '/': '/', 'b': '\b', 'f': '\f', 'n': '\n', 'r': '\r', 't': '\t'}

// unescapeRune decodes the \u escape at the start of s, and its pair where it
// is the first of one, and returns how many bytes it read.
func unescapeRune(s []byte) (rune, int) {
	r := hex4(s[2:])
	if 0xD800 <= r && r < 0xDC00 && len(s) >= 12 && s[6] == '\\' && s[7] == 'u' {
		if lo := hex4(s[8:]); 0xDC00 <= lo && lo < 0xE000 {
			return (r-0xD800)<<10 + (lo - 0xDC00) + 0x10000, 12
		}
	}
	return r, 6
}

func hex4(s []byte) rune {
	return rune(hexVal(s[0])<<12 | hexVal(s[1])<<8 | hexVal(s[2])<<4 | hexVal(s[3]))
}
