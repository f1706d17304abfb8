package schema

import (
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
	return append(w.cutBranches(opt), w.writeBranches(opt)...)
}

// cutBranches writes what a cut makes of the payload.
func (w *writer) cutBranches(opt Options) [][]byte {
	if !cuts(opt) {
		return nil
	}
	cut := rooted{mode: cutRoot, top: true, noted: true, typed: !w.object}
	reach := noText
	if opt.Keep != nil || opt.HasRows {
		reach = w.text()
	}
	var bs [][]byte
	if reach == noText && !w.noted && (w.object || w.whole.Object != nil) {
		bs = append(bs, w.root(w.doc.Value(), cut, 0))
	}
	if opt.Keep != nil {
		bs = append(bs, w.kept(opt.Keep, reach)...)
	}
	if b := w.otherRoot(); b != nil {
		bs = append(bs, b)
	}
	if reach != noText || opt.MaxBytes {
		bs = append(bs, w.open())
	}
	return bs
}

// open writes what stands for an object that no schema tells of: what JSON in a
// string held, and the structural summary (RED-12), with protected scalars from
// anywhere in the payload. A model pays for each listed byte, so no more is said.
func (w *writer) open() []byte {
	var s assembly
	if !w.object {
		s.set("type", []byte(`"object"`))
	}
	s.set("required", []byte("["+noteKey+"]"))
	return s.bytes()
}

// takesNote reports whether UPSTREAM admits every cut of what it admits, once it
// names the note among its properties. CUT would only say all of it again.
func (w *writer) takesNote() bool {
	root := w.doc.Value()
	if root.Kind() != jsontape.Object || !root.Get("type").Is("object") || !w.isClean(root) {
		return false
	}
	for it := root.Iter(); it.Next(); {
		switch it.Key().Str() {
		case "$ref", "allOf", "anyOf", "patternProperties", "propertyNames", "maxProperties", "dependentRequired":
			return false // each speaks of the note, too
		}
	}
	properties := root.Get("properties")
	return properties.Kind() == jsontape.Object && !properties.Get(noteName).Exists() && !requires(root.Get("required"), noteName)
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

// kept writes what the projection makes of the payload: of a member that
// stands alone and is looked through, of the whole, and of JSON in a string.
func (w *writer) kept(keep *jmespath.Expr, reach text) [][]byte {
	root := w.doc.Value()
	var bs [][]byte
	add := func(in jmespath.Inferred) {
		for _, b := range w.keptBranches(in) {
			bs = appendNew(bs, b)
		}
	}
	for _, name := range wrappers {
		if w.mayBeAlone(name) {
			add(keep.Infer(root, name))
		}
	}
	add(keep.Infer(root, ""))
	if reach != noText {
		add(keep.Infer(anySchema, ""))
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

// mayBeAlone reports whether name may be the only member of the root, and an
// array or object.
func (w *writer) mayBeAlone(name string) bool {
	in := identity.Infer(w.doc.Value(), name)
	if in.Object == nil && !in.List {
		return false
	}
	root := w.doc.Value()
	for range 8 {
		target, where := w.doc.Resolve(root.Get("$ref").Str())
		if !root.Get("$ref").Exists() || where != schemadoc.Local {
			break
		}
		root = target
	}
	names := root.Get("required")
	if names.Kind() != jsontape.Array {
		return true
	}
	for it := names.Iter(); it.Next(); {
		if it.Value().Kind() == jsontape.String && !it.Value().Is(name) {
			return false
		}
	}
	return true
}

// keptBranches writes the shapes of RED-09.
func (w *writer) keptBranches(in jmespath.Inferred) [][]byte {
	var bs [][]byte
	if in.Object != nil {
		if doc, err := jsontape.Parse(in.Object); err == nil {
			bs = append(bs, w.root(doc.Root(), rooted{mode: keptRoot, top: true, typed: !w.object}, 0))
		}
	}
	if in.Other != nil {
		if doc, err := jsontape.Parse(in.Other); err == nil {
			bs = append(bs, w.rows(w.relax(doc.Root(), 0), `["rows"]`))
		}
	}
	return bs
}

// rows writes the wrapper of what is no object.
func (w *writer) rows(value []byte, required string) []byte {
	var s assembly
	if !w.object {
		s.set("type", []byte(`"object"`))
	}
	s.set("required", []byte(required))
	s.set("properties", append(append([]byte("{"+noteField+`,"rows":`), value...), '}'))
	return s.bytes()
}

// otherRoot writes what a cut makes of a payload that is no object; nil where
// there is none.
func (w *writer) otherRoot() []byte {
	if w.object || w.whole.Other == nil {
		return nil
	}
	return w.rows(w.relax(w.doc.Value(), 0), `["_spillway","rows"]`)
}
