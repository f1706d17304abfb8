package reduce

import (
	"bytes"
	"slices"

	"github.com/spillway-mcp/spillway/internal/jsontape"
)

// unit is one payload with the places where it stands: text blocks, and
// structuredContent or a string member of it.
type unit struct {
	j      *job
	blocks []int          // the blocks that show it, the first being the one that stays
	inside bool           // it stands in structuredContent
	member jsontape.Value // the key of the string member that is the payload; absent: all of it

	// A JSON payload, as it came and looked through a sole wrapper member.
	json     bool
	v, inner jsontape.Value
	siblings jsontape.Value // the object that a string payload was found in
	// droppedSiblings are the members of it that did not fit beside it.
	droppedSiblings []string
	kept            *projection
	fault           fault
	cut             *jsonCut

	// A text payload.
	text    []byte
	linesOf [][]byte // its lines, once somebody asked
	cutOf   textCut
	noJSON  bool // keep was asked of it

	applied     bounds
	noteOutside bool // its note is not in itself
	changed     bool // something of it is gone
	omitted     bool // it is left out, since many blocks share the cap
	fixed       bool // out is an envelope or a probe, and is not cut
	out         []byte
	note        string
}

// wrapperNames are the sole members that are looked through (RED-02).
var wrapperNames = []string{"result", "content", "data"}

// findUnits sorts what is in force into payloads (RED-02, RED-03).
func (j *job) findUnits() {
	keys := findMirrors(j.blocks, j.structured)
	taken := make([]bool, len(j.blocks))
	if j.structured.Exists() {
		u := j.structuredUnit(keys)
		for _, i := range u.blocks {
			taken[i] = true
		}
		j.units = append(j.units, u)
	}
	for i, b := range j.blocks {
		if taken[i] || b.user || !b.at.Exists() {
			continue
		}
		u := &unit{j: j, blocks: []int{i}, text: b.text}
		if b.isText() {
			u.readJSONOf(b)
		}
		j.units = append(j.units, u)
	}
	kept := false
	for _, u := range j.units {
		u.noteOutside = !u.json || !u.inside && len(j.units) > 1
		if u.json && j.r.keep != nil {
			u.kept, u.fault = j.r.project(u.inner)
			kept = kept || u.kept != nil
		}
	}
	for _, u := range j.units {
		// A remark beside data that was projected is no fault of the rule.
		u.noJSON = !u.json && j.r.keep != nil && !kept
	}
}

// structuredUnit is the payload in structuredContent with its mirrors.
func (j *job) structuredUnit(keys []jsontape.Value) *unit {
	u := &unit{j: j, inside: true, json: true, v: j.structured}
	var member jsontape.Value
	one := true
	for i, b := range j.blocks {
		if b.role != mirrorsText {
			continue
		}
		if member.Exists() && member != keys[i] {
			one = false
		}
		member = keys[i]
	}
	if member.Exists() && one && !j.r.crowded(j.structured, member) {
		for i, b := range j.blocks {
			if b.role == mirrorsText {
				u.blocks = append(u.blocks, i)
			}
		}
		u.text, u.member, u.json = j.blocks[u.blocks[0]].text, member, false
		if j.r.wantsRows() {
			u.readJSON(u.text)
			u.siblings = j.structured
		}
		return u
	}
	for i, b := range j.blocks {
		if b.role == mirrorsAll || b.role == mirrorsItems {
			u.blocks = append(u.blocks, i)
		}
	}
	u.inner = lookThrough(u.v)
	return u
}

// crowded reports that the members beside a string payload take so much of the
// cap that the whole has to be cut as JSON.
func (r *Reducer) crowded(v, member jsontape.Value) bool {
	beside := v.CompactLen() - len(v.Get(member.Str()).Raw())
	return r.rule.MaxBytes > 0 && beside > r.rule.MaxBytes/2
}

// wantsRows reports a rule that acts on rows or fields, not on bytes alone.
func (r *Reducer) wantsRows() bool {
	return r.keep != nil || r.rows != nil || r.rule.MaxRows != nil
}

// readJSONOf is readJSON for a block, whose text may have been parsed already.
func (u *unit) readJSONOf(b *block) {
	if b.json.IsContainer() {
		u.json, u.v, u.inner = true, b.json, lookThrough(b.json)
	} else {
		u.readJSON(b.text)
	}
}

// readJSON makes u a JSON payload if the text is one object or array, or
// lines that each are one.
func (u *unit) readJSON(text []byte) {
	if d, ok := isJSONContainer(text); ok {
		u.json, u.v = true, d.Root()
	} else if d, ok := jsonLines(text); ok {
		u.json, u.v = true, d.Root()
	} else {
		return
	}
	u.inner = lookThrough(u.v)
}

// jsonLines reads NDJSON, at least two lines of it, as one array.
func jsonLines(text []byte) (*jsontape.Doc, bool) {
	first, rest, ok := bytes.Cut(bytes.TrimSpace(text), []byte{'\n'})
	if !ok || len(bytes.TrimSpace(rest)) == 0 {
		return nil, false
	}
	if _, ok := isJSONContainer(first); !ok {
		return nil, false
	}
	array := append(make([]byte, 0, len(text)+2), '[')
	n := 0
	for line := range bytes.SplitSeq(text, []byte{'\n'}) {
		if line = bytes.TrimSpace(line); len(line) == 0 {
			continue
		}
		if line[0] != '{' && line[0] != '[' {
			return nil, false
		}
		array = append(append(array, line...), ',')
		n++
	}
	d, err := jsontape.Parse(closeContainer(array, false))
	if err != nil || d.Root().Len() != n {
		return nil, false
	}
	return d, true
}

// lookThrough returns what a sole wrapper member holds, or v.
func lookThrough(v jsontape.Value) jsontape.Value {
	if v.Kind() != jsontape.Object || v.Len() != 1 {
		return v
	}
	it := v.Iter()
	it.Next()
	for _, name := range wrapperNames {
		if it.Key().Is(name) && it.Value().IsContainer() {
			return it.Value()
		}
	}
	return v
}

// newCut starts the cut of a JSON payload: rows by count.
func (u *unit) newCut() *jsonCut {
	r := u.j.r
	c := &jsonCut{top: u.v, always: r.always, ref: u.j.refOrNone}
	rowsIn := u.inner
	switch {
	case u.kept == nil && u.inner != u.v:
		it := u.v.Iter()
		it.Next()
		c.always = &fieldTree{kids: map[string]*fieldTree{it.Key().Str(): r.always}}
	case u.kept != nil:
		c.top, rowsIn = u.kept.top, u.kept.top
		c.inserts = u.kept.always
	}
	if u.siblings.Exists() {
		c.inserts = objectOf(u.siblingMembers(c.top, c.inserts))
	}
	c.rows = r.rowSets(rowsIn)
	if r.rule.MaxRows != nil {
		c.capRows(*r.rule.MaxRows)
	}
	return c
}

// siblingMembers are those that always puts beside a payload, and after them
// the small members that stood beside the string it was found in. What is
// large, or whose name the payload has for something else, is counted as
// dropped.
func (u *unit) siblingMembers(top, always jsontape.Value) []byte {
	var dst []byte
	write := func(key, v jsontape.Value) {
		dst = append(append(dst, key.Raw()...), ':')
		dst = append(v.AppendCompact(dst), ',')
	}
	for it := always.Iter(); it.Next(); {
		write(it.Key(), it.Value())
	}
	u.droppedSiblings = nil
	for it := u.siblings.Iter(); it.Next(); {
		key, v := it.Key(), it.Value()
		if key == u.member {
			continue
		}
		name := key.Str()
		taken := top.Get(name)
		if !taken.Exists() {
			taken = always.Get(name)
		}
		own := name == noteKey || name == rowsKey && top.Kind() != jsontape.Object
		switch {
		case taken.Exists() && jsontape.Equal(taken, v):
		case taken.Exists(), own, v.CompactLen() > maxProtected:
			u.droppedSiblings = append(u.droppedSiblings, name)
		default:
			write(key, v)
		}
	}
	return dst
}

// rowSets finds the arrays that a row cap counts in v.
func (r *Reducer) rowSets(v jsontape.Value) []*rowSet {
	if r.rows != nil {
		if arr := evalTape(r.rows, v); arr.Kind() == jsontape.Array && v.Holds(arr) {
			return []*rowSet{newRowSet("", arr)}
		}
	}
	if v.Kind() == jsontape.Array {
		return []*rowSet{newRowSet("", v)}
	}
	var sets []*rowSet
	for it := v.Iter(); it.Next(); {
		if it.Value().Kind() == jsontape.Array {
			sets = append(sets, newRowSet(it.Key().Str(), it.Value()))
		}
	}
	if full := slices.DeleteFunc(slices.Clone(sets), func(r *rowSet) bool { return r.total == 0 }); len(full) > 0 {
		sets = full // an empty list beside the rows is nothing to count
	}
	if len(sets) == 1 {
		sets[0].name = ""
	}
	return sets
}

func newRowSet(name string, arr jsontape.Value) *rowSet {
	elems := arr.Elements(make([]jsontape.Value, 0, arr.Len()))
	return &rowSet{name: name, arr: arr, elems: elems, shown: len(elems), total: len(elems)}
}

// faults are the marks that this payload leaves against the rule.
func (u *unit) faults() []string {
	var marks []string
	if u.fault != "" {
		marks = append(marks, "keep was not applied: "+string(u.fault))
	}
	if u.noJSON {
		marks = append(marks, "keep was not applied: "+string(notJSON))
	}
	if u.kept != nil && len(u.kept.missing) > 0 {
		marks = append(marks, "no row has "+listOf(u.kept.missing))
	}
	return marks
}

const notJSON fault = "the text is not JSON"

// facts are what the note says of u as it is now.
func (u *unit) facts() facts {
	f := facts{stripped: u.stripped(), blockless: len(u.blocks) == 0}
	if !u.json {
		f.bytes, f.isText = u.wholeLen(), true
		if u.cutOf.cut {
			f.text = &u.cutOf
		}
		if u.noJSON {
			f.fault = notJSON
		}
		return f
	}
	f.bytes = u.wholeLen()
	f.fault = u.fault
	f.more = hasMorePages(u.inner) || u.inner != u.v && hasMorePages(u.v)
	f.aligned = true
	if k := u.kept; k != nil {
		f.projected = true
		f.fields, f.dropped, f.missing = k.fields, k.dropped, k.missing
		f.aligned = k.aligned || !u.j.r.shape.Projected
		if u.j.r.shape.Projected && !k.aligned && k.base.Kind() == jsontape.Array {
			f.selected = k.base.Len()
		}
	}
	f.dropped = append(f.dropped[:len(f.dropped):len(f.dropped)], u.droppedSiblings...)
	if c := u.cut; c != nil {
		f.nested, f.chars, f.summary, f.arrays = c.nested, c.chars, c.summary, len(c.rows)
		for _, r := range c.rows {
			if f.projected && u.j.r.shape.Projected || r.shown < r.total {
				f.rows = append(f.rows, rowFact{r.name, r.shown, r.total})
			}
		}
	}
	return f
}

// wholeLen is the payload's length as it came.
func (u *unit) wholeLen() int {
	if len(u.blocks) > 0 && (!u.json || !u.inside || u.siblings.Exists()) {
		return u.j.textLens[u.blocks[0]]
	}
	return u.j.root.Get("structuredContent").CompactLen()
}

// stripped are the binary strings that were taken out of this payload.
func (u *unit) stripped() []strippedFact {
	if u.inside {
		return u.j.strippedIn
	}
	return u.j.strippedText[u.blocks[0]]
}
