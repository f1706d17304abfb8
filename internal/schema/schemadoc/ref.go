package schemadoc

import (
	"strings"

	"github.com/spillway-mcp/spillway/internal/jsontape"
)

// Place says where a $ref leads.
type Place uint8

const (
	// Remote is another document; it is never fetched.
	Remote Place = iota
	// Local is a schema of this document.
	Local
	// Embedded is a schema of this document that belongs to an embedded
	// resource; its own references are relative to that.
	Embedded
	// Dangling points into this document, but at nothing that is a schema.
	Dangling
)

// Doc is a schema document whose references can be followed. It may not be
// used from two goroutines at once.
type Doc struct {
	v       jsontape.Value
	id      string
	anchors map[string]jsontape.Value
}

// Open reads the document's root schema.
func Open(v jsontape.Value) *Doc {
	d := &Doc{v: v}
	if EmbeddedID(v) {
		d.id = strings.TrimSuffix(v.Get("$id").Str(), "#")
	}
	return d
}

// Value returns the root schema.
func (d *Doc) Value() jsontape.Value { return d.v }

// Fragment returns the part of ref from its # on ("#" where there is none) if
// ref points into this document.
func (d *Doc) Fragment(ref string) (string, bool) {
	base, fragment := ref, "#"
	if i := strings.IndexByte(ref, '#'); i >= 0 {
		base, fragment = ref[:i], ref[i:]
	}
	if base == "" {
		return fragment, true
	}
	// The root's own name, whole or as its last segment, is this document.
	if d.id != "" && (base == d.id || base == d.id[strings.LastIndexByte(d.id, '/')+1:]) {
		return fragment, true
	}
	return "", false
}

// Resolve follows ref. The value is set for Local alone.
func (d *Doc) Resolve(ref string) (jsontape.Value, Place) {
	fragment, ok := d.Fragment(ref)
	if !ok {
		return jsontape.Value{}, Remote
	}
	v, embedded := d.v, false
	switch {
	case fragment == "#":
	case strings.HasPrefix(fragment, "#/"):
		v, embedded = d.at(Tokens(fragment))
	default:
		v = d.anchor(unescapePercent(fragment[1:]))
	}
	switch {
	case !IsSchema(v):
		return jsontape.Value{}, Dangling
	case embedded:
		return jsontape.Value{}, Embedded
	}
	return v, Local
}

// at follows a pointer's tokens, and reports whether they enter an embedded
// resource.
func (d *Doc) at(tokens []string) (v jsontape.Value, embedded bool) {
	v = d.v
	for _, token := range tokens {
		switch v.Kind() {
		case jsontape.Object:
			v = v.Get(token)
		case jsontape.Array:
			n, ok := index(token)
			if !ok {
				return jsontape.Value{}, false
			}
			v = v.Index(n)
		default:
			return jsontape.Value{}, false
		}
		embedded = embedded || EmbeddedID(v)
	}
	return v, embedded
}

func index(token string) (int, bool) {
	if token == "" || len(token) > 7 || len(token) > 1 && token[0] == '0' {
		return 0, false
	}
	n := 0
	for _, c := range []byte(token) {
		if c < '0' || c > '9' {
			return 0, false
		}
		n = n*10 + int(c-'0')
	}
	return n, true
}

func (d *Doc) anchor(name string) jsontape.Value {
	if d.anchors == nil {
		d.anchors = map[string]jsontape.Value{}
		d.collect(d.v, true)
	}
	return d.anchors[name]
}

// collect records the anchors of v and of the schemas below it.
func (d *Doc) collect(v jsontape.Value, root bool) {
	if !root && EmbeddedID(v) {
		return
	}
	for it := v.Iter(); it.Next(); {
		value := it.Value()
		switch key := it.Key(); {
		case v.Kind() == jsontape.Object && value.Kind() == jsontape.String:
			if name := value.Str(); key.Is("$anchor") || key.Is("$dynamicAnchor") {
				d.anchors[name] = v
			} else if key.Is("$id") && strings.HasPrefix(name, "#") {
				d.anchors[name[1:]] = v
			}
		case key.Is("const"), key.Is("enum"), key.Is("default"), key.Is("examples"):
		case value.IsContainer():
			d.collect(value, false)
		}
	}
}

// Pointer returns the URI fragment ("#/properties/a") of v, which must have
// been reached from the root; ok is false where it lies elsewhere, or under
// a key that cannot be written in plain ASCII.
func (d *Doc) Pointer(v jsontape.Value) (pointer string, ok bool) {
	start, end := v.Span()
	b := []byte{'#'}
	at := d.v
	for {
		s, e := at.Span()
		if s == start && e == end {
			return string(b), true
		}
		if start < s || end > e || !at.IsContainer() {
			return "", false
		}
		i, found := 0, false
		for it := at.Iter(); it.Next(); i++ {
			child := it.Value()
			if s, e := child.Span(); start < s || end > e {
				continue
			}
			if at.Kind() == jsontape.Object {
				token := it.Key().Str()
				if !plain(token) {
					return "", false
				}
				b = append(append(b, '/'), token...)
			} else {
				b = appendInt(append(b, '/'), i)
			}
			at, found = child, true
			break
		}
		if !found {
			return "", false
		}
	}
}

func appendInt(b []byte, n int) []byte {
	if n >= 10 {
		b = appendInt(b, n/10)
	}
	return append(b, byte('0'+n%10))
}

// plain reports whether a token stands in a URI fragment as it is.
func plain(token string) bool {
	for _, c := range []byte(token) {
		switch {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', c == '_', c == '-', c == '.', c == '$':
		default:
			return false
		}
	}
	return true
}

// Tokens splits a pointer fragment ("#/a~1b/0") into its decoded tokens.
func Tokens(fragment string) []string {
	tokens := strings.Split(strings.TrimPrefix(fragment, "#/"), "/")
	for i, t := range tokens {
		t = unescapePercent(t)
		if strings.IndexByte(t, '~') >= 0 {
			t = strings.ReplaceAll(strings.ReplaceAll(t, "~1", "/"), "~0", "~")
		}
		tokens[i] = t
	}
	return tokens
}

func unescapePercent(s string) string {
	if strings.IndexByte(s, '%') < 0 {
		return s
	}
	b := make([]byte, 0, len(s))
	for i := 0; i < len(s); i++ {
		if s[i] == '%' && i+2 < len(s) && hex(s[i+1]) >= 0 && hex(s[i+2]) >= 0 {
			b = append(b, byte(hex(s[i+1])<<4|hex(s[i+2])))
			i += 2
			continue
		}
		b = append(b, s[i])
	}
	return string(b)
}

func hex(c byte) int {
	switch {
	case '0' <= c && c <= '9':
		return int(c - '0')
	case 'a' <= c && c <= 'f':
		return int(c-'a') + 10
	case 'A' <= c && c <= 'F':
		return int(c-'A') + 10
	}
	return -1
}

// Key returns an identity of v, a value that exists, across documents.
func Key(v jsontape.Value) *byte { return &v.Raw()[0] }
