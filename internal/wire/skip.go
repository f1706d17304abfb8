package wire

import (
	"bytes"
	"encoding/binary"
	"math/bits"
)

func skipSpace(b []byte, i int) int {
	for i < len(b) && (b[i] == ' ' || b[i] == '\t' || b[i] == '\r' || b[i] == '\n') {
		i++
	}
	return i
}

// stringAt returns the span of the string whose opening quote is at i.
func stringAt(b []byte, i int) (Span, bool) {
	if i >= len(b) || b[i] != '"' {
		return Span{}, false
	}
	end := stringEnd(b, i+1)
	return Span{i, end}, end > 0
}

// stringEnd returns the offset behind the closing quote of the string whose
// first character is at i, or -1. Long plain text goes at the speed of
// IndexByte; text that is itself JSON has an escaped quote every few bytes, and
// goes by blocks of 64 bytes without a branch a byte.
func stringEnd(b []byte, i int) int {
	for near := min(i+24, len(b)); i < near; i++ {
		switch b[i] {
		case '"':
			return i + 1
		case '\\':
			return denseEnd(b, i)
		}
	}
	k := bytes.IndexByte(b[i:], '"')
	if k < 0 {
		return -1
	}
	first := i
	i += k
	back := i
	for back > first && b[back-1] == '\\' {
		back--
	}
	if (i-back)&1 == 0 {
		return i + 1
	}
	return denseEnd(b, i+1)
}

// calmBlocks without a quote or backslash end the block-wise search.
const calmBlocks = 4

// denseEnd is stringEnd from i, which is not behind an odd backslash.
func denseEnd(b []byte, i int) int {
	var carry uint64 // 1: the block's first byte is escaped
	calm := 0
	for ; i+64 <= len(b); i += 64 {
		quotes, slashes := masks((*[64]byte)(b[i:]))
		if quotes|slashes == 0 {
			carry = 0
			if calm++; calm == calmBlocks {
				return stringEnd(b, i+64)
			}
			continue
		}
		calm = 0
		var escaped uint64
		escaped, carry = escapes(slashes, carry)
		if quotes &^= escaped; quotes != 0 {
			return i + bits.TrailingZeros64(quotes) + 1
		}
	}
	return restOfString(b, i+int(carry))
}

// restOfString is stringEnd byte by byte.
func restOfString(b []byte, i int) int {
	for ; i < len(b); i++ {
		switch b[i] {
		case '"':
			return i + 1
		case '\\':
			i++
		}
	}
	return -1
}

const (
	ones = 0x0101010101010101
	low7 = 0x7F * ones
)

// masks returns where a block of 64 bytes has quotes and backslashes, the first
// byte as the lowest bit.
func masks(block *[64]byte) (quotes, slashes uint64) {
	for k := 56; k >= 0; k -= 8 {
		w := binary.LittleEndian.Uint64(block[k:])
		quotes = quotes<<8 | zeroBytes(w^'"'*ones)
		slashes = slashes<<8 | zeroBytes(w^'\\'*ones)
	}
	return quotes, slashes
}

// zeroBytes returns eight bits, set where a byte of w is zero.
func zeroBytes(w uint64) uint64 {
	z := ^((w&low7 + low7) | w | low7) // 0x80 for each zero byte, exactly
	return (z >> 7) * 0x0102040810204080 >> 56
}

// escapes returns which bytes of a block are escaped by a backslash before
// them, and the carry into the next block. A run of backslashes escapes every
// second byte from its start: adding the runs that start on an odd bit flips
// which bits of those runs count (the method of simdjson).
func escapes(slashes, carry uint64) (escaped, next uint64) {
	const even = 0x5555555555555555
	slashes &^= carry
	follows := slashes<<1 | carry
	odd := slashes &^ (even | follows)
	sum, next := bits.Add64(odd, slashes, 0)
	return (even ^ sum<<1) & follows, next
}

// The classes of a byte outside strings.
const (
	plain = iota
	quote
	open
	shut
)

var class = [256]uint8{'"': quote, '{': open, '[': open, '}': shut, ']': shut}

// ends has the bytes that end a number or a literal.
var ends = [256]bool{' ': true, '\t': true, '\r': true, '\n': true, ',': true, ':': true,
	'}': true, ']': true, '{': true, '[': true, '"': true}

// valueAt returns the span of the value that starts at i. It does not recurse,
// so no depth exhausts the stack.
func valueAt(b []byte, i int) (Span, bool) {
	if i >= len(b) {
		return Span{}, false
	}
	switch b[i] {
	case '"':
		return stringAt(b, i)
	case '{', '[':
	default:
		j := i
		for j < len(b) && !ends[b[j]] {
			j++
		}
		return Span{i, j}, j > i
	}
	end := containerEnd(b, i)
	return Span{i, end}, end > 0
}

// containerEnd returns the offset behind the bracket that closes the one at i,
// or -1.
func containerEnd(b []byte, i int) int {
	depth := 0
	for ; i < len(b); i++ {
		switch class[b[i]] {
		case quote:
			if i = stringEnd(b, i+1) - 1; i < 0 {
				return -1
			}
		case open:
			depth++
		case shut:
			if depth--; depth == 0 {
				return i + 1
			}
		}
	}
	return -1
}
