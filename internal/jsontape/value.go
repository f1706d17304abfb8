package jsontape

import "unsafe"

// Value is one value of a [Doc]: a small cursor, to be copied freely. The
// zero Value is of kind Invalid; it stands for what is absent, and every
// method may be called on it.
type Value struct {
	d *Doc
	i uint32
}

func (v Value) word() word { return v.d.tape[v.i] }

// Kind returns the value's kind; Invalid for the zero Value.
func (v Value) Kind() Kind {
	if v.d == nil {
		return Invalid
	}
	k := v.word().kind()
	if k == stringEsc || k == stringOdd {
		return String
	}
	return k
}

// Exists reports whether v is not the zero Value.
func (v Value) Exists() bool { return v.d != nil }

// IsContainer reports whether v is an array or an object.
func (v Value) IsContainer() bool {
	k := v.Kind()
	return k == Array || k == Object
}

// Span returns the offsets of the value's first byte and of the byte after
// its last in the source.
func (v Value) Span() (start, end int) {
	if v.d == nil {
		return 0, 0
	}
	w := v.word()
	switch w.kind() {
	case Array, Object:
		return w.offset(), v.d.tape[w.extent()-1].offset()
	}
	return w.offset(), w.offset() + w.extent()
}

// Raw returns the value's bytes as they stand in the source. They are not a
// copy.
func (v Value) Raw() []byte {
	if v.d == nil {
		return nil
	}
	start, end := v.Span()
	return v.d.src[start:end:end]
}

// Len returns the number of elements of an array or of members of an object,
// duplicates counted; of anything else 0.
func (v Value) Len() int {
	if !v.IsContainer() {
		return 0
	}
	return v.d.tape[v.word().extent()-1].extent()
}

// Tokens returns how many tape words the value takes: a measure of the work
// that walking it is.
func (v Value) Tokens() int {
	if v.d == nil {
		return 0
	}
	return int(v.after() - v.i)
}

// Holds reports whether o is v or stands inside it, in the same document.
func (v Value) Holds(o Value) bool {
	return v.d != nil && v.d == o.d && v.i <= o.i && o.i < v.after()
}

// after returns the index of the word after v.
func (v Value) after() uint32 { return v.d.after(v.i) }

// after returns the index of the word after the value at i.
func (d *Doc) after(i uint32) uint32 {
	w := d.tape[i]
	switch w.kind() {
	case Array, Object:
		return uint32(w.extent())
	}
	return i + 1
}

// Iter walks the elements of an array or the members of an object, in the
// source's order and with duplicates. Of anything else it walks nothing.
//
//	for it := v.Iter(); it.Next(); {
//		use(it.Key(), it.Value())
//	}
type Iter struct {
	d        *Doc
	next     uint32
	end      uint32
	key, val uint32
	object   bool
}

// Iter returns an iterator that stands before the first element.
func (v Value) Iter() Iter {
	if !v.IsContainer() {
		return Iter{}
	}
	w := v.word()
	return Iter{d: v.d, next: v.i + 1, end: uint32(w.extent()) - 1, object: w.kind() == Object}
}

// Next moves to the next element and reports whether there is one.
func (it *Iter) Next() bool {
	if it.next >= it.end {
		return false
	}
	it.val = it.next
	if it.object {
		it.key = it.next
		it.val = it.next + 1
	}
	w := it.d.tape[it.val]
	if k := w.kind(); k == Array || k == Object {
		it.next = uint32(w.extent())
	} else {
		it.next = it.val + 1
	}
	return true
}

// Key returns the member's key, a String; in an array, the zero Value.
func (it *Iter) Key() Value {
	if !it.object {
		return Value{}
	}
	return Value{it.d, it.key}
}

// Value returns the element, or the member's value.
func (it *Iter) Value() Value { return Value{it.d, it.val} }

// Get returns the member of an object under key; of duplicates the last
// (RED-44). It returns the zero Value where there is none, or v is no object.
func (v Value) Get(key string) Value {
	name, found := [1]string{key}, [1]Value{}
	v.Find(name[:], found[:])
	return found[0]
}

// Lookup returns the value at a path of member names below v; the zero Value
// where one is missing.
func (v Value) Lookup(path ...string) Value {
	for _, key := range path {
		v = v.Get(key)
	}
	return v
}

// Index returns the i-th element of an array, counted from 0; the zero Value
// where there is none. It walks the elements before.
func (v Value) Index(i int) Value {
	if v.Kind() != Array || i < 0 || i >= v.Len() {
		return Value{}
	}
	it := v.Iter()
	for ; i >= 0; i-- {
		it.Next()
	}
	return it.Value()
}

// Elements appends the elements of an array, or the members' values of an
// object, to dst.
func (v Value) Elements(dst []Value) []Value {
	for it := v.Iter(); it.Next(); {
		dst = append(dst, it.Value())
	}
	return dst
}

// Is reports whether v is a string that decodes to s.
func (v Value) Is(s string) bool {
	if v.d == nil {
		return false
	}
	w := v.word()
	switch w.kind() {
	case String:
		n := w.extent() - 2
		if n != len(s) {
			return false
		}
		o := w.offset() + 1
		return string(v.d.src[o:o+n]) == s
	case stringEsc, stringOdd:
		if w.extent()-2 <= len(s) {
			return false
		}
		return v.Str() == s
	}
	return false
}

// Str returns a string's decoded text as a copy; of another kind "". A lone
// surrogate escape becomes its three bytes as if it were a character, which
// [AppendQuote] turns back into the escape; invalid UTF-8 stays as it is.
func (v Value) Str() string {
	if v.Kind() != String {
		return ""
	}
	if v.word().kind() == String {
		raw := v.Raw()
		return string(raw[1 : len(raw)-1])
	}
	b := v.AppendString(nil)
	return unsafe.String(unsafe.SliceData(b), len(b))
}

// StrBytes returns a string's decoded bytes: the source's own where it has no
// escapes, else appended to buf[:0]. They must not be changed.
func (v Value) StrBytes(buf []byte) []byte {
	if v.Kind() != String {
		return nil
	}
	if v.word().kind() == String {
		raw := v.Raw()
		return raw[1 : len(raw)-1]
	}
	return v.AppendString(buf[:0])
}

// StrLen returns the length in bytes of what [Value.Str] returns.
func (v Value) StrLen() int {
	if v.Kind() != String {
		return 0
	}
	raw := v.Raw()
	raw = raw[1 : len(raw)-1]
	n := len(raw)
	if v.word().kind() == String {
		return n
	}
	for {
		k := indexBackslash(raw)
		if k < 0 {
			return n
		}
		raw = raw[k:]
		took := 2
		if raw[1] == 'u' {
			var r rune
			r, took = unescapeRune(raw)
			n += len(appendRune(make([]byte, 0, 4), r)) - 1
		}
		n -= took - 1
		raw = raw[took:]
	}
}

// AppendString appends a string's decoded bytes, as [Value.Str] has them.
func (v Value) AppendString(dst []byte) []byte {
	if v.Kind() != String {
		return dst
	}
	raw := v.Raw()
	raw = raw[1 : len(raw)-1]
	if v.word().kind() == String {
		return append(dst, raw...)
	}
	return appendUnescaped(dst, raw)
}

// AppendCompact appends the value without white space between tokens; numbers
// and strings keep their bytes, members their order and duplicates.
func (v Value) AppendCompact(dst []byte) []byte {
	if v.d == nil {
		return dst
	}
	if !v.d.spaces || !v.IsContainer() {
		return append(dst, v.Raw()...)
	}
	object := v.Kind() == Object
	open, shut := byte('['), byte(']')
	if object {
		open, shut = '{', '}'
	}
	dst = append(dst, open)
	first := true
	for it := v.Iter(); it.Next(); {
		if !first {
			dst = append(dst, ',')
		}
		first = false
		if object {
			dst = append(append(dst, it.Key().Raw()...), ':')
		}
		dst = it.Value().AppendCompact(dst)
	}
	return append(dst, shut)
}

// CompactLen returns the length in bytes of what AppendCompact appends.
func (v Value) CompactLen() int {
	if v.d == nil {
		return 0
	}
	start, end := v.Span()
	if !v.d.spaces || !v.IsContainer() {
		return end - start
	}
	// Every token between v's own two words, and a comma or colon for all
	// but the first of each level.
	n := 0
	tape := v.d.tape[v.i:v.after()]
	for _, w := range tape {
		switch w.kind() {
		case Array, Object:
			n++
		case closing:
			n++
			n += max(w.extent()-1, 0)
		default:
			n += w.extent()
		}
	}
	return n + v.colons()
}

func (v Value) colons() int {
	n := 0
	if v.Kind() == Object {
		n = v.Len()
	}
	for it := v.Iter(); it.Next(); {
		if c := it.Value(); c.IsContainer() {
			n += c.colons()
		}
	}
	return n
}
