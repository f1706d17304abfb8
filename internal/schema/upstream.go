package schema

import (
	"strings"

	"github.com/spillway-mcp/spillway/internal/jsontape"
	"github.com/spillway-mcp/spillway/internal/schema/schemadoc"
)

// place is where UPSTREAM stands in the listed schema.
const place = "#/anyOf/0"

// upstream writes UPSTREAM: valid for the same values as the upstream's root
// schema. It reports false where that cannot be done by moving it.
func (w *writer) upstream() ([]byte, bool) {
	w.targets = map[*byte]bool{}
	w.draft4 = strings.Contains(w.doc.Value().Get("$schema").Str(), "draft-04")
	w.findTargets(w.doc.Value())
	if w.lost {
		return nil, false
	}
	return w.copySchema(nil, w.doc.Value(), true), true
}

// hoisted reports whether a member of the root moves to the listed root, under
// the same name.
func hoisted(key string) bool { return key == "$defs" || key == "definitions" }

// findTargets records what the references below v lead to: also a schema
// under a keyword that is none (#/components/schemas/Pet) has references to
// rebase.
func (w *writer) findTargets(v jsontape.Value) {
	if v.Kind() != jsontape.Object {
		return
	}
	if w.embedded(v) {
		// Its name, and names in it, may be relative to the root's, which goes.
		w.lost = w.lost || schemadoc.EmbeddedID(w.doc.Value())
		return
	}
	if v.Get("$ref").Exists() && v.Get("$recursiveRef").Exists() {
		w.lost = true // they would become one
	}
	if w.draft4 && v.Get("id").Kind() == jsontape.String {
		w.lost = true // draft-04's name of a resource
	}
	for it := v.Iter(); it.Next(); {
		key, value := it.Key().Str(), it.Value()
		if isRef(key) && value.Kind() == jsontape.String {
			target, where := w.doc.Resolve(value.Str())
			switch where {
			case schemadoc.Dangling:
				w.lost = true
			case schemadoc.Local:
				if k := schemadoc.Key(target); !w.targets[k] {
					w.targets[k] = true
					w.findTargets(target)
				}
			}
			continue
		}
		eachSchema(key, value, w.findTargets)
	}
}

// embedded reports whether v starts a resource of its own below the root. It is
// left as it is: its references are its own.
func (w *writer) embedded(v jsontape.Value) bool {
	return schemadoc.EmbeddedID(v) && schemadoc.Key(v) != schemadoc.Key(w.doc.Value())
}

func isRef(key string) bool {
	return key == "$ref" || key == "$dynamicRef" || key == "$recursiveRef"
}

// eachSchema calls f for the schemas that are the value of a keyword.
func eachSchema(keyword string, value jsontape.Value, f func(jsontape.Value)) {
	switch schemadoc.ClassOf(keyword) {
	case schemadoc.One:
		f(value)
	case schemadoc.OneOrList:
		if value.Kind() != jsontape.Array {
			f(value)
			return
		}
		fallthrough
	case schemadoc.List, schemadoc.Map:
		for it := value.Iter(); it.Next(); {
			f(it.Value())
		}
	}
}

func (w *writer) copySchema(dst []byte, v jsontape.Value, root bool) []byte {
	if v.Kind() != jsontape.Object || !root && w.embedded(v) {
		return v.AppendCompact(dst)
	}
	dst = append(dst, '{')
	start := len(dst)
	for it := v.Iter(); it.Next(); {
		key, value := it.Key(), it.Value()
		name := key.Str()
		if root && (name == "$schema" || hoisted(name) || name == "$id" && schemadoc.EmbeddedID(v)) {
			continue
		}
		if len(dst) > start {
			dst = append(dst, ',')
		}
		if isRef(name) && value.Kind() == jsontape.String {
			if name == "$recursiveRef" {
				name = "$ref" // the same within one document
			}
			dst = append(jsontape.AppendQuote(dst, name), ':')
			dst = jsontape.AppendQuote(dst, w.rebase(value.Str()))
			continue
		}
		dst = append(key.AppendCompact(dst), ':')
		dst = w.copyKeyword(dst, name, value)
		if root && w.noted && name == "properties" {
			dst = w.addNote(dst, value)
		}
	}
	return append(dst, '}')
}

// addNote adds the note to the properties that were just written. An upstream
// that leaves its root open may send anything under that name.
func (w *writer) addNote(dst []byte, properties jsontape.Value) []byte {
	dst = dst[:len(dst)-1]
	if properties.Len() > 0 {
		dst = append(dst, ',')
	}
	if w.doc.Value().Get("additionalProperties").Kind() == jsontape.False {
		return append(append(dst, noteField...), '}')
	}
	return append(dst, noteKey+":{}}"...)
}

func (w *writer) copyKeyword(dst []byte, keyword string, value jsontape.Value) []byte {
	class := schemadoc.ClassOf(keyword)
	switch {
	case strings.HasPrefix(keyword, "additional"), strings.HasPrefix(keyword, "unevaluated"):
		return w.copySchema(dst, value, false) // where a boolean is usual, and taken in every dialect
	case class == schemadoc.One, class == schemadoc.OneOrList && value.Kind() != jsontape.Array:
		return w.copyNoBoolean(dst, value)
	case class == schemadoc.Map && value.Kind() == jsontape.Object,
		class == schemadoc.List && value.Kind() == jsontape.Array, class == schemadoc.OneOrList:
		return w.copyAll(dst, value, w.copyNoBoolean)
	}
	return w.copyPlain(dst, value)
}

// copyNoBoolean copies a schema; for a boolean it writes an object that means
// the same: a boolean makes some clients reject the whole list (K12).
func (w *writer) copyNoBoolean(dst []byte, v jsontape.Value) []byte {
	switch v.Kind() {
	case jsontape.True:
		return append(dst, "{}"...)
	case jsontape.False:
		return append(dst, `{"not":{}}`...)
	}
	return w.copySchema(dst, v, false)
}

// copyPlain copies what is no schema, but for what references lead to.
func (w *writer) copyPlain(dst []byte, v jsontape.Value) []byte {
	switch {
	case !v.IsContainer():
		return v.AppendCompact(dst)
	case w.targets[schemadoc.Key(v)]:
		return w.copySchema(dst, v, false)
	}
	return w.copyAll(dst, v, w.copyPlain)
}

func (w *writer) copyAll(dst []byte, v jsontape.Value, f func([]byte, jsontape.Value) []byte) []byte {
	object := v.Kind() == jsontape.Object
	end := byte(']')
	if object {
		dst, end = append(dst, '{'), '}'
	} else {
		dst = append(dst, '[')
	}
	for it, i := v.Iter(), 0; it.Next(); i++ {
		if i > 0 {
			dst = append(dst, ',')
		}
		if object {
			dst = append(it.Key().AppendCompact(dst), ':')
		}
		dst = f(dst, it.Value())
	}
	return append(dst, end)
}

// rebase turns a reference of the upstream's document into one of the listed
// schema. One to another document is left as it is.
func (w *writer) rebase(ref string) string {
	fragment, ok := w.doc.Fragment(ref)
	if !ok {
		return ref
	}
	switch {
	case fragment == "#":
		return place
	case !strings.HasPrefix(fragment, "#/"):
		return fragment // an anchor moves along
	case hoisted(schemadoc.Tokens(fragment)[0]):
		return fragment
	}
	return place + fragment[1:]
}

// appendDefinitions writes the hoisted definitions and the relaxed copies.
func (w *writer) appendDefinitions(dst []byte) []byte {
	w.breakLoops()
	home := w.home()
	for _, container := range [...]string{"$defs", "definitions"} {
		own := w.doc.Value().Get(container)
		adds := container == home && len(w.added) > 0
		if own.Kind() != jsontape.Object && !adds {
			if own.Exists() {
				dst = append(jsontape.AppendQuote(append(dst, ','), container), ':')
				dst = own.AppendCompact(dst)
			}
			continue
		}
		dst = append(jsontape.AppendQuote(append(dst, ','), container), ':')
		if own.Kind() == jsontape.Object {
			dst = w.copyKeyword(dst, container, own)
		} else {
			dst = append(dst, "{}"...)
		}
		if !adds {
			continue
		}
		dst = dst[:len(dst)-1]
		for i, d := range w.added {
			if i > 0 || own.Len() > 0 {
				dst = append(dst, ',')
			}
			dst = append(jsontape.AppendQuote(dst, d.name), ':')
			dst = append(dst, d.body...)
		}
		dst = append(dst, '}')
	}
	return dst
}

// home is where relaxed copies of definitions go.
func (w *writer) home() string {
	root := w.doc.Value()
	if root.Get("definitions").Kind() == jsontape.Object && root.Get("$defs").Kind() != jsontape.Object {
		return "definitions"
	}
	return "$defs"
}
