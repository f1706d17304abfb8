package schema

import (
	"strings"

	"github.com/spillway-mcp/spillway/internal/jmespath"
	"github.com/spillway-mcp/spillway/internal/jsontape"
	"github.com/spillway-mcp/spillway/internal/schema/schemadoc"
)

// identity is the expression that keeps everything.
var identity, _ = jmespath.Compile("@")

// wrappers are the members that are looked through where they stand alone
// (RED-02).
var wrappers = [...]string{"result", "content", "data"}

// text says whether a member of the payload's root may be a string. Such a
// string, mirrored in a text block, may be JSON that keep, rows and max_rows
// reach into (RED-02).
type text uint8

const (
	noText         text = iota
	undeclaredText      // a member that the schema does not name may be one
	declaredText
)

// branches writes what stands beside UPSTREAM for one rule.
func (w *writer) branches(opt Options) [][]byte {
	if !Changes(opt) || opt.onlyStrip() && !w.touchesStrings() {
		return nil
	}
	root := w.doc.Value()
	typed := !w.object
	cut := rooted{mode: cutRoot, top: true, noted: true, typed: typed}
	if opt.Strip && w.touchesStrings() {
		cut.noted = false // blocks alone may be stripped: the note is then elsewhere
	}
	inner := noText
	if opt.Keep != nil || opt.HasRows {
		inner = w.text()
	}
	var bs [][]byte
	noted := rooted{mode: cutRoot, top: true, noted: true, typed: typed}
	if inner == declaredText {
		bs = append(bs, w.root(jsontape.Value{}, noted, 0))
	}
	if inner != declaredText || !cut.noted {
		bs = append(bs, w.root(root, cut, 0))
	}
	if opt.Keep != nil {
		bs = append(bs, w.kept(opt, inner)...)
	}
	if w.modern {
		bs = append(bs, w.otherRoots(opt)...)
	}
	switch {
	case inner == undeclaredText:
		bs = append(bs, w.root(jsontape.Value{}, noted, 0))
	case inner == noText && opt.MaxBytes:
		var s assembly
		if typed {
			s.set("type", []byte(`"object"`))
		}
		s.set("required", []byte(`["_spillway","summary"]`))
		s.set("properties", []byte("{"+noteField+"}"))
		bs = append(bs, s.bytes())
	}
	return bs
}

// text looks for strings among the members of the root.
func (w *writer) text() text {
	root := w.doc.Value()
	names := map[string]bool{}
	w.declared(root, names, 0)
	found := noText
	for name := range names {
		if identity.Infer(root, name).Text {
			return declaredText
		}
	}
	if identity.Infer(root, "\x00").Text { // a name that no schema knows
		found = undeclaredText
	}
	return found
}

// declared collects the names under the properties that apply to the root.
func (w *writer) declared(v jsontape.Value, names map[string]bool, depth int) {
	if v.Kind() != jsontape.Object || depth > 8 || w.embedded(v) {
		return
	}
	if p := v.Get("properties"); p.Kind() == jsontape.Object {
		for it := p.Iter(); it.Next(); {
			names[it.Key().Str()] = true
		}
	}
	if ref := v.Get("$ref"); ref.Kind() == jsontape.String {
		if target, where := w.doc.Resolve(ref.Str()); where == schemadoc.Local {
			w.declared(target, names, depth+1)
		}
	}
	for _, keyword := range [...]string{"allOf", "anyOf", "oneOf"} {
		if of := v.Get(keyword); of.Kind() == jsontape.Array {
			for it := of.Iter(); it.Next(); {
				w.declared(it.Value(), names, depth+1)
			}
		}
	}
}

// kept writes what the projection makes of the payload: of the whole, of a
// member that stands alone and is looked through, and of JSON in a string.
func (w *writer) kept(opt Options, inner text) [][]byte {
	root := w.doc.Value()
	var bs [][]byte
	add := func(in jmespath.Inferred) {
		for _, b := range w.keptBranches(opt, in) {
			bs = appendNew(bs, b)
		}
	}
	sole := ""
	for _, name := range wrappers {
		if may, must := w.alone(name); may {
			add(opt.Keep.Infer(root, name))
			if must {
				sole = name
			}
		}
	}
	if sole == "" {
		add(opt.Keep.Infer(root, ""))
	}
	if inner != noText {
		add(opt.Keep.Infer(anySchema, ""))
	}
	return bs
}

var anySchema = func() jsontape.Value {
	doc, err := jsontape.Parse([]byte("{}"))
	if err != nil {
		panic(err)
	}
	return doc.Root()
}()

// alone reports whether name may be the only member of the root, and whether it
// must be, and is an array or object.
func (w *writer) alone(name string) (may, must bool) {
	root := w.doc.Value()
	for i := 0; i < 8; i++ {
		ref := root.Get("$ref")
		target, where := w.doc.Resolve(ref.Str())
		if ref.Kind() != jsontape.String || where != schemadoc.Local {
			break
		}
		root = target
	}
	if of := identity.Infer(w.doc.Value(), name); of.Object == nil && of.Other == nil {
		return false, false
	} else if names := root.Get("required"); names.Kind() == jsontape.Array {
		for it := names.Iter(); it.Next(); {
			if it.Value().Kind() == jsontape.String && !it.Value().Is(name) {
				return false, false
			}
			must = true
		}
	}
	properties := root.Get("properties")
	kind := properties.Get(name).Get("type")
	must = must && root.Get("additionalProperties").Kind() == jsontape.False && root.Get("patternProperties").Len() == 0 &&
		properties.Len() == 1 && (kind.Is("array") || kind.Is("object"))
	return true, must
}

// keptBranches writes the shapes of RED-09.
func (w *writer) keptBranches(opt Options, in jmespath.Inferred) [][]byte {
	var bs [][]byte
	if in.Object != nil {
		if doc, err := jsontape.Parse(in.Object); err == nil {
			r := rooted{mode: keptRoot, top: true, typed: !w.object, merged: merged(opt.Always)}
			bs = append(bs, w.root(doc.Root(), r, 0))
		}
	}
	if in.Other != nil {
		if doc, err := jsontape.Parse(in.Other); err == nil {
			bs = append(bs, w.rows(w.relax(doc.Root(), 0), false))
		}
	}
	return bs
}

// rows writes the wrapper of what is no object.
func (w *writer) rows(value []byte, noted bool) []byte {
	var s assembly
	if !w.object {
		s.set("type", []byte(`"object"`))
	}
	if noted {
		s.set("required", []byte(`["_spillway","rows"]`))
	} else {
		s.set("required", []byte(`["rows"]`))
	}
	s.set("properties", append(append([]byte("{"+noteField+`,"rows":`), value...), '}'))
	return s.bytes()
}

// merged returns the members that dotted always paths reach into.
func merged(always []string) []string {
	var names []string
	for _, a := range always {
		if name, _, dotted := strings.Cut(a, "."); dotted && !strings.HasPrefix(a, "!") {
			names = append(names, name)
		}
	}
	return names
}

// otherRoots writes what a cut makes of a payload that is no object: an array
// is wrapped, a string stays one.
func (w *writer) otherRoots(opt Options) [][]byte {
	whole := identity.Infer(w.doc.Value(), "")
	if whole.Other == nil {
		return nil
	}
	var bs [][]byte
	value := w.relax(w.doc.Value(), 0)
	if whole.List {
		bs = append(bs, w.rows(value, !opt.Strip))
		if opt.Strip {
			bs = append(bs, value)
		}
	}
	if whole.Text {
		bs = append(bs, []byte(`{"type":"string"}`))
	}
	return bs
}

// touchesStrings reports whether replacing a string, or a long one, may make a
// valid value invalid.
func (w *writer) touchesStrings() bool {
	if w.touches == 0 {
		w.touches = 1
		if w.stringMatters(w.doc.Value()) {
			w.touches = 2
		}
	}
	return w.touches == 2
}

func (w *writer) stringMatters(v jsontape.Value) bool {
	for it := v.Iter(); it.Next(); {
		value := it.Value()
		if v.Kind() == jsontape.Object {
			switch it.Key().Str() {
			case "pattern", "format", "minLength", "maxLength", "contentEncoding", "contentMediaType", "contentSchema", "uniqueItems":
				return true
			case "const":
				if !w.untouched(value) {
					return true
				}
				continue
			case "enum":
				if !w.allUntouched(value) {
					return true
				}
				continue
			case "default", "examples":
				continue
			case "$ref":
				if _, where := w.doc.Resolve(value.Str()); where == schemadoc.Remote {
					return true
				}
			}
		}
		if w.stringMatters(value) {
			return true
		}
	}
	return false
}
