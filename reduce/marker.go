package reduce

import (
	"bytes"
	"strconv"

	"github.com/spillway-mcp/spillway/internal/jsontape"
)

// A marker stands at the place of every cut inside a string or a text
// (RED-49): …[+48,213 bytes, r_9f2c41d08a3b], and where binary content was
// stripped …[image/png, 9,259 bytes, r_9f2c41d08a3b]. Without an expand tool
// the ref is left out, since nothing is stashed then (RED-19).

// maxMarker bounds the length of a marker for a cut of any size, in bytes.
const maxMarker = len("…[+18,446,744,073,709,551,615 bytes, r_000000000000]")

// appendCutMarker appends the marker of a cut of n bytes.
func appendCutMarker(dst []byte, n int, ref string) []byte {
	dst = append(dst, "…[+"...)
	dst = appendCount(dst, n)
	return appendMarkerEnd(dst, ref)
}

// appendStripMarker appends the marker of n bytes of binary content of a
// media type; an empty type is called binary.
func appendStripMarker(dst []byte, mediaType string, n int, ref string) []byte {
	if mediaType == "" {
		mediaType = "binary"
	}
	dst = append(dst, "…["...)
	dst = append(dst, mediaType...)
	dst = append(dst, ", "...)
	dst = appendCount(dst, n)
	return appendMarkerEnd(dst, ref)
}

func appendMarkerEnd(dst []byte, ref string) []byte {
	dst = append(dst, " bytes"...)
	if ref != "" {
		dst = append(append(dst, ", "...), ref...)
	}
	return append(dst, ']')
}

// appendCount appends n with a comma between thousands.
func appendCount(dst []byte, n int) []byte {
	if n < 0 {
		dst = append(dst, '-')
		n = -n
	}
	s := strconv.Itoa(n)
	for i, c := range []byte(s) {
		if i > 0 && (len(s)-i)%3 == 0 {
			dst = append(dst, ',')
		}
		dst = append(dst, c)
	}
	return dst
}

func count(n int) string { return string(appendCount(nil, n)) }

// Markers returns the refs named by cut markers inside args, the JSON of a
// tools/call's arguments, each once and in order (RED-49). It looks into every
// string and key, and accepts a marker whose ellipsis was retyped.
func Markers(args []byte) []string {
	// What cannot hold a ref, which has no character that JSON must escape,
	// needs no parsing; one written in escapes is still found below.
	if !bytes.Contains(args, []byte("r_")) && !bytes.Contains(args, []byte(`\u`)) {
		return nil
	}
	d, err := jsontape.Parse(args)
	if err != nil {
		return nil
	}
	var refs []string
	var walk func(v jsontape.Value)
	walk = func(v jsontape.Value) {
		switch v.Kind() {
		case jsontape.String:
			refs = appendMarkers(refs, v.StrBytes(nil))
		case jsontape.Array, jsontape.Object:
			for it := v.Iter(); it.Next(); {
				walk(it.Key())
				walk(it.Value())
			}
		}
	}
	walk(d.Root())
	return refs
}

// appendMarkers finds "bytes, r_…]" and the bracket with a size before it.
func appendMarkers(refs []string, s []byte) []string {
	const middle = " bytes, "
	for {
		k := bytes.Index(s, []byte(middle+RefPrefix))
		if k < 0 {
			return refs
		}
		before, after := s[:k], s[k+len(middle):]
		s = after
		n := len(RefPrefix) + refDigits
		if len(after) <= n || after[n] != ']' || !IsRef(string(after[:n])) || !endsInSize(before) {
			continue
		}
		ref := string(after[:n])
		known := false
		for _, r := range refs {
			known = known || r == ref
		}
		if !known {
			refs = append(refs, ref)
		}
	}
}

// endsInSize reports whether s ends in a bracket and a count of bytes, as
// "[+48,213" or "[image/png, 9,259".
func endsInSize(s []byte) bool {
	open := bytes.LastIndexByte(s[max(0, len(s)-120):], '[')
	if open < 0 {
		return false
	}
	c := s[len(s)-1]
	return '0' <= c && c <= '9'
}
