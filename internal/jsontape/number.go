package jsontape

import (
	"bytes"
	"math/big"
)

// CompareNumbers compares two JSON numbers as exact decimals: 1 and 1.0 are
// equal, 9007199254740993 is greater than 9007199254740992, 1e400 is greater
// than 1e399. It returns -1, 0 or 1. Both must be valid JSON numbers.
func CompareNumbers(a, b []byte) int {
	if bytes.Equal(a, b) {
		return 0
	}
	x, y := decompose(a), decompose(b)
	if x.sign != y.sign {
		return cmpInt(x.sign, y.sign)
	}
	if x.sign == 0 {
		return 0
	}
	c := compareMagnitude(x, y)
	return c * x.sign
}

// decimal is sign × 0.digits × 10^point, where digits has no zero at either
// end; sign is 0 for zero.
type decimal struct {
	sign   int
	digits []byte
	point  int64
	// wide holds the point instead where the written exponent does not fit.
	wide *big.Int
}

func decompose(s []byte) decimal {
	d := decimal{sign: 1}
	if s[0] == '-' {
		d.sign = -1
		s = s[1:]
	}
	mantissa := s
	var exponent []byte
	if k := bytes.IndexAny(s, "eE"); k >= 0 {
		mantissa, exponent = s[:k], s[k+1:]
	}
	whole, frac, _ := bytes.Cut(mantissa, []byte{'.'})
	d.point = int64(len(whole))
	digits := whole
	if len(frac) > 0 {
		digits = append(append(make([]byte, 0, len(whole)+len(frac)), whole...), frac...)
	}
	for len(digits) > 0 && digits[0] == '0' {
		digits = digits[1:]
		d.point--
	}
	d.digits = bytes.TrimRight(digits, "0")
	if len(d.digits) == 0 {
		return decimal{}
	}
	if len(exponent) == 0 {
		return d
	}
	if e, ok := smallInt(exponent); ok {
		d.point += e
		return d
	}
	d.wide, _ = new(big.Int).SetString(string(bytes.TrimPrefix(exponent, []byte{'+'})), 10)
	d.wide.Add(d.wide, big.NewInt(d.point))
	if d.wide.IsInt64() {
		d.point, d.wide = d.wide.Int64(), nil
	}
	return d
}

// smallInt reads a signed decimal integer of at most 17 digits.
func smallInt(s []byte) (int64, bool) {
	neg := s[0] == '-'
	if neg || s[0] == '+' {
		s = s[1:]
	}
	if len(s) > 17 {
		return 0, false
	}
	var n int64
	for _, c := range s {
		n = n*10 + int64(c-'0')
	}
	if neg {
		n = -n
	}
	return n, true
}

func compareMagnitude(x, y decimal) int {
	if x.wide != nil || y.wide != nil {
		if c := x.bigPoint().Cmp(y.bigPoint()); c != 0 {
			return c
		}
	} else if x.point != y.point {
		if x.point < y.point {
			return -1
		}
		return 1
	}
	// Both start with a digit that is not 0 right after the point, so byte
	// order is numeric order, the shorter of two equal starts being less.
	return bytes.Compare(x.digits, y.digits)
}

func (d decimal) bigPoint() *big.Int {
	if d.wide != nil {
		return d.wide
	}
	return big.NewInt(d.point)
}

func cmpInt(a, b int) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}
