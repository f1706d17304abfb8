package jmespath

import (
	"math/bits"
	"slices"

	"github.com/spillway-mcp/spillway/internal/jsontape"
)

func callLength(c *call) (value, error) {
	if err := c.want(0, jsontape.String, jsontape.Array, jsontape.Object); err != nil {
		return null, err
	}
	n := 0
	switch v := c.args[0]; v.k {
	case jsontape.String:
		s, err := c.text(0)
		if err != nil {
			return null, err
		}
		n = countRunes(s)
	case jsontape.Array:
		n = v.size()
	default:
		members, err := c.members(0)
		if err != nil {
			return null, err
		}
		n = len(members)
	}
	return integer(n), nil
}

func callReverse(c *call) (value, error) {
	if err := c.want(0, jsontape.String, jsontape.Array); err != nil {
		return null, err
	}
	if c.args[0].k == jsontape.String {
		s, err := c.text(0)
		if err != nil {
			return null, err
		}
		return newString(reverseText(s)), nil
	}
	elems, err := c.elements(0)
	elems = slices.Clone(elems)
	slices.Reverse(elems)
	return newArray(elems), err
}

func callToArray(c *call) (value, error) {
	if c.args[0].k == jsontape.Array {
		return c.args[0], nil
	}
	return newArray([]value{c.args[0]}), nil
}

func callNotNull(c *call) (value, error) {
	for _, v := range c.args {
		if !v.isNull() {
			return v, nil
		}
	}
	return null, nil
}

func callType(c *call) (value, error) {
	return newString([]byte(c.args[0].typeName())), nil
}

func callContains(c *call) (value, error) {
	if err := c.want(0, jsontape.String, jsontape.Array); err != nil {
		return null, err
	}
	in, what := c.args[0], c.args[1]
	if in.k == jsontape.String {
		if what.k != jsontape.String {
			return boolean(false), nil
		}
		return c.find(bytesContains)
	}
	for it := in.walk(); ; {
		e, ok := it.next()
		if !ok {
			return boolean(false), nil
		}
		if err := c.ev.charge(c.node, 1); err != nil {
			return null, err
		}
		if same, err := c.ev.equal(c.node, e, what); err != nil || same {
			return boolean(same), err
		}
	}
}

func callMap(c *call) (value, error) {
	if err := c.want(1, jsontape.Array); err != nil {
		return null, err
	}
	elems, err := c.elements(1)
	if err != nil {
		return null, err
	}
	out := make([]value, len(elems))
	for i, e := range elems {
		if out[i], err = c.ref(0, e); err != nil {
			return null, err
		}
	}
	return newArray(out), nil
}

func callZip(c *call) (value, error) {
	rows := -1
	for i := range c.args {
		if err := c.want(i, jsontape.Array); err != nil {
			return null, err
		}
		if n := c.args[i].size(); rows < 0 || n < rows {
			rows = n
		}
	}
	out := make([]value, rows)
	cells := make([]value, rows*len(c.args))
	for col := range c.args {
		elems, err := c.elements(col)
		if err != nil {
			return null, err
		}
		for row := range rows {
			cells[row*len(c.args)+col] = elems[row]
		}
	}
	for row := range rows {
		from, to := row*len(c.args), (row+1)*len(c.args)
		out[row] = newArray(cells[from:to:to])
	}
	return newArray(out), nil
}

// sortable returns the elements of argument 0, and what each is ordered by:
// itself, or with by what the expression in argument 1 makes of it. All of
// these are numbers, or all are strings.
func (c *call) sortable(by bool) (elems, keys []value, err error) {
	if err := c.want(0, jsontape.Array); err != nil {
		return nil, nil, err
	}
	if elems, err = c.elements(0); err != nil {
		return nil, nil, err
	}
	keys = elems
	if by {
		keys = make([]value, len(elems))
	}
	for i := range elems {
		if by {
			if keys[i], err = c.ref(1, elems[i]); err != nil {
				return nil, nil, err
			}
		}
		switch k := keys[i].k; {
		case k != jsontape.Number && k != jsontape.String:
			return nil, nil, c.fail(CodeInvalidType, "only numbers or strings have an order, found %s at index %d", withArticle(k), i)
		case k != keys[0].k:
			return nil, nil, c.fail(CodeInvalidType, "numbers and strings have no common order, found %s at index %d after %ss", withArticle(k), i, keys[0].k)
		}
	}
	return elems, keys, nil
}

func callSort(c *call) (value, error)   { return c.sort(false) }
func callSortBy(c *call) (value, error) { return c.sort(true) }

// sort is stable.
func (c *call) sort(by bool) (value, error) {
	elems, keys, err := c.sortable(by)
	if err != nil {
		return null, err
	}
	if err := c.ev.charge(c.node, len(elems)*bits.Len(uint(len(elems)))); err != nil {
		return null, err
	}
	type pair struct{ key, elem value }
	pairs := make([]pair, len(elems))
	for i := range elems {
		pairs[i] = pair{keys[i], elems[i]}
	}
	slices.SortStableFunc(pairs, func(a, b pair) int { return order(a.key, b.key) })
	out := make([]value, len(elems))
	for i := range pairs {
		out[i] = pairs[i].elem
	}
	return newArray(out), nil
}

func callMax(c *call) (value, error)   { return c.extreme(false, 1) }
func callMin(c *call) (value, error)   { return c.extreme(false, -1) }
func callMaxBy(c *call) (value, error) { return c.extreme(true, 1) }
func callMinBy(c *call) (value, error) { return c.extreme(true, -1) }

// extreme finds the first element whose order is furthest to the side.
func (c *call) extreme(by bool, side int) (value, error) {
	elems, keys, err := c.sortable(by)
	if err != nil || len(elems) == 0 {
		return null, err
	}
	best := 0
	for i := range keys {
		if order(keys[i], keys[best])*side > 0 {
			best = i
		}
	}
	return elems[best], nil
}
