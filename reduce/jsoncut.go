package reduce

import (
	"sort"

	"github.com/spillway-mcp/spillway/internal/jsontape"
)

// noteKey is the member that carries the note in a reduced object (RED-17).
const noteKey = "_spillway"

// upstreamNoteKey is the name under which an upstream's own member of that
// name is shown, so that neither hides the other (RED-21).
const upstreamNoteKey = "_spillway_upstream"

// rowsKey holds an array that has no name of its own (RED-09).
const rowsKey = "rows"

// rowSet is an array that a row cap counts.
type rowSet struct {
	name  string // as the note names it; "" for the only one
	arr   jsontape.Value
	elems []jsontape.Value
	shown int // elements kept, from the first
	total int // rows of the original behind it
	items int // index of its first element in jsonCut.items
}

// shrink bounds what stays inside one value: characters of a string, elements
// of a nested array; 0 is no bound. Binary strings over the bound go whole.
type shrink struct{ chars, elems int }

func (s shrink) any() bool { return s != shrink{} }

// ladder is every shrink in the order in which they are tried (RED-12).
var ladder = func() []shrink {
	var l []shrink
	for _, elems := range []int{0, 64, 32, 16, 8, 4, 2, 1} {
		for _, chars := range []int{16384, 8192, 4096, 2048, 1024, 512, 256, 128, 64} {
			l = append(l, shrink{chars, elems})
		}
	}
	return l
}()

// item is something that can be shortened by itself: an element of a row
// array, or another member of the top object.
type item struct {
	v    jsontape.Value
	size int // compact length under by
	by   shrink
}

// jsonCut cuts one JSON value. It is used once.
type jsonCut struct {
	top     jsontape.Value
	rows    []*rowSet
	always  *fieldTree
	ref     string
	items   []item
	inserts []byte // members to put after the note, each followed by a comma
	nested  []nestedCut
	chars   int // the smallest string bound that cut one; 0: none did
	record  bool
	path    []jsontape.Value
	summary bool
}

// nestedCut is an array inside a row of which a prefix stays.
type nestedCut struct {
	path         string
	shown, total int
}

// rowsCut returns how many rows are not shown.
func (c *jsonCut) rowsCut() int {
	n := 0
	for _, r := range c.rows {
		n += r.total - r.shown
	}
	return n
}

// capRows keeps the first n rows of every array.
func (c *jsonCut) capRows(n int) {
	for _, r := range c.rows {
		r.shown = min(r.shown, n)
	}
}

// fit cuts until the value, with the note that note makes for the state it is
// in, takes at most limit bytes, and returns it (RED-12).
func (c *jsonCut) fit(limit int, note func() string) []byte {
	out := c.render(note)
	if limit <= 0 || len(out) <= limit {
		return out
	}
	c.collectItems()
	if out := c.fitWhole(limit, note); out != nil {
		return out
	}
	if out := c.fitPrefix(limit, note); out != nil {
		return out
	}
	c.summary = true
	return c.renderSummary(limit, note)
}

// collectItems lists what can be shortened, with sizes.
func (c *jsonCut) collectItems() {
	for _, r := range c.rows {
		r.items = len(c.items)
		for _, e := range r.elems {
			c.items = append(c.items, item{v: e, size: e.CompactLen()})
		}
	}
	if c.top.Kind() != jsontape.Object {
		return
	}
	for it := c.top.Iter(); it.Next(); {
		v := it.Value()
		if c.always.protected(it.Key(), v) || c.holdsRows(v) {
			continue
		}
		c.items = append(c.items, item{v: v, size: v.CompactLen()})
	}
}

// inForce calls f with every item that is shown.
func (c *jsonCut) inForce(f func(*item)) {
	n := 0
	for _, r := range c.rows {
		for i := range r.shown {
			f(&c.items[r.items+i])
		}
		n += len(r.elems)
	}
	for i := n; i < len(c.items); i++ {
		f(&c.items[i])
	}
}

// fitWhole shortens the items over a quarter of the limit, all by the same
// bounds, until everything fits with no row fewer.
func (c *jsonCut) fitWhole(limit int, note func() string) []byte {
	var big []*item
	rest := 0
	c.inForce(func(it *item) {
		if it.size > limit/4 {
			big = append(big, it)
		} else {
			rest += it.size
		}
	})
	if len(big) == 0 || rest > limit {
		return nil
	}
	var scratch []byte
	for _, by := range ladder {
		sum := rest
		for _, it := range big {
			scratch = c.appendShrunk(scratch[:0], it.v, by, limit-sum)
			sum += len(scratch)
			if sum > limit {
				break
			}
		}
		if sum > limit {
			continue
		}
		for _, it := range big {
			it.by = by
		}
		if out := c.render(note); len(out) <= limit {
			return out
		}
	}
	for _, it := range big {
		it.by = shrink{}
	}
	return nil
}

// fitPrefix gives each big item the bounds that bring it under a quarter of
// the limit, then keeps the longest prefix of at least one row that fits,
// several arrays sharing one count.
func (c *jsonCut) fitPrefix(limit int, note func() string) []byte {
	var scratch []byte
	squeeze := func(it *item, to int) {
		if it.size <= to {
			return
		}
		for _, by := range ladder {
			scratch = c.appendShrunk(scratch[:0], it.v, by, to)
			if it.by, it.size = by, len(scratch); it.size <= to {
				return
			}
		}
	}
	c.inForce(func(it *item) { squeeze(it, limit/4) })
	most := 0
	for _, r := range c.rows {
		most = max(most, r.shown)
	}
	shown := make([]int, len(c.rows))
	for i, r := range c.rows {
		shown[i] = r.shown
	}
	at := func(n int) []byte {
		for i, r := range c.rows {
			r.shown = min(shown[i], n)
		}
		return c.render(note)
	}
	if most == 0 {
		if out := c.render(note); len(out) <= limit {
			return out
		}
	} else {
		// What is outside the rows is the same for all counts but for the
		// note; estimate with sums, then settle by rendering.
		base := len(at(1)) - c.rowBytes(1)
		n := sort.Search(most, func(k int) bool { return base+c.rowBytesAt(shown, k+1) > limit })
		for n = min(n+1, most); n >= 1; n-- {
			if out := at(n); len(out) <= limit {
				return out
			}
		}
		at(1)
	}
	// Not one row fits: shorten everything that is still shown together.
	for _, to := range []int{limit / 6, limit / 8, limit / 12, limit / 16, limit / 32, 1} {
		c.inForce(func(it *item) { squeeze(it, to) })
		if out := c.render(note); len(out) <= limit {
			return out
		}
	}
	return nil
}

func (c *jsonCut) rowBytes(n int) int {
	shown := make([]int, len(c.rows))
	for i, r := range c.rows {
		shown[i] = r.shown
	}
	return c.rowBytesAt(shown, n)
}

// rowBytesAt estimates the bytes of min(shown, n) rows of every array.
func (c *jsonCut) rowBytesAt(shown []int, n int) int {
	sum := 0
	for i, r := range c.rows {
		for k := range min(shown[i], n) {
			sum += c.items[r.items+k].size + 1
		}
	}
	return sum
}

// render writes the value with its note first. The note is made after the
// data, since only then is known what was cut inside.
func (c *jsonCut) render(note func() string) []byte {
	c.record, c.nested, c.chars, c.path = true, c.nested[:0], 0, c.path[:0]
	data := c.appendTop(nil)
	c.record = false
	return c.assemble(data, note())
}

// assemble puts the note (none if "") and the inserted members before the
// data, which are an object's members or an array.
func (c *jsonCut) assemble(data []byte, note string) []byte {
	out := make([]byte, 0, len(data)+len(note)+len(c.inserts)+40)
	out = append(out, '{')
	if note != "" {
		out = append(out, `"`+noteKey+`":`...)
		out = append(jsontape.AppendQuote(out, note), ',')
	}
	out = append(out, c.inserts...)
	if c.top.Kind() == jsontape.Object {
		out = append(out, data...)
	} else {
		out = append(append(out, `"`+rowsKey+`":`...), data...)
	}
	if out[len(out)-1] == ',' {
		out = out[:len(out)-1]
	}
	return append(out, '}')
}

// appendTop writes the members of an object, or the array.
func (c *jsonCut) appendTop(dst []byte) []byte {
	if c.top.Kind() != jsontape.Object {
		return c.appendValue(dst, c.top, c.shrinkOf(c.top))
	}
	next := c.memberItems()
	for it := c.top.Iter(); it.Next(); {
		key, v := it.Key(), it.Value()
		if key.Is(noteKey) {
			dst = append(dst, `"`+upstreamNoteKey+`":`...)
		} else {
			dst = append(append(dst, key.Raw()...), ':')
		}
		c.push(key)
		dst = append(c.appendValue(dst, v, next(v)), ',')
		c.pop()
	}
	if n := len(dst); n > 0 && dst[n-1] == ',' {
		dst = dst[:n-1]
	}
	return dst
}

// memberItems returns a function that gives the bounds of the top object's
// members when asked in their order.
func (c *jsonCut) memberItems() func(jsontape.Value) shrink {
	i := 0
	for _, r := range c.rows {
		i += len(r.elems)
	}
	return func(v jsontape.Value) shrink {
		if i < len(c.items) && c.items[i].v == v {
			i++
			return c.items[i-1].by
		}
		return shrink{}
	}
}

// shrinkOf returns the bounds of a top value that is an item itself.
func (c *jsonCut) shrinkOf(v jsontape.Value) shrink {
	if len(c.items) == 1 && c.items[0].v == v {
		return c.items[0].by
	}
	return shrink{}
}

func (c *jsonCut) holdsRows(v jsontape.Value) bool {
	from, to := v.Span()
	for _, r := range c.rows {
		if at, _ := r.arr.Span(); from <= at && at < to {
			return true
		}
	}
	return false
}

// appendValue writes v: a row array as its prefix, what holds one by its
// members, anything else within by.
func (c *jsonCut) appendValue(dst []byte, v jsontape.Value, by shrink) []byte {
	if !v.IsContainer() || !c.holdsRows(v) {
		if !by.any() {
			return v.AppendCompact(dst)
		}
		return c.appendShrunk(dst, v, by, noLimit)
	}
	for _, r := range c.rows {
		if r.arr == v {
			return c.appendRows(dst, r)
		}
	}
	object := v.Kind() == jsontape.Object
	dst = append(dst, opening(object))
	for it := v.Iter(); it.Next(); {
		if object {
			dst = append(append(dst, it.Key().Raw()...), ':')
		}
		c.push(it.Key())
		dst = append(c.appendValue(dst, it.Value(), by), ',')
		c.pop()
	}
	return closeContainer(dst, object)
}

func (c *jsonCut) appendRows(dst []byte, r *rowSet) []byte {
	dst = append(dst, '[')
	for i, e := range r.elems[:r.shown] {
		by := shrink{}
		if len(c.items) > 0 {
			by = c.items[r.items+i].by
		}
		if by.any() {
			c.push(jsontape.Value{})
			dst = c.appendShrunk(dst, e, by, noLimit)
			c.pop()
		} else {
			dst = e.AppendCompact(dst)
		}
		dst = append(dst, ',')
	}
	return closeContainer(dst, false)
}

func opening(object bool) byte {
	if object {
		return '{'
	}
	return '['
}

// closeContainer ends a container whose elements each ended in a comma.
func closeContainer(dst []byte, object bool) []byte {
	shut := byte(']')
	if object {
		shut = '}'
	}
	if dst[len(dst)-1] == ',' {
		dst[len(dst)-1] = shut
		return dst
	}
	return append(dst, shut)
}
