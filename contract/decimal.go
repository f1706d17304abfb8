package contract

import (
	"bytes"
	"fmt"
	"math/big"
	"strconv"
)

// decimal is an exact sum of JSON numbers: units × 10^-scale. Small sums stay
// in a machine word.
type decimal struct {
	small int64
	big   *big.Int // in small's place where it is not nil
	scale int
}

// maxDigits bounds a number's digits and its exponent: 1e999999999 is a short
// text and a sum of a gigabyte.
const maxDigits = 4000

var ten = big.NewInt(10)

// parseDecimal reads a valid JSON number.
func parseDecimal(text []byte) (decimal, error) {
	var d decimal
	mantissa, exp := text, 0
	if i := bytes.IndexAny(text, "eE"); i >= 0 {
		mantissa = text[:i]
		e, err := strconv.Atoi(string(text[i+1:]))
		if err != nil || e > maxDigits || e < -maxDigits {
			return d, fmt.Errorf("exponent of %s is beyond %d", clip(text), maxDigits)
		}
		exp = e
	}
	digits := mantissa
	if i := bytes.IndexByte(mantissa, '.'); i >= 0 {
		digits = append(append([]byte(nil), mantissa[:i]...), mantissa[i+1:]...)
		d.scale = len(mantissa) - i - 1
	}
	if len(digits) > maxDigits {
		return d, fmt.Errorf("number of %d digits; %d is the most", len(digits), maxDigits)
	}
	if len(digits) <= 18 {
		d.small, _ = strconv.ParseInt(string(digits), 10, 64)
	} else {
		d.big, _ = new(big.Int).SetString(string(digits), 10)
	}
	d.scale -= exp
	if d.scale < 0 {
		d.rescale(0)
	}
	return d, nil
}

func clip(text []byte) string {
	if len(text) > 24 {
		return string(text[:24]) + "…"
	}
	return string(text)
}

func (d *decimal) units() *big.Int {
	if d.big != nil {
		return d.big
	}
	return big.NewInt(d.small)
}

// rescale raises the scale to at least 0 or to scale.
func (d *decimal) rescale(scale int) {
	if scale <= d.scale {
		return
	}
	by := scale - d.scale
	if d.big == nil {
		if d.small == 0 {
			d.scale = scale
			return
		}
		small, ok := d.small, true
		for i := 0; i < by && ok; i++ {
			ok = small < 1<<59 && small > -(1<<59)
			small *= 10
		}
		if ok {
			d.small, d.scale = small, scale
			return
		}
	}
	f := new(big.Int).Exp(ten, big.NewInt(int64(by)), nil)
	d.big, d.scale = f.Mul(f, d.units()), scale
}

func (d *decimal) add(x decimal) {
	d.rescale(x.scale)
	x.rescale(d.scale)
	if d.big == nil && x.big == nil {
		if s := d.small + x.small; (s > d.small) == (x.small > 0) {
			d.small = s
			return
		}
	}
	d.big = new(big.Int).Add(d.units(), x.units())
}

// String writes plain digits, as many after the point as the longest summand
// had.
func (d *decimal) String() string {
	s := d.units().String()
	if d.scale == 0 {
		return s
	}
	sign := ""
	if s[0] == '-' {
		sign, s = "-", s[1:]
	}
	if len(s) <= d.scale {
		s = string(bytes.Repeat([]byte("0"), d.scale-len(s)+1)) + s
	}
	return sign + s[:len(s)-d.scale] + "." + s[len(s)-d.scale:]
}
