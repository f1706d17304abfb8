package httpmcp

import (
	"encoding/base64"
	"net/http"
	"strconv"
	"strings"

	"github.com/spillway-mcp/spillway/internal/wire"
)

// A Param is an input property that a tool's schema wants repeated in a header
// (x-mcp-header).
type Param struct {
	Header string   // the whole name, Mcp-Param-Region
	Path   []string // of the property in the arguments
	Type   string   // string, integer or boolean
}

// Params returns the annotated properties of a tool's input schema, at any
// depth of properties within properties, in the schema's order. An annotation
// on a property of another type, one that is no header name, and one that is
// repeated make the schema invalid: a client must leave such a tool out of its
// list. The error names the property.
func Params(schema []byte) ([]Param, error) {
	w := paramWalk{src: schema}
	w.properties(wire.Member(schema, wire.Span{End: len(schema)}, "properties"), nil)
	if w.err != nil {
		return nil, w.err
	}
	return w.found, nil
}

type paramWalk struct {
	src   []byte
	found []Param
	seen  []string
	err   error
}

const maxParamDepth = 32

func (w *paramWalk) properties(sp wire.Span, path []string) {
	if !sp.Present() || w.src[sp.Start] != '{' || len(path) >= maxParamDepth {
		return
	}
	for it := wire.MembersOf(w.src, sp); w.err == nil && it.Next(); {
		prop := it.Value()
		if w.src[prop.Start] != '{' {
			continue
		}
		at := append(path[:len(path):len(path)], wire.Text(it.Key()))
		if mark := wire.Member(w.src, prop, "x-mcp-header"); mark.Present() {
			w.add(mark.Of(w.src), wire.Text(wire.Member(w.src, prop, "type").Of(w.src)), at)
		}
		w.properties(wire.Member(w.src, prop, "properties"), at)
	}
}

func (w *paramWalk) add(mark []byte, kind string, path []string) {
	name, at := wire.Text(mark), strings.Join(path, ".")
	lower := strings.ToLower(name)
	switch {
	case kind != "string" && kind != "integer" && kind != "boolean":
		w.err = Errorf(CodeInvalidParams, "property %q: x-mcp-header needs a string, integer or boolean, got type %q", at, kind)
	case mark[0] != '"' || !isToken(name):
		w.err = Errorf(CodeInvalidParams, "property %q: x-mcp-header is no header name: %.100q", at, name)
	default:
		for _, s := range w.seen {
			if s == lower {
				w.err = Errorf(CodeInvalidParams, "property %q: x-mcp-header %q is there twice", at, name)
				return
			}
		}
		w.seen = append(w.seen, lower)
		w.found = append(w.found, Param{http.CanonicalHeaderKey(PrefixParam + name), path, kind})
	}
}

func isToken(s string) bool {
	for i := range len(s) {
		c := s[i]
		if !(c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || strings.IndexByte("!#$%&'*+-.^_`|~", c) >= 0) {
			return false
		}
	}
	return s != ""
}

// SetParams sets the headers of a tools/call, whose arguments stand at args in
// msg. Arguments that are absent, null or no plain value set none.
func SetParams(h http.Header, params []Param, msg []byte, args wire.Span) {
	for _, p := range params {
		if v, ok := plain(wire.Path(msg, args, p.Path...).Of(msg)); ok {
			h[p.Header] = []string{EncodeValue(v)}
		}
	}
}

// CheckParams compares the headers that came with a tools/call with its
// arguments, which stand at args in msg. It returns nil or an error of code
// [CodeHeaderMismatch].
func CheckParams(h http.Header, params []Param, msg []byte, args wire.Span) *Error {
	for _, p := range params {
		raw := wire.Path(msg, args, p.Path...).Of(msg)
		values := h.Values(p.Header)
		if raw == nil || string(raw) == "null" {
			if len(values) > 0 {
				return Errorf(CodeHeaderMismatch, "header %s is there and the argument %s is not", p.Header, strings.Join(p.Path, "."))
			}
			continue
		}
		want, ok := plain(raw)
		if !ok {
			return Errorf(CodeHeaderMismatch, "the argument %s is no string, integer or boolean, as header %s needs", strings.Join(p.Path, "."), p.Header)
		}
		if len(values) != 1 {
			return Errorf(CodeHeaderMismatch, "header %s is there %d times, want once, for the argument %s", p.Header, len(values), strings.Join(p.Path, "."))
		}
		if got, ok := DecodeValue(values[0]); !ok || got != want && !sameInteger(got, raw) {
			return Errorf(CodeHeaderMismatch, "header %s differs from the argument %s", p.Header, strings.Join(p.Path, "."))
		}
	}
	return nil
}

// sameInteger takes 5 for 5.0 and 50e-1.
func sameInteger(header string, raw []byte) bool {
	return raw[0] != '"' && header != "" && (header[0] == '-' || header[0] >= '0' && header[0] <= '9') &&
		wire.KeyOf([]byte(header)) == wire.KeyOf(raw)
}

// plain is the text of an argument that can be a header.
func plain(raw []byte) (string, bool) {
	switch {
	case len(raw) == 0:
		return "", false
	case raw[0] == '"':
		return wire.Text(raw), true
	case string(raw) == "true" || string(raw) == "false":
		return string(raw), true
	case raw[0] == '-' || raw[0] >= '0' && raw[0] <= '9':
		if n, err := strconv.ParseInt(string(raw), 10, 64); err == nil {
			return strconv.FormatInt(n, 10), true
		}
		f, err := strconv.ParseFloat(string(raw), 64)
		if err != nil || f != float64(int64(f)) || f >= 1<<53 || f <= -(1<<53) {
			return "", false
		}
		return strconv.FormatInt(int64(f), 10), true
	}
	return "", false
}

const (
	sealStart = "=?base64?"
	sealEnd   = "?="
)

// EncodeValue writes a value for a header: as it is where it is visible ASCII
// with no space at its ends, else as =?base64?…?=.
func EncodeValue(s string) string {
	sealed := strings.HasPrefix(s, sealStart) && strings.HasSuffix(s, sealEnd)
	for i := 0; i < len(s) && !sealed; i++ {
		sealed = s[i] < ' ' || s[i] > '~' || s[i] == ' ' && (i == 0 || i == len(s)-1)
	}
	if !sealed {
		return s
	}
	return sealStart + base64.StdEncoding.EncodeToString([]byte(s)) + sealEnd
}

// DecodeValue undoes [EncodeValue], and reports whether it could.
func DecodeValue(s string) (string, bool) {
	if len(s) < len(sealStart)+len(sealEnd) || !strings.HasPrefix(s, sealStart) || !strings.HasSuffix(s, sealEnd) {
		return s, true
	}
	b, err := base64.StdEncoding.Strict().DecodeString(s[len(sealStart) : len(s)-len(sealEnd)])
	return string(b), err == nil
}

// Name is what the Mcp-Name header of a message repeats, and whether its method
// has one.
func Name(method string, msg []byte, params wire.Span) (string, bool) {
	member := ""
	switch method {
	case "tools/call", "prompts/get":
		member = "name"
	case "resources/read":
		member = "uri"
	case "tasks/get", "tasks/update", "tasks/cancel":
		member = "taskId"
	default:
		return "", false
	}
	return wire.Text(wire.Member(msg, params, member).Of(msg)), true
}
