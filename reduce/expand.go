package reduce

import (
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/spillway-mcp/spillway/internal/jmespath"
	"github.com/spillway-mcp/spillway/internal/jsontape"
)

// DefaultExpandBudget is the most bytes of text that one expand answers with,
// unless the caller says otherwise: above it some hosts spill a result to a
// file of their own (RED-26).
const DefaultExpandBudget = 40_000

// minExpandBudget leaves room for the line that names the next part.
const minExpandBudget = 1_000

// plain stands for a nil Reducer.
var plain = new(Reducer)

// Expand answers q from original, the result as the stash kept it, with the
// JSON of a CallToolResult of at most budget bytes of text (0: the default).
// The answer is never reduced. Where it does not fit, it ends with the exact
// call for the next part, and the last part with "done" (RED-26). r is the
// rule that cut the original; nil stands for one without expressions. The
// error is an [*ArgumentError], or says that the original is no result.
func (r *Reducer) Expand(original []byte, q ExpandRequest, budget int) ([]byte, error) {
	if r == nil {
		r = plain
	}
	if budget <= 0 {
		budget = DefaultExpandBudget
	}
	budget = max(budget, minExpandBudget)
	d, err := jsontape.Parse(original)
	if err != nil {
		return nil, fmt.Errorf("the original is not a result: %w", err)
	}
	j := &job{r: r, root: d.Root()}
	j.read(j.root)
	j.findUnits()
	x := &expansion{j: j, q: q, budget: budget}
	if n := q.Block; n != nil && *n > len(j.blocks) {
		return nil, &ArgumentError{Name: "block", Given: strconv.Itoa(*n), Want: "this result has " + count(len(j.blocks)) + " blocks"}
	}
	switch {
	case q.Lines != "":
		err = x.lines()
	case q.Query != "":
		err = x.query()
	case q.Rows != "" || len(q.Fields) > 0:
		err = x.rows()
	case q.Block != nil:
		err = x.block(*q.Block)
	default:
		return x.whole()
	}
	if err != nil {
		return nil, err
	}
	return x.result(), nil
}

// expansion is one answer in the making.
type expansion struct {
	j      *job
	q      ExpandRequest
	budget int
	out    []byte // the content array's elements, each followed by a comma
	beside string // how to get what the last part of a page does not have
}

func (x *expansion) result() []byte {
	content := closeContainer(append([]byte{'['}, x.out...), false)
	return append(append([]byte(`{"content":`), content...), x.meta()...)
}

// meta tells hosts that honour it how large the answer may be.
func (x *expansion) meta() []byte {
	return []byte(`,"_meta":{"anthropic/maxResultSizeChars":` + strconv.Itoa(x.budget) + `}}`)
}

func (x *expansion) text(s []byte) {
	x.out = append(x.out, `{"type":"text","text":`...)
	x.out = append(jsontape.AppendQuote(x.out, s), `},`...)
}

// call writes the arguments of the call that gets another part.
func (x *expansion) call(change func(*ExpandRequest)) string {
	q := x.q
	change(&q)
	b := []byte(`{"ref":`)
	b = jsontape.AppendQuote(b, q.Ref)
	str := func(name, s string) {
		if s != "" {
			b = append(append(append(b, `,"`...), name...), `":`...)
			b = jsontape.AppendQuote(b, s)
		}
	}
	str("rows", q.Rows)
	if len(q.Fields) > 0 {
		b = append(b, `,"fields":[`...)
		for _, f := range q.Fields {
			b = append(jsontape.AppendQuote(b, f), ',')
		}
		b = closeContainer(b, false)
	}
	str("query", q.Query)
	str("lines", q.Lines)
	if q.Block != nil {
		b = append(append(b, `,"block":`...), strconv.Itoa(*q.Block)...)
	}
	if q.Offset > 0 {
		b = append(append(b, `,"offset":`...), strconv.Itoa(q.Offset)...)
	}
	return string(append(b, '}'))
}

// page answers with s from the offset on, as much as fits, and the call for
// the rest.
func (x *expansion) page(s []byte) error {
	at := x.q.Offset
	if at == 0 && len(s)+len(x.beside) <= x.budget {
		x.text(s)
		if x.beside != "" {
			x.text([]byte(x.beside))
		}
		return nil
	}
	if at >= len(s) {
		return &ArgumentError{Name: "offset", Given: strconv.Itoa(at), Want: "what was asked for has " + count(len(s)) + " bytes"}
	}
	at = borderAfter(s, at)
	end := min(at+x.room(), len(s))
	if end < len(s) {
		if b := border(s, end); b > at {
			end = b
		}
		// A line border is taken where it costs less than half the part.
		for k := end; k > at+(end-at)/2; k-- {
			if s[k-1] == '\n' {
				end = k
				break
			}
		}
	}
	x.text(s[at:end])
	where := "Bytes " + count(at+1) + "-" + count(end) + " of " + count(len(s)) + "."
	if end < len(s) {
		x.text([]byte(where + " For the next part call with " + x.call(func(q *ExpandRequest) { q.Offset = end })))
	} else {
		if x.beside != "" {
			where += " " + x.beside
		}
		x.text([]byte(where + " done"))
	}
	return nil
}

// room is what the budget leaves for data beside the line that names the call
// for the next part.
func (x *expansion) room() int {
	call := len(x.call(func(q *ExpandRequest) { q.Offset = 1 << 40 }))
	return max(x.budget-200-len(x.beside)-call, minExpandBudget/4)
}

func (x *expansion) done(err error) ([]byte, error) {
	if err != nil {
		return nil, err
	}
	return x.result(), nil
}

func rawOr(v jsontape.Value, other string) []byte {
	if !v.Exists() {
		return []byte(other)
	}
	return v.Raw()
}

// block answers with one content block; text over the budget in parts. Binary
// content that is asked for by its number comes whole at any size: half an
// image is none.
func (x *expansion) block(n int) error {
	b := x.j.blocks[n-1]
	if b.at.Exists() && (len(b.text) > x.budget || x.q.Offset > 0) {
		x.q.Block = &n
		if err := x.page(b.text); err != nil {
			return err
		}
	} else {
		x.out = append(append(x.out, b.v.Raw()...), ',')
	}
	return nil
}

// lines answers with a range of lines of a text.
func (x *expansion) lines() error {
	text, ok := x.lineText()
	if !ok {
		want := "this result has no text; ask for rows, fields or a query"
		if x.q.Block == nil && x.j.texts() > 1 {
			want = "this result has " + count(x.j.texts()) + " texts; name one with block"
		}
		return &ArgumentError{Name: "lines", Given: strconv.Quote(clip(x.q.Lines, 40)), Want: want}
	}
	lines := splitLines(text)
	from, to, err := parseRange("lines", x.q.Lines, len(lines), "lines")
	if err != nil {
		return err
	}
	part := lines[from:to]
	n, used := fitHead(part, len(part), room{raw: x.budget - 300, escaped: noBound})
	if n == len(part) && x.q.Offset == 0 {
		x.text(text[length(lines[:from]) : length(lines[:from])+used.raw])
		return nil
	}
	if n == 0 || x.q.Offset > 0 {
		// A line over the budget: its bytes, then the lines after it.
		x.q.Lines = strconv.Itoa(from + 1)
		if err := x.page(part[0]); err != nil {
			return err
		}
		if len(part) > 1 {
			x.text([]byte("After that line call with " + x.call(func(q *ExpandRequest) { q.Lines, q.Offset = span(from+1, to), 0 })))
		}
		return nil
	}
	at := length(lines[:from])
	x.text(text[at : at+used.raw])
	x.text([]byte(fmt.Sprintf("Lines %s-%s of %s. For the next part call with %s", count(from+1), count(from+n), count(len(lines)),
		x.call(func(q *ExpandRequest) { q.Lines = span(from+n, to) }))))
	return nil
}

// span writes the half-open range [from, to) from 0 as one from 1, inclusive.
func span(from, to int) string { return strconv.Itoa(from+1) + "-" + strconv.Itoa(to) }

// lineText is the text that lines count in: the block that was named, the
// text payload, or the first text there is.
func (x *expansion) lineText() ([]byte, bool) {
	if n := x.q.Block; n != nil {
		b := x.j.blocks[*n-1]
		return b.text, b.at.Exists()
	}
	for _, u := range x.j.units {
		if !u.json && (u.inside || x.j.texts() == 1) {
			return u.text, true
		}
	}
	if x.j.texts() > 1 {
		return nil, false
	}
	for _, b := range x.j.blocks {
		if b.at.Exists() && !b.user {
			return b.text, true
		}
	}
	return nil, false
}

// texts counts the text payloads.
func (j *job) texts() int {
	n := 0
	for _, u := range j.units {
		if !u.json {
			n++
		}
	}
	return n
}

// payload is the JSON payload that rows, fields and query look into: that of
// the block that was named, or the only one.
func (x *expansion) payload(arg string) (*unit, error) {
	var found *unit
	var in []string
	for _, u := range x.j.units {
		if n := x.q.Block; n != nil && !slices.Contains(u.blocks, *n-1) {
			continue
		}
		if !u.json && u.inside {
			// A string payload that is JSON is looked into as JSON.
			inner := *u
			if inner.readJSON(u.text); inner.json {
				u = &inner
			}
		}
		if !u.json {
			continue
		}
		if u.inside {
			return u, nil
		}
		if found == nil {
			found = u
		}
		in = append(in, strconv.Itoa(u.blocks[0]+1))
	}
	switch len(in) {
	case 0:
		return nil, &ArgumentError{Name: arg, Want: "this result is not JSON; ask for lines or a block"}
	case 1:
		return found, nil
	}
	return nil, &ArgumentError{Name: arg, Want: "blocks " + namesUpTo(in, maxNamed) + " each are JSON; name one with block"}
}

func (x *expansion) query() error {
	u, err := x.payload("query")
	if err != nil {
		return err
	}
	e, err := jmespath.Compile(x.q.Query)
	if err != nil {
		return &ArgumentError{Name: "query", Given: strconv.Quote(clip(x.q.Query, 80)), Want: err.Error()}
	}
	out, err := e.AppendJSON(nil, u.inner)
	if (err != nil || string(out) == "null") && u.inner != u.v {
		if wider, werr := e.AppendJSON(nil, u.v); werr == nil {
			out, err = wider, nil
		}
	}
	if beside := x.j.structured; (err != nil || string(out) == "null") && u.inside && beside.IsContainer() {
		if wider, werr := e.AppendJSON(nil, beside); werr == nil {
			out, err = wider, nil
		}
	}
	if err != nil {
		return &ArgumentError{Name: "query", Given: strconv.Quote(clip(x.q.Query, 80)), Want: err.Error()}
	}
	return x.page(out)
}

var errManyArrays = errors.New("several arrays")

// rowArray is the array that rows count in: the base of the rule's leftmost
// projection, else the one that its row cap counts (RED-26).
func (x *expansion) rowArray(u *unit) (jsontape.Value, []string, error) {
	r := x.j.r
	from := u.inner
	if u.kept != nil {
		if u.kept.base.Kind() == jsontape.Array {
			return u.kept.base, nil, nil
		}
		// What a plain path selects stands in the original; what the rule
		// makes otherwise has the rows that the note counted.
		if from = evalTape(r.keep, u.inner); !u.inner.Holds(from) {
			from = u.kept.top
		}
	}
	sets := r.rowSets(from)
	switch len(sets) {
	case 0:
		return jsontape.Value{}, nil, nil
	case 1:
		return sets[0].arr, nil, nil
	}
	names := make([]string, len(sets))
	for i, s := range sets {
		names[i] = s.name
	}
	return jsontape.Value{}, names, errManyArrays
}

// rows answers with rows of the original, whole or by fields.
func (x *expansion) rows() error {
	arg := "rows"
	if x.q.Rows == "" {
		arg = "fields"
	}
	u, err := x.payload(arg)
	if err != nil {
		return err
	}
	arr, names, err := x.rowArray(u)
	if err != nil {
		want := "this result has several arrays (" + namesUpTo(names, maxNamed) + "); ask with a query"
		if u.kept == nil { // else the names are those that the rule gave
			want += ", as " + names[0] + "[25:50]"
		}
		return &ArgumentError{Name: arg, Want: want}
	}
	if !arr.Exists() {
		if x.q.Rows != "" {
			return &ArgumentError{Name: "rows", Given: strconv.Quote(clip(x.q.Rows, 40)), Want: "this result has no rows; ask for fields or a query"}
		}
		return x.fieldsOf(u)
	}
	elems := arr.Elements(nil)
	from, to := 0, len(elems)
	if x.q.Rows != "" {
		if from, to, err = parseRange("rows", x.q.Rows, len(elems), "rows"); err != nil {
			return err
		}
	}
	sel, err := x.selection(u, elems)
	// A written thing may have a list in it, and its own fields be asked for.
	if (err != nil || len(elems) == 0) && x.q.Rows == "" && x.fieldsOf(u) == nil {
		return nil
	}
	if err != nil {
		return err
	}
	return x.someRows(sel, elems, from, to)
}

// someRows writes rows [from, to) as one JSON object, as many as fit.
func (x *expansion) someRows(sel *fieldSelection, elems []jsontape.Value, from, to int) error {
	out := []byte(`{"rows":[`)
	i := from
	for ; i < to; i++ {
		mark := len(out)
		out = append(sel.append(out, elems[i], i), ',')
		if len(out) > x.room() {
			out = out[:mark]
			break
		}
	}
	if to > from && (i == from || x.q.Offset > 0) {
		// One row over the budget: its bytes, then the rows after it.
		x.q.Rows = strconv.Itoa(from + 1)
		if err := x.page(sel.append(nil, elems[from], from)); err != nil {
			return err
		}
		if to > from+1 {
			x.text([]byte("After that row call with " + x.call(func(q *ExpandRequest) { q.Rows, q.Offset = span(from+1, to), 0 })))
		}
		return nil
	}
	out = closeContainer(out, false)
	out = append(out, `,"shown":`...)
	shown := span(from, i)
	switch i - from {
	case 0:
		shown = "none"
	case 1:
		shown = strconv.Itoa(i)
	}
	out = jsontape.AppendQuote(out, shown+" of "+strconv.Itoa(len(elems)))
	if i < to {
		out = append(out, `,"next":`...)
		out = append(out, x.call(func(q *ExpandRequest) { q.Rows = span(i, to) })...)
	} else {
		out = append(out, `,"done":true`...)
	}
	x.text(append(out, '}'))
	return nil
}

// fieldsOf answers with fields of a payload that has no rows.
func (x *expansion) fieldsOf(u *unit) error {
	sel, err := x.selection(u, []jsontape.Value{u.inner})
	if err != nil {
		return err
	}
	return x.page(sel.append(nil, u.inner, 0))
}
