package reduce

import (
	"strconv"

	"github.com/spillway-mcp/spillway/internal/jsontape"
)

// probe answers a heavy tool with what its result is, not with the result
// (RED-27): how many rows, how many bytes, which fields, a look at the first,
// and the token that gets the rest. Without a slot for a token the result goes
// on as usual, since it could not be reached otherwise.
func (j *job) probe() {
	if !j.r.rule.Heavy || j.slotRef == "" || len(j.units) == 0 {
		return
	}
	u := j.units[0]
	for _, other := range j.units[1:] {
		if other.json && !u.json { // a remark before the data
			u = other
		}
	}
	if j.units[0].inside {
		u = j.units[0]
	}
	out := u.probe(probeSize{2 * maxNamed, 200})
	if limit := j.r.rule.MaxBytes; limit > 0 && len(out) > limit {
		out = u.probe(probeSize{2, 40})
	}
	binary := j.binaryBlocks()
	bytes := 0
	for _, b := range binary {
		bytes += len(b.v.Raw())
	}
	copies := min(len(u.blocks), 1)
	if u.inside {
		copies++
	}
	if before := j.sizes(); copies*len(out) >= before.Text+before.Structured+bytes {
		return
	}
	for _, b := range binary {
		b.drop = true
	}
	j.binary += bytes
	for _, other := range j.units {
		if other != u {
			other.fixed, other.omitted, other.changed = true, true, true
		}
	}
	u.out, u.fixed, u.changed = out, true, true
	j.probed, j.tokenUsed = true, true
}

// binaryBlocks are the images, sounds and files that the model would see; the
// token gets them, too.
func (j *job) binaryBlocks() (found []*block) {
	for _, b := range j.blocks {
		if b.user || b.at.Exists() {
			continue
		}
		switch kind := b.v.Get("type"); {
		case kind.Is("image"), kind.Is("audio"), kind.Is("resource"):
			found = append(found, b)
		}
	}
	return found
}

// probeSize bounds a probe: the fields that are named, and the bytes of the
// first row, or of the text, that are shown.
type probeSize struct{ fields, preview int }

func (u *unit) probe(size probeSize) []byte {
	out := []byte{'{'}
	var first []byte
	if u.json {
		out, first = u.probeJSON(out, size)
	} else {
		out = appendCounts(out, len(splitLines(u.text)), len(u.text))
		out = append(out, `[]`...)
		first = u.text
	}
	out = append(out, `,"preview":`...)
	out = jsontape.AppendQuote(out, u.preview(first, size.preview))
	out = append(out, `,"continuation_token":`...)
	out = jsontape.AppendQuote(out, u.j.slotRef)
	out = append(out, `,"fetch":`...)
	return append(jsontape.AppendQuote(out, u.j.howToFetch()), '}')
}

// preview is the start of a row or text; where it ends early it says so as
// every cut does (RED-49).
func (u *unit) preview(s []byte, most int) []byte {
	if len(s) <= most {
		return s
	}
	at := border(s, most)
	return appendCutMarker(append([]byte(nil), s[:at]...), len(s)-at, u.j.slotRef)
}

func appendCounts(out []byte, rows, bytes int) []byte {
	out = append(append(out, `"count":`...), strconv.Itoa(rows)...)
	out = append(append(out, `,"data_size":`...), strconv.Itoa(bytes)...)
	return append(out, `,"fields":`...)
}

func (u *unit) probeJSON(out []byte, size probeSize) (_, first []byte) {
	rows := []jsontape.Value{u.inner}
	n := 1
	if sets := u.j.r.rowSets(u.inner); len(sets) == 1 {
		rows, n = sets[0].elems, len(sets[0].elems)
	}
	out = append(appendCounts(out, n, u.v.CompactLen()), '[')
	names := droppedNames(rows, nil, func(jsontape.Value) bool { return false })
	for _, name := range names[:min(len(names), size.fields)] {
		out = append(jsontape.AppendQuote(out, clip(name, 40)), ',')
	}
	if len(rows) > 0 {
		first = rows[0].AppendCompact(nil)
	}
	return closeContainer(out, false), first
}

// howToFetch names the ways that are open to this caller.
func (j *job) howToFetch() string {
	switch {
	case j.env.Expand != "" && j.env.TokenParam:
		return "call " + j.env.Expand + " with this token as ref, or this tool with continuation_token and mode=full"
	case j.env.Expand != "":
		return "call " + j.env.Expand + " with this token as ref, and rows, fields, a query or lines"
	}
	return "call this tool with continuation_token and mode=full"
}
