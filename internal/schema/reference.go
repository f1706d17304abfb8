package schema

import (
	"strconv"
	"strings"

	"github.com/spillway-mcp/spillway/internal/jsontape"
	"github.com/spillway-mcp/spillway/internal/schema/schemadoc"
)

const maxInlined = 96 // bytes of a relaxed definition that is written in place

// reference relaxes a $ref: to the upstream's own definition where no cut can
// matter to it, else to a relaxed copy.
func (w *writer) reference(ref string, depth int) []byte {
	target, where := w.doc.Resolve(ref)
	if where != schemadoc.Local || target.Kind() != jsontape.Object {
		return []byte("{}")
	}
	key := schemadoc.Key(target)
	if name, ok := w.relaxed[key]; ok {
		w.used[name] = true
		return w.toCopy(name)
	}
	if body, ok := w.inlined[key]; ok {
		return body
	}
	clean := w.isClean(target)
	if clean && len(target.Raw()) > 2*maxInlined {
		if b, ok := w.original(target); ok {
			return b
		}
	}
	name := w.newName(ref)
	w.relaxed[key] = name
	at := len(w.added)
	w.added = append(w.added, definition{name: name})
	body := w.relax(target, depth+1)
	if len(body) <= maxInlined && !w.used[name] {
		// Nothing refers to the copy, which is still the last or was followed
		// by copies that its own body needs.
		w.added = append(w.added[:at], w.added[at+1:]...)
		delete(w.relaxed, key)
		delete(w.names, name)
		w.inlined[key] = body
		return body
	}
	w.used[name] = true
	w.added[at].body = body
	return w.toCopy(name)
}

// breakLoops makes copies that say nothing but to look at each other in a circle
// say nothing at all: the same, and a widely used client follows it for ever.
func (w *writer) breakLoops() {
	at := map[string]int{} // by what a reference to the copy is
	for i, d := range w.added {
		at[string(w.toCopy(d.name))] = i
	}
	for i := range w.added {
		seen := map[int]bool{}
		for j, ok := i, true; ok; j, ok = at[string(w.added[j].body)] {
			if seen[j] {
				w.added[j].body = []byte("{}")
				break
			}
			seen[j] = true
		}
	}
}

func (w *writer) toCopy(name string) []byte {
	return append(jsontape.AppendQuote([]byte(`{"$ref":`), "#/"+w.home()+"/"+name), '}')
}

// original refers to a schema of UPSTREAM.
func (w *writer) original(v jsontape.Value) ([]byte, bool) {
	pointer, ok := w.doc.Pointer(v)
	if !ok {
		return nil, false
	}
	if target, where := w.doc.Resolve(pointer); where != schemadoc.Local || schemadoc.Key(target) != schemadoc.Key(v) {
		return nil, false
	}
	return append(jsontape.AppendQuote([]byte(`{"$ref":`), w.rebase(pointer)), '}'), true
}

// newName names the relaxed copy of what ref leads to.
func (w *writer) newName(ref string) string {
	base := ref[strings.LastIndexAny(ref, "/#")+1:]
	for _, c := range []byte(base) {
		if c != '_' && c != '-' && c != '.' && (c < '0' || c > '9') && (c < 'A' || c > 'Z') && (c < 'a' || c > 'z') {
			base = ""
			break
		}
	}
	base = strings.TrimPrefix(base+"_cut", "_")
	own := w.doc.Value().Get(w.home())
	for n := 1; ; n++ {
		name := base
		if n > 1 {
			name += strconv.Itoa(n)
		}
		if !own.Get(name).Exists() && !w.names[name] {
			w.names[name] = true
			return name
		}
	}
}

// isClean reports whether every value that is valid under v stays so whatever
// is cut from it below the root, and v says nothing that depends on where it
// stands.
func (w *writer) isClean(v jsontape.Value) bool {
	seen := map[*byte]bool{}
	if !w.walkClean(v, seen) {
		w.clean[schemadoc.Key(v)] = false
		return false
	}
	for k := range seen {
		w.clean[k] = true
	}
	return true
}

func (w *writer) walkClean(v jsontape.Value, seen map[*byte]bool) bool {
	switch v.Kind() {
	case jsontape.True, jsontape.False:
		return true
	case jsontape.Object:
	default:
		return false
	}
	key := schemadoc.Key(v)
	if known, ok := w.clean[key]; ok {
		return known
	}
	if seen[key] {
		return true
	}
	seen[key] = true
	if w.cleanings++; w.cleanings > 50*maxNodes || w.embedded(v) {
		return false
	}
	for it := v.Iter(); it.Next(); {
		if !w.cleanKeyword(v, it.Key().Str(), it.Value(), seen) {
			return false
		}
	}
	return true
}

func (w *writer) cleanKeyword(in jsontape.Value, keyword string, value jsontape.Value, seen map[*byte]bool) bool {
	switch keyword {
	case "type", "nullable", "required", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf",
		"maxItems", "minProperties", "maxProperties", "propertyNames", "dependentRequired",
		"title", "description", "default", "examples", "deprecated", "readOnly", "writeOnly", "$comment", "$schema":
		return true
	case "const":
		return w.untouched(value)
	case "enum":
		return value.Kind() == jsontape.Array && w.allUntouched(value)
	case "format":
		t := in.Get("type")
		return t.Is("integer") || t.Is("number") || t.Is("boolean")
	case "$ref":
		target, where := w.doc.Resolve(value.Str())
		return where == schemadoc.Local && w.walkClean(target, seen)
	case "items":
		return value.Kind() != jsontape.Array && !in.Get("prefixItems").Exists() && w.walkClean(value, seen)
	case "properties", "patternProperties", "additionalProperties", "allOf", "anyOf", "$defs", "definitions":
		clean := !w.strip || keyword != "properties" || bareData(value)
		eachSchema(keyword, value, func(s jsontape.Value) { clean = clean && w.walkClean(s, seen) })
		return clean
	}
	return strings.HasPrefix(keyword, "x-")
}

// bareData reports whether the members whose strings strip may replace are
// bound by nothing but types.
func bareData(properties jsontape.Value) bool {
	for _, name := range [...]string{"data", "blob"} {
		for it := properties.Get(name).Iter(); it.Next(); {
			if key := it.Key().Str(); key != "type" && key != "description" && key != "title" {
				return false
			}
		}
	}
	return true
}
