package reduce

import (
	"unicode/utf8"

	"github.com/spillway-mcp/spillway/internal/jsontape"
)

// noLimit is a budget that is never reached.
const noLimit = 1 << 40

// appendItem writes v within by, but for the fields of node, which are never
// cut.
func (c *jsonCut) appendItem(dst []byte, v jsontape.Value, node *fieldTree, by shrink, limit int) []byte {
	if node == nil || node.leaf || v.Kind() != jsontape.Object {
		return c.appendShrunk(dst, v, by, limit)
	}
	from := len(dst)
	dst = append(dst, '{')
	for it := v.Iter(); it.Next(); {
		key, e := it.Key(), it.Value()
		dst = append(append(dst, key.Raw()...), ':')
		used := len(dst) - from
		if used > limit {
			return dst
		}
		c.push(key)
		if kid := node.find(key); kid != nil && protected(kid, e) {
			dst = e.AppendCompact(dst)
		} else {
			dst = c.appendItem(dst, e, kid, by, limit-used)
		}
		dst = append(dst, ',')
		c.pop()
	}
	return closeContainer(dst, true)
}

// appendShrunk writes v with its strings and nested arrays within by. It
// stops early, with more than limit bytes appended, where it would pass limit.
func (c *jsonCut) appendShrunk(dst []byte, v jsontape.Value, by shrink, limit int) []byte {
	from := len(dst)
	switch v.Kind() {
	case jsontape.String:
		return c.appendShortString(dst, v, by.chars)
	case jsontape.Array, jsontape.Object:
	default:
		return v.AppendCompact(dst)
	}
	object := v.Kind() == jsontape.Object
	most := v.Len()
	if !object && by.elems > 0 && most > by.elems {
		most = by.elems
		c.cutNested(most, v.Len())
	}
	dst = append(dst, opening(object))
	n := 0
	for it := v.Iter(); n < most && it.Next(); n++ {
		if object {
			dst = append(append(dst, it.Key().Raw()...), ':')
		}
		used := len(dst) - from
		if used > limit {
			return dst
		}
		c.push(it.Key())
		dst = append(c.appendShrunk(dst, it.Value(), by, limit-used), ',')
		c.pop()
	}
	return closeContainer(dst, object)
}

// appendShortString writes at most chars characters of a string and a marker;
// binary text over the bound goes whole.
func (c *jsonCut) appendShortString(dst []byte, v jsontape.Value, chars int) []byte {
	raw := v.Raw()
	if chars <= 0 || len(raw)-2 <= chars {
		return append(dst, raw...)
	}
	s := v.StrBytes(nil)
	keep := 0
	if !isBase64(s) {
		keep = charsPrefix(s, chars)
	}
	if keep == len(s) {
		return append(dst, raw...)
	}
	short := make([]byte, 0, keep+maxMarker)
	short = appendCutMarker(append(short, s[:keep]...), len(s)-keep, c.ref())
	if len(short) >= len(s) {
		return append(dst, raw...)
	}
	if c.record && (c.chars == 0 || chars < c.chars) {
		c.chars = chars
	}
	return jsontape.AppendQuote(dst, short)
}

// charsPrefix returns the length in bytes of the first n characters, moved
// back to a border.
func charsPrefix(s []byte, n int) int {
	i := 0
	for ; n > 0 && i < len(s); n-- {
		_, size := utf8.DecodeRune(s[i:])
		i += size
	}
	return border(s, i)
}

func (c *jsonCut) push(key jsontape.Value) {
	if c.record {
		c.path = append(c.path, key)
	}
}

func (c *jsonCut) pop() {
	if c.record {
		c.path = c.path[:len(c.path)-1]
	}
}

// cutNested records an array of which a prefix stays, under the names on the
// way to it; cuts of arrays of the same names are added up.
func (c *jsonCut) cutNested(shown, total int) {
	if !c.record {
		return
	}
	var name []byte
	for _, key := range c.path {
		if !key.Exists() {
			continue
		}
		if len(name) > 0 {
			name = append(name, '.')
		}
		name = key.AppendString(name)
	}
	if n := len(c.nested); n > 0 && c.nested[n-1].path == string(name) {
		c.nested[n-1].shown += shown
		c.nested[n-1].total += total
		return
	}
	c.nested = append(c.nested, nestedCut{string(name), shown, total})
}
