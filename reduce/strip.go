package reduce

import (
	"bytes"
	"slices"

	"github.com/spillway-mcp/spillway/internal/jsontape"
)

// stripper replaces binary content (the strip key of a rule).
type stripper struct {
	set stripSet
	ref func() string
	cut []strippedFact
}

// appendValue writes v compactly with its binary strings replaced, and
// reports whether any was. Where none was, dst comes back as it went in.
func (s *stripper) appendValue(dst []byte, v jsontape.Value) ([]byte, bool) {
	if !s.holds(v) {
		return dst, false
	}
	return s.write(dst, v), true
}

// holds looks for something to replace.
func (s *stripper) holds(v jsontape.Value) bool {
	switch v.Kind() {
	case jsontape.String:
		text := v.StrBytes(nil)
		if s.set.base64 && holdsBase64(text) {
			return true
		}
		return slices.ContainsFunc(jsonIn(text), s.holds)
	case jsontape.Array, jsontape.Object:
		if _, data := s.binary(v); data.Exists() {
			return true
		}
		for it := v.Iter(); it.Next(); {
			if s.holds(it.Value()) {
				return true
			}
		}
	}
	return false
}

// binary recognises an object that holds an image, audio or a resource's
// blob as MCP writes them, and returns its media type and data string.
func (s *stripper) binary(v jsontape.Value) (mediaType string, data jsontape.Value) {
	if v.Kind() != jsontape.Object {
		return "", jsontape.Value{}
	}
	kind := v.Get("type")
	switch {
	case s.set.image && kind.Is("image"), s.set.audio && kind.Is("audio"):
		data = v.Get("data")
	case s.set.blob && v.Get("uri").Kind() == jsontape.String:
		data = v.Get("blob")
	}
	if data.Kind() != jsontape.String || len(data.Raw()) <= 2 {
		return "", jsontape.Value{}
	}
	return v.Get("mimeType").Str(), data
}

func (s *stripper) write(dst []byte, v jsontape.Value) []byte {
	switch v.Kind() {
	case jsontape.String:
		text := v.StrBytes(nil)
		if out, ok := s.inJSON(text); ok {
			return jsontape.AppendQuote(dst, out)
		}
		if s.set.base64 && holdsBase64(text) {
			return jsontape.AppendQuote(dst, s.replaceBase64(text))
		}
		return append(dst, v.Raw()...)
	case jsontape.Array, jsontape.Object:
	default:
		return append(dst, v.Raw()...)
	}
	media, data := s.binary(v)
	object := v.Kind() == jsontape.Object
	dst = append(dst, opening(object))
	for it := v.Iter(); it.Next(); {
		if object {
			dst = append(append(dst, it.Key().Raw()...), ':')
		}
		if e := it.Value(); data.Exists() && e == data {
			dst = jsontape.AppendQuote(dst, s.marker(media, decodedLen(e.StrBytes(nil))))
		} else {
			dst = s.write(dst, e)
		}
		dst = append(dst, ',')
	}
	return closeContainer(dst, object)
}

// inJSON replaces what is binary inside a text that is JSON, or lines of it,
// and reports whether there was any; what is written has no layout.
func (s *stripper) inJSON(text []byte) ([]byte, bool) {
	values := jsonIn(text)
	if !slices.ContainsFunc(values, s.holds) {
		return nil, false
	}
	out := make([]byte, 0, len(text))
	for i, v := range values {
		if i > 0 {
			out = append(out, '\n')
		}
		if s.holds(v) {
			out = s.write(out, v)
		} else {
			out = v.AppendCompact(out)
		}
	}
	return out, true
}

// jsonIn reads a text that is one JSON object or array, or NDJSON; none where
// it is neither.
func jsonIn(text []byte) []jsontape.Value {
	if d, ok := isJSONContainer(text); ok {
		return []jsontape.Value{d.Root()}
	}
	if d, ok := jsonLines(text); ok {
		return d.Root().Elements(nil)
	}
	return nil
}

// marker books one replacement and returns its text.
func (s *stripper) marker(media string, n int) []byte {
	if media == "" {
		media = "binary"
	}
	media = clip(media, 60)
	s.cut = append(s.cut, strippedFact{media, n})
	return appendStripMarker(nil, media, n, s.ref())
}

// holdsBase64 reports whether a string is, or has inside, what strip: base64
// replaces.
func holdsBase64(s []byte) bool {
	if len(s) < minDataURI {
		return false
	}
	if isBase64(s) && !bytes.HasPrefix(s, []byte("data:")) {
		return true
	}
	_, _, ok := nextDataURI(s)
	return ok
}

// minDataURI is the length of base64 from which a data URI is replaced.
const minDataURI = 128

// nextDataURI finds the first data URI with base64 content in s.
func nextDataURI(s []byte) (from, to int, ok bool) {
	for at := 0; ; {
		k := bytes.Index(s[at:], []byte("data:"))
		if k < 0 {
			return 0, 0, false
		}
		from = at + k
		at = from + len("data:")
		head := s[from:min(len(s), from+200)]
		b := bytes.Index(head, []byte(";base64,"))
		if b < 0 || bytes.ContainsAny(head[:b], " \n\"'<>()") {
			continue
		}
		to = from + b + len(";base64,")
		start := to
		for to < len(s) && base64Class[s[to]] != 0 && s[to] != '\r' && s[to] != '\n' {
			to++
		}
		if to-start >= minDataURI {
			return from, to, true
		}
	}
}

// replaceBase64 replaces a whole binary string, or the data URIs in a text.
func (s *stripper) replaceBase64(text []byte) []byte {
	if isBase64(text) && !bytes.HasPrefix(text, []byte("data:")) {
		return s.marker("base64", decodedLen(text))
	}
	var out []byte
	for {
		from, to, ok := nextDataURI(text)
		if !ok {
			return append(out, text...)
		}
		media, data, _ := dataURI(text[from:to])
		out = append(out, text[:from]...)
		out = append(out, s.marker(media, decodedLen(data))...)
		text = text[to:]
	}
}

// appendBlocks writes the content array with its binary blocks replaced by
// text blocks; the other members of a block that say whom it is for stay. What
// goes out of a JSON text is booked under the block's index in inText.
func (s *stripper) appendBlocks(dst []byte, content jsontape.Value, inText map[int][]strippedFact) ([]byte, bool) {
	changed := false
	dst = append(dst, '[')
	i := -1
	for it := content.Iter(); it.Next(); {
		i++
		b := it.Value()
		media, data := s.blockBinary(b)
		text := b.Get("text")
		if b.Get("type").Is("resource") {
			text = b.Lookup("resource", "text")
		}
		switch {
		case forUserOnly(b.Lookup("annotations", "audience")):
			dst = append(dst, b.Raw()...)
		case data.Exists():
			changed = true
			dst = append(dst, `{"type":"text","text":`...)
			marker := s.marker(media, decodedLen(data.StrBytes(nil)))
			if uri := b.Lookup("resource", "uri"); uri.Exists() { // what the block was of
				marker = append([]byte(clip(uri.Str(), 1000)+" "), marker...)
			}
			dst = jsontape.AppendQuote(dst, marker)
			dst = appendMember(dst, "annotations", b.Get("annotations"))
			dst = append(appendMember(dst, "_meta", b.Get("_meta")), '}')
		case text.Kind() == jsontape.String && s.holds(text):
			changed = true
			before := s.cut
			s.cut = nil
			dst = s.writeText(dst, b, text)
			if b.Get("type").Is("text") && len(jsonIn(text.StrBytes(nil))) > 0 {
				inText[i] = s.cut
				s.cut = before
			} else {
				s.cut = append(before, s.cut...)
			}
		default:
			dst = append(dst, b.Raw()...)
		}
		dst = append(dst, ',')
	}
	return closeContainer(dst, false), changed
}

// writeText writes a block with the binary in its text replaced.
func (s *stripper) writeText(dst []byte, b, text jsontape.Value) []byte {
	base, _ := b.Span()
	from, to := text.Span()
	dst = append(dst, b.Raw()[:from-base]...)
	dst = s.write(dst, text)
	return append(dst, b.Raw()[to-base:]...)
}

// blockBinary returns what a content block holds that is to be replaced.
func (s *stripper) blockBinary(b jsontape.Value) (mediaType string, data jsontape.Value) {
	if b.Get("type").Is("resource") {
		return s.binary(b.Get("resource"))
	}
	return s.binary(b)
}

func appendMember(dst []byte, key string, v jsontape.Value) []byte {
	if !v.Exists() {
		return dst
	}
	dst = append(dst, ',')
	dst = append(jsontape.AppendQuote(dst, key), ':')
	return append(dst, v.Raw()...)
}
