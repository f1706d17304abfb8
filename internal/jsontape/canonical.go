package jsontape

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"hash"
	"slices"
	"sync/atomic"
	"unicode/utf8"
)

// AppendCanonical appends the canonical form: RFC 8785's key order (by UTF-16
// code units) and string escapes, no white space, but numbers as they were
// written and duplicate members kept in their order, so that two documents
// with equal forms lose nothing in one another's place.
func (v Value) AppendCanonical(dst []byte) []byte {
	c := canon{buf: dst}
	c.value(v)
	return c.buf
}

// SHA256 returns the hash of the canonical form, which is never held whole.
func (v Value) SHA256() [sha256.Size]byte {
	h := sha256.New()
	v.HashCanonical(h)
	return [sha256.Size]byte(h.Sum(nil))
}

// HashCanonical writes the canonical form to h.
func (v Value) HashCanonical(h hash.Hash) { v.HashCanonicalUntil(h, nil) }

// HashCanonicalUntil is HashCanonical for one whose hash may turn out not to be
// wanted: once stop is set, it leaves out what is left. stop may be nil.
func (v Value) HashCanonicalUntil(h hash.Hash, stop *atomic.Bool) {
	start, end := v.Span()
	// Of a small value, such as an argument of a call, the form is about as long.
	c := canon{buf: make([]byte, 0, min(2*(end-start)+16, canonChunk+4096)), sink: h, stop: stop}
	c.value(v)
	h.Write(c.buf)
}

const canonChunk = 32 << 10

// canon writes the canonical form to buf, and through it to sink where there
// is one.
type canon struct {
	buf     []byte
	sink    hash.Hash
	stop    *atomic.Bool
	d       *Doc
	members []member // scratch, used as a stack
	layouts [layoutSlots]layout
}

// member is one member of an object while sorting: the first eight bytes of
// its key, in an order that compares as the keys do, and its tape indexes.
type member struct {
	prefix   uint64
	key, val uint32
}

func newMember(d *Doc, key, val uint32) member {
	return member{keyPrefix(Value{d, key}.StrBytes(nil)), key, val}
}

// keyPrefix packs the start of a key so that uint64 order is UTF-16 order.
func keyPrefix(k []byte) uint64 {
	var w uint64
	if len(k) >= 8 {
		w = binary.BigEndian.Uint64(k)
	} else {
		for i := range 8 {
			w <<= 8
			if i < len(k) {
				w |= uint64(k[i])
			}
		}
	}
	if w&hi8 == 0 {
		return w
	}
	var out uint64
	for shift := 56; shift >= 0; shift -= 8 {
		out = out<<8 | uint64(utf16Rank(byte(w>>shift)))
	}
	return out
}

// utf16Rank moves the first bytes of characters beyond the BMP before those
// of E000 to FFFF, where UTF-16 has them.
func utf16Rank(c byte) byte {
	switch {
	case c >= 0xF0 && c <= 0xF4:
		return c - 2
	case c == 0xEE || c == 0xEF:
		return c + 5
	}
	return c
}

func (c *canon) flush() {
	if c.sink != nil && len(c.buf) >= canonChunk {
		c.sink.Write(c.buf)
		c.buf = c.buf[:0]
	}
}

func (c *canon) value(v Value) {
	if v.d == nil {
		return
	}
	c.d = v.d
	c.at(v.i)
	c.flush()
}

// at writes the value whose word is i.
func (c *canon) at(i uint32) {
	w := c.d.tape[i]
	switch w.kind() {
	case Array:
		c.buf = append(c.buf, '[')
		end := uint32(w.extent()) - 1
		for k := i + 1; k < end; k = c.d.after(k) {
			if k > i+1 {
				c.buf = append(c.buf, ',')
			}
			c.at(k)
		}
		c.buf = append(c.buf, ']')
	case Object:
		c.object(i, uint32(w.extent())-1)
	default:
		c.token(w)
	}
}

// token writes a scalar or a key.
func (c *canon) token(w word) {
	raw := c.d.src[w.offset() : w.offset()+w.extent()]
	switch {
	case w.kind() == stringOdd:
		c.escaped(raw)
	case len(raw) < canonChunk/8:
		c.buf = append(c.buf, raw...)
	default:
		c.write(raw)
	}
}

// escaped writes a string token with odd escapes, with the escapes of RFC 8785.
func (c *canon) escaped(raw []byte) {
	for {
		k := indexBackslash(raw)
		if k < 0 {
			c.write(raw)
			return
		}
		switch raw[k+1] {
		case '/':
			c.write(raw[:k])
			raw = raw[k+1:]
		case 'u':
			c.write(raw[:k])
			r, n := unescapeRune(raw[k:])
			switch {
			case r < ' ' || r == '"' || r == '\\':
				c.buf = appendCharEscape(c.buf, byte(r))
			case 0xD800 <= r && r < 0xE000:
				c.buf = appendUEscape(c.buf, r)
			default:
				c.buf = utf8.AppendRune(c.buf, r)
			}
			raw = raw[k+n:]
		default:
			c.write(raw[:k+2])
			raw = raw[k+2:]
		}
	}
}

// write appends b, or passes it by where buf would only be another copy.
func (c *canon) write(b []byte) {
	c.flush()
	if c.sink != nil && len(b) >= canonChunk {
		c.sink.Write(c.buf)
		c.buf = c.buf[:0]
		c.sink.Write(b)
		return
	}
	c.buf = append(c.buf, b...)
}

// object writes the members between the words i and end, sorted.
func (c *canon) object(i, end uint32) {
	c.flush()
	if c.stop != nil && c.stop.Load() {
		return
	}
	from := len(c.members)
	for k := i + 1; k < end; k = c.d.after(k + 1) {
		c.members = append(c.members, member{key: k, val: k + 1})
	}
	to := len(c.members)
	order := c.order(c.members[from:to])
	c.buf = append(c.buf, '{')
	for n := range to - from {
		if n > 0 {
			c.buf = append(c.buf, ',')
		}
		m := c.members[from+int(order[n])]
		if c.asItStands(c.d.tape[m.key], c.d.tape[m.val]) {
			continue
		}
		c.token(c.d.tape[m.key])
		c.buf = append(c.buf, ':')
		c.at(m.val)
	}
	c.buf = append(c.buf, '}')
	c.members = c.members[:from]
}

// asItStands writes a member in one go if it stands in the source as it is
// written: most do.
func (c *canon) asItStands(key, val word) bool {
	switch val.kind() {
	case Array, Object, stringOdd:
		return false
	}
	end := val.offset() + val.extent()
	if key.kind() == stringOdd || c.d.spaces || end-key.offset() >= canonChunk/8 {
		return false
	}
	c.buf = append(c.buf, c.d.src[key.offset():end]...)
	return true
}

// layout is the order of an object's keys, kept since the rows of a list have
// the same ones.
type layout struct {
	keys  []uint32 // tape indexes
	order []uint32 // the places of the keys in canonical order
}

// layoutSlots is how many layouts are kept; one that is displaced is made anew.
const layoutSlots = 64

// order returns the places of members in canonical order. It is shared, and
// not to be changed.
func (c *canon) order(ms []member) []uint32 {
	if len(ms) < 2 {
		return firstOnly[:len(ms)]
	}
	first := c.d.tape[ms[0].key]
	slot := &c.layouts[(len(ms)*7+first.extent())%layoutSlots]
	if slot.has(c.d, ms) {
		return slot.order
	}
	sorted := make([]member, len(ms))
	keys := make([]uint32, len(ms))
	for i, m := range ms {
		sorted[i] = newMember(c.d, m.key, uint32(i))
		keys[i] = m.key
	}
	sortMembers(c.d, sorted)
	order := make([]uint32, len(ms))
	for i, m := range sorted {
		order[i] = m.val
	}
	*slot = layout{keys, order}
	return order
}

var firstOnly = []uint32{0}

func (l *layout) has(d *Doc, ms []member) bool {
	if len(l.keys) != len(ms) {
		return false
	}
	for i, m := range ms {
		a, b := d.tape[m.key], d.tape[l.keys[i]]
		if a.extent() != b.extent() || string(d.src[a.offset():a.offset()+a.extent()]) != string(d.src[b.offset():b.offset()+b.extent()]) {
			return false
		}
	}
	return true
}

// sortMembers sorts by key and keeps duplicates in their order.
func sortMembers(d *Doc, ms []member) {
	if len(ms) > 16 {
		slices.SortFunc(ms, func(a, b member) int { return compareMembers(d, a, b) })
		return
	}
	for i := 1; i < len(ms); i++ {
		m := ms[i]
		j := i
		for j > 0 && compareMembers(d, ms[j-1], m) > 0 {
			ms[j] = ms[j-1]
			j--
		}
		ms[j] = m
	}
}

// compareMembers orders by key, and equal keys by their place.
func compareMembers(d *Doc, a, b member) int {
	if a.prefix != b.prefix {
		if a.prefix < b.prefix {
			return -1
		}
		return 1
	}
	if c := compareKeys(d, a.key, b.key); c != 0 {
		return c
	}
	return cmpInt(int(a.key), int(b.key))
}

// compareKeys compares two strings of d by UTF-16 code units.
func compareKeys(d *Doc, a, b uint32) int {
	return compareUTF16(Value{d, a}.StrBytes(nil), Value{d, b}.StrBytes(nil))
}

// compareUTF16 orders UTF-8 texts as their UTF-16 forms are ordered. The
// orders differ only where a character beyond the BMP (first byte F0 and up,
// in UTF-16 a surrogate from D800) meets one of E000 to FFFF (EE, EF).
func compareUTF16(a, b []byte) int {
	n := min(len(a), len(b))
	for i := 0; i < n; i++ {
		if a[i] != b[i] {
			return cmpInt(int(utf16Rank(a[i])), int(utf16Rank(b[i])))
		}
	}
	return cmpInt(len(a), len(b))
}

// Equal reports whether two values are the same data: numbers compared as
// exact decimals, strings as decoded, objects without regard to order, but
// duplicates in theirs.
func Equal(a, b Value) bool {
	ka, kb := a.Kind(), b.Kind()
	if ka != kb {
		return false
	}
	switch ka {
	case Invalid, Null, True, False:
		return true
	case Number:
		return CompareNumbers(a.Raw(), b.Raw()) == 0
	case String:
		return equalStrings(a, b)
	}
	if a.Len() != b.Len() {
		return false
	}
	x, y := a.Iter(), b.Iter()
	if ka == Array {
		for x.Next() && y.Next() {
			if !Equal(x.Value(), y.Value()) {
				return false
			}
		}
		return true
	}
	for n := 0; x.Next() && y.Next(); n++ {
		if !equalStrings(x.Key(), y.Key()) {
			return equalUnordered(a, b)
		}
		if !Equal(x.Value(), y.Value()) {
			return false
		}
	}
	return true
}

func equalStrings(a, b Value) bool {
	wa, wb := a.word(), b.word()
	ra, rb := a.Raw(), b.Raw()
	if bytes.Equal(ra, rb) {
		return true
	}
	if wa.kind() == String && wb.kind() == String {
		return false
	}
	return bytes.Equal(a.StrBytes(nil), b.StrBytes(nil))
}

func equalUnordered(a, b Value) bool {
	ma, mb := sortedMembers(a), sortedMembers(b)
	for i := range ma {
		if !equalStrings(Value{a.d, ma[i].key}, Value{b.d, mb[i].key}) || !Equal(Value{a.d, ma[i].val}, Value{b.d, mb[i].val}) {
			return false
		}
	}
	return true
}

func sortedMembers(v Value) []member {
	ms := make([]member, 0, v.Len())
	for it := v.Iter(); it.Next(); {
		ms = append(ms, newMember(v.d, it.key, it.val))
	}
	sortMembers(v.d, ms)
	return ms
}
