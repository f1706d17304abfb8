package reduce

import (
	"strconv"
	"strings"

	"github.com/spillway-mcp/spillway/internal/jsontape"
)

// fieldSelection takes the asked fields out of a row.
type fieldSelection struct {
	names []string
	paths [][]string       // nil: the field is taken from the kept row
	kept  []jsontape.Value // rows as the rule projected them, by position
}

// selection resolves the asked fields over rows: names of the projection
// first, then dotted paths. A field that no row has is an error that names
// those there are.
func (x *expansion) selection(u *unit, rows []jsontape.Value) (*fieldSelection, error) {
	sel := &fieldSelection{}
	for _, name := range x.q.Fields {
		path, kept := x.resolve(u, name, rows)
		if kept && sel.kept == nil {
			sel.kept = u.kept.top.Elements(nil)
		}
		if !kept && len(rows) > 0 && !anyHas(rows, path) {
			return nil, &ArgumentError{
				Name: "fields", Given: strconv.Quote(clip(name, 60)),
				Want: "no row has it; rows have " + namesUpTo(droppedNames(rows, nil, func(jsontape.Value) bool { return false }), 40),
			}
		}
		if kept {
			path = nil
		}
		sel.names, sel.paths = append(sel.names, name), append(sel.paths, path)
	}
	return sel, nil
}

// resolve finds where a field comes from: a path in the original row, or the
// row that the rule made, where the rule computes it.
func (x *expansion) resolve(u *unit, name string, rows []jsontape.Value) (path []string, kept bool) {
	for _, f := range x.j.r.shape.Fields {
		// Without a projection they are fields of the payload, not of a row.
		if f.Name != name || !x.j.r.shape.Projected && (len(rows) != 1 || rows[0] != u.inner) {
			continue
		}
		if f.Path != nil {
			return f.Path, false
		}
		if u.kept != nil && u.kept.aligned {
			return nil, true
		}
	}
	if whole := []string{name}; anyHas(rows, whole) {
		return whole, false
	}
	return strings.Split(name, "."), false
}

// append writes row i: whole, or the object of the asked fields that it has.
func (s *fieldSelection) append(dst []byte, row jsontape.Value, i int) []byte {
	if len(s.names) == 0 {
		return row.AppendCompact(dst)
	}
	dst = append(dst, '{')
	for k, name := range s.names {
		var v jsontape.Value
		if s.paths[k] != nil {
			v = row.Lookup(s.paths[k]...)
		} else if i < len(s.kept) {
			v = s.kept[i].Get(name)
		}
		if !v.Exists() {
			continue
		}
		dst = append(jsontape.AppendQuote(dst, name), ':')
		dst = append(v.AppendCompact(dst), ',')
	}
	return closeContainer(dst, true)
}
