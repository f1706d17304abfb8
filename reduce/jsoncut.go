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
// array, or what stands beside row arrays.
type item struct {
	v    jsontape.Value
	node *fieldTree // of the fields inside that are never cut; nil: none
	size int        // compact length under by
	by   shrink
}

// jsonCut cuts one JSON value. It is used once.
type jsonCut struct {
	top     jsontape.Value
	rows    []*rowSet
	always  *fieldTree
	ref     func() string // asked as late as can be: it may have to be waited for
	items   []item
	inserts jsontape.Value // an object of the members to put after the note; may be absent
	beside  int            // index of the first item that is not in a row array
	next    int            // index of the item that rendering comes to next
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
	if limit <= 0 || c.rowBytes(limit) <= limit {
		out := c.render(note)
		if limit <= 0 || len(out) <= limit {
			return out
		}
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

// rowBytes is what the rows take before anything is shortened in them, without
// what stands around them; past limit it is not counted further.
func (c *jsonCut) rowBytes(limit int) int {
	n := 0
	for _, r := range c.rows {
		for _, e := range r.elems[:r.shown] {
			if n += e.CompactLen(); n > limit {
				return n
			}
		}
	}
	return n
}

// collectItems lists what can be shortened, with sizes.
func (c *jsonCut) collectItems() {
	for _, r := range c.rows {
		r.items = len(c.items)
		for _, e := range r.elems {
			c.items = append(c.items, item{v: e, size: e.CompactLen()})
		}
	}
	c.beside = len(c.items)
	if c.inserts.Exists() {
		c.collectBeside(c.inserts, c.always)
	}
	c.collectBeside(c.top, c.always)
}

// collectBeside lists the members of an object, or the value itself, but what
// holds rows is listed by its parts, and what is protected is not.
func (c *jsonCut) collectBeside(v jsontape.Value, always *fieldTree) {
	if !v.IsContainer() || v != c.top && v != c.inserts && !c.holdsRows(v) {
		c.items = append(c.items, item{v: v, size: v.CompactLen()})
		return
	}
	if r := c.rowsAt(v); r != nil && r.arr == v {
		return
	}
	for it := v.Iter(); it.Next(); {
		e := it.Value()
		node := always.find(it.Key())
		switch {
		case node != nil && protected(node, e):
		case c.holdsRows(e):
			c.collectBeside(e, node)
		default:
			c.items = append(c.items, item{v: e, node: node, size: e.CompactLen()})
		}
	}
}

// inForce calls f with every item that is shown.
func (c *jsonCut) inForce(f func(*item)) {
	for _, r := range c.rows {
		for i := range r.shown {
			f(&c.items[r.items+i])
		}
	}
	for i := c.beside; i < len(c.items); i++ {
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
			scratch = c.appendItem(scratch[:0], it.v, it.node, by, limit-sum)
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
// several arrays sharing one count. Rows behind those that can fit are left
// alone: trying bounds on all rows of a long list would cost more than all else.
func (c *jsonCut) fitPrefix(limit int, note func() string) []byte {
	var scratch []byte
	squeeze := func(it *item, to int) {
		if it.size <= to {
			return
		}
		for _, by := range ladder {
			scratch = c.appendItem(scratch[:0], it.v, it.node, by, to)
			if it.by, it.size = by, len(scratch); it.size <= to {
				return
			}
		}
	}
	for i := c.beside; i < len(c.items); i++ {
		squeeze(&c.items[i], limit/4)
	}
	most := 0
	for _, r := range c.rows {
		most = max(most, r.shown)
	}
	shown := make([]int, len(c.rows))
	for i, r := range c.rows {
		shown[i] = r.shown
	}
	// row squeezes the k-th row of every array and returns their bytes.
	row := func(k int) int {
		sum := 0
		for i, r := range c.rows {
			if k < shown[i] {
				it := &c.items[r.items+k]
				squeeze(it, limit/4)
				sum += it.size + 1
			}
		}
		return sum
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
		first := row(0)
		base := len(at(1)) - first
		n, sum := 0, first
		for base+sum <= limit {
			if n++; n == most {
				break
			}
			sum += row(n)
		}
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

// render writes the value with its note first. The note is made after the
// data, since only then is known what was cut inside.
func (c *jsonCut) render(note func() string) []byte {
	c.record, c.nested, c.chars, c.path = true, c.nested[:0], 0, c.path[:0]
	data := c.appendData()
	c.record = false
	return c.assemble(data, note())
}

// appendData writes what stands in the reduced object beside the note: the
// inserted members, then those of an object or the array under rows, each
// followed by a comma.
func (c *jsonCut) appendData() []byte {
	c.next = c.beside
	data := c.appendMembers(make([]byte, 0, c.rowBytes(noLimit)+1024), c.inserts)
	if c.top.Kind() == jsontape.Object {
		return c.appendMembers(data, c.top)
	}
	data = append(data, `"`+rowsKey+`":`...)
	return append(c.appendValue(data, c.top), ',')
}

// assemble puts the note (none if "") before the members in data.
func (c *jsonCut) assemble(data []byte, note string) []byte {
	out := make([]byte, 0, len(data)+len(note)+40)
	out = append(out, '{')
	if note != "" {
		out = append(out, `"`+noteKey+`":`...)
		out = append(jsontape.AppendQuote(out, note), ',')
	}
	return closeContainer(append(out, data...), true)
}

// appendMembers writes an object's members, each followed by a comma.
func (c *jsonCut) appendMembers(dst []byte, v jsontape.Value) []byte {
	for it := v.Iter(); it.Next(); {
		key := it.Key()
		dst = append(appendKey(dst, key), ':')
		c.push(key)
		dst = append(c.appendValue(dst, it.Value()), ',')
		c.pop()
	}
	return dst
}

// appendKey writes the key of a member of a reduced object.
func appendKey(dst []byte, key jsontape.Value) []byte {
	if key.Is(noteKey) {
		return append(dst, `"`+upstreamNoteKey+`"`...)
	}
	return append(dst, key.Raw()...)
}

// rowsAt returns the first row array that starts at v or after it, if v holds
// it; the arrays do not overlap and are in the order of the document.
func (c *jsonCut) rowsAt(v jsontape.Value) *rowSet {
	from, _ := v.Span()
	i := sort.Search(len(c.rows), func(i int) bool {
		at, _ := c.rows[i].arr.Span()
		return at >= from
	})
	if i < len(c.rows) && v.Holds(c.rows[i].arr) {
		return c.rows[i]
	}
	return nil
}

func (c *jsonCut) holdsRows(v jsontape.Value) bool { return v.IsContainer() && c.rowsAt(v) != nil }

// appendValue writes v: a row array as its prefix, what holds one by its
// members, an item within its bounds.
func (c *jsonCut) appendValue(dst []byte, v jsontape.Value) []byte {
	if v.IsContainer() {
		switch r := c.rowsAt(v); {
		case r == nil:
		case r.arr == v:
			return c.appendRows(dst, r)
		default:
			return c.appendHolder(dst, v)
		}
	}
	if c.next < len(c.items) && c.items[c.next].v == v {
		it := &c.items[c.next]
		c.next++
		if it.by.any() {
			return c.appendItem(dst, v, it.node, it.by, noLimit)
		}
	}
	return v.AppendCompact(dst)
}

func (c *jsonCut) appendHolder(dst []byte, v jsontape.Value) []byte {
	object := v.Kind() == jsontape.Object
	dst = append(dst, opening(object))
	for it := v.Iter(); it.Next(); {
		if object {
			dst = append(append(dst, it.Key().Raw()...), ':')
		}
		c.push(it.Key())
		dst = append(c.appendValue(dst, it.Value()), ',')
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
