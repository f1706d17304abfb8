package wire

import (
	"bytes"
	"strconv"
)

// IDKey is a request id in a form that can be compared and looked up: its kind,
// and its value however it was written. 1, 1.0 and 10e-1 are one key, 1 and "1"
// are two, and integers of any length keep all their digits.
type IDKey string

// NullID is the key of an id that is null, as some servers send in errors.
const NullID IDKey = "null"

// KeyOf returns the key of the raw id. Bytes that are no string, number or null
// are their own key.
func KeyOf(raw []byte) IDKey {
	if len(raw) == 0 {
		return ""
	}
	switch c := raw[0]; {
	case c == '"':
		return IDKey(AppendString([]byte{'s'}, raw))
	case c == '-' || c >= '0' && c <= '9':
		return numberKey(raw)
	}
	return IDKey(raw)
}

// numberKey writes a number as n, its sign, its digits without leading or
// trailing zeros, and a power of ten.
func numberKey(raw []byte) IDKey {
	b := raw
	neg := b[0] == '-'
	if neg {
		b = b[1:]
	}
	var exp int64
	if e := bytes.IndexAny(b, "eE"); e >= 0 {
		x, err := strconv.ParseInt(string(b[e+1:]), 10, 32)
		if err != nil {
			return IDKey("?" + string(raw))
		}
		exp, b = x, b[:e]
	}
	digits := make([]byte, 0, len(b))
	for i, c := range b {
		switch {
		case c == '.':
			exp -= int64(len(b) - i - 1)
		case c >= '0' && c <= '9':
			digits = append(digits, c)
		default:
			return IDKey("?" + string(raw))
		}
	}
	digits = bytes.TrimLeft(digits, "0")
	if len(digits) == 0 {
		return "n0"
	}
	short := bytes.TrimRight(digits, "0")
	exp += int64(len(digits) - len(short))
	key := []byte{'n'}
	if neg {
		key = append(key, '-')
	}
	key = append(key, short...)
	if exp != 0 {
		key = strconv.AppendInt(append(key, 'e'), exp, 10)
	}
	return IDKey(key)
}
