package reduce

import (
	"unicode"
	"unicode/utf8"
)

// border returns the largest offset ≤ n at which s can be cut without
// splitting a character, or a cluster that is seen as one: a letter and its
// marks, joined emoji, a flag, CR LF (RED-11). A cluster of more than 256
// bytes is split between characters. Bytes that are not UTF-8 count as
// characters.
func border(s []byte, n int) int {
	if n >= len(s) {
		return len(s)
	}
	if n <= 0 {
		return 0
	}
	for k := 0; k < utf8.UTFMax-1 && n > 0 && !utf8.RuneStart(s[n]); k++ {
		n--
	}
	for at := n; n-at <= 256; {
		if at == 0 {
			return 0
		}
		prev, size := utf8.DecodeLastRune(s[:at])
		next, _ := utf8.DecodeRune(s[at:])
		if !joined(s[:at], prev, next) {
			return at
		}
		at -= size
	}
	return n
}

// borderAfter is the smallest such offset ≥ n.
func borderAfter(s []byte, n int) int {
	for at := max(n, 0); at < len(s); at++ {
		if border(s, at) == at {
			return at
		}
	}
	return len(s)
}

func joined(before []byte, prev, next rune) bool {
	switch {
	case prev == '\r' && next == '\n':
		return true
	case prev < ' ', next < ' ': // nothing joins a line feed or its like
		return false
	case next == 0x200D || prev == 0x200D: // zero-width joiner
		return true
	case unicode.In(next, unicode.Mn, unicode.Me, unicode.Mc, unicode.Variation_Selector):
		return true
	case 0x1F3FB <= next && next <= 0x1F3FF: // skin tones
		return true
	case 0xE0020 <= next && next <= 0xE007F: // tags
		return true
	case regional(prev) && regional(next):
		return regionalRun(before)%2 == 1
	case hangulLead(prev) && hangul(next), hangul(prev) && hangulTrail(next):
		return true
	}
	return false
}

func regional(r rune) bool    { return 0x1F1E6 <= r && r <= 0x1F1FF }
func hangulLead(r rune) bool  { return 0x1100 <= r && r <= 0x115F }
func hangulTrail(r rune) bool { return 0x1160 <= r && r <= 0x11FF }
func hangul(r rune) bool      { return 0x1100 <= r && r <= 0x11FF || 0xAC00 <= r && r <= 0xD7A3 }

// regionalRun counts the regional indicators at the end of s: two and two are
// a flag, from the first on.
func regionalRun(s []byte) int {
	n := 0
	for {
		r, size := utf8.DecodeLastRune(s)
		if !regional(r) {
			break
		}
		s = s[:len(s)-size]
		n++
	}
	return n
}
