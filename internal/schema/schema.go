// Package schema rewrites a tool's output schema so that everything a rule
// can make of the tool's structuredContent is valid under it, the original
// included (RED-13, RED-38). It makes no decision about results; package
// reduce does.
package schema

import (
	"bytes"
	"slices"

	"github.com/spillway-mcp/spillway/internal/jmespath"
	"github.com/spillway-mcp/spillway/internal/jsontape"
	"github.com/spillway-mcp/spillway/internal/schema/schemadoc"
)

// Options are what of a rule can change the shape of structuredContent, and
// whom the schema is listed to.
type Options struct {
	// Keep is the projection; nil if the rule has none.
	Keep *jmespath.Expr
	// HasRows reports that max_rows or rows is set.
	HasRows bool
	// MaxBytes reports that the rule has a cap.
	MaxBytes bool
	// Strip reports that binary content is replaced.
	Strip bool
	// Envelope reports that a write can be answered with a confirmation, Probe
	// that a heavy result can be only described (RED-27, RED-30).
	Envelope, Probe bool
	// Modern reports a client of 2026-07-28 or newer, to whom the root of an
	// output schema may be other than an object.
	Modern bool
}

// Changes reports whether a rule can change structuredContent at all. Where
// it cannot, the schema is listed byte for byte (RED-39).
func Changes(opt Options) bool { return cuts(opt) || opt.Envelope || opt.Probe }

// cuts reports whether a rule can take something out of structuredContent.
func cuts(opt Options) bool {
	return opt.Keep != nil || opt.HasRows || opt.MaxBytes || opt.Strip
}

const (
	maxSchema = 1 << 20 // bytes of an upstream's schema that is looked into
	maxDepth  = 200     // containers within containers of one
	maxListed = 4       // a listed schema may be so many times the upstream's, and 64 kB
)

// These are listed where the upstream's schema is beyond the limits: they are
// never wrong.
const (
	openLegacy = `{"type":"object"}`
	openModern = `{}`
)

// RewriteOutput returns the output schema to list for a tool whose results go
// through one of the rules (a tool can have several, chosen by the arguments).
// Its form is
//
//	{"type": "object", "anyOf": [UPSTREAM, CUT, KEPT…, OPEN, ENVELOPE, PROBE]}
//
// where UPSTREAM is the upstream's schema, with the references rebased and
// the definitions hoisted; CUT, which requires _spillway, is the same relaxed
// by what a cut can break, and is left out where a cut can break nothing:
// UPSTREAM then has _spillway among its properties; KEPT is what can be inferred
// of the projection; and OPEN stands for the summary of a payload that does not
// fit, and for JSON in a string. ENVELOPE, which requires status_code, and PROBE,
// which requires data_size, are there for writes and heavy tools.
//
// It returns nil where upstream is no schema (absent, or neither an object
// nor a boolean), and upstream's own bytes where no rule changes
// structuredContent: the caller then leaves the tool as it is. A schema over
// 1 MiB, nested deeper than 200, or with a reference that leads nowhere is
// listed as {"type": "object"} alone. The same arguments give the same bytes.
//
// Where upstream holds a pattern that the client cannot read, or a reference to
// another document, UPSTREAM keeps it; the other branches do without.
func RewriteOutput(upstream jsontape.Value, opts ...Options) []byte {
	if !schemadoc.IsSchema(upstream) {
		return nil
	}
	w := newWriter(upstream)
	changes := false
	for _, opt := range opts {
		w.modern = w.modern || opt.Modern
		w.strip = w.strip || opt.Strip
		changes = changes || Changes(opt)
	}
	if !changes {
		return upstream.Raw()
	}
	if listed, ok := w.list(opts); ok {
		return listed
	}
	if w.modern {
		return []byte(openModern)
	}
	return []byte(openLegacy)
}

// writer makes one listed schema.
type writer struct {
	doc    *schemadoc.Doc
	modern bool
	object bool              // the upstream's root is an object in any case
	whole  jmespath.Inferred // the upstream's root
	noted  bool              // UPSTREAM takes the note, so that no CUT is needed
	strip  bool              // data strings may be replaced, whatever their length

	targets map[*byte]bool // what references of UPSTREAM lead to
	lost    bool           // UPSTREAM cannot be moved
	draft4  bool           // the dialect is draft-04, as some generators still write it

	budget    int // schemas to relax
	cleanings int
	clean     map[*byte]bool
	busy      map[*byte]bool   // at the root of a branch, being followed
	relaxed   map[*byte]string // definition to the name of its relaxed copy
	inlined   map[*byte][]byte // definition to its relaxed text, where that is short
	added     []definition
	names     map[string]bool
	used      map[string]bool
}

type definition struct {
	name string
	body []byte
}

func newWriter(upstream jsontape.Value) *writer {
	return &writer{
		doc: schemadoc.Open(upstream), budget: maxNodes,
		clean: map[*byte]bool{}, busy: map[*byte]bool{}, relaxed: map[*byte]string{}, inlined: map[*byte][]byte{},
		names: map[string]bool{}, used: map[string]bool{},
	}
}

func (w *writer) list(opts []Options) ([]byte, bool) {
	root := w.doc.Value()
	if len(root.Raw()) > maxSchema || deeper(root, maxDepth) {
		return nil, false
	}
	w.noted = slices.ContainsFunc(opts, cuts) && w.takesNote()
	first, ok := w.upstream()
	if !ok {
		return nil, false
	}
	w.whole = identity.Infer(root, "")
	w.object = !w.modern || w.whole.Other == nil && !w.whole.Null
	branches := [][]byte{first}
	for _, opt := range opts {
		for _, b := range w.branches(opt) {
			branches = appendNew(branches, b)
		}
	}
	var out []byte
	out = append(out, '{')
	if s := root.Get("$schema"); s.Kind() == jsontape.String {
		out = append(s.AppendCompact(append(out, `"$schema":`...)), ',')
	}
	if w.object {
		out = append(out, `"type":"object",`...)
	}
	out = append(append(out, `"anyOf":[`...), bytes.Join(branches, []byte(","))...)
	out = append(out, ']')
	out = w.appendDefinitions(out)
	out = append(out, '}')
	if len(out) > maxListed*len(root.Raw())+64<<10 {
		return nil, false
	}
	return out, true
}

func appendNew(parts [][]byte, b []byte) [][]byte {
	for _, p := range parts {
		if bytes.Equal(p, b) {
			return parts
		}
	}
	return append(parts, b)
}

// deeper reports whether v nests more than n containers.
func deeper(v jsontape.Value, n int) bool {
	if !v.IsContainer() {
		return false
	}
	if n == 0 {
		return true
	}
	for it := v.Iter(); it.Next(); {
		if deeper(it.Value(), n-1) {
			return true
		}
	}
	return false
}
