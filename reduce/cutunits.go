package reduce

import (
	"slices"
	"sort"

	"github.com/spillway-mcp/spillway/internal/jsontape"
)

// minShare is the least that a payload gets of a cap it shares; where there
// are too many for that, the last ones are left out, and counted.
const minShare = 400

// allocation is what each payload may take of the text view, and how much of
// structuredContent is spoken for by what is not the payload.
type allocation struct {
	limits    []int // per unit; 0: no bound
	structure int   // bytes of structuredContent to leave free
}

// cutUnits cuts every payload until the text view, outer note included, and
// structuredContent fit the cap (RED-15), and returns the outer note.
func (j *job) cutUnits() (outer string) {
	limit := j.r.rule.MaxBytes
	a := allocation{limits: make([]int, len(j.units))}
	for _, u := range j.units {
		u.apply(0, 0)
	}
	outer = j.outerNote()
	reserve := 0
	for round := 0; limit > 0 && round < 8; round++ {
		overText := j.textBytes() + len(outer) - limit
		overInside := j.structuredBytes() - limit
		if overText <= 0 && overInside <= 0 {
			break
		}
		if round > 0 {
			reserve = max(reserve+max(overText, 0), len(outer))
			a.structure = max(a.structure+max(overInside, 0), len(j.units[0].note))
		}
		j.share(&a, limit-reserve)
		for i, u := range j.units {
			u.apply(a.limits[i], a.structure)
		}
		outer = j.outerNote()
	}
	return outer
}

// share deals a text view of room bytes out: what needs less than an equal
// share gets what it needs, the others share the rest equally.
func (j *job) share(a *allocation, room int) {
	var needs []need
	for i, u := range j.units {
		a.limits[i] = j.r.rule.MaxBytes
		if u.fixed {
			continue
		}
		u.omitted = false
		if len(u.blocks) > 0 {
			u.apply(0, 0)
			needs = append(needs, need{i, u.textBytes()})
		}
	}
	if len(needs) == 0 {
		return
	}
	// The last payloads of many go where the level is too low to say anything;
	// one that stands in structuredContent is the first, and stays.
	least := 1
	shown := least + sort.Search(len(needs)-least, func(k int) bool {
		level, most := levelOf(needs[:least+k+1], room)
		return level < minShare && most > level
	})
	for _, n := range needs[shown:] {
		j.units[n.unit].omitted = true
	}
	needs = needs[:shown]
	level, _ := levelOf(needs, room)
	for _, n := range needs {
		u := j.units[n.unit]
		share := max(level, 1)
		if n.bytes <= level {
			share = n.bytes
		}
		if u.inside {
			share = max(share, min(n.bytes, MinMaxBytes))
		}
		if !u.json { // what is cut of JSON is shown once, whatever number of blocks showed it
			share /= len(u.blocks)
		}
		a.limits[n.unit] = min(max(share, 1), j.r.rule.MaxBytes)
	}
}

// need is what a payload would take of the text view.
type need struct{ unit, bytes int }

// levelOf returns what each of needs may take of room at most, and the largest
// of them.
func levelOf(needs []need, room int) (level, most int) {
	sorted := slices.Clone(needs)
	slices.SortStableFunc(sorted, func(x, y need) int { return x.bytes - y.bytes })
	left, most := room, sorted[len(sorted)-1].bytes
	for k, n := range sorted {
		level = left / (len(sorted) - k)
		if n.bytes > level {
			return level, most
		}
		left -= n.bytes
	}
	return max(level, most), most
}

// textBlocks are the blocks that are shown: all of a text payload, one of a
// JSON payload that changed.
func (u *unit) textBlocks() []int {
	if (u.json || u.fixed) && u.out != nil && len(u.blocks) > 1 {
		return u.blocks[:1]
	}
	return u.blocks
}

// textBytes is what u takes of the text view.
func (u *unit) textBytes() int {
	if u.omitted {
		return 0
	}
	n := 0
	for _, i := range u.textBlocks() {
		if u.out != nil {
			n += len(u.out)
		} else {
			n += len(u.j.blocks[i].text)
		}
	}
	return n
}

func (j *job) textBytes() int {
	n := 0
	for _, u := range j.units {
		n += u.textBytes()
	}
	return n
}

// structuredBytes is the length of structuredContent as it would be sent.
func (j *job) structuredBytes() int {
	if len(j.units) == 0 || !j.units[0].inside {
		return j.structured.CompactLen()
	}
	return j.units[0].insideLen()
}

// insideLen is the length of structuredContent that u makes.
func (u *unit) insideLen() int {
	switch {
	case u.out == nil:
		return u.j.structured.CompactLen()
	case u.json, u.fixed:
		return len(u.out)
	}
	return len(u.appendStructured(nil))
}

// bounds are what a payload was cut to.
type bounds struct {
	limit, structure int
	omitted, set     bool
}

// apply cuts u to at most limit bytes a view (0: rows and fields only),
// structure bytes of structuredContent being left free. It can be called
// again with other bounds; with those of the last time there is nothing to do.
func (u *unit) apply(limit, structure int) {
	bounds := bounds{limit, structure, u.omitted, true}
	if u.fixed || bounds == u.applied {
		return
	}
	u.applied = bounds
	u.changed, u.out, u.note = false, nil, ""
	if u.omitted {
		u.changed = true
		return
	}
	if u.json {
		u.applyJSON(limit)
		return
	}
	m := unlimited
	if limit > 0 {
		m.raw = limit
	}
	if u.inside && limit > 0 {
		beside := u.j.structured.CompactLen() - len(u.j.structured.Get(u.member.Str()).Raw())
		m.escaped = max(u.j.r.rule.MaxBytes-beside-structure, 0)
	}
	lines := -1
	if n := u.j.r.rule.MaxRows; n != nil {
		lines = *n
	}
	u.cutOf = cutText(u.text, u.textLines, u.j.r.side, lines, m, u.j.refOrNone)
	if !u.cutOf.cut && len(u.stripped()) == 0 {
		return
	}
	u.changed, u.out = true, u.cutOf.out
	f := u.facts()
	u.note = f.body(false) + f.pointer(u.j.refOrNone(), u.j.env.Expand)
}

// textLines splits the text once.
func (u *unit) textLines() [][]byte {
	if u.linesOf == nil {
		u.linesOf = splitLines(u.text)
	}
	return u.linesOf
}

func (u *unit) applyJSON(limit int) {
	c := u.newCut()
	u.cut = c
	// What stood beside a string goes only where the string is rewritten.
	lossy := u.kept != nil && (u.kept.lossy || len(u.droppedSiblings) > 0) || c.rowsCut() > 0 || len(u.stripped()) > 0
	if !lossy {
		if u.kept != nil {
			if out := c.assemble(c.appendData(), ""); limit == 0 || len(out) <= limit {
				u.out = out
				return
			}
		} else if limit == 0 || u.asItCame() <= limit {
			return
		}
	}
	u.changed = true
	u.out = c.fit(limit, func() string {
		if u.noteOutside {
			return ""
		}
		f := u.facts()
		f.compacted = !lossy && u.kept == nil && c.rowsCut() == 0 && f.chars == 0 && len(f.nested) == 0
		room := 1000
		if limit > 0 {
			room = min(room, limit/2)
		}
		u.note = f.note(u.j.refOrNone(), u.j.env.Expand, room)
		return u.note
	})
}

// asItCame is the larger of the views of an uncut JSON payload.
func (u *unit) asItCame() int {
	n := 0
	for _, i := range u.blocks {
		n += len(u.j.blocks[i].text)
	}
	if u.inside {
		n = max(n, u.j.structured.CompactLen())
	}
	return n
}

// appendStructured writes structuredContent as u leaves it.
func (u *unit) appendStructured(dst []byte) []byte {
	if u.out == nil {
		return append(dst, u.j.structured.Raw()...)
	}
	if u.json || u.fixed {
		return append(dst, u.out...)
	}
	dst = append(dst, `{"`+noteKey+`":`...)
	dst = jsontape.AppendQuote(dst, u.note)
	payload := u.j.structured.Get(u.member.Str())
	for it := u.j.structured.Iter(); it.Next(); {
		dst = append(dst, ',')
		switch {
		case it.Key().Is(noteKey):
			dst = append(dst, `"`+upstreamNoteKey+`"`...)
		default:
			dst = append(dst, it.Key().Raw()...)
		}
		dst = append(dst, ':')
		if it.Value() == payload {
			dst = jsontape.AppendQuote(dst, u.out)
		} else {
			dst = it.Value().AppendCompact(dst)
		}
	}
	return append(dst, '}')
}
