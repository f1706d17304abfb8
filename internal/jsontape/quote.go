package jsontape

import (
	"bytes"
	"encoding/binary"
	"math/bits"
	"unicode/utf8"
)

// appendRune appends r as UTF-8; a surrogate as the three bytes it would have
// if it were a character, so that nothing is lost.
func appendRune(dst []byte, r rune) []byte {
	if 0xD800 <= r && r < 0xE000 {
		return append(dst, 0xED, 0x80|byte(r>>6)&0x3F, 0x80|byte(r)&0x3F)
	}
	return utf8.AppendRune(dst, r)
}

const hexDigits = "0123456789abcdef"

// AppendQuote appends s as a JSON string with the escapes of RFC 8785: only
// what must be escaped is. The three bytes of a surrogate become its escape
// again; other invalid UTF-8 is kept as it is.
func AppendQuote[T []byte | string](dst []byte, s T) []byte {
	dst = append(dst, '"')
	dst = AppendEscaped(dst, s)
	return append(dst, '"')
}

// AppendEscaped appends what [AppendQuote] puts between the quotes.
func AppendEscaped[T []byte | string](dst []byte, s T) []byte {
	from := 0
	for i := 0; i < len(s); {
		c := s[i]
		if c >= ' ' && c != '"' && c != '\\' && c != 0xED {
			i++
			continue
		}
		if c == 0xED && !(i+2 < len(s) && s[i+1] >= 0xA0 && s[i+1] <= 0xBF && s[i+2]&0xC0 == 0x80) {
			i++
			continue
		}
		dst = append(dst, s[from:i]...)
		if c == 0xED {
			r := 0xD000 | rune(s[i+1]&0x3F)<<6 | rune(s[i+2]&0x3F)
			dst = appendUEscape(dst, r)
			i += 3
		} else {
			dst = appendCharEscape(dst, c)
			i++
		}
		from = i
	}
	return append(dst, s[from:]...)
}

func appendUEscape(dst []byte, r rune) []byte {
	return append(dst, '\\', 'u', hexDigits[r>>12&15], hexDigits[r>>8&15], hexDigits[r>>4&15], hexDigits[r&15])
}

// appendCharEscape appends the escape of a quote, a backslash or a control
// character.
func appendCharEscape(dst []byte, c byte) []byte {
	switch c {
	case '"', '\\':
		return append(dst, '\\', c)
	case '\b':
		return append(dst, '\\', 'b')
	case '\f':
		return append(dst, '\\', 'f')
	case '\n':
		return append(dst, '\\', 'n')
	case '\r':
		return append(dst, '\\', 'r')
	case '\t':
		return append(dst, '\\', 't')
	}
	return appendUEscape(dst, rune(c))
}

// indexBackslash is bytes.IndexByte for escapes that are usually a few bytes
// away.
func indexBackslash(s []byte) int {
	i := 0
	for ; i+8 <= len(s) && i < 64; i += 8 {
		b := binary.LittleEndian.Uint64(s[i:]) ^ ('\\' * lo8)
		if m := (b - lo8) &^ b & hi8; m != 0 {
			return i + bits.TrailingZeros64(m)>>3
		}
	}
	if k := bytes.IndexByte(s[i:], '\\'); k >= 0 {
		return i + k
	}
	return -1
}
