package reduce

import (
	"github.com/spillway-mcp/spillway/internal/jsontape"
)

// renderSummary writes what is left to say where not even one row fits: the
// note, the protected scalars, and under "summary" the keys with types, array
// lengths and byte sizes, as many as fit (RED-12). Where even the scalars do
// not fit they stay all the same: a cursor that is cut in silence costs more
// than a cap that is passed.
func (c *jsonCut) renderSummary(limit int, note func() string) []byte {
	for _, r := range c.rows {
		r.shown = 0
	}
	c.nested, c.chars = nil, 0
	text := note()
	data := protectedMembers(nil, c.always, c.inserts)
	data = protectedMembers(data, c.always, c.top)
	out := c.assemble(data, text)
	if len(out) > limit {
		return out
	}
	key := summaryKey
	if c.inserts.Get(key).Exists() || c.top.Get(key).Exists() {
		key = otherSummaryKey
	}
	out = append(append(out[:len(out)-1:len(out)-1], `,"`...), key...)
	out = append(out, `":`...)
	for most := 64; ; most /= 2 {
		full := append(appendSummary(out[:len(out):len(out)], c.top, most, 2), '}')
		if len(full) <= limit {
			return full
		}
		if most == 0 {
			return c.assemble(data, text)
		}
	}
}

// summaryKey holds the summary; otherSummaryKey where the payload has a member
// of that name, which may be protected.
const (
	summaryKey      = "summary"
	otherSummaryKey = noteKey + "_summary"
)

// protectedMembers appends the members of a reduced object that are never cut,
// each followed by a comma.
func protectedMembers(dst []byte, always *fieldTree, v jsontape.Value) []byte {
	keep := objectOf(always.appendProtected(nil, v))
	for it := keep.Iter(); it.Next(); {
		dst = append(appendKey(dst, it.Key()), ':')
		dst = append(append(dst, it.Value().Raw()...), ',')
	}
	return dst
}

// appendSummary describes v: a string for a scalar or an array, an object of
// at most most members for an object, depth levels deep.
func appendSummary(dst []byte, v jsontape.Value, most, depth int) []byte {
	if v.Kind() != jsontape.Object || depth == 0 || most == 0 {
		return jsontape.AppendQuote(dst, describe(v))
	}
	dst = append(dst, '{')
	n := 0
	for it := v.Iter(); it.Next(); n++ {
		if n == most {
			dst = append(dst, `"…":"`...)
			dst = appendCount(dst, v.Len()-most)
			dst = append(dst, ` more members",`...)
			break
		}
		key := it.Key().StrBytes(nil)
		if len(key) > 128 {
			key = append(key[:border(key, 128):border(key, 128)], "…"...)
		}
		dst = append(jsontape.AppendQuote(dst, key), ':')
		dst = append(appendSummary(dst, it.Value(), most/2, depth-1), ',')
	}
	return closeContainer(dst, true)
}

// describe names a value's type and size in words.
func describe(v jsontape.Value) string {
	size := ", " + count(v.CompactLen()) + " bytes"
	switch v.Kind() {
	case jsontape.Array:
		return "array of " + count(v.Len()) + size
	case jsontape.Object:
		return "object of " + count(v.Len()) + " members" + size
	case jsontape.String:
		return "string" + size
	}
	return v.Kind().String()
}
