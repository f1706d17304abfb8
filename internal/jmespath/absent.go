package jmespath

import "github.com/spillway-mcp/spillway/internal/jsontape"

// Absent looks for the fields that are selected by a plain path and that no
// row has, not even as null (RED-10). v is the payload; rows is how many rows
// there were to look at: 1 where the result is not Projected. It reports
// nothing where the shape has no such fields.
func (s Shape) Absent(v jsontape.Value) (absent []Field, rows int, err error) {
	missing := make([]bool, len(s.Fields))
	left := 0
	for i, f := range s.Fields {
		if missing[i] = f.path != nil; missing[i] {
			left++
		}
	}
	look := func(row value) {
		rows++
		for i := 0; i < len(missing) && left > 0; i++ {
			if missing[i] && row.has(s.Fields[i].path) {
				missing[i] = false
				left--
			}
		}
	}
	switch {
	case left == 0:
		return nil, 0, nil
	case s.Over == nil:
		look(fromTape(v))
	default:
		over, err := s.Over.Search(v)
		if err != nil || over.v.k != jsontape.Array {
			return nil, 0, err
		}
		for it := over.v.walk(); ; {
			row, ok := it.next()
			if !ok {
				break
			}
			if !row.isNull() {
				look(row)
			}
		}
	}
	if rows == 0 {
		return nil, 0, nil
	}
	for i, f := range s.Fields {
		if missing[i] {
			absent = append(absent, f)
		}
	}
	return absent, rows, nil
}

// has reports whether a member stands at the path, be it null.
func (v value) has(path []string) bool {
	for _, name := range path {
		if v.built == nil {
			t := v.tape.Get(name)
			if !t.Exists() {
				return false
			}
			v = fromTape(t)
			continue
		}
		found := false
		for _, m := range v.built.members {
			if string(m.key.text()) == name {
				v, found = m.val, true
				break
			}
		}
		if !found {
			return false
		}
	}
	return true
}
