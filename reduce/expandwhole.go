package reduce

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/spillway-mcp/spillway/internal/jsontape"
)

// whole answers with the original, if it fits, else with its first part.
func (x *expansion) whole() ([]byte, error) {
	j := x.j
	content, structured := len(j.content.Raw()), len(j.structured.Raw())
	if s := j.sizes(); s.Text <= x.budget && structured <= x.budget && content-s.Text <= x.budget && x.q.Offset == 0 {
		out := append([]byte(`{"content":`), rawOr(j.content, "[]")...)
		if j.structured.Exists() {
			out = append(append(out, `,"structuredContent":`...), j.structured.Raw()...)
		}
		return append(out, x.meta()...), nil
	}
	if j.structured.Exists() && j.structured.Kind() != jsontape.Null {
		u := j.units[0]
		x.nameBeside(u)
		if !u.json && len(u.blocks) > 0 {
			return x.done(x.page(u.text))
		}
		return x.done(x.page(j.structured.AppendCompact(nil)))
	}
	if len(j.blocks) == 1 {
		return x.done(x.block(1))
	}
	return x.done(x.blocksInTurn())
}

// nameBeside names the blocks that do not repeat structuredContent, with the
// call for the first.
func (x *expansion) nameBeside(u *unit) {
	var others []string
	first := 0
	for i := range x.j.blocks {
		if slices.Contains(u.blocks, i) {
			continue
		}
		if first == 0 {
			first = i + 1
		}
		others = append(others, strconv.Itoa(i+1))
	}
	if first > 0 {
		x.beside = "Not in it: block " + namesUpTo(others, maxNamed) + " of " + count(len(x.j.blocks)) + "; call with " +
			x.call(func(q *ExpandRequest) { q.Block, q.Offset = &first, 0 })
	}
}

// blocksInTurn answers with as many blocks as fit, one at least, and the call
// for the rest; the offset is then one into the content array. Binary content
// over the budget is named, with the call for it.
func (x *expansion) blocksInTurn() error {
	start, _ := x.j.content.Span()
	offset := func(i int) int {
		at, _ := x.j.blocks[i].v.Span()
		return at - start
	}
	from := 0
	for from < len(x.j.blocks) && offset(from) < x.q.Offset {
		from++
	}
	if from == len(x.j.blocks) && from > 0 {
		return &ArgumentError{Name: "offset", Given: strconv.Itoa(x.q.Offset), Want: "the last block of this result starts at " + strconv.Itoa(offset(from-1))}
	}
	rest := func(i int) string { return x.call(func(q *ExpandRequest) { q.Offset = offset(i) }) }
	used, i := 0, from
	for ; i < len(x.j.blocks); i++ {
		b, n := x.j.blocks[i], i+1
		size := len(b.v.Raw())
		large := fmt.Sprintf("Block %d is %s of %s bytes. Call with %s", n, mediaOf(b.v), count(size),
			x.call(func(q *ExpandRequest) { q.Block, q.Offset = &n, 0 }))
		if binary := !b.at.Exists() && size > x.budget; binary {
			size = len(large) + 40
		}
		if used += size; used > x.budget-300 && i > from {
			break
		}
		switch {
		case len(b.v.Raw()) <= x.budget-300:
			x.out = append(append(x.out, b.v.Raw()...), ',')
		case !b.at.Exists():
			x.text([]byte(large))
		case i+1 == len(x.j.blocks):
			x.q.Offset = 0
			return x.block(n)
		default:
			after := rest(i + 1)
			x.q.Offset = 0
			x.budget -= 300
			err := x.block(n)
			x.budget += 300
			if err != nil {
				return err
			}
			x.text([]byte(fmt.Sprintf("That is block %d of %d. After it call with %s", n, len(x.j.blocks), after)))
			return nil
		}
	}
	where := fmt.Sprintf("Blocks %d-%d of %d.", from+1, i, len(x.j.blocks))
	if i < len(x.j.blocks) {
		x.text([]byte(where + " For the next part call with " + rest(i)))
	} else {
		x.text([]byte(where + " done"))
	}
	return nil
}

// mediaOf names what a block holds.
func mediaOf(b jsontape.Value) string {
	for _, v := range []jsontape.Value{b.Get("mimeType"), b.Lookup("resource", "mimeType"), b.Get("type")} {
		if s := v.Str(); s != "" {
			return clip(s, 60)
		}
	}
	return "a block"
}
