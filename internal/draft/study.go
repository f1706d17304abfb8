package draft

import (
	"bytes"
	"cmp"
	"fmt"
	"hash/maphash"
	"slices"
	"strings"

	"github.com/spillway-mcp/spillway/internal/jsontape"
	"github.com/spillway-mcp/spillway/reduce"
)

// study is what was seen in the results.
type study struct {
	in      Input
	json    int // payloads
	text    int // results with text that is no JSON
	longest int // bytes of one such text

	base     string   // expression of the array of rows; "" for the payload itself
	names    []string // the same as names
	rows     int      // in all results
	most     int      // in one
	rare     string   // rows that too few results have to make a rule of; "" without
	rowBytes int
	columns  []*column
	always   []string
	beyond   []string // members beside the rows that a projection to them leaves out
	strip    []string
	blocks   map[string]int // binary content: how many bytes of each kind
}

// column is one member of the rows, or a member of a member.
type column struct {
	path    string
	names   []string
	bytes   int
	in      int // rows that have it, and not null
	longest int
	needed  int
	nested  bool // has rows of its own
	values  map[uint64]bool
	drop    bool
	verdict string
}

// maxDistinct bounds the values that are told apart.
const maxDistinct = 1000

func (c *column) distinct() string {
	if len(c.values) >= maxDistinct {
		return fmt.Sprintf("%d+", maxDistinct)
	}
	return fmt.Sprint(len(c.values))
}

func read(in Input) *study {
	s := &study{in: in, blocks: map[string]int{}}
	var payloads []jsontape.Value
	for _, result := range in.Results {
		payloads = append(payloads, s.payloads(result)...)
	}
	s.json = len(payloads)
	s.findRows(payloads)
	seed := maphash.MakeSeed()
	by := map[string]*column{}
	for _, p := range payloads {
		rows := p.Lookup(s.names...)
		if s.rows == 0 || rows.Kind() != jsontape.Array {
			continue
		}
		for it := rows.Iter(); it.Next(); {
			s.row(it.Value(), nil, by, seed)
		}
	}
	s.beside(payloads)
	s.judge()
	for _, kind := range reduce.StripKinds {
		if s.blocks[kind] > 0 {
			s.strip = append(s.strip, kind)
		}
	}
	return s
}

// payloads returns the data of a result, and notes its binary content.
func (s *study) payloads(result []byte) (all []jsontape.Value) {
	doc, err := jsontape.Parse(result)
	if err != nil {
		return nil
	}
	data := doc.Root().Get("structuredContent")
	plain := 0
	if v := lookThrough(data); soleText(v) {
		it := v.Iter()
		it.Next()
		plain += len(it.Value().Str())
	} else if data.Exists() {
		all = append(all, v)
	}
	for it := doc.Root().Get("content").Iter(); it.Next(); {
		block := it.Value()
		switch kind := block.Get("type"); {
		case kind.Is("image"):
			s.blocks["image"] += len(block.Get("data").Raw())
		case kind.Is("audio"):
			s.blocks["audio"] += len(block.Get("data").Raw())
		case block.Lookup("resource", "blob").Exists():
			s.blocks["blob"] += len(block.Lookup("resource", "blob").Raw())
		}
		text := block.Get("text")
		if text.Kind() != jsontape.String || data.Exists() {
			continue
		}
		src := bytes.TrimSpace([]byte(text.Str()))
		if len(src) > 0 && (src[0] == '{' || src[0] == '[') {
			if inner, err := jsontape.Parse(src); err == nil {
				all = append(all, inner.Root())
				continue
			}
		}
		plain += len(src)
	}
	if plain > 0 {
		s.text++
		s.longest = max(s.longest, plain)
	}
	return all
}

// lookThrough is RED-02: a sole member of a known name is the payload, also
// where it is a string of JSON.
func lookThrough(v jsontape.Value) jsontape.Value {
	if v.Kind() == jsontape.Object && v.Len() == 1 {
		for _, name := range []string{"result", "content", "data"} {
			inner := v.Get(name)
			if inner.IsContainer() {
				return inner
			}
			if inner.Kind() != jsontape.String {
				continue
			}
			if doc, err := jsontape.Parse([]byte(inner.Str())); err == nil && doc.Root().IsContainer() {
				return doc.Root()
			}
		}
	}
	return v
}

// soleText reports whether a payload is an object around one text: it mirrors a
// block, and is no data.
func soleText(v jsontape.Value) bool {
	if v.Kind() != jsontape.Object || v.Len() != 1 {
		return false
	}
	it := v.Iter()
	return it.Next() && it.Value().Kind() == jsontape.String
}

// findRows takes the array of objects that holds most bytes, at most three
// members deep.
func (s *study) findRows(payloads []jsontape.Value) {
	type array struct {
		names             []string
		bytes, rows, most int
		in                int // payloads that have it, also empty
	}
	by := map[string]*array{}
	var walk func(v jsontape.Value, names []string)
	walk = func(v jsontape.Value, names []string) {
		switch v.Kind() {
		case jsontape.Array:
			n, objects := v.Len(), 0
			for it := v.Iter(); it.Next(); {
				if it.Value().Kind() == jsontape.Object {
					objects++
				}
			}
			if objects < n {
				return
			}
			key := path(names)
			a := by[key]
			if a == nil {
				a = &array{names: slices.Clone(names)}
				by[key] = a
			}
			a.in++
			a.bytes += len(v.Raw())
			a.rows += n
			a.most = max(a.most, n)
		case jsontape.Object:
			if len(names) == 3 {
				return
			}
			for it := v.Iter(); it.Next(); {
				walk(it.Value(), append(names, it.Key().Str()))
			}
		}
	}
	for _, p := range payloads {
		walk(p, nil)
	}
	var best *array
	for _, a := range by {
		if best == nil || cmp.Or(cmp.Compare(a.bytes, best.bytes), cmp.Compare(path(best.names), path(a.names))) > 0 {
			best = a
		}
	}
	if best == nil || best.rows < 2 {
		return
	}
	if best.in*2 < len(s.in.Results) {
		has := "have"
		if best.in == 1 {
			has = "has"
		}
		s.rare = fmt.Sprintf("%d of %s %s rows (%s)", best.in, count(len(s.in.Results), "result"), has, or(path(best.names), "the payload itself"))
		return
	}
	s.names, s.base, s.rows, s.most = best.names, path(best.names), best.rows, best.most
}

// row adds up the columns of a row; members of members are columns of their own
// where they are objects.
func (s *study) row(v jsontape.Value, names []string, by map[string]*column, seed maphash.Seed) {
	for it := v.Iter(); it.Next(); {
		at := append(slices.Clone(names), it.Key().Str())
		member := it.Value()
		if member.Kind() == jsontape.Object && member.Len() > 0 && len(at) < 2 {
			s.row(member, at, by, seed)
			continue
		}
		key := path(at)
		c := by[key]
		if c == nil {
			c = &column{path: key, names: at, values: map[uint64]bool{}}
			by[key] = c
			s.columns = append(s.columns, c)
		}
		n := member.CompactLen()
		c.bytes += n
		s.rowBytes += n
		c.longest = max(c.longest, n)
		if member.Kind() != jsontape.Null {
			c.in++
		}
		c.nested = c.nested || member.Kind() == jsontape.Array && member.Len() > 0 && member.Index(0).Kind() == jsontape.Object
		if len(c.values) < maxDistinct {
			c.values[maphash.Bytes(seed, member.AppendCompact(nil))] = true
		}
		if member.Kind() == jsontape.String && n > 256 && isBase64(member.StrBytes(nil)) {
			s.blocks["base64"] += n
		}
	}
}

func isBase64(text []byte) bool {
	if i := bytes.Index(text, []byte(";base64,")); i >= 0 && i < 100 {
		text = text[i+8:]
	}
	upper, digit := false, false
	for _, c := range text {
		switch {
		case c >= 'A' && c <= 'Z':
			upper = true
		case c >= '0' && c <= '9':
			digit = true
		case c >= 'a' && c <= 'z', c == '+', c == '/', c == '=', c == '-', c == '_':
		default:
			return false
		}
	}
	return upper && digit
}

// beside finds what stands beside the rows and no built-in name covers: scalars
// to keep, and what is lost where only the rows are.
func (s *study) beside(payloads []jsontape.Value) {
	if s.rows == 0 || len(s.names) == 0 {
		return
	}
	for _, p := range payloads {
		for it := p.Iter(); it.Next(); {
			name, v := it.Key().Str(), it.Value()
			if name == s.names[0] || slices.Contains(reduce.BuiltinAlways, name) {
				continue
			}
			to := &s.always
			if v.IsContainer() || v.CompactLen() > 200 || name == "" || strings.ContainsAny(name, ".!*\n") {
				to = &s.beyond
			}
			if !slices.Contains(*to, name) {
				*to = append(*to, name)
			}
		}
	}
}

// judge decides which columns a draft drops, and says why.
func (s *study) judge() {
	links := 0
	for _, c := range s.columns {
		c.needed = s.neededOf(c)
		name := strings.ToLower(c.names[len(c.names)-1])
		link := name == "url" || name == "uri" || name == "href" || strings.HasSuffix(name, "_url") || strings.HasSuffix(name, "url")
		switch average := c.bytes / max(1, s.rows); {
		case c.needed > 0:
			c.verdict = "kept: used by later calls, " + times(c.needed)
		case c.in == 0:
			c.drop, c.verdict = true, "dropped: always null"
		case len(c.values) == 1 && s.rows > 2 && c.in == s.rows:
			// A filter of the query may be what made it so.
			if c.drop, c.verdict = c.bytes*100 >= 2*s.rowBytes, "dropped: the same in every row"; !c.drop {
				c.verdict = "kept: the same in every row, and small"
			}
		case average > 400 || c.longest > 4000:
			if c.drop, c.verdict = true, "dropped: large"; c.nested {
				c.verdict = "dropped: large; it has rows of its own"
			}
		case link && len(c.names) > 1, link && name != "html_url" && (name != "url" || s.has("html_url")):
			c.drop, c.verdict = true, "dropped: one of many links"
		case strings.HasSuffix(name, "node_id") || name == "etag" || name == "gravatar_id":
			c.drop, c.verdict = true, "dropped: for programs"
		case link && links > 0:
			c.drop, c.verdict = true, "dropped: a second link"
		default:
			c.verdict = "kept"
		}
		if link && !c.drop {
			links++
		}
	}
	dropped := 0
	for _, c := range s.columns {
		if c.drop {
			dropped += c.bytes
		}
	}
	if dropped*10 < s.rowBytes {
		// Not worth a projection, which leaves out whatever stands beside the rows.
		for _, c := range s.columns {
			if c.drop {
				c.drop, c.verdict = false, "kept: all that would be dropped is less than a tenth"
			}
		}
	}
	if !slices.ContainsFunc(s.columns, func(c *column) bool { return !c.drop }) {
		for _, c := range s.columns {
			c.drop, c.verdict = false, "kept: nothing else would be"
		}
	}
}

// has reports whether the rows have a member of this name.
func (s *study) has(name string) bool {
	return slices.ContainsFunc(s.columns, func(c *column) bool { return len(c.names) == 1 && c.names[0] == name })
}

// fieldOf is a column as replay names fields.
func (s *study) fieldOf(c *column) string {
	return strings.Join(s.names, ".") + "[*]." + strings.Join(c.names, ".")
}

// neededOf is how often recorded sessions used what is in a column.
func (s *study) neededOf(c *column) (n int) {
	field := s.fieldOf(c)
	for name, times := range s.in.Needed {
		if rest, ok := strings.CutPrefix(name, field); ok && (rest == "" || rest[0] == '.' || rest[0] == '[') {
			n += times
		}
	}
	return n
}

// mixed reports whether the rows are of several kinds: no member is in most.
func (s *study) mixed() bool {
	return s.rows > 0 && !slices.ContainsFunc(s.columns, func(c *column) bool { return c.in*10 >= s.rows*6 })
}

// binary says what there is of binary content.
func (s *study) binary() string {
	var parts []string
	for _, kind := range s.strip {
		parts = append(parts, fmt.Sprintf("%s, %s", kind, bytesOf(s.blocks[kind])))
	}
	return strings.Join(parts, "; ")
}
