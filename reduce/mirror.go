package reduce

import (
	"bytes"

	"github.com/spillway-mcp/spillway/internal/jsontape"
)

// role is what a text block is beside structuredContent (RED-02).
type role int

const (
	alone        role = iota // no mirror
	mirrorsAll               // JSON equal to structuredContent or to one member
	mirrorsText              // equal to one string member
	mirrorsItems             // one of a run that equals an array member's elements
)

// findMirrors gives every text block its role; for mirrorsText, members holds
// the key of the string member at the block's index.
func findMirrors(blocks []*block, structured jsontape.Value) (members []jsontape.Value) {
	members = make([]jsontape.Value, len(blocks))
	if !structured.Exists() {
		return members
	}
	for i, b := range blocks {
		if !b.isText() {
			continue
		}
		if mirrorsWhole(b.text, structured) {
			b.role = mirrorsAll
			continue
		}
		if structured.Kind() != jsontape.Object {
			continue
		}
		if key, ok := mirroredString(b, structured); ok {
			b.role, members[i] = mirrorsText, key
		}
	}
	if structured.Kind() == jsontape.Object {
		for it := structured.Iter(); it.Next(); {
			markRun(blocks, it.Value())
		}
	}
	return members
}

// mirrorsWhole reports whether a text is JSON equal to the whole or to any
// one member that is not a string.
func mirrorsWhole(text []byte, structured jsontape.Value) bool {
	t := bytes.TrimSpace(text)
	if len(t) == 0 {
		return false
	}
	if bytes.Equal(t, structured.Raw()) {
		return true
	}
	switch c := t[0]; {
	case c == '{', c == '[', c == '"', c == '-', '0' <= c && c <= '9', c == 't', c == 'f', c == 'n':
	default:
		return false
	}
	d, err := jsontape.Parse(t)
	if err != nil {
		return false
	}
	v := d.Root()
	if jsontape.Equal(v, structured) {
		return true
	}
	if structured.Kind() != jsontape.Object {
		return false
	}
	for it := structured.Iter(); it.Next(); {
		if it.Value().Kind() != jsontape.String && jsontape.Equal(v, it.Value()) {
			return true
		}
	}
	return false
}

// mirroredString finds the string member that a text equals.
func mirroredString(b *block, structured jsontape.Value) (key jsontape.Value, ok bool) {
	for it := structured.Iter(); it.Next(); {
		v := it.Value()
		if v.Kind() != jsontape.String {
			continue
		}
		// Both are usually written by one encoder, escape for escape.
		if bytes.Equal(v.Raw(), b.at.Raw()) || bytes.Equal(v.StrBytes(nil), b.text) {
			return it.Key(), true
		}
	}
	return jsontape.Value{}, false
}

// markRun marks a run of blocks that equal, in order, all elements of an
// array member, as some servers answer a list.
func markRun(blocks []*block, member jsontape.Value) {
	n := member.Len()
	if member.Kind() != jsontape.Array || n == 0 || n > len(blocks) {
		return
	}
	elems := member.Elements(nil)
	for from := 0; from+n <= len(blocks); from++ {
		run := blocks[from : from+n]
		matches := true
		for i, b := range run {
			if !b.isText() || b.role != alone || !equalsElement(b.text, elems[i]) {
				matches = false
				break
			}
		}
		if matches {
			for _, b := range run {
				b.role = mirrorsItems
			}
			return
		}
	}
}

func equalsElement(text []byte, elem jsontape.Value) bool {
	if elem.Kind() == jsontape.String {
		return bytes.Equal(elem.StrBytes(nil), text)
	}
	t := bytes.TrimSpace(text)
	if bytes.Equal(t, elem.Raw()) {
		return true
	}
	d, err := jsontape.Parse(t)
	return err == nil && jsontape.Equal(d.Root(), elem)
}
