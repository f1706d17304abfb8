package reduce

import (
	"bytes"

	"github.com/spillway-mcp/spillway/internal/jsontape"
)

// textCut is what stays of a text, and the facts for the note (RED-14).
type textCut struct {
	out    []byte // with marker lines; the text itself where nothing was cut
	cut    bool
	ranges []lineRange
	part   *linePart
	lines  int // of the whole
	bytes  int // of the whole
}

// lineRange is a run of whole lines that stays, 1-based and inclusive.
type lineRange struct{ from, to int }

// linePart is what stays of a single line over the cap: bytes from to to, and
// of one that is cut in the middle those from last on too. They count from 1
// and are inclusive; last is 0 where there is no such end.
type linePart struct{ line, from, to, last, bytes int }

// room is what a text may take: bytes of itself, and of its JSON string
// without quotes where it stands in structuredContent too.
type room struct {
	raw     int
	escaped int // < 0: no bound
}

const noBound = -1

// unlimited is the room of a text under no cap.
var unlimited = room{raw: 1<<31 - 1, escaped: noBound}

func (m room) minus(n int) room {
	m.raw -= n
	if m.escaped >= 0 {
		m.escaped = max(m.escaped-n, 0)
	}
	return m
}

func (m room) half() room {
	m.raw /= 2
	if m.escaped >= 0 {
		m.escaped /= 2
	}
	return m
}

// size is what a piece of text takes of a room.
type size struct{ raw, escaped int }

// sizeOf measures s for m; where the bytes alone do not fit, no more than them.
func sizeOf(s []byte, m room) size {
	z := size{raw: len(s)}
	if m.escaped >= 0 && z.raw <= m.raw && z.raw <= m.escaped {
		z.escaped = escapedLen(s)
	} else {
		z.escaped = z.raw
	}
	return z
}

func (m room) holds(z size) bool {
	return z.raw <= m.raw && (m.escaped < 0 || z.escaped <= m.escaped)
}

func (z size) plus(y size) size { return size{z.raw + y.raw, z.escaped + y.escaped} }

// escapedLen returns the length of s inside a JSON string.
func escapedLen(s []byte) int {
	n := len(s)
	for _, c := range s {
		n += int(escapeCost[c])
	}
	return n
}

// escapeCost is what a byte takes beyond itself in a JSON string. Of the bytes
// that start with ED only a lone surrogate grows, from 3 to 6; counting all of
// them so is close, and on the safe side.
var escapeCost = func() (t [256]uint8) {
	for c := range byte(' ') {
		t[c] = 5
	}
	for _, c := range []byte("\"\\\n\t\r\b\f") {
		t[c] = 1
	}
	t[0xED] = 3
	return t
}()

// splitLines cuts s after each line feed; a text that ends in one has no
// empty line after it.
func splitLines(s []byte) [][]byte {
	lines := make([][]byte, 0, bytes.Count(s, []byte{'\n'})+1)
	for len(s) > 0 {
		k := bytes.IndexByte(s, '\n')
		if k < 0 {
			k = len(s) - 1
		}
		lines = append(lines, s[:k+1])
		s = s[k+1:]
	}
	return lines
}

// cutText keeps what fits of t: at most maxLines lines (< 0: all) in m. The
// lines of t, and the ref, are asked for where they are needed.
func cutText(t []byte, linesOf func() [][]byte, side textSide, maxLines int, m room, ref func() string) textCut {
	whole := m.holds(sizeOf(t, m))
	if whole && maxLines < 0 {
		return textCut{out: t}
	}
	lines := linesOf()
	if whole && len(lines) <= maxLines {
		return textCut{out: t}
	}
	c := textCut{cut: true, lines: len(lines), bytes: len(t)}
	if maxLines < 0 || maxLines > len(lines) {
		maxLines = len(lines)
	}
	m = m.minus(maxMarker + len(`\n`) + len(`\n`))
	// The line feed before a marker line is there already, but for a part.
	switch side {
	case head:
		n, _ := fitHead(lines, maxLines, m)
		c.head(t, lines, n, maxLines, m, ref())
	case tail:
		n, _ := fitTail(lines, maxLines, m)
		c.tail(t, lines, n, maxLines, m, ref())
	case ends:
		n, used := fitHead(lines, (maxLines+1)/2, m.half())
		rest := m
		rest.raw -= used.raw
		if rest.escaped >= 0 {
			rest.escaped -= used.escaped
		}
		k, _ := fitTail(lines[n:], maxLines-n, rest)
		switch {
		case n == 0 && k == 0 && maxLines > 0:
			c.partEnds(t, lines, m, ref())
		case n == 0:
			c.tail(t, lines, k, maxLines, m, ref())
		case k == 0:
			c.head(t, lines, n, maxLines, m, ref())
		default:
			c.both(t, lines, n, k, ref())
		}
	}
	return c
}

// fitHead returns how many of the first lines fit, at most limit.
func fitHead(lines [][]byte, limit int, m room) (n int, used size) {
	for n < limit && n < len(lines) {
		next := used.plus(sizeOf(lines[n], m))
		if !m.holds(next) {
			break
		}
		used = next
		n++
	}
	return n, used
}

// fitTail returns how many of the last lines fit, at most limit.
func fitTail(lines [][]byte, limit int, m room) (n int, used size) {
	for n < limit && n < len(lines) {
		next := used.plus(sizeOf(lines[len(lines)-1-n], m))
		if !m.holds(next) {
			break
		}
		used = next
		n++
	}
	return n, used
}

func length(lines [][]byte) int {
	n := 0
	for _, l := range lines {
		n += len(l)
	}
	return n
}

// head keeps the first n lines of at most limit, and of a line that fits in no
// cap its start.
func (c *textCut) head(t []byte, lines [][]byte, n, limit int, m room, ref string) {
	at := length(lines[:n])
	out := append(make([]byte, 0, at+maxMarker), t[:at]...)
	if n > 0 {
		c.ranges = []lineRange{{1, n}}
	}
	if n < limit && tooLong(lines[n], m) {
		left := m
		left.raw -= at
		if left.escaped >= 0 {
			left.escaped -= escapedLen(t[:at])
		}
		if k := prefixThatFits(lines[n], left); k > 0 && (n == 0 || k >= 256) {
			out = append(out, lines[n][:k]...)
			c.part = &linePart{line: n + 1, from: 1, to: k, bytes: len(lines[n])}
			at += k
			c.out = appendCutMarker(out, len(t)-at, ref)
			return
		}
	}
	c.out = append(appendCutMarker(out, len(t)-at, ref), '\n')
}

// tail keeps the last n lines of at most limit, and of a line that fits in no
// cap its end.
func (c *textCut) tail(t []byte, lines [][]byte, n, limit int, m room, ref string) {
	first := len(lines) - n
	at := len(t) - length(lines[first:])
	if n > 0 {
		c.ranges = []lineRange{{first + 1, len(lines)}}
	}
	if n == 0 && limit > 0 && first > 0 && tooLong(lines[first-1], m) {
		line := lines[first-1]
		k := suffixThatFits(line, m)
		c.part = &linePart{line: first, from: k + 1, to: len(line), bytes: len(line)}
		at -= len(line) - k
		c.out = append(appendCutMarker(nil, at, ref), t[at:]...)
		return
	}
	c.out = append(append(appendCutMarker(nil, at, ref), '\n'), t[at:]...)
}

// both keeps n lines of the start and k of the end.
func (c *textCut) both(t []byte, lines [][]byte, n, k int, ref string) {
	if n+k >= len(lines) {
		c.cut, c.out = false, t
		return
	}
	from := length(lines[:n])
	to := len(t) - length(lines[len(lines)-k:])
	out := append(make([]byte, 0, from+len(t)-to+maxMarker+1), t[:from]...)
	out = append(appendCutMarker(out, to-from, ref), '\n')
	c.out = append(out, t[to:]...)
	c.ranges = []lineRange{{1, n}, {len(lines) - k + 1, len(lines)}}
}

// partEnds keeps the start of the first line and, where it is the only one,
// its end.
func (c *textCut) partEnds(t []byte, lines [][]byte, m room, ref string) {
	if len(lines) > 1 || len(lines) == 0 {
		c.head(t, lines, 0, len(lines), m, ref)
		return
	}
	from := prefixThatFits(t, m.half())
	to := max(suffixThatFits(t, m.half()), from)
	out := append(make([]byte, 0, from+len(t)-to+maxMarker), t[:from]...)
	out = appendCutMarker(out, to-from, ref)
	c.out = append(out, t[to:]...)
	c.part = &linePart{line: 1, from: 1, to: from, last: to + 1, bytes: len(t)}
}

func tooLong(line []byte, m room) bool { return !m.holds(sizeOf(line, m)) }

// prefixThatFits returns the length of the longest start of line that fits.
func prefixThatFits(line []byte, m room) int {
	n := min(len(line), max(m.raw, 0))
	if m.escaped < 0 {
		return border(line, n)
	}
	esc, i := 0, 0
	for i < n {
		e := escapedLen(line[i : i+1])
		if esc+e > m.escaped {
			break
		}
		esc += e
		i++
	}
	return border(line, i)
}

// suffixThatFits returns the offset of the longest end of line that fits.
func suffixThatFits(line []byte, m room) int {
	i := max(0, len(line)-max(m.raw, 0))
	if m.escaped >= 0 {
		esc, k := 0, len(line)
		for k > i {
			e := escapedLen(line[k-1 : k])
			if esc+e > m.escaped {
				break
			}
			esc += e
			k--
		}
		i = k
	}
	return borderAfter(line, i)
}

// isBase64 reports whether s is binary content in text: a data URI, or a long
// run of the base64 alphabet that uses its capitals, small letters and digits.
func isBase64(s []byte) bool {
	if bytes.HasPrefix(s, []byte("data:")) && bytes.Contains(s[:min(len(s), 256)], []byte(";base64,")) {
		return true
	}
	if len(s) < minBase64 {
		return false
	}
	var seen byte
	for _, c := range s {
		class := base64Class[c]
		if class == 0 {
			return false
		}
		seen |= class
	}
	return seen&7 == 7
}

// minBase64 is the length from which a string of the alphabet counts as
// binary: shorter ones are hashes, keys and ids.
const minBase64 = 512

var base64Class = func() (t [256]byte) {
	for c := 'a'; c <= 'z'; c++ {
		t[c], t[c-32] = 1, 2
	}
	for c := '0'; c <= '9'; c++ {
		t[c] = 4
	}
	for _, c := range "+/=-_\r\n" {
		t[c] = 8
	}
	return t
}()

// decodedLen returns how many bytes a base64 text stands for.
func decodedLen(s []byte) int {
	n := 0
	for _, c := range s {
		if base64Class[c] != 0 && c != '=' && c != '\r' && c != '\n' {
			n++
		}
	}
	return n * 6 / 8
}

// dataURI splits a data URI with base64 content into its media type and data.
func dataURI(s []byte) (mediaType string, data []byte, ok bool) {
	rest, ok := bytes.CutPrefix(s, []byte("data:"))
	if !ok {
		return "", nil, false
	}
	head, data, ok := bytes.Cut(rest, []byte(";base64,"))
	if !ok || len(head) > 200 {
		return "", nil, false
	}
	media, _, _ := bytes.Cut(head, []byte{';'})
	return string(media), data, true
}

// isJSONContainer parses t, which must be one JSON object or array with
// optional white space around it.
func isJSONContainer(t []byte) (*jsontape.Doc, bool) {
	t = bytes.TrimLeft(t, " \t\r\n")
	if len(t) == 0 || t[0] != '{' && t[0] != '[' {
		return nil, false
	}
	d, err := jsontape.Parse(t)
	if err != nil {
		return nil, false
	}
	return d, true
}
