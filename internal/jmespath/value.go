package jmespath

import (
	"bytes"

	"github.com/spillway-mcp/spillway/internal/jsontape"
)

// value is what an expression yields: a value of a document, or one that was
// made. Values share what they are made of and never change it.
type value struct {
	k     jsontape.Kind // never Invalid but in the zero value
	tape  jsontape.Value
	built *built // nil where the value is of the document, or has no content
}

// built is the content of a made value.
type built struct {
	text    []byte // of a string, decoded; of a number, its JSON text
	elems   []value
	members []member // names are distinct
}

type member struct {
	key value // a string
	val value
}

var null = value{k: jsontape.Null}

func boolean(b bool) value {
	if b {
		return value{k: jsontape.True}
	}
	return value{k: jsontape.False}
}

// fromTape makes what is absent null.
func fromTape(v jsontape.Value) value {
	k := v.Kind()
	if k == jsontape.Invalid {
		return null
	}
	return value{k: k, tape: v}
}

func newString(text []byte) value {
	return value{k: jsontape.String, built: &built{text: text}}
}

func newNumber(text []byte) value {
	return value{k: jsontape.Number, built: &built{text: text}}
}

func newArray(elems []value) value {
	return value{k: jsontape.Array, built: &built{elems: elems}}
}

func newObject(members []member) value {
	return value{k: jsontape.Object, built: &built{members: members}}
}

func (v value) isNull() bool { return v.k == jsontape.Null }

// typeName is the name that type() gives.
func (v value) typeName() string { return v.k.String() }

// text returns a string's decoded bytes, or a number's JSON text. They must
// not be changed.
func (v value) text() []byte {
	switch {
	case v.built != nil:
		return v.built.text
	case v.k == jsontape.String:
		return v.tape.StrBytes(nil)
	}
	return v.tape.Raw()
}

// truthy is JMESPath's truth: all but null, false, "", [] and {}.
func (v value) truthy() bool {
	switch v.k {
	case jsontape.True, jsontape.Number:
		return true
	case jsontape.String:
		if v.built != nil {
			return len(v.built.text) > 0
		}
		return len(v.tape.Raw()) > len(`""`)
	case jsontape.Array, jsontape.Object:
		if v.built != nil {
			return len(v.built.elems)+len(v.built.members) > 0
		}
		return v.tape.Len() > 0
	}
	return false
}

// size returns the number of elements of an array.
func (v value) size() int {
	if v.built != nil {
		return len(v.built.elems)
	}
	return v.tape.Len()
}

// get returns a member of an object, or null.
func (v value) get(name string) value {
	if v.k != jsontape.Object {
		return null
	}
	if v.built == nil {
		return fromTape(v.tape.Get(name))
	}
	for i := range v.built.members {
		if string(v.built.members[i].key.text()) == name {
			return v.built.members[i].val
		}
	}
	return null
}

// index returns an element of an array, or null; a negative n counts from the
// end.
func (v value) index(n int) value {
	if v.k != jsontape.Array {
		return null
	}
	if n < 0 {
		n += v.size()
	}
	if n < 0 || n >= v.size() {
		return null
	}
	if v.built != nil {
		return v.built.elems[n]
	}
	return fromTape(v.tape.Index(n))
}

// walk goes over the elements of an array.
type walk struct {
	tape  jsontape.Iter
	elems []value
	made  bool
}

func (v value) walk() walk {
	if v.built != nil {
		return walk{elems: v.built.elems, made: true}
	}
	return walk{tape: v.tape.Iter()}
}

func (it *walk) next() (value, bool) {
	if !it.made {
		if !it.tape.Next() {
			return value{}, false
		}
		return fromTape(it.tape.Value()), true
	}
	if len(it.elems) == 0 {
		return value{}, false
	}
	v := it.elems[0]
	it.elems = it.elems[1:]
	return v, true
}

// elements returns the elements of an array; they must not be changed.
func (v value) elements() []value {
	if v.built != nil {
		return v.built.elems
	}
	elems := make([]value, 0, v.tape.Len())
	for it := v.tape.Iter(); it.Next(); {
		elems = append(elems, fromTape(it.Value()))
	}
	return elems
}

// members returns the members of an object with distinct names: of duplicates
// the value of the last at the place of the first. They must not be changed.
func (v value) members() []member {
	if v.built != nil {
		return v.built.members
	}
	set := newMembers(v.tape.Len())
	for it := v.tape.Iter(); it.Next(); {
		set.put(fromTape(it.Key()), fromTape(it.Value()))
	}
	return set.list
}

// memberSet collects members in the order in which their names first come.
type memberSet struct {
	list  []member
	place map[string]int // nil while the list is short
}

// fewMembers is the length up to which a walk over the list is no slower than
// a map.
const fewMembers = 12

func newMembers(n int) *memberSet {
	s := &memberSet{list: make([]member, 0, n)}
	if n > fewMembers {
		s.place = make(map[string]int, n)
	}
	return s
}

func (s *memberSet) find(name []byte) int {
	if s.place != nil {
		if i, ok := s.place[string(name)]; ok {
			return i
		}
		return -1
	}
	for i := range s.list {
		if bytes.Equal(s.list[i].key.text(), name) {
			return i
		}
	}
	return -1
}

func (s *memberSet) put(key, val value) {
	name := key.text()
	if i := s.find(name); i >= 0 {
		s.list[i].val = val
		return
	}
	s.add(key, name, val)
}

func (s *memberSet) add(key value, name []byte, val value) {
	if s.place != nil {
		s.place[string(name)] = len(s.list)
	}
	s.list = append(s.list, member{key, val})
	if s.place == nil && len(s.list) > fewMembers {
		s.place = make(map[string]int, 2*len(s.list))
		for i := range s.list {
			s.place[string(s.list[i].key.text())] = i
		}
	}
}

// append writes the value as compact JSON. Of the document's values the bytes
// of strings and numbers are the source's own.
func (v value) append(dst []byte) []byte {
	if v.built == nil {
		switch v.k {
		case jsontape.True:
			return append(dst, "true"...)
		case jsontape.False:
			return append(dst, "false"...)
		case jsontape.Null, jsontape.Invalid:
			return append(dst, "null"...)
		}
		return v.tape.AppendCompact(dst)
	}
	switch v.k {
	case jsontape.String:
		return jsontape.AppendQuote(dst, v.built.text)
	case jsontape.Number:
		return append(dst, v.built.text...)
	case jsontape.Array:
		dst = append(dst, '[')
		for i, e := range v.built.elems {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = e.append(dst)
		}
		return append(dst, ']')
	}
	dst = append(dst, '{')
	for i, m := range v.built.members {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(m.key.append(dst), ':')
		dst = m.val.append(dst)
	}
	return append(dst, '}')
}

// within reports how much of room is left after v is written, at least
// roughly: never too much, and negative if room does not do. It visits no more
// values than fit: made values may share parts, so that a small one is long.
func (v value) within(room int) int {
	if v.built == nil {
		start, end := v.tape.Span()
		return room - max(end-start, len("null"))
	}
	room -= 2 + len(v.built.text)
	for i := 0; i < len(v.built.elems) && room >= 0; i++ {
		room = v.built.elems[i].within(room - 1)
	}
	for i := 0; i < len(v.built.members) && room >= 0; i++ {
		room = v.built.members[i].key.within(room - 2)
		room = v.built.members[i].val.within(room)
	}
	return room
}
