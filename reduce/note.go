package reduce

import (
	"strconv"
	"strings"

	"github.com/spillway-mcp/spillway/internal/jsontape"
)

// facts are what a note says of one payload.
type facts struct {
	rows      []rowFact
	fields    []string
	dropped   []string
	missing   []string
	fault     fault
	bytes     int // of the whole payload
	nested    []nestedCut
	chars     int
	text      *textCut
	stripped  []strippedFact
	summary   bool
	more      bool // the upstream has more pages
	aligned   bool // row numbers are those of the original
	selected  int  // rows of the original where a rule selects some; 0: not so
	projected bool
	isText    bool
	several   bool // of several payloads, so that a block has to be named
	compacted bool // only white space between tokens is gone
	arrays    int  // row arrays that are counted; rows of expand count in one alone
	blockless bool // it stands in no block, so that no block number gets it
}

// rowFact counts one row array; name is "" where it is the only one.
type rowFact struct {
	name         string
	shown, total int
}

type strippedFact struct {
	media string
	bytes int
}

// maxNamed bounds the names that a note lists in one place (RED-16).
const maxNamed = 12

// body is the note without the pointer to the whole: what is shown, of how
// much, and what did not go as the rule meant (RED-16).
func (f *facts) body(short bool) string {
	var b strings.Builder
	b.WriteString("Showing ")
	switch {
	case f.summary:
		b.WriteString("only a summary, since not one row fits the cap")
	case f.text != nil:
		f.writeText(&b)
	case len(f.rows) > 0:
		f.writeRows(&b)
		f.writeFields(&b, ", fields ")
	case f.projected && len(f.fields) > 0:
		f.writeFields(&b, "fields ")
	case f.projected:
		b.WriteString("the part that the rule keeps")
	case len(f.stripped) > 0:
		b.WriteString("this result without its binary content")
	case f.compacted:
		b.WriteString("this result without its white space")
	default:
		b.WriteString("this result shortened")
	}
	b.WriteString(" (")
	b.WriteString(count(f.bytes))
	b.WriteString(" bytes in full).")
	if f.more {
		b.WriteString(" The upstream has more pages than this one.")
	}
	if !short {
		f.writeInside(&b)
	}
	f.writeStripped(&b, short)
	if len(f.missing) > 0 {
		b.WriteString(" No row has ")
		b.WriteString(namesUpTo(f.missing, maxNamed))
		b.WriteByte('.')
	}
	if f.fault != "" {
		b.WriteString(" The rule's projection was not applied: ")
		b.WriteString(clip(string(f.fault), 160))
		b.WriteByte('.')
	}
	return b.String()
}

func (f *facts) writeRows(b *strings.Builder) {
	for i, r := range f.rows {
		if i > 0 {
			b.WriteString(sepOf(i, len(f.rows)))
		}
		if i == 4 && len(f.rows) > 5 {
			b.WriteString(strconv.Itoa(len(f.rows)-i) + " more arrays likewise")
			break
		}
		b.WriteString(count(r.shown))
		b.WriteString(" of ")
		b.WriteString(count(r.total))
		if r.name == "" {
			b.WriteString(" rows")
		} else {
			b.WriteByte(' ')
			b.WriteString(clip(r.name, 60))
		}
	}
	if f.selected > 0 {
		b.WriteString(" selected by the rule from ")
		b.WriteString(count(f.selected))
	}
}

func sepOf(i, n int) string {
	if i == n-1 {
		return " and "
	}
	return ", "
}

func (f *facts) writeFields(b *strings.Builder, lead string) {
	if len(f.fields) == 0 {
		return
	}
	b.WriteString(lead)
	b.WriteString(namesUpTo(f.fields, maxNamed))
}

func (f *facts) writeText(b *strings.Builder) {
	t := f.text
	if len(t.ranges) > 0 {
		if one := t.ranges[0]; len(t.ranges) == 1 && one.from == one.to {
			b.WriteString("line ")
		} else {
			b.WriteString("lines ")
		}
		for i, r := range t.ranges {
			if i > 0 {
				b.WriteString(" and ")
			}
			b.WriteString(count(r.from))
			if r.to > r.from {
				b.WriteByte('-')
				b.WriteString(count(r.to))
			}
		}
		b.WriteString(" of ")
		b.WriteString(count(t.lines))
		if t.part != nil {
			b.WriteString(" and ")
		}
	} else if t.part == nil {
		b.WriteString("none of ")
		b.WriteString(count(t.lines))
		b.WriteString(" lines")
	}
	if p := t.part; p != nil {
		b.WriteString("bytes " + count(p.from) + "-" + count(p.to))
		if p.last > 0 {
			b.WriteString(" and " + count(p.last) + "-" + count(p.bytes))
		}
		b.WriteString(" of the " + count(p.bytes) + " of line " + count(p.line))
		if len(t.ranges) == 0 {
			b.WriteString(" of " + count(t.lines))
		}
	}
}

// writeInside tells of cuts inside rows.
func (f *facts) writeInside(b *strings.Builder) {
	if len(f.nested) == 0 && f.chars == 0 {
		return
	}
	b.WriteString(" Shortened inside: ")
	sums := mergeNested(f.nested)
	for i, n := range sums {
		if i > 0 {
			b.WriteString(", ")
		}
		if i == 4 {
			b.WriteString(count(len(sums)-i) + " more arrays")
			break
		}
		b.WriteString(clip(n.path, 60) + " " + count(n.shown) + " of " + count(n.total))
	}
	if f.chars > 0 {
		if len(sums) > 0 {
			b.WriteString("; ")
		}
		b.WriteString("strings over " + count(f.chars) + " characters")
	}
	b.WriteByte('.')
}

// mergeNested adds up cuts at equal paths, in the order of their first.
func mergeNested(cuts []nestedCut) []nestedCut {
	var sums []nestedCut
	at := make(map[string]int)
	for _, c := range cuts {
		if c.path == "" {
			c.path = "elements"
		}
		i, ok := at[c.path]
		if !ok {
			at[c.path] = len(sums)
			sums = append(sums, c)
			continue
		}
		sums[i].shown += c.shown
		sums[i].total += c.total
	}
	return sums
}

func (f *facts) writeStripped(b *strings.Builder, short bool) {
	if len(f.stripped) == 0 {
		return
	}
	b.WriteString(" Removed: ")
	for i, s := range f.stripped {
		if i > 0 {
			b.WriteString(", ")
		}
		if i == 3 || short && i == 1 {
			b.WriteString(count(len(f.stripped)-i) + " more")
			break
		}
		b.WriteString(s.media + " of " + count(s.bytes) + " bytes")
	}
	b.WriteByte('.')
}

// pointer tells how to get the rest; "" where this caller cannot (RED-19).
func (f *facts) pointer(ref, tool string) string {
	switch {
	case ref == "":
		return ""
	case tool == "":
		return " Full result stored as " + ref + "; read the resource " + URIPrefix + ref + " for the whole."
	}
	how := "a row range or field list"
	switch {
	case f.isText || f.text != nil:
		how = "a line range"
	case f.summary:
		how = "a query"
	case f.arrays > 1:
		how = "a query"
	case len(f.rows) > 0 && !f.aligned:
		how = "a query (row ranges count the original's rows)"
	case len(f.rows) == 0 && len(f.stripped) > 0 && !f.blockless:
		how = "a block number"
	case len(f.rows) == 0:
		how = "a field list or query"
	}
	with := " with that ref and "
	if f.several && how != "a block number" {
		with = " with that ref, a block number and "
	}
	return " Full result stored as " + ref + "; call " + tool + with + how + " for more."
}

// droppedList names what was dropped, so that the model knows what to ask for.
func (f *facts) droppedList() string {
	if len(f.dropped) == 0 {
		return ""
	}
	names := f.dropped
	more := ""
	if len(names) > maxNamed {
		more = " and " + count(len(names)-maxNamed) + " more"
		names = names[:maxNamed]
	}
	clipped := make([]string, len(names))
	for i, n := range names {
		clipped[i] = clip(n, 40)
	}
	return " Dropped: " + strings.Join(clipped, ", ") + more + "."
}

// note is the whole text for a payload, at most room bytes where it can be:
// first the dropped names go, then what was cut inside.
func (f *facts) note(ref, tool string, room int) string {
	body, pointer := f.body(false), f.pointer(ref, tool)
	if s := body + pointer + f.droppedList(); len(s) <= room {
		return s
	}
	if s := body + pointer; len(s) <= room {
		return s
	}
	return f.body(true) + pointer
}

func namesUpTo(names []string, n int) string {
	clipped := make([]string, 0, min(len(names), n)+1)
	for i, name := range names {
		if i == n {
			clipped = append(clipped, count(len(names)-n)+" more")
			break
		}
		clipped = append(clipped, clip(name, 40))
	}
	return listOf(clipped)
}

// clip bounds a name that came from outside, and keeps it on one line.
func clip(s string, n int) string {
	s = strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7F {
			return ' '
		}
		return r
	}, s)
	if len(s) <= n {
		return s
	}
	return s[:border([]byte(s), n)] + "…"
}

// hasMorePages reports whether a payload's own fields say that the upstream
// has more than this page.
func hasMorePages(v jsontape.Value) bool {
	for _, name := range []string{"next_cursor", "nextCursor", "next_page", "next_page_token", "nextPageToken", "next", "continuation"} {
		switch c := v.Get(name); c.Kind() {
		case jsontape.String:
			if len(c.Raw()) > 2 {
				return true
			}
		case jsontape.Number, jsontape.Object:
			return true
		}
	}
	for _, path := range [][]string{{"has_more"}, {"hasMore"}, {"pageInfo", "hasNextPage"}, {"page_info", "has_next_page"}} {
		if v.Lookup(path...).Kind() == jsontape.True {
			return true
		}
	}
	return false
}
