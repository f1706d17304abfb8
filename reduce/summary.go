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
	data := c.protectedMembers()
	out := make([]byte, 0, limit)
	out = append(out, `{"`+noteKey+`":`...)
	out = jsontape.AppendQuote(out, text)
	out = append(out, c.protectedInserts()...)
	out = append(out, data...)
	if len(out)+1 > limit {
		return append(out, '}')
	}
	for most := 64; ; most /= 2 {
		full := append(out[:len(out):len(out)], `,"summary":`...)
		full = append(appendSummary(full, c.top, most, 2), '}')
		if len(full) <= limit {
			return full
		}
		if most == 0 {
			return append(out, '}')
		}
	}
}

// protectedInserts is the inserted members, in front of each a comma, where
// they are small scalars.
func (c *jsonCut) protectedInserts() []byte {
	if len(c.inserts) == 0 {
		return nil
	}
	obj := append(append([]byte{'{'}, c.inserts[:len(c.inserts)-1]...), '}')
	d, err := jsontape.Parse(obj)
	if err != nil {
		return nil
	}
	return protectedOf(c.always, d.Root())
}

func (c *jsonCut) protectedMembers() []byte { return protectedOf(c.always, c.top) }

func protectedOf(always *fieldTree, v jsontape.Value) []byte {
	var dst []byte
	for it := v.Iter(); it.Next(); {
		key, val := it.Key(), it.Value()
		if !key.Exists() || !always.protected(key, val) {
			continue
		}
		dst = append(append(append(dst, ','), key.Raw()...), ':')
		dst = val.AppendCompact(dst)
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
