package jmespath

import (
	"bytes"

	"github.com/spillway-mcp/spillway/internal/jsontape"
)

// equal reports whether two values are the same data, as jsontape.Equal has
// it: numbers as exact decimals, strings as decoded, objects in any order.
func (ev *evaluator) equal(n node, a, b value) (bool, error) {
	if a.k != b.k {
		return false, nil
	}
	switch a.k {
	case jsontape.Number:
		return compareNumbers(a.text(), b.text()) == 0, nil
	case jsontape.String:
		return bytes.Equal(a.text(), b.text()), nil
	case jsontape.Array, jsontape.Object:
	default:
		return true, nil
	}
	if a.built == nil && b.built == nil {
		if err := ev.charge(n, min(a.tape.Tokens(), b.tape.Tokens())); err != nil {
			return false, err
		}
		return jsontape.Equal(a.tape, b.tape), nil
	}
	if a.built == b.built {
		return true, nil
	}
	if a.k == jsontape.Object {
		return ev.equalObjects(n, a, b)
	}
	if a.size() != b.size() {
		return false, nil
	}
	x, y := a.walk(), b.walk()
	for {
		e, ok := x.next()
		if !ok {
			return true, nil
		}
		if err := ev.charge(n, 1); err != nil {
			return false, err
		}
		f, _ := y.next()
		if same, err := ev.equal(n, e, f); !same {
			return false, err
		}
	}
}

func (ev *evaluator) equalObjects(n node, a, b value) (bool, error) {
	// An object of the document with duplicates has more members than names,
	// and no made object has: they differ, as two documents would.
	x, y := a.members(), b.members()
	if len(x) != len(y) || a.built == nil && a.tape.Len() != len(x) || b.built == nil && b.tape.Len() != len(y) {
		return false, nil
	}
	other := memberSet{}
	if len(y) > fewMembers {
		other.place = make(map[string]int, len(y))
	}
	for _, m := range y {
		other.add(m.key, m.key.text(), m.val)
	}
	for _, m := range x {
		if err := ev.charge(n, 1); err != nil {
			return false, err
		}
		i := other.find(m.key.text())
		if i < 0 {
			return false, nil
		}
		if same, err := ev.equal(n, m.val, y[i].val); !same {
			return false, err
		}
	}
	return true, nil
}

// order compares two numbers, or two strings by code points.
func order(a, b value) int {
	if a.k == jsontape.Number {
		return compareNumbers(a.text(), b.text())
	}
	return bytes.Compare(a.text(), b.text())
}
