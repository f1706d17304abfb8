package jmespath

import (
	"bytes"
	"errors"
	"math/big"

	"github.com/spillway-mcp/spillway/internal/jsontape"
)

// numeric gives an error of arithmetic its place.
func (c *call) numeric(err error) error {
	var bad *numberError
	if errors.As(err, &bad) {
		return c.fail(bad.code, "%s", bad.msg)
	}
	return err
}

func (c *call) decimal(i int) (decimal, error) {
	d, err := parseDecimal(c.args[i].text())
	return d, c.numeric(err)
}

// callAbs keeps the digits.
func callAbs(c *call) (value, error) {
	if err := c.want(0, jsontape.Number); err != nil {
		return null, err
	}
	if text := c.args[0].text(); text[0] == '-' {
		return newNumber(text[1:]), nil
	}
	return c.args[0], nil
}

func callCeil(c *call) (value, error)  { return c.round(1) }
func callFloor(c *call) (value, error) { return c.round(-1) }

// round keeps the digits of what is written as a whole number.
func (c *call) round(side int) (value, error) {
	if err := c.want(0, jsontape.Number); err != nil {
		return null, err
	}
	if !bytes.ContainsAny(c.args[0].text(), ".eE") {
		return c.args[0], nil
	}
	d, err := c.decimal(0)
	if err != nil {
		return null, err
	}
	return newNumber(d.round(side).append(nil)), nil
}

func (c *call) total() (sum decimal, count int, err error) {
	elems, err := c.wantArrayOf(0, jsontape.Number)
	if err != nil {
		return decimal{}, 0, err
	}
	sum = decimal{new(big.Int), 0}
	for _, e := range elems {
		d, err := parseDecimal(e.text())
		if err != nil {
			return decimal{}, 0, c.numeric(err)
		}
		if sum, err = sum.add(d); err != nil {
			return decimal{}, 0, c.numeric(err)
		}
		if err := c.ev.charge(c.node, sum.coef.BitLen()>>8); err != nil {
			return decimal{}, 0, err
		}
	}
	return sum, len(elems), nil
}

func callSum(c *call) (value, error) {
	sum, _, err := c.total()
	if err != nil {
		return null, err
	}
	return newNumber(sum.append(nil)), nil
}

func callAvg(c *call) (value, error) {
	sum, count, err := c.total()
	if err != nil || count == 0 {
		return null, err
	}
	text, err := sum.div(decimal{big.NewInt(int64(count)), 0})
	return newNumber(text), c.numeric(err)
}

// callToNumber takes what is a JSON number, and keeps its digits.
func callToNumber(c *call) (value, error) {
	switch v := c.args[0]; v.k {
	case jsontape.Number:
		return v, nil
	case jsontape.String:
		text := v.text()
		if len(text) > 0 && (text[0] == '-' || isDigit(text[0])) && isDigit(text[len(text)-1]) {
			if doc, err := jsontape.Parse(text); err == nil && doc.Root().Kind() == jsontape.Number {
				return newNumber(text), nil
			}
		}
	}
	return null, nil
}

func (ev *evaluator) arithmetic(n *arithmeticNode, cur value) (value, error) {
	var left value
	var err error
	if n.left != nil {
		if left, err = ev.eval(n.left, cur); err != nil {
			return null, err
		}
	}
	right, err := ev.eval(n.right, cur)
	if err != nil {
		return null, err
	}
	for _, v := range []value{left, right} {
		if v.k != jsontape.Number && v.k != jsontape.Invalid {
			return null, ev.fail(n, CodeInvalidType, "%s takes numbers, found %s", n.sign(), withArticle(v.k))
		}
	}
	if n.left == nil {
		return signed(n.op, right), nil
	}
	text, err := compute(n.op, left.text(), right.text())
	if bad := (*numberError)(nil); errors.As(err, &bad) {
		return null, ev.fail(n, bad.code, "%s: %s", n.sign(), bad.msg)
	}
	// Numbers of thousands of digits cost more than a step.
	return newNumber(text), ev.charge(n, (len(text)+len(left.text())+len(right.text()))>>walkShift)
}

func (n *arithmeticNode) sign() string {
	if n.op == 'I' {
		return "//"
	}
	return string(rune(n.op))
}

// signed puts a sign before v, whose digits it keeps.
func signed(op byte, v value) value {
	text := v.text()
	switch {
	case op == '+':
		return v
	case text[0] == '-':
		return newNumber(text[1:])
	case compareNumbers(text, []byte{'0'}) == 0:
		return v
	}
	return newNumber(append([]byte{'-'}, text...))
}

func compute(op byte, left, right []byte) ([]byte, error) {
	a, err := parseDecimal(left)
	if err != nil {
		return nil, err
	}
	b, err := parseDecimal(right)
	if err != nil {
		return nil, err
	}
	switch op {
	case '+':
		a, err = a.add(b)
	case '-':
		a, err = a.add(b.neg())
	case '*':
		a, err = a.mul(b)
	case '/':
		return a.div(b)
	case 'I':
		a, _, err = a.divMod(b)
	case '%':
		_, a, err = a.divMod(b)
	}
	if err != nil {
		return nil, err
	}
	return a.append(nil), nil
}
