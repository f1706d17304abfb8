package reduce

import (
	"bytes"
	"hash/maphash"
	"math"
	"strconv"

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

// mirrors finds the text blocks that repeat structuredContent. Each value is
// read once for any number of blocks: what may be equal is found by its print.
type mirrors struct {
	structured jsontape.Value
	strings    map[uint64][]member         // the string members, by print
	others     map[uint64][]jsontape.Value // the other members, by print
	compared   int
}

// member is one of structuredContent.
type member struct{ key, v jsontape.Value }

// maxCompared bounds the work of looking for runs among blocks that are much
// alike; past it there are none.
const maxCompared = 10_000_000

// findMirrors gives every text block its role; for mirrorsText, members holds
// the key of the string member at the block's index.
func findMirrors(blocks []*block, structured jsontape.Value) (members []jsontape.Value) {
	members = make([]jsontape.Value, len(blocks))
	if !structured.Exists() {
		return members
	}
	m := &mirrors{structured: structured}
	for i, b := range blocks {
		if !b.isText() {
			continue
		}
		if m.whole(b) {
			b.role = mirrorsAll
			b.json = jsontape.Value{}
			continue
		}
		if key, ok := m.stringMember(b); ok {
			b.role, members[i] = mirrorsText, key
		}
	}
	if structured.Kind() == jsontape.Object {
		for it := structured.Iter(); it.Next(); {
			m.markRun(blocks, it.Value())
		}
	}
	return members
}

// trimJSON takes JSON's white space from both ends.
func trimJSON(s []byte) []byte { return bytes.Trim(s, " \t\r\n") }

// readJSON parses a text that is one JSON value; it is done once.
func (b *block) readJSON() jsontape.Value {
	if b.wasRead {
		return b.json
	}
	b.wasRead = true
	t := trimJSON(b.text)
	if len(t) == 0 {
		return b.json
	}
	switch c := t[0]; {
	case c == '{', c == '[', c == '"', c == '-', '0' <= c && c <= '9', c == 't', c == 'f', c == 'n':
		if d, err := jsontape.Parse(t); err == nil {
			b.json = d.Root()
		}
	}
	return b.json
}

// whole reports whether a text is JSON equal to the whole or to any one member
// that is not a string.
func (m *mirrors) whole(b *block) bool {
	if bytes.Equal(trimJSON(b.text), m.structured.Raw()) {
		return true
	}
	v := b.readJSON()
	if !v.Exists() {
		return false
	}
	if jsontape.Equal(v, m.structured) {
		return true
	}
	if m.structured.Kind() != jsontape.Object {
		return false
	}
	if m.others == nil {
		m.others = make(map[uint64][]jsontape.Value)
		for it := m.structured.Iter(); it.Next(); {
			if e := it.Value(); e.Kind() != jsontape.String {
				m.others[printOf(e)] = append(m.others[printOf(e)], e)
			}
		}
	}
	for _, e := range m.others[printOf(v)] {
		if jsontape.Equal(v, e) {
			return true
		}
	}
	return false
}

// stringMember finds the string member that a text equals.
func (m *mirrors) stringMember(b *block) (key jsontape.Value, ok bool) {
	if m.structured.Kind() != jsontape.Object {
		return key, false
	}
	if m.structured.Len() == 1 {
		// Both are usually written by one encoder, escape for escape.
		it := m.structured.Iter()
		if it.Next(); bytes.Equal(it.Value().Raw(), b.at.Raw()) {
			return it.Key(), true
		}
	}
	if m.strings == nil {
		m.strings = make(map[uint64][]member)
		last := make(map[string]jsontape.Value) // of duplicates, the one that counts
		for it := m.structured.Iter(); it.Next(); {
			last[it.Key().Str()] = it.Value()
		}
		for it := m.structured.Iter(); it.Next(); {
			if e := it.Value(); e.Kind() == jsontape.String && last[it.Key().Str()] == e {
				p := printOf(e)
				m.strings[p] = append(m.strings[p], member{it.Key(), e})
			}
		}
	}
	for _, e := range m.strings[printOfText(b.text)] {
		if bytes.Equal(e.v.StrBytes(nil), b.text) {
			return e.key, true
		}
	}
	return key, false
}

// markRun marks a run of blocks that equal, in order, all elements of an
// array member, as some servers answer a list.
func (m *mirrors) markRun(blocks []*block, member jsontape.Value) {
	n := member.Len()
	if member.Kind() != jsontape.Array || n == 0 || n > len(blocks) {
		return
	}
	elems := member.Elements(nil)
	prints := make([]uint64, n)
	for i, e := range elems {
		prints[i] = printOf(e)
	}
	for from := 0; from+n <= len(blocks) && m.compared < maxCompared; from++ {
		run := blocks[from : from+n]
		i := 0
		for i < n && run[i].mayEqual(elems[i], prints[i]) {
			i++
		}
		m.compared += i + 1
		if i == n && confirmRun(run, elems) {
			for _, b := range run {
				b.role = mirrorsItems
			}
			return
		}
	}
}

// confirmRun compares a run of equal prints.
func confirmRun(run []*block, elems []jsontape.Value) bool {
	for i, b := range run {
		if !b.equals(elems[i]) {
			return false
		}
	}
	return true
}

// mayEqual reports whether a block's text has the print of the element.
func (b *block) mayEqual(elem jsontape.Value, print uint64) bool {
	if !b.isText() || b.role != alone {
		return false
	}
	if elem.Kind() == jsontape.String {
		if b.textPrint == 0 {
			b.textPrint = printOfText(b.text)
		}
		return b.textPrint == print
	}
	if b.jsonPrint == 0 && b.readJSON().Exists() {
		b.jsonPrint = printOf(b.json)
	}
	return b.jsonPrint == print
}

// equals reports whether a block's text is the element: a string by its text,
// anything else as JSON.
func (b *block) equals(elem jsontape.Value) bool {
	if elem.Kind() == jsontape.String {
		return elem.Is(string(b.text))
	}
	return jsontape.Equal(b.readJSON(), elem)
}

var printSeed = maphash.MakeSeed()

func printOfText(s []byte) uint64 { return maphash.Bytes(printSeed, s) | 1 }

// printOf is the same for values that are equal, whatever the order of their
// members and the form of their numbers, and never 0. It tells apart what is
// not equal nearly always.
func printOf(v jsontape.Value) uint64 {
	const odd = 0x9E3779B97F4A7C15
	h := uint64(v.Kind()+1) * odd
	switch v.Kind() {
	case jsontape.String:
		return printOfText(v.StrBytes(nil))
	case jsontape.Number:
		f, _ := strconv.ParseFloat(string(v.Raw()), 64)
		if f != 0 { // 0 and -0 are equal
			h ^= math.Float64bits(f)
		}
		h *= odd
	case jsontape.Array:
		for it := v.Iter(); it.Next(); {
			h = (h ^ printOf(it.Value())) * odd
			h ^= h >> 29
		}
	case jsontape.Object:
		for it := v.Iter(); it.Next(); {
			one := (printOf(it.Key()) ^ printOf(it.Value())*odd) * odd
			h += one ^ one>>29
		}
	}
	return h | 1
}
