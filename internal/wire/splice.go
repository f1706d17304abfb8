package wire

import "bytes"

// An Edit replaces the bytes at a span by With. A span with Start == End
// inserts.
type Edit struct {
	Span
	With []byte
}

// Splice returns src with the edits made, joined once. Edits must be in order
// and must not overlap; it panics otherwise, as that is a fault of the caller.
// src is left alone.
func Splice(src []byte, edits ...Edit) []byte {
	return bytes.Join(Parts(src, edits...), nil)
}

// Parts is [Splice] without the join: the pieces alias src and the edits, for a
// [Writer].
func Parts(src []byte, edits ...Edit) [][]byte {
	parts := make([][]byte, 0, 2*len(edits)+1)
	at := 0
	for _, e := range edits {
		if e.Start < at || e.End < e.Start || e.End > len(src) {
			panic("wire: edits out of order")
		}
		if e.Start > at {
			parts = append(parts, src[at:e.Start])
		}
		if len(e.With) > 0 {
			parts = append(parts, e.With)
		}
		at = e.End
	}
	return append(parts, src[at:])
}

// SetMember returns the edit that gives the object at sp a member: its value is
// replaced where the object has it (the last, where it is repeated), else it is
// added as the last member. key must need no escapes.
func SetMember(src []byte, sp Span, key string, value []byte) Edit {
	last := -1
	var found Span
	for it := MembersOf(src, sp); it.Next(); {
		last = it.Value().End
		if StringIs(it.Key(), key) {
			found = it.Value()
		}
	}
	if found.Present() {
		return Edit{found, value}
	}
	add := make([]byte, 0, len(key)+len(value)+4)
	if last >= 0 {
		add = append(add, ',')
	} else {
		last = sp.Start + 1
	}
	add = append(append(append(add, '"'), key...), '"', ':')
	return Edit{Span{last, last}, append(add, value...)}
}
