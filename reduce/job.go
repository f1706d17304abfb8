package reduce

import (
	"crypto/sha256"
	"slices"
	"strings"

	"github.com/spillway-mcp/spillway/internal/jsontape"
)

// job is the reduction of one result.
type job struct {
	r    *Reducer
	env  Env
	root jsontape.Value // the result as it came

	// content and structured are what is in force: the root's own, or those
	// of a document with binary content replaced.
	content, structured jsontape.Value
	blocks              []*block
	units               []*unit
	stripped            []strippedFact         // out of blocks that are not JSON
	strippedText        map[int][]strippedFact // out of JSON in text blocks, by index
	strippedIn          []strippedFact         // out of structuredContent
	binary              int                    // bytes of binary data in the blocks as they came
	textLens            []int                  // of the blocks as they came
	decoded             []byte                 // holds the texts that have escapes

	slotRef   string // the ref as a token, where this caller can send one back
	envelope  bool
	probed    bool
	tokenUsed bool // the envelope or probe names the ref
	whole     bool // a write that passes in full

	sum       *summing // nil: it is taken when it is asked for
	hashed    bool
	canonical [sha256.Size]byte
	ref       string
}

// block is one element of content.
type block struct {
	v    jsontape.Value
	at   jsontape.Value // the string that holds its text; absent where none
	text []byte
	user bool // for the person only, not for the model
	role role

	json                 jsontape.Value // the text as JSON, once it was read
	wasRead              bool
	textPrint, jsonPrint uint64 // see mirrors; 0: not known yet

	set  bool   // text replaces the block's own
	next []byte // the replacing text
	drop bool
}

// isText reports a text block that rules may act on.
func (b *block) isText() bool { return b.at.Exists() && !b.user && b.v.Get("type").Is("text") }

// read takes content and structuredContent of root into force.
func (j *job) read(root jsontape.Value) {
	j.content, j.structured = root.Get("content"), root.Get("structuredContent")
	j.blocks = make([]*block, 0, j.content.Len())
	if j.content.Kind() != jsontape.Array {
		return
	}
	size := 0
	for it := j.content.Iter(); it.Next(); {
		b := &block{v: it.Value()}
		switch kind := b.v.Get("type"); {
		case kind.Is("text"):
			b.at = b.v.Get("text")
		case kind.Is("resource"):
			b.at = b.v.Lookup("resource", "text")
		}
		if b.at.Kind() != jsontape.String {
			b.at = jsontape.Value{}
		}
		b.user = forUserOnly(b.v.Lookup("annotations", "audience"))
		size += len(b.at.Raw())
		j.blocks = append(j.blocks, b)
	}
	// All texts are decoded into one piece of memory, which must not move.
	j.decoded = slices.Grow(j.decoded[:0], size)
	for i, b := range j.blocks {
		from := len(j.decoded)
		b.text = b.at.StrBytes(j.decoded[from:from])
		if len(b.text) > 0 && from < cap(j.decoded) && &b.text[0] == &j.decoded[:from+1][from] {
			j.decoded = j.decoded[:from+len(b.text)]
		}
		if i == len(j.textLens) {
			j.textLens = append(j.textLens, len(b.text))
		}
	}
}

func forUserOnly(audience jsontape.Value) bool {
	return audience.Kind() == jsontape.Array && audience.Len() == 1 && audience.Index(0).Is("user")
}

// sizes measures what is in force.
func (j *job) sizes() Sizes {
	var s Sizes
	for _, b := range j.blocks {
		if b.at.Exists() && !b.user {
			s.Text += len(b.text)
		}
	}
	s.Structured = j.structured.CompactLen()
	return s
}

// refOrNone returns the ref to print; "" where none may be (RED-19).
func (j *job) refOrNone() string {
	if j.env.Expand == "" && !j.env.ResourceLink {
		return ""
	}
	return j.theRef()
}

func (j *job) theRef() string {
	if !j.hashed {
		j.hashed = true
		if j.sum != nil {
			j.canonical = j.sum.result()
		} else {
			j.canonical = hashResult(j.root.Get("content"), j.root.Get("structuredContent"), nil)
		}
		j.ref = refOf(j.canonical)
	}
	return j.ref
}

// run does the work of a rule in its order: strip, keep and always, rows,
// bytes (RED-07).
func (j *job) run(o *Outcome) {
	if j.r.strip.any() {
		if err := j.stripBinary(); err != nil {
			o.Err = err
			return
		}
	}
	j.findUnits()
	if j.r.rule.Heavy || j.r.Writes(j.env.Write) {
		if j.env.Expand != "" || j.env.TokenParam {
			j.slotRef = j.theRef()
		}
		if j.probe(); !j.probed {
			j.confirm()
		}
		if j.whole {
			return
		}
	}
	outer := j.cutUnits()
	for _, u := range j.units {
		if !u.fixed {
			o.Faults = append(o.Faults, u.faults()...)
		}
	}
	j.finish(o, outer)
}

// stripBinary replaces binary content and takes the result of that into force.
func (j *job) stripBinary() error {
	s := &stripper{set: j.r.strip, ref: j.refOrNone}
	doc := []byte(`{"content":`)
	blocks, inBlocks := doc, false
	if j.content.Kind() == jsontape.Array {
		j.strippedText = make(map[int][]strippedFact)
		blocks, inBlocks = s.appendBlocks(doc, j.content, j.strippedText)
	} else {
		blocks = append(doc, "null"...)
	}
	j.stripped = s.cut
	s.cut = nil
	inner, inStructured := []byte(nil), false
	if j.structured.Exists() {
		inner, inStructured = s.appendValue(nil, j.structured)
	}
	j.strippedIn = s.cut
	if !inBlocks && !inStructured {
		return nil
	}
	for _, b := range j.blocks {
		if _, data := s.blockBinary(b.v); data.Exists() && !b.user {
			j.binary += len(data.Raw())
		}
	}
	doc = blocks
	if j.structured.Exists() {
		doc = append(doc, `,"structuredContent":`...)
		if inStructured {
			doc = append(doc, inner...)
		} else {
			doc = append(doc, j.structured.Raw()...)
		}
	}
	d, err := jsontape.Parse(append(doc, '}'))
	if err != nil {
		return err
	}
	j.read(d.Root())
	return nil
}

// outerNote is the text block before all others, for what no member of a
// reduced object tells. Under a small cap it names fewer blocks.
func (j *job) outerNote() string {
	note := j.noteOfBlocks(8)
	if limit := j.r.rule.MaxBytes; limit > 0 && len(note) > limit/2 {
		note = j.noteOfBlocks(1)
	}
	return note
}

// noteOfBlocks tells of at most most cut blocks, and that there are more.
func (j *job) noteOfBlocks(most int) string {
	var parts []string
	var told facts
	cut := 0
	var omitted []int
	for _, u := range j.units {
		if u.omitted && !u.fixed {
			omitted = append(omitted, u.blocks...)
		}
		if !u.changed || !u.noteOutside || u.omitted || u.fixed {
			continue
		}
		if cut++; cut > most {
			continue
		}
		told = u.facts()
		told.several = len(j.units) > 1
		body := told.body(len(j.units) > 4 || most == 1)
		if len(j.units) > 1 && len(u.blocks) > 0 {
			body = "Block " + count(u.blocks[0]+1) + ": " + body
		}
		parts = append(parts, body)
	}
	if cut > most {
		parts = append(parts, count(cut-most)+" more blocks are cut likewise.")
	}
	if len(j.stripped) > 0 && !j.toldInside() {
		told.stripped = j.stripped
		var b strings.Builder
		told.writeStripped(&b, most == 1 || len(j.stripped) > 4)
		parts = append(parts, strings.TrimSpace(b.String()))
	}
	if len(omitted) > 0 {
		parts = append(parts, "Not shown: block "+runsOf(omitted)+" of "+count(len(j.blocks))+".")
	}
	if len(parts) == 0 {
		return j.insideNote()
	}
	return strings.Join(parts, " ") + told.pointer(j.refOrNone(), j.env.Expand)
}

// runsOf writes ascending indexes as numbers from 1, neighbours as one range:
// "3, 5-90"; of many ranges the first, and how many there are in all.
func runsOf(indexes []int) string {
	var runs []string
	for i := 0; i < len(indexes); {
		k := i
		for k+1 < len(indexes) && indexes[k+1] == indexes[k]+1 {
			k++
		}
		run := count(indexes[i] + 1)
		if k > i {
			run += "-" + count(indexes[k]+1)
		}
		if i = k + 1; len(runs) == 4 && i < len(indexes) {
			return strings.Join(runs, ", ") + " and more, " + count(len(indexes)) + " in all"
		}
		runs = append(runs, run)
	}
	return listOf(runs)
}

// toldInside reports that the note in structuredContent, which a text block
// repeats, already tells of everything that was stripped.
func (j *job) toldInside() bool {
	if len(j.units) == 0 {
		return false
	}
	u := j.units[0]
	return u.inside && u.changed && len(u.blocks) > 0 && len(j.strippedIn) >= len(j.stripped)
}

// insideNote is the note of a structuredContent that no text block repeats: it
// is to be reachable in both views.
func (j *job) insideNote() string {
	if len(j.units) == 0 || j.content.Kind() != jsontape.Array {
		return ""
	}
	if u := j.units[0]; u.inside && u.changed && len(u.blocks) == 0 {
		return u.note
	}
	return ""
}
