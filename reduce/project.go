package reduce

import (
	"strings"

	"github.com/spillway-mcp/spillway/internal/jmespath"
	"github.com/spillway-mcp/spillway/internal/jsontape"
)

// projection is what keep and always made of a payload.
type projection struct {
	top     jsontape.Value // the kept value, in a document of its own
	always  jsontape.Value // an object of the members to put first; absent where none
	base    jsontape.Value // the original's array behind the rows; may be absent
	fields  []string       // names of the kept fields of a row, or of the payload
	dropped []string       // names of the fields that no kept field is taken from
	missing []string       // selected paths that no row has
	aligned bool           // row i of the kept value is element i of base
	lossy   bool           // something of the payload is gone
}

// fault is why a projection did not apply (RED-10).
type fault string

// project applies keep and always to a payload. A fault means that the
// payload goes on unprojected.
func (r *Reducer) project(payload jsontape.Value) (*projection, fault) {
	kept, err := r.keep.AppendJSON(nil, payload)
	if err != nil {
		return nil, fault(err.Error())
	}
	if string(kept) == "null" {
		return nil, "it gives null"
	}
	d, err := jsontape.Parse(kept)
	if err != nil {
		return nil, fault("it gives no JSON: " + err.Error())
	}
	p := &projection{top: d.Root(), aligned: r.shape.Aligned}
	if allNull(p.top) {
		return nil, "all it gives is null"
	}
	p.findBase(r, payload)
	if why := p.checkFields(r, payload); why != "" {
		return nil, why
	}
	if payload.Kind() == jsontape.Object {
		p.always = objectOf(r.always.appendSelected(nil, payload, p.produced()))
	}
	p.lossy = len(p.dropped) > 0 || p.selects(r) || r.keep.ForgetsNames() || !p.holdsLeavesOf(payload)
	return p, ""
}

// selects reports that there are fewer rows than in the original, or others.
func (p *projection) selects(r *Reducer) bool {
	return r.shape.Projected && p.base.Kind() == jsontape.Array && p.top.Len() != p.base.Len()
}

// holdsLeavesOf reports whether every scalar of the payload but for null is in
// the kept value or in what always added, as often as in the payload. A count
// alone would take a literal, or a field that was selected twice, for another
// that is gone.
func (p *projection) holdsLeavesOf(payload jsontape.Value) bool {
	if countLeaves(p.top)+countLeaves(p.always) < countLeaves(payload) {
		return false
	}
	have := make(map[string]int)
	add := func(leaf []byte) bool { have[string(leaf)]++; return true }
	eachLeaf(p.top, add)
	eachLeaf(p.always, add)
	return eachLeaf(payload, func(leaf []byte) bool {
		n := have[string(leaf)]
		have[string(leaf)] = n - 1
		return n > 0
	})
}

// objectOf makes an object of members that are each followed by a comma; the
// zero Value of none.
func objectOf(members []byte) jsontape.Value {
	if len(members) == 0 {
		return jsontape.Value{}
	}
	d, err := jsontape.Parse(closeContainer(append([]byte{'{'}, members...), true))
	if err != nil {
		return jsontape.Value{}
	}
	return d.Root()
}

// produced is the object whose members always must not overwrite: the kept
// value, or for an array the wrapper's own name.
func (p *projection) produced() jsontape.Value {
	if p.top.Kind() == jsontape.Object {
		return p.top
	}
	return rowsOnly
}

// rowsOnly stands for the wrapper of a kept value that is no object.
var rowsOnly = func() jsontape.Value {
	d, _ := jsontape.Parse([]byte(`{"` + rowsKey + `":null}`))
	return d.Root()
}()

// allNull reports an object with members, all of them null.
func allNull(v jsontape.Value) bool {
	if v.Kind() != jsontape.Object || v.Len() == 0 {
		return false
	}
	for it := v.Iter(); it.Next(); {
		if it.Value().Kind() != jsontape.Null {
			return false
		}
	}
	return true
}

// findBase looks up the original's rows.
func (p *projection) findBase(r *Reducer, payload jsontape.Value) {
	if r.shape.Base == nil {
		p.aligned = false
		return
	}
	p.base = evalTape(r.shape.Base, payload)
	if p.base.Kind() != jsontape.Array || p.top.Kind() != jsontape.Array || p.top.Len() != p.base.Len() {
		p.aligned = false
	}
}

// checkFields fills fields, dropped and missing.
func (p *projection) checkFields(r *Reducer, payload jsontape.Value) fault {
	rows := []jsontape.Value{payload}
	if r.shape.Projected {
		if p.base.Kind() != jsontape.Array {
			return ""
		}
		rows = p.base.Elements(nil)
		if len(rows) == 0 {
			return ""
		}
		if r.shape.Aligned && p.top.Kind() == jsontape.Array && p.top.Len() == 0 {
			return "it finds nothing in any row"
		}
	}
	if len(r.shape.Fields) == 0 {
		return ""
	}
	absent := absentPaths(r.shape, payload)
	if len(absent) == len(r.shape.Fields) {
		return fault("no row has " + listOf(absent))
	}
	p.missing = absent
	used := make(map[string]bool)
	known := true
	for _, f := range r.shape.Fields {
		p.fields = append(p.fields, f.Name)
		known = known && f.Members != nil
		for _, name := range f.Members {
			used[name] = true
		}
		if f.Rows != nil {
			p.missing = append(p.missing, absentPaths(*f.Rows, payload)...)
		}
	}
	if known {
		p.dropped = droppedNames(rows, used, func(key jsontape.Value) bool {
			return !r.shape.Projected && r.always.find(key) != nil && !p.top.Get(key.Str()).Exists()
		})
	}
	p.dropped = append(p.dropped, droppedBelow(r.shape.Fields, payload)...)
	return ""
}

// droppedBelow lists what rows under members of the result lose, as
// entities[*].observations. Members that show the same rows add up.
func droppedBelow(fields []jmespath.Field, payload jsontape.Value) []string {
	var names []string
	done := make(map[string]bool)
	for _, f := range fields {
		if f.Rows == nil || f.Rows.Base == nil || done[f.Rows.Base.String()] {
			continue
		}
		base := f.Rows.Base.String()
		done[base] = true
		rows := evalTape(f.Rows.Base, payload)
		used, known := usedBelow(fields, base)
		if !known || rows.Kind() != jsontape.Array {
			continue
		}
		for _, name := range droppedNames(rows.Elements(nil), used, func(jsontape.Value) bool { return false }) {
			names = append(names, base+"[*]."+name)
		}
	}
	return names
}

// usedBelow returns the members of the rows at base that are shown somewhere;
// known is false where that cannot be told, or whole rows are.
func usedBelow(fields []jmespath.Field, base string) (used map[string]bool, known bool) {
	used = make(map[string]bool)
	for _, f := range fields {
		if f.Rows == nil || f.Rows.Base == nil || f.Rows.Base.String() != base {
			continue
		}
		for _, g := range f.Rows.Fields {
			if g.Members == nil {
				return nil, false
			}
			for _, name := range g.Members {
				used[name] = true
			}
		}
		if len(f.Rows.Fields) == 0 {
			return nil, false
		}
	}
	return used, true
}

// absentPaths lists the selected paths that no row has, not even as null.
func absentPaths(s jmespath.Shape, payload jsontape.Value) []string {
	absent, rows, err := s.Absent(payload)
	if err != nil || rows == 0 {
		return nil
	}
	var paths []string
	for _, f := range absent {
		if f.Path == nil {
			paths = append(paths, f.Name)
		} else {
			paths = append(paths, strings.Join(f.Path, "."))
		}
	}
	return paths
}

func anyHas(rows []jsontape.Value, path []string) bool {
	for _, row := range rows {
		if row.Lookup(path...).Exists() {
			return true
		}
	}
	return false
}

// droppedNames lists the members of the rows that no kept field is taken
// from, in the order in which they are first met.
func droppedNames(rows []jsontape.Value, used map[string]bool, keeps func(jsontape.Value) bool) []string {
	var names []string
	seen := make(map[string]bool)
	var buf []byte
	var last jsontape.Value
	for _, row := range rows {
		if row.Kind() != jsontape.Object || jsontape.SameKeys(row, last) {
			continue
		}
		last = row
		for it := row.Iter(); it.Next(); {
			key := it.Key()
			b := key.StrBytes(buf)
			if used[string(b)] || seen[string(b)] || keeps(key) {
				continue
			}
			seen[string(b)] = true
			names = append(names, string(b))
		}
	}
	return names
}

// listOf writes names as words: "a", "a and b", "a, b and c".
func listOf(names []string) string {
	if len(names) < 2 {
		return strings.Join(names, "")
	}
	return strings.Join(names[:len(names)-1], ", ") + " and " + names[len(names)-1]
}

// evalTape evaluates an expression that is to select a value of v as it
// stands; the zero Value where it fails or makes a value of its own.
func evalTape(e *jmespath.Expr, v jsontape.Value) jsontape.Value {
	res, err := e.Search(v)
	if err != nil {
		return jsontape.Value{}
	}
	t, ok := res.Tape()
	if !ok {
		return jsontape.Value{}
	}
	return t
}
