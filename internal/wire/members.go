package wire

// Members walks the members of an object in their order, repeated ones
// included. Use it as
//
//	for it := wire.MembersOf(src, span); it.Next(); {
//		it.Key(); it.Value()
//	}
//
// It is a value, allocates nothing, and ends early on bytes that are no object.
type Members struct {
	src     []byte
	pos     int
	key     Span
	val     Span
	started bool
	done    bool
	bad     bool
}

// MembersOf walks the object that stands at sp in src. An absent span, or a
// value of another kind, has no members.
func MembersOf(src []byte, sp Span) Members {
	if !sp.Present() {
		return Members{done: true}
	}
	return membersAt(src[:sp.End], skipSpace(src[:sp.End], sp.Start))
}

func membersAt(src []byte, at int) Members {
	m := Members{src: src, pos: at}
	if at >= len(src) || src[at] != '{' {
		m.done, m.bad = true, true
	}
	return m
}

// Next moves to the next member and reports whether there is one.
func (m *Members) Next() bool {
	if m.done {
		return false
	}
	more, ok := nextItem(m.src, &m.pos, &m.started, '}')
	if !more {
		m.done, m.bad = true, !ok
		return false
	}
	if m.key, ok = stringAt(m.src, m.pos); ok {
		colon := skipSpace(m.src, m.key.End)
		if ok = colon < len(m.src) && m.src[colon] == ':'; ok {
			m.val, ok = valueAt(m.src, skipSpace(m.src, colon+1))
		}
	}
	if !ok {
		m.done, m.bad = true, true
		return false
	}
	m.pos = m.val.End
	return true
}

// Key returns the member's name as it is written, with its quotes; compare it
// with [StringIs].
func (m *Members) Key() []byte { return m.key.Of(m.src) }

// KeySpan is where the name stands, with its quotes.
func (m *Members) KeySpan() Span { return m.key }

// Value is where the member's value stands.
func (m *Members) Value() Span { return m.val }

// Member finds the value of the member named key in the object at sp, the last
// one where the name is repeated. It is shallow; the span is over src.
func Member(src []byte, sp Span, key string) Span {
	var found Span
	for it := MembersOf(src, sp); it.Next(); {
		if StringIs(it.Key(), key) {
			found = it.Value()
		}
	}
	return found
}

// Path is [Member] applied once for each key.
func Path(src []byte, sp Span, keys ...string) Span {
	for _, k := range keys {
		if sp = Member(src, sp, k); !sp.Present() {
			return Span{}
		}
	}
	return sp
}

// Elements walks the elements of an array like [Members] walks an object.
type Elements struct {
	src     []byte
	pos     int
	val     Span
	started bool
	done    bool
	bad     bool
}

// ElementsOf walks the array that stands at sp in src. An absent span, or a
// value of another kind, has no elements.
func ElementsOf(src []byte, sp Span) Elements {
	if !sp.Present() {
		return Elements{done: true}
	}
	return elementsAt(src[:sp.End], skipSpace(src[:sp.End], sp.Start))
}

func elementsAt(src []byte, at int) Elements {
	e := Elements{src: src, pos: at}
	if at >= len(src) || src[at] != '[' {
		e.done, e.bad = true, true
	}
	return e
}

// Next moves to the next element and reports whether there is one.
func (e *Elements) Next() bool {
	if e.done {
		return false
	}
	more, ok := nextItem(e.src, &e.pos, &e.started, ']')
	if more {
		e.val, more = valueAt(e.src, e.pos)
		ok = more
	}
	if !more {
		e.done, e.bad = true, !ok
		return false
	}
	e.pos = e.val.End
	return true
}

// Value is where the element stands.
func (e *Elements) Value() Span { return e.val }

// nextItem moves pos from an opening bracket, or from the end of an item, to
// the start of the next one. At the closing bracket it leaves pos behind it
// and returns more == false, ok == true.
func nextItem(src []byte, pos *int, started *bool, end byte) (more, ok bool) {
	i := *pos
	if !*started {
		*started = true
		i = skipSpace(src, i+1)
		if i < len(src) && src[i] == end {
			*pos = i + 1
			return false, true
		}
		*pos = i
		return i < len(src), false
	}
	i = skipSpace(src, i)
	if i >= len(src) {
		return false, false
	}
	switch src[i] {
	case end:
		*pos = i + 1
		return false, true
	case ',':
		*pos = skipSpace(src, i+1)
		return *pos < len(src), false
	}
	*pos = i
	return false, false
}
