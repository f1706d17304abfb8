package tokens

import "unicode/utf8"

// appendValid appends text to dst with U+FFFD in place of each maximal part of
// a sequence that is not UTF-8, as WHATWG's decoder has it.
func appendValid(dst, text []byte) []byte {
	for len(text) > 0 {
		r, n := utf8.DecodeRune(text)
		if r == utf8.RuneError && n == 1 {
			dst = append(dst, "\uFFFD"...)
			n = brokenLen(text)
		} else {
			dst = append(dst, text[:n]...)
		}
		text = text[n:]
	}
	return dst
}

// brokenLen returns the length of the broken sequence at the start of text: as
// much as could begin a character, and at least one byte.
func brokenLen(text []byte) int {
	low, high, want := byte(0x80), byte(0xbf), 0
	switch c := text[0]; {
	case c >= 0xc2 && c <= 0xdf:
		want = 1
	case c >= 0xe0 && c <= 0xef:
		want = 2
		if c == 0xe0 {
			low = 0xa0
		} else if c == 0xed {
			high = 0x9f
		}
	case c >= 0xf0 && c <= 0xf4:
		want = 3
		if c == 0xf0 {
			low = 0x90
		} else if c == 0xf4 {
			high = 0x8f
		}
	}
	n := 1
	for n <= want && n < len(text) && text[n] >= low && text[n] <= high {
		low, high = 0x80, 0xbf
		n++
	}
	return n
}
