package jmespath

import (
	"bytes"
	"unicode/utf8"
)

// Strings count code points. A lone surrogate, which a tape decodes to the
// three bytes it would have as a character, is one; so is each byte that is
// part of no character.

// runeSize returns the length in bytes of the first code point; 0 of nothing.
func runeSize(s []byte) int {
	if len(s) == 0 || s[0] < utf8.RuneSelf {
		return min(len(s), 1)
	}
	if isSurrogate(s) {
		return 3
	}
	_, n := utf8.DecodeRune(s)
	return n
}

// lastRuneSize returns the length in bytes of the last code point.
func lastRuneSize(s []byte) int {
	if len(s) >= 3 && isSurrogate(s[len(s)-3:]) {
		return 3
	}
	_, n := utf8.DecodeLastRune(s)
	return n
}

func isSurrogate(s []byte) bool {
	return len(s) >= 3 && s[0] == 0xED && s[1] >= 0xA0 && s[1] <= 0xBF && s[2]&0xC0 == 0x80
}

// runeOf returns the code point that s is, or utf8.RuneError.
func runeOf(s []byte) rune {
	r, _ := utf8.DecodeRune(s)
	return r
}

func countRunes(s []byte) int {
	n := 0
	for len(s) > 0 {
		s = s[runeSize(s):]
		n++
	}
	return n
}

// runeOffset returns the offset of code point i, or the length of s.
func runeOffset(s []byte, i int) int {
	at := 0
	for ; i > 0 && at < len(s); i-- {
		at += runeSize(s[at:])
	}
	return at
}

func containsRune(set, r []byte) bool {
	for len(set) > 0 {
		n := runeSize(set)
		if bytes.Equal(set[:n], r) {
			return true
		}
		set = set[n:]
	}
	return false
}

func reverseText(s []byte) []byte {
	out := make([]byte, 0, len(s))
	for len(s) > 0 {
		n := lastRuneSize(s)
		out = append(out, s[len(s)-n:]...)
		s = s[:len(s)-n]
	}
	return out
}

// mapRunes changes each character of s, and leaves what is none as it is.
func mapRunes(s []byte, to func(rune) rune) []byte {
	out := make([]byte, 0, len(s))
	for len(s) > 0 {
		n := runeSize(s)
		if r, _ := utf8.DecodeRune(s); r != utf8.RuneError {
			out = utf8.AppendRune(out, to(r))
		} else {
			out = append(out, s[:n]...)
		}
		s = s[n:]
	}
	return out
}

// sliceText takes a slice of the code points of s.
func sliceText(n *sliceNode, s []byte) []byte {
	start, stop := n.bounds(countRunes(s))
	if n.step == 1 {
		if start >= stop {
			return nil
		}
		from := runeOffset(s, start)
		return s[from : from+runeOffset(s[from:], stop-start)]
	}
	var offsets []int
	for at := 0; at < len(s); at += runeSize(s[at:]) {
		offsets = append(offsets, at)
	}
	var out []byte
	for i := start; n.step > 0 && i < stop || n.step < 0 && i > stop; i += n.step {
		r := s[offsets[i]:]
		out = append(out, r[:runeSize(r)]...)
	}
	return out
}
