package jmespath

import (
	"bytes"
	"fmt"
	"math"
	"math/big"
	"strconv"

	"github.com/spillway-mcp/spillway/internal/jsontape"
)

const (
	// maxDigits bounds the digits that arithmetic takes and makes, counted
	// from the first that is not 0 to the unit or the last: 1e999999999 + 1
	// would need a billion.
	maxDigits = 1000
	// quotientDigits is how many digits an exact quotient may have.
	quotientDigits = 34
	// maxExponent keeps sums of exponents far from overflow.
	maxExponent = 1 << 50
)

// decimal is coef × 10^exp, exactly.
type decimal struct {
	coef *big.Int
	exp  int64
}

// numberError is why a number cannot be computed; its caller adds where.
type numberError struct{ code, msg string }

func (e *numberError) Error() string { return e.msg }

func tooManyDigits(what string) error {
	return &numberError{CodeLimit, fmt.Sprintf("%s has more than %d digits", what, maxDigits)}
}

// parseDecimal reads a JSON number.
func parseDecimal(text []byte) (decimal, error) {
	mantissa, exponent := text, []byte(nil)
	if k := bytes.IndexAny(text, "eE"); k >= 0 {
		mantissa, exponent = text[:k], bytes.TrimPrefix(text[k+1:], []byte{'+'})
	}
	if len(mantissa) > maxDigits {
		return decimal{}, tooManyDigits(clip(string(text)))
	}
	whole, frac, _ := bytes.Cut(mantissa, []byte{'.'})
	coef, _ := new(big.Int).SetString(string(whole)+string(frac), 10)
	d := decimal{coef, -int64(len(frac))}
	if coef.Sign() == 0 {
		return decimal{coef, 0}, nil
	}
	if len(exponent) > 0 {
		e, err := strconv.ParseInt(string(exponent), 10, 64)
		if err != nil || e > maxExponent || e < -maxExponent {
			return decimal{}, &numberError{CodeLimit, fmt.Sprintf("%s has too large an exponent to compute with", clip(string(text)))}
		}
		d.exp += e
	}
	return d, nil
}

var ten = big.NewInt(10)

func pow10(n int64) *big.Int { return new(big.Int).Exp(ten, big.NewInt(n), nil) }

// digits returns the number of decimal digits of x, or one more.
func digits(x *big.Int) int64 { return int64(float64(x.BitLen())*math.Log10(2)) + 1 }

// align brings a and b to one exponent.
func align(a, b decimal) (x, y *big.Int, exp int64, err error) {
	if a.coef.Sign() == 0 {
		a.exp = b.exp
	}
	if b.coef.Sign() == 0 {
		b.exp = a.exp
	}
	exp = min(a.exp, b.exp)
	if max(a.exp-exp+digits(a.coef), b.exp-exp+digits(b.coef)) > maxDigits {
		return nil, nil, 0, tooManyDigits("the exact result")
	}
	x, y = a.coef, b.coef
	if a.exp > exp {
		x = new(big.Int).Mul(x, pow10(a.exp-exp))
	}
	if b.exp > exp {
		y = new(big.Int).Mul(y, pow10(b.exp-exp))
	}
	return x, y, exp, nil
}

func (a decimal) add(b decimal) (decimal, error) {
	x, y, exp, err := align(a, b)
	if err != nil {
		return decimal{}, err
	}
	return decimal{new(big.Int).Add(x, y), exp}, nil
}

func (a decimal) neg() decimal { return decimal{new(big.Int).Neg(a.coef), a.exp} }

func (a decimal) mul(b decimal) (decimal, error) {
	if digits(a.coef)+digits(b.coef) > maxDigits {
		return decimal{}, tooManyDigits("the exact product")
	}
	return decimal{new(big.Int).Mul(a.coef, b.coef), a.exp + b.exp}, nil
}

func divisionByZero() error { return &numberError{CodeNotANumber, "division by zero"} }

// divMod returns the quotient rounded down, and the remainder, which has the
// sign of b.
func (a decimal) divMod(b decimal) (quotient, remainder decimal, err error) {
	if b.coef.Sign() == 0 {
		return decimal{}, decimal{}, divisionByZero()
	}
	x, y, exp, err := align(a, b)
	if err != nil {
		return decimal{}, decimal{}, err
	}
	q, r := new(big.Int).QuoRem(x, y, new(big.Int))
	if r.Sign() != 0 && r.Sign() != y.Sign() {
		q.Sub(q, big.NewInt(1))
		r.Add(r, y)
	}
	return decimal{q, 0}, decimal{r, exp}, nil
}

// div returns a / b as text: exact where the quotient is whole, up to the
// exponents, or a decimal of at most quotientDigits digits; else the nearest
// float64 in its shortest form, or beyond the range of float64, 17 digits.
func (a decimal) div(b decimal) ([]byte, error) {
	if b.coef.Sign() == 0 {
		return nil, divisionByZero()
	}
	ratio := new(big.Rat).SetFrac(a.coef, b.coef)
	exp := a.exp - b.exp
	rest := new(big.Int).Set(ratio.Denom())
	twos := int64(rest.TrailingZeroBits())
	rest.Rsh(rest, uint(twos))
	fives := int64(0)
	for five, r := big.NewInt(5), new(big.Int); fives <= 4*quotientDigits; fives++ {
		q, _ := new(big.Int).QuoRem(rest, five, r)
		if r.Sign() != 0 {
			break
		}
		rest = q
	}
	// Over 2^n or 5^n stand at least 0.3 × n digits.
	if shift := max(twos, fives); rest.IsInt64() && rest.Int64() == 1 && shift <= 4*quotientDigits {
		coef := new(big.Int).Mul(ratio.Num(), pow10(shift))
		coef.Quo(coef, ratio.Denom())
		if exact := (decimal{coef, exp - shift}); shift == 0 || len(exact.trimmed()) <= quotientDigits {
			return exact.append(nil), nil
		}
	}
	magnitude := digits(ratio.Num()) - digits(ratio.Denom()) + exp
	if -300 < magnitude && magnitude < 300 {
		if exp >= 0 {
			ratio.Mul(ratio, new(big.Rat).SetInt(pow10(exp)))
		} else {
			ratio.Quo(ratio, new(big.Rat).SetInt(pow10(-exp)))
		}
		f, _ := ratio.Float64()
		shortest, err := parseDecimal(strconv.AppendFloat(nil, f, 'e', -1, 64))
		return shortest.append(nil), err
	}
	return roundQuotient(ratio.Num(), ratio.Denom(), exp).append(nil), nil
}

// roundQuotient returns a / b × 10^exp to 17 digits, half away from zero.
func roundQuotient(a, b *big.Int, exp int64) decimal {
	shift := max(19-(digits(a)-digits(b)), 0)
	q := new(big.Int).Mul(a, pow10(shift))
	q.Quo(q, b)
	text := []byte(new(big.Int).Abs(q).String())
	drop := int64(len(text) - 17)
	unit := pow10(drop)
	half := new(big.Int).Quo(unit, big.NewInt(2))
	if q.Sign() < 0 {
		half.Neg(half)
	}
	q.Add(q, half).Quo(q, unit)
	return decimal{q, exp - shift + drop}
}

// trimmed returns the coefficient's digits without sign and ending zeros.
func (a decimal) trimmed() []byte {
	return bytes.TrimRight(new(big.Int).Abs(a.coef).Append(nil, 10), "0")
}

// append writes the number: as plain digits where at most 20 zeros end it, or
// up to six begin it behind the point, else with an exponent.
func (a decimal) append(dst []byte) []byte {
	if a.coef.Sign() == 0 {
		return append(dst, '0')
	}
	if a.coef.Sign() < 0 {
		dst = append(dst, '-')
	}
	all := new(big.Int).Abs(a.coef).Append(nil, 10)
	text := bytes.TrimRight(all, "0")
	exp := a.exp + int64(len(all)-len(text))
	point := int64(len(text)) + exp // digits before the point
	switch {
	case 0 <= exp && exp <= 20:
		return append(append(dst, text...), bytes.Repeat([]byte{'0'}, int(exp))...)
	case exp < 0 && point > 0:
		return append(append(append(dst, text[:point]...), '.'), text[point:]...)
	case exp < 0 && point > -6:
		dst = append(append(dst, "0."...), bytes.Repeat([]byte{'0'}, int(-point))...)
		return append(dst, text...)
	}
	dst = append(dst, text[0])
	if len(text) > 1 {
		dst = append(append(dst, '.'), text[1:]...)
	}
	return strconv.AppendInt(append(dst, 'e'), point-1, 10)
}

// round returns the next whole number towards the given side: 1 is up.
func (a decimal) round(side int) decimal {
	if a.exp >= 0 {
		return a
	}
	if -a.exp > digits(a.coef)+1 {
		if a.coef.Sign() == side {
			return decimal{big.NewInt(int64(side)), 0}
		}
		return decimal{new(big.Int), 0}
	}
	q, r := new(big.Int).QuoRem(a.coef, pow10(-a.exp), new(big.Int))
	if r.Sign() == side {
		q.Add(q, big.NewInt(int64(side)))
	}
	return decimal{q, 0}
}

// wholeNumber reads a JSON number that is a whole one; beyond 32 bits it
// returns the nearest of these.
func wholeNumber(text []byte) (int, bool) {
	d, err := parseDecimal(text)
	if err != nil {
		return 0, false
	}
	all := new(big.Int).Abs(d.coef).Append(nil, 10)
	digits := bytes.TrimRight(all, "0")
	zeros := d.exp + int64(len(all)-len(digits))
	switch {
	case len(digits) == 0:
		return 0, true
	case zeros < 0:
		return 0, false
	case int64(len(digits))+zeros > 10:
		return math.MaxInt32 * d.coef.Sign(), true
	}
	return toInt(string(d.append(nil))), true
}

// smallInt reads a number of up to 18 characters that is plain digits.
func smallInt(text []byte) (int64, bool) {
	if len(text) > 18 {
		return 0, false
	}
	digits := bytes.TrimPrefix(text, []byte{'-'})
	var n int64
	for _, c := range digits {
		if c < '0' || c > '9' {
			return 0, false
		}
		n = n*10 + int64(c-'0')
	}
	if len(digits) < len(text) {
		n = -n
	}
	return n, true
}

func compareNumbers(a, b []byte) int {
	x, ok := smallInt(a)
	y, ok2 := smallInt(b)
	if !ok || !ok2 {
		return jsontape.CompareNumbers(a, b)
	}
	switch {
	case x < y:
		return -1
	case x > y:
		return 1
	}
	return 0
}

func integer(n int) value { return newNumber(strconv.AppendInt(nil, int64(n), 10)) }
