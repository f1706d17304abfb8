package replay

import (
	"bytes"
	"strings"

	"github.com/spillway-mcp/spillway/internal/jsontape"
	"github.com/spillway-mcp/spillway/internal/tokens"
)

// The views of a result, as bits.
const (
	inText = 1 << iota
	inStructured
)

// hit is where an atom stands in a result: in which views, and its first place.
type hit struct {
	views uint8
	field string // a path, or "text"
	row   int    // from 1, in the outermost array; 0 in none
	line  int    // from 1, of a text; 0 in none
}

type hits map[int]*hit

// scanner looks for atoms in results, and measures these. One goroutine uses it.
type scanner struct {
	atoms   *atoms
	counter tokens.Counter

	found hits
	// names are the members that a result has, where short numbers are looked
	// for; of what was made of a result, those of the result: a name that is
	// not among them was given by the rule, and may hold any of its values.
	names   map[string]bool
	renamed bool

	view uint8
	path []string
	row  int
	line int
	text []byte
	data []byte
}

// original scans a result as it came, shown what rules made of it.
func (s *scanner) original(result []byte) (hits, sizes) {
	s.names, s.renamed = nil, false
	if s.atoms.short {
		s.names = map[string]bool{}
	}
	return s.scan(result)
}

func (s *scanner) shown(result []byte, names map[string]bool) (hits, sizes) {
	s.names, s.renamed = names, true
	return s.scan(result)
}

// fits reports whether a short number can stand under name.
func (s *scanner) fits(x *atom, name string) bool {
	return len(x.names) == 0 || x.fits(name) || s.renamed && name != "" && s.names != nil && !s.names[name]
}

// scan measures a CallToolResult and finds the atoms in it.
func (s *scanner) scan(result []byte) (hits, sizes) {
	s.found = hits{}
	var n sizes
	doc, err := jsontape.Parse(result)
	if err != nil {
		return s.found, n
	}
	root := doc.Root()
	s.view = inText
	for it := root.Get("content").Iter(); it.Next(); {
		block := it.Value()
		text := block.Get("text")
		if !text.Exists() {
			text = block.Lookup("resource", "text")
		}
		if text.Kind() != jsontape.String {
			s.links(block)
			continue
		}
		s.text = text.AppendString(s.text[:0])
		n.text += int64(len(s.text))
		n.textTokens += int64(s.counter.Count(s.text))
		s.document(s.text)
	}
	if data := root.Get("structuredContent"); data.Exists() {
		s.data = data.AppendCompact(s.data[:0])
		n.structured = int64(len(s.data))
		n.structuredTokens = int64(s.counter.Count(s.data))
		s.view = inStructured
		s.start()
		s.value(data, "")
	}
	return s.found, n
}

// links looks at what a block that is no text names: the URI of a link or of a
// resource is shown too.
func (s *scanner) links(block jsontape.Value) {
	for _, v := range []jsontape.Value{block.Get("uri"), block.Get("name"), block.Lookup("resource", "uri")} {
		if v.Kind() == jsontape.String {
			s.start()
			s.path = append(s.path, "uri")
			s.scalar([]byte(v.Str()), "uri", false)
		}
	}
}

func (s *scanner) start() { s.path, s.row, s.line = s.path[:0], 0, 0 }

// document looks at the text of a block: a JSON document, lines of JSON, or
// text.
func (s *scanner) document(text []byte) {
	if s.atoms.set.Len() == 0 {
		return
	}
	s.start()
	trimmed := bytes.TrimSpace(text)
	if len(trimmed) == 0 {
		return
	}
	if trimmed[0] != '{' && trimmed[0] != '[' {
		s.lines(text)
		return
	}
	if doc, err := jsontape.Parse(trimmed); err == nil {
		s.value(doc.Root(), "")
		return
	}
	first, _, _ := bytes.Cut(trimmed, []byte("\n"))
	if _, err := jsontape.Parse(bytes.TrimSpace(first)); err != nil {
		s.lines(text)
		return
	}
	s.path = append(s.path, "[*]")
	n := 0
	for line := range bytes.Lines(text) {
		n++
		s.row, s.line = n, n
		if doc, err := jsontape.Parse(bytes.TrimSpace(line)); err == nil {
			s.value(doc.Root(), "")
		} else {
			s.plain(line, n)
		}
	}
}

// lines looks at text that is no JSON.
func (s *scanner) lines(text []byte) {
	s.path = append(s.path, "text")
	n := 1
	at := 0
	s.atoms.set.Scan(text, func(id, start int) {
		// Places come in the order of their words, which may start behind them.
		if start >= at {
			n += bytes.Count(text[at:start], []byte("\n"))
		} else {
			n -= bytes.Count(text[start:at], []byte("\n"))
		}
		at = start
		s.meet(id, text, start, "", false, n)
	})
}

func (s *scanner) plain(line []byte, n int) {
	s.atoms.set.Scan(line, func(id, start int) { s.meet(id, line, start, "", false, n) })
}

// meet notes an atom at a place in a text that is no JSON value.
func (s *scanner) meet(id int, text []byte, start int, name string, value bool, line int) {
	x := &s.atoms.list[id]
	end := start + len(s.atoms.set.Text(id))
	if x.number && !alone(text, start, end) || !s.fits(x, name) {
		return
	}
	if value && (x.plain || len(x.names) > 0) && end-start != len(text) {
		return
	}
	s.note(id, line)
}

// alone reports whether the digits from start to end are a number by
// themselves: 4711 is not met in 4711.5 or 1,4711.
func alone(text []byte, start, end int) bool {
	digit := func(i int) bool { return i >= 0 && i < len(text) && text[i] >= '0' && text[i] <= '9' }
	if start > 0 && (text[start-1] == '.' || text[start-1] == ',') && digit(start-2) {
		return false
	}
	return !(end < len(text) && (text[end] == '.' || text[end] == ',') && digit(end+1))
}

func (s *scanner) note(id, line int) {
	h := s.found[id]
	if h == nil {
		h = &hit{field: strings.TrimPrefix(strings.ReplaceAll(strings.Join(s.path, "."), ".[*]", "[*]"), "."), row: s.row, line: line}
		s.found[id] = h
	}
	h.views |= s.view
}

// value looks at a JSON value that stands under name.
func (s *scanner) value(v jsontape.Value, name string) {
	if s.atoms.set.Len() == 0 {
		return
	}
	switch v.Kind() {
	case jsontape.String:
		text := v.StrBytes(nil)
		if len(text) > 1 && (text[0] == '{' || text[0] == '[') {
			if doc, err := jsontape.Parse(text); err == nil {
				s.value(doc.Root(), name)
				return
			}
		}
		s.scalar(text, name, false)
	case jsontape.Number:
		if id, ok := s.atoms.set.ID([]byte(canonical(string(v.Raw())))); ok {
			if s.fits(&s.atoms.list[id], name) {
				s.note(id, s.line)
			}
		}
	case jsontape.Object:
		for it := v.Iter(); it.Next(); {
			key := it.Key().Str()
			s.path = append(s.path, key)
			if s.names != nil && !s.renamed {
				s.names[key] = true
			}
			s.scalar([]byte(key), "", true)
			s.value(it.Value(), key)
			s.path = s.path[:len(s.path)-1]
		}
	case jsontape.Array:
		outer := s.row
		s.path = append(s.path, "[*]")
		i := 0
		for it := v.Iter(); it.Next(); {
			if i++; outer == 0 {
				s.row = i
			}
			s.value(it.Value(), name)
		}
		s.row = outer
		s.path = s.path[:len(s.path)-1]
	}
}

// scalar looks at a string, or at the name of a member.
func (s *scanner) scalar(text []byte, name string, key bool) {
	s.atoms.set.Scan(text, func(id, start int) {
		if x := &s.atoms.list[id]; key && (x.part || x.number || start != 0 || len(text) != len(s.atoms.set.Text(id))) {
			return
		}
		s.meet(id, text, start, name, true, s.line)
	})
}
