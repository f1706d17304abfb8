package jmespath

import (
	"bytes"
	"math"
	"unicode"

	"github.com/spillway-mcp/spillway/internal/jsontape"
)

// text returns argument i, a string.
func (c *call) text(i int) ([]byte, error) {
	s := c.args[i].text()
	return s, c.ev.charge(c.node, len(s)>>walkShift)
}

// texts returns the first n arguments, which must be strings.
func (c *call) texts(n int) ([][]byte, error) {
	for i := range n {
		if err := c.want(i, jsontape.String); err != nil {
			return nil, err
		}
	}
	var all [][]byte
	for i := range n {
		s, err := c.text(i)
		if err != nil {
			return nil, err
		}
		all = append(all, s)
	}
	return all, nil
}

// room is the error if a string of n bytes is too long to make.
func (c *call) room(n int) error {
	if n > c.ev.limit {
		return c.fail(CodeLimit, "the string would be longer than %d bytes", c.ev.limit)
	}
	return c.ev.charge(c.node, n>>walkShift)
}

func (c *call) find(test func(s, part []byte) bool) (value, error) {
	t, err := c.texts(2)
	if err != nil {
		return null, err
	}
	return boolean(test(t[0], t[1])), nil
}

func bytesContains(s, part []byte) bool { return bytes.Contains(s, part) }

func callStartsWith(c *call) (value, error) { return c.find(bytes.HasPrefix) }
func callEndsWith(c *call) (value, error)   { return c.find(bytes.HasSuffix) }

func callJoin(c *call) (value, error) {
	if err := c.want(0, jsontape.String); err != nil {
		return null, err
	}
	parts, err := c.wantArrayOf(1, jsontape.String)
	if err != nil {
		return null, err
	}
	glue := c.args[0].text()
	n := 0
	for _, p := range parts {
		if n += len(glue) + len(p.text()); n > c.ev.limit {
			break
		}
	}
	if err := c.room(n); err != nil {
		return null, err
	}
	out := make([]byte, 0, n)
	for i, p := range parts {
		if i > 0 {
			out = append(out, glue...)
		}
		out = append(out, p.text()...)
	}
	return newString(out), nil
}

func callToString(c *call) (value, error) {
	v := c.args[0]
	if v.k == jsontape.String {
		return v, nil
	}
	n := c.ev.limit - v.within(c.ev.limit)
	if err := c.room(n); err != nil {
		return null, err
	}
	return newString(v.append(nil)), nil
}

// callFindFirst and callFindLast look in the window from argument 2 up to,
// not including, argument 3, and return an index from the string's start.
func callFindFirst(c *call) (value, error) { return c.findIndex(bytes.Index) }
func callFindLast(c *call) (value, error)  { return c.findIndex(bytes.LastIndex) }

func (c *call) findIndex(search func(s, part []byte) int) (value, error) {
	t, err := c.texts(2)
	if err != nil {
		return null, err
	}
	n := countRunes(t[0])
	window := [2]int{0, n}
	if err := c.integers(2, window[:]); err != nil {
		return null, err
	}
	for i, at := range window {
		if at < 0 {
			at += n
		}
		window[i] = min(max(at, 0), n)
	}
	if len(t[1]) == 0 || window[0] >= window[1] {
		return null, nil
	}
	from, to := runeOffset(t[0], window[0]), runeOffset(t[0], window[1])
	at := search(t[0][from:to], t[1])
	if at < 0 {
		return null, nil
	}
	return integer(window[0] + countRunes(t[0][from:from+at])), nil
}

// integers reads the arguments from first on, as far as they are given, into
// into. Types are checked before values.
func (c *call) integers(first int, into []int) error {
	given := min(len(c.args)-first, len(into))
	for i := range given {
		if err := c.want(first+i, jsontape.Number); err != nil {
			return err
		}
	}
	for i := range given {
		n, ok := wholeNumber(c.args[first+i].text())
		if !ok {
			return c.fail(CodeInvalidValue, "argument %d must be a whole number, found %s", first+i+1, clip(string(c.args[first+i].text())))
		}
		into[i] = n
	}
	return nil
}

// count reads argument i, if it is given, as a whole number of 0 or more;
// else it is as good as endless.
func (c *call) count(i int) (int, error) {
	n := [1]int{math.MaxInt}
	if err := c.integers(i, n[:]); err != nil {
		return 0, err
	}
	if n[0] < 0 {
		return 0, c.fail(CodeInvalidValue, "argument %d must be 0 or more, found %s", i+1, clip(string(c.args[i].text())))
	}
	return n[0], nil
}

func callReplace(c *call) (value, error) {
	t, err := c.texts(3)
	if err != nil {
		return null, err
	}
	n, err := c.count(3)
	if err != nil {
		return null, err
	}
	s, from, to := t[0], t[1], t[2]
	places := countRunes(s) + 1
	if len(from) > 0 {
		places = bytes.Count(s, from)
	}
	n = min(n, places)
	if err := c.room(len(s) + n*max(len(to)-len(from), 0)); err != nil {
		return null, err
	}
	if len(from) > 0 {
		return newString(bytes.Replace(s, from, to, n)), nil
	}
	// An empty text stands before each character and at the end.
	var out []byte
	for ; n > 0; n-- {
		size := runeSize(s)
		out = append(append(out, to...), s[:size]...)
		s = s[size:]
	}
	return newString(append(out, s...)), nil
}

func callSplit(c *call) (value, error) {
	t, err := c.texts(2)
	if err != nil {
		return null, err
	}
	n, err := c.count(2)
	if err != nil {
		return null, err
	}
	s, at := t[0], t[1]
	var parts []value
	for ; n > 0; n-- {
		cut, skip := bytes.Index(s, at), len(at)
		if skip == 0 {
			if cut = runeSize(s); cut == len(s) {
				break
			}
		}
		if cut < 0 {
			break
		}
		if err := c.ev.charge(c.node, elementSteps); err != nil {
			return null, err
		}
		parts = append(parts, newString(s[:cut:cut]))
		s = s[cut+skip:]
	}
	if len(at) > 0 || len(s) > 0 {
		parts = append(parts, newString(s))
	}
	return newArray(parts), nil
}

func callPadLeft(c *call) (value, error)  { return c.pad(true) }
func callPadRight(c *call) (value, error) { return c.pad(false) }

func (c *call) pad(left bool) (value, error) {
	if err := c.want(0, jsontape.String); err != nil {
		return null, err
	}
	if err := c.want(1, jsontape.Number); err != nil {
		return null, err
	}
	with := []byte{' '}
	if len(c.args) > 2 {
		if err := c.want(2, jsontape.String); err != nil {
			return null, err
		}
		with = c.args[2].text()
	}
	width, err := c.count(1)
	if err != nil {
		return null, err
	}
	if countRunes(with) != 1 {
		return null, c.fail(CodeInvalidValue, "argument 3 must be one character, found %d", countRunes(with))
	}
	s, err := c.text(0)
	if err != nil {
		return null, err
	}
	n := width - countRunes(s)
	if n <= 0 {
		return c.args[0], nil
	}
	if n > c.ev.limit {
		return null, c.room(n)
	}
	if err := c.room(len(s) + n*len(with)); err != nil {
		return null, err
	}
	pad := bytes.Repeat(with, n)
	if left {
		return newString(append(pad, s...)), nil
	}
	return newString(append(bytes.Clone(s), pad...)), nil
}

func callTrim(c *call) (value, error)      { return c.trim(true, true) }
func callTrimLeft(c *call) (value, error)  { return c.trim(true, false) }
func callTrimRight(c *call) (value, error) { return c.trim(false, true) }

// trim takes away the characters of argument 1; white space where it is not
// given or empty.
func (c *call) trim(left, right bool) (value, error) {
	t, err := c.texts(len(c.args))
	if err != nil {
		return null, err
	}
	s := t[0]
	cut := func(r []byte) bool { return unicode.IsSpace(runeOf(r)) }
	if len(t) > 1 && len(t[1]) > 0 {
		cut = func(r []byte) bool { return containsRune(t[1], r) }
	}
	for left && len(s) > 0 && cut(s[:runeSize(s)]) {
		s = s[runeSize(s):]
	}
	for right && len(s) > 0 && cut(s[len(s)-lastRuneSize(s):]) {
		s = s[:len(s)-lastRuneSize(s)]
	}
	return newString(s), nil
}

func callLower(c *call) (value, error) { return c.changeCase(unicode.ToLower) }
func callUpper(c *call) (value, error) { return c.changeCase(unicode.ToUpper) }

func (c *call) changeCase(to func(rune) rune) (value, error) {
	t, err := c.texts(1)
	if err != nil {
		return null, err
	}
	return newString(mapRunes(t[0], to)), nil
}
