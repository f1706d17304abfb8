package wire

import "unicode/utf8"

// StringIs reports whether raw, a JSON string with its quotes, is want once its
// escapes are undone. It allocates nothing.
func StringIs(raw []byte, want string) bool {
	if len(raw) < 2 || raw[0] != '"' {
		return false
	}
	body := raw[1 : len(raw)-1]
	if len(body) == len(want) {
		return string(body) == want
	}
	// An escape only shrinks: a shorter body can never be want.
	if len(body) < len(want) {
		return false
	}
	var buf [utf8.UTFMax]byte
	for len(body) > 0 {
		c, rest := unescape(body, buf[:0])
		if len(want) < len(c) || want[:len(c)] != string(c) {
			return false
		}
		want, body = want[len(c):], rest
	}
	return want == ""
}

// AppendString appends what raw, a JSON string with its quotes, stands for. A
// lone surrogate becomes its own three bytes, so that two different strings
// never become one; the result is for lookup, not for the wire. Anything but a
// string appends nothing.
func AppendString(dst, raw []byte) []byte {
	if len(raw) < 2 || raw[0] != '"' {
		return dst
	}
	var buf [utf8.UTFMax]byte
	for body := raw[1 : len(raw)-1]; len(body) > 0; {
		var c []byte
		c, body = unescape(body, buf[:0])
		dst = append(dst, c...)
	}
	return dst
}

// Text is [AppendString] as a string.
func Text(raw []byte) string { return string(AppendString(nil, raw)) }

// unescape returns the first character of body, decoded, and what follows.
func unescape(body, buf []byte) (c, rest []byte) {
	if body[0] != '\\' || len(body) == 1 {
		return body[:1], body[1:]
	}
	switch e := body[1]; e {
	case 'u':
		r, ok := hex4(body[2:])
		if !ok {
			return body[:2], body[2:]
		}
		rest = body[6:]
		if r >= 0xD800 && r < 0xDC00 && len(rest) >= 6 && rest[0] == '\\' && rest[1] == 'u' {
			if lo, ok := hex4(rest[2:]); ok && lo >= 0xDC00 && lo < 0xE000 {
				return utf8.AppendRune(buf, (r-0xD800)<<10+(lo-0xDC00)+0x10000), rest[6:]
			}
		}
		if r >= 0xD800 && r < 0xE000 {
			return append(buf, 0xE0|byte(r>>12), 0x80|byte(r>>6)&0x3F, 0x80|byte(r)&0x3F), rest
		}
		return utf8.AppendRune(buf, r), rest
	case 'b':
		return append(buf, '\b'), body[2:]
	case 'f':
		return append(buf, '\f'), body[2:]
	case 'n':
		return append(buf, '\n'), body[2:]
	case 'r':
		return append(buf, '\r'), body[2:]
	case 't':
		return append(buf, '\t'), body[2:]
	default:
		return append(buf, e), body[2:]
	}
}

func hex4(b []byte) (r rune, ok bool) {
	if len(b) < 4 {
		return 0, false
	}
	for _, c := range b[:4] {
		switch {
		case c >= '0' && c <= '9':
			r = r<<4 | rune(c-'0')
		case c >= 'a' && c <= 'f':
			r = r<<4 | rune(c-'a'+10)
		case c >= 'A' && c <= 'F':
			r = r<<4 | rune(c-'A'+10)
		default:
			return 0, false
		}
	}
	return r, true
}
