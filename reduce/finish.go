package reduce

import (
	"sort"
	"strconv"
	"strings"

	"github.com/spillway-mcp/spillway/internal/jsontape"
)

// MetaKey is the one member that a reduced result gets in its _meta; no model
// reads it (RED-17).
const MetaKey = "io.github.spillway-mcp/cut"

// URIPrefix starts the URI under which a stashed original can be read as a
// resource; a ref follows.
const URIPrefix = "spillway://stash/"

// finish puts the outcome together, unless the reduction would cost more than
// it saves (RED-05).
func (j *job) finish(o *Outcome, outer string) {
	changed := len(j.stripped)+len(j.strippedIn) > 0
	shaped := false
	for _, u := range j.units {
		changed = changed || u.changed
		shaped = shaped || j.env.Schema && u.inside && u.kept != nil && !u.fixed && !u.cut.summary
	}
	if !changed && !shaped {
		return
	}
	after := Sizes{Text: j.textBytes() + len(outer), Structured: j.structuredBytes()}
	after.Text += j.textOutside()
	if !shaped && after.Text+after.Structured >= o.Before.Text+o.Before.Structured+j.binary {
		return
	}
	o.After = after
	o.Changed = true
	if changed {
		o.Ref = j.printedRef()
		if o.Ref != "" {
			o.Canonical = j.canonical
		}
	}
	o.Envelope, o.Probe = j.envelope, j.probed
	o.Note = j.allNotes(outer)
	o.Cut = j.counts(o)
	o.Result = j.splice(outer, changed, o)
}

// textOutside is the text view's part that is no payload: none is left out of
// the sizes that the result came with.
func (j *job) textOutside() int {
	inUnit := make([]bool, len(j.blocks))
	for _, u := range j.units {
		for _, i := range u.blocks {
			inUnit[i] = true
		}
	}
	n := 0
	for i, b := range j.blocks {
		if b.at.Exists() && !b.user && !inUnit[i] {
			n += len(b.text)
		}
	}
	return n
}

// printedRef is the ref that the result names, as a token or in a note; "" if
// it names none, and then nothing is stashed.
func (j *job) printedRef() string {
	if j.tokenUsed {
		return j.slotRef
	}
	for _, u := range j.units {
		if u.changed && !u.fixed {
			return j.refOrNone()
		}
	}
	if len(j.stripped)+len(j.strippedIn) > 0 {
		return j.refOrNone()
	}
	return ""
}

func (j *job) allNotes(outer string) string {
	var notes []string
	if outer != "" {
		notes = append(notes, outer)
	}
	for _, u := range j.units {
		if u.note != "" && !u.noteOutside && u.note != outer {
			notes = append(notes, u.note)
		}
	}
	return strings.Join(notes, "\n")
}

func (j *job) counts(o *Outcome) Cut {
	var c Cut
	for _, u := range j.units {
		if u.fixed {
			continue
		}
		if u.cut != nil {
			c.Rows += u.cut.rowsCut()
		}
		if t := u.cutOf; t.cut {
			c.Rows += t.lines
			for _, r := range t.ranges {
				c.Rows -= r.to - r.from + 1
			}
		}
		if u.kept != nil {
			c.Fields += len(u.kept.dropped)
		}
		c.Fields += len(u.droppedSiblings)
	}
	c.Bytes = max(o.Before.Text+j.binary-o.After.Text, o.Before.Structured-o.After.Structured, 0)
	return c
}

// edit replaces the span [from, to) of the result.
type edit struct {
	from, to int
	text     []byte
}

// splice replaces what changed in the result as it came, and leaves every
// other byte.
func (j *job) splice(outer string, changed bool, o *Outcome) []byte {
	src := j.root.Raw()
	base, _ := j.root.Span()
	span := func(v jsontape.Value) (int, int) {
		from, to := v.Span()
		return from - base, to - base
	}
	var edits []edit
	if content := j.root.Get("content"); content.Kind() == jsontape.Array {
		from, to := span(content)
		edits = append(edits, edit{from, to, j.appendContent(nil, outer, o.Ref)})
	}
	if structured := j.root.Get("structuredContent"); structured.Exists() && len(j.units) > 0 && j.units[0].inside {
		from, to := span(structured)
		edits = append(edits, edit{from, to, j.units[0].appendStructured(nil)})
	}
	if changed {
		edits = append(edits, j.metaEdit(src, span, o))
	}
	sort.Slice(edits, func(a, b int) bool { return edits[a].from < edits[b].from })
	size := len(src)
	for _, e := range edits {
		size += len(e.text) - (e.to - e.from)
	}
	out := make([]byte, 0, size)
	at := 0
	for _, e := range edits {
		out = append(append(out, src[at:e.from]...), e.text...)
		at = e.to
	}
	return append(out, src[at:]...)
}

// metaEdit adds our key to _meta; a _meta that is no object gives way to one.
func (j *job) metaEdit(src []byte, span func(jsontape.Value) (int, int), o *Outcome) edit {
	facts := j.appendMeta(nil, o)
	meta := j.root.Get("_meta")
	if meta.Exists() {
		from, to := span(meta)
		if meta.Kind() != jsontape.Object {
			return edit{from, to, append(append([]byte{'{'}, facts...), '}')}
		}
		// Another Spillway, nearer to the server, may have left its own.
		if theirs := meta.Get(MetaKey); theirs.Exists() {
			from, to = span(theirs)
			return edit{from, to, facts[len(`"`+MetaKey+`":`):]}
		}
		if meta.Len() > 0 {
			facts = append([]byte{','}, facts...)
		}
		return edit{to - 1, to - 1, facts}
	}
	at := len(src) - 1
	text := append(append([]byte(`,"_meta":{`), facts...), '}')
	return edit{at, at, text}
}

// appendMeta writes the facts for programs (RED-17): rows shown and of how
// many, fields dropped, bytes of the original's larger view, the ref.
func (j *job) appendMeta(dst []byte, o *Outcome) []byte {
	shown, total, rows := 0, 0, false
	for _, u := range j.units {
		if u.fixed {
			continue
		}
		if u.cut != nil {
			for _, r := range u.cut.rows {
				shown, total, rows = shown+r.shown, total+r.total, true
			}
		}
		if t := u.cutOf; t.cut {
			rows = true
			total += t.lines
			for _, r := range t.ranges {
				shown += r.to - r.from + 1
			}
		}
	}
	dst = append(dst, `"`+MetaKey+`":{`...)
	if rows {
		dst = append(dst, `"shown":`+strconv.Itoa(shown)+`,"total":`+strconv.Itoa(total)+`,`...)
	}
	dst = append(dst, `"fields_dropped":`+strconv.Itoa(o.Cut.Fields)...)
	dst = append(dst, `,"bytes":`+strconv.Itoa(max(o.Before.Text, o.Before.Structured))...)
	if o.Ref != "" {
		dst = append(dst, `,"ref":"`+o.Ref+`"`...)
	}
	return append(dst, '}')
}

// appendContent writes the content array: the outer note, then the blocks.
func (j *job) appendContent(dst []byte, outer, ref string) []byte {
	for _, u := range j.units {
		for k, i := range u.blocks {
			b := j.blocks[i]
			switch {
			case u.omitted, (u.json || u.fixed) && u.out != nil && k > 0:
				b.drop = true
			case u.out != nil:
				b.set, b.next = true, u.out
			}
		}
	}
	dst = append(dst, '[')
	if outer != "" {
		dst = append(dst, `{"type":"text","text":`...)
		dst = append(jsontape.AppendQuote(dst, outer), `},`...)
	}
	for _, b := range j.blocks {
		if b.drop {
			continue
		}
		dst = append(b.append(dst), ',')
	}
	if j.env.ResourceLink && ref != "" {
		dst = append(dst, `{"type":"resource_link","uri":"`+URIPrefix+ref+`","name":"Full result `+ref+`","mimeType":"application/json"},`...)
	}
	return closeContainer(dst, false)
}

// append writes the block, its text replaced where it was cut.
func (b *block) append(dst []byte) []byte {
	raw := b.v.Raw()
	if !b.set {
		return append(dst, raw...)
	}
	base, _ := b.v.Span()
	from, to := b.at.Span()
	dst = append(dst, raw[:from-base]...)
	dst = jsontape.AppendQuote(dst, b.next)
	return append(dst, raw[to-base:]...)
}
