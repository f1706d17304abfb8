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
	out := []byte{'{'}
	if u.json {
		out = u.probeJSON(out)
	} else {
		lines := splitLines(u.text)
		out = append(append(out, `"count":`...), strconv.Itoa(len(lines))...)
		out = append(append(out, `,"data_size":`...), strconv.Itoa(len(u.text))...)
		out = append(out, `,"fields":[],"preview":`...)
		out = jsontape.AppendQuote(out, u.text[:border(u.text, previewBytes)])
	}
	out = append(out, `,"continuation_token":`...)
	out = jsontape.AppendQuote(out, j.slotRef)
	how := j.howToFetch()
	out = append(out, `,"fetch":`...)
	out = append(jsontape.AppendQuote(out, how), '}')
	for _, other := range j.units[1:] {
		other.out, other.fixed, other.omitted, other.changed = nil, true, true, true
	}
	u.out, u.fixed, u.changed = out, true, true
	j.probed, j.tokenUsed = true, true
}

// previewBytes bounds the look at a heavy result.
const previewBytes = 200

func (u *unit) probeJSON(out []byte) []byte {
	rows := []jsontape.Value{u.inner}
	n := u.inner.Len()
	if sets := u.j.r.rowSets(u.inner); len(sets) == 1 {
		rows, n = sets[0].elems, len(sets[0].elems)
	}
	out = append(append(out, `"count":`...), strconv.Itoa(n)...)
	out = append(append(out, `,"data_size":`...), strconv.Itoa(u.v.CompactLen())...)
	out = append(out, `,"fields":[`...)
	names := droppedNames(rows, nil, func(jsontape.Value) bool { return false })
	for i, name := range names {
		if i == 2*maxNamed {
			break
		}
		out = append(jsontape.AppendQuote(out, clip(name, 40)), ',')
	}
	out = closeContainer(out, false)
	var first []byte
	if len(rows) > 0 {
		first = rows[0].AppendCompact(nil)
	}
	out = append(out, `,"preview":`...)
	return jsontape.AppendQuote(out, first[:border(first, previewBytes)])
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
