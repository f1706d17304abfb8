package replay

import (
	"strings"

	"github.com/spillway-mcp/spillway/internal/jsontape"
	"github.com/spillway-mcp/spillway/internal/needle"
)

// What counts as evidence, by form. docs/measurement.md has the same in words.
const (
	minWhole  = 3   // characters of a string that is evidence as a whole
	maxWhole  = 400 // bytes; longer strings are looked at for their parts alone
	minPart   = 4   // characters of a part of a string
	minDigits = 4   // digits from which a number is evidence under any name
)

// atom is one string that is looked for, and how it has to be met.
type atom struct {
	plain bool // letters alone, and nobody said that it matters: it has to be a whole value, or stand between borders in a text that is no JSON
	part  bool // met as a part of an argument only: names of members do not count
	// number reports digits: no more digits or decimals may stand beside it.
	number bool
	// names are those of the arguments that a short number was used under; it
	// is met only as a whole value under a name that fits. "" fits any.
	names []string
}

// atoms are what a session's calls and answer use.
type atoms struct {
	set   needle.Set
	list  []atom
	short bool // some are short numbers
}

func (a *atoms) add(text string, x atom) int {
	id := a.set.Add(text)
	a.short = a.short || len(x.names) > 0
	if id == len(a.list) {
		a.list = append(a.list, x)
		return id
	}
	have := &a.list[id]
	have.part, have.plain = have.part && x.part, have.plain && x.plain
	switch {
	case len(x.names) == 0:
		have.names = nil
	case len(have.names) > 0:
		have.names = append(have.names, x.names...)
	}
	return id
}

// candidate is one value that may be evidence: whole, or where that is found
// nowhere, by its parts.
type candidate struct {
	argument string // its path in the arguments
	text     string
	whole    int     // -1: none
	parts    [][]int // runs; of each the run itself, then its segments
}

// string makes a candidate of a string.
func (a *atoms) string(text, argument string) candidate {
	text = strings.TrimSpace(text)
	c := candidate{argument: argument, text: text, whole: -1}
	if digits(text) {
		c.whole = a.number(text, argument)
		return c
	}
	if len([]rune(text)) >= minWhole && len(text) <= maxWhole && !strings.ContainsAny(text, "\r\n") {
		c.whole = a.add(text, atom{plain: letters(text)})
	}
	c.parts = a.runs(text)
	return c
}

// runs takes a text apart: at everything that is in no identifier or path, and
// those at their slashes.
func (a *atoms) runs(text string) (all [][]int) {
	for _, run := range strings.FieldsFunc(text, func(r rune) bool { return !inPath(r) }) {
		run = strings.Trim(run, ".-:/@+#")
		var ids []int
		add := func(s string) {
			s = strings.Trim(s, ".-:@+#")
			switch {
			case digits(s):
				if len(s) >= minDigits {
					ids = append(ids, a.add(canonical(s), atom{number: true, part: true}))
				}
			case len([]rune(s)) < minPart || len(s) > maxWhole:
			default:
				ids = append(ids, a.add(s, atom{plain: letters(s), part: true}))
			}
		}
		add(run)
		if strings.ContainsAny(run, "/:@#+") {
			for _, s := range strings.FieldsFunc(run, func(r rune) bool { return strings.ContainsRune("/:@#+", r) }) {
				add(s)
			}
		}
		if len(ids) > 0 {
			all = append(all, ids)
		}
	}
	return all
}

func inPath(r rune) bool {
	return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r >= 0x80 || strings.ContainsRune("_.-/@:+#", r)
}

// number makes an atom of a number, -1 where it says too little: 2 may be a page
// as well as an issue.
func (a *atoms) number(raw, argument string) int {
	text := canonical(raw)
	n := 0
	for _, c := range text {
		if c >= '0' && c <= '9' {
			n++
		}
	}
	switch name := lastName(argument); {
	case n >= minDigits:
		return a.add(text, atom{number: true})
	case argument == "":
		return a.add(text, atom{number: true, names: []string{""}})
	case identifying(name):
		return a.add(text, atom{number: true, names: []string{name}})
	}
	return -1
}

// canonical is a number without what does not change its value: 1.50 is 1.5.
func canonical(raw string) string {
	if strings.ContainsAny(raw, "eE") {
		return raw
	}
	raw = strings.TrimPrefix(raw, "+")
	if strings.Contains(raw, ".") {
		raw = strings.TrimSuffix(strings.TrimRight(raw, "0"), ".")
	}
	return raw
}

// digits reports whether a text is a number as people and programs write it,
// without groups.
func digits(s string) bool {
	s = strings.TrimPrefix(s, "-")
	dots := 0
	for i := 0; i < len(s); i++ {
		switch {
		case s[i] == '.' && i > 0 && i < len(s)-1:
			dots++
		case s[i] < '0' || s[i] > '9':
			return false
		}
	}
	return len(s) > 0 && dots <= 1
}

func letters(s string) bool {
	for _, r := range s {
		if r < 0x80 && (r < 'A' || r > 'Z' && r < 'a' || r > 'z') {
			return false
		}
	}
	return true
}

// lastName is the last name of a path, as programs compare names: without case
// and what is no letter or digit.
func lastName(path string) string {
	path = strings.ReplaceAll(path, "[*]", "")
	if i := strings.LastIndexByte(path, '.'); i >= 0 {
		path = path[i+1:]
	}
	return plainName(path)
}

func plainName(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r >= 'A' && r <= 'Z':
			return r + 'a' - 'A'
		case r >= 'a' && r <= 'z', r >= '0' && r <= '9', r >= 0x80:
			return r
		}
		return -1
	}, s)
}

// identifying reports whether a number under this name says which thing is
// meant.
func identifying(name string) bool {
	for _, end := range []string{"id", "ids", "number", "numbers", "num", "iid", "pk", "key", "ref", "no"} {
		if strings.HasSuffix(name, end) {
			return true
		}
	}
	return false
}

// fits reports whether a short number under name in a result can be the one
// that was used under one of the names.
func (x *atom) fits(name string) bool {
	name = plainName(name)
	for _, n := range x.names {
		if n == "" || name != "" && (strings.HasSuffix(n, name) || strings.HasSuffix(name, n)) {
			return true
		}
	}
	return false
}

// arguments makes the candidates of the arguments of a call.
func (a *atoms) arguments(args jsontape.Value) (all []candidate) {
	var walk func(v jsontape.Value, path string)
	walk = func(v jsontape.Value, path string) {
		switch v.Kind() {
		case jsontape.String:
			all = append(all, a.string(v.Str(), path))
		case jsontape.Number:
			c := candidate{argument: path, text: string(v.Raw())}
			c.whole = a.number(c.text, path)
			all = append(all, c)
		case jsontape.Object:
			for it := v.Iter(); it.Next(); {
				next := it.Key().Str()
				if path != "" {
					next = path + "." + next
				}
				walk(it.Value(), next)
			}
		case jsontape.Array:
			for it := v.Iter(); it.Next(); {
				walk(it.Value(), path+"[*]")
			}
		}
	}
	walk(args, "")
	return all
}

// prose makes the candidates of a text that was written for a person: what
// stands in quotes, numbers of three digits and more, and what looks like an
// identifier, a path or an address. Words alone say too little.
func (a *atoms) prose(text string) (all []candidate) {
	add := func(s string) {
		if s = strings.TrimSpace(s); s == "" {
			return
		}
		c := candidate{text: s, whole: -1}
		if n := strings.ReplaceAll(s, ",", ""); digits(n) {
			if len(n) < 3 {
				return
			}
			c.text, c.whole = n, a.add(canonical(n), atom{number: true})
		} else {
			c.whole = a.add(s, atom{plain: letters(s)})
		}
		all = append(all, c)
	}
	for _, quote := range []string{"`", `"`, "'", "“”"} {
		open, end := quote[:1], quote[len(quote)-1:]
		if len(quote) > 1 {
			open, end = "“", "”"
		}
		rest := text
		for {
			_, after, ok := strings.Cut(rest, open)
			inner, behind, closed := strings.Cut(after, end)
			if !ok || !closed {
				break
			}
			if n := len([]rune(inner)); n >= minWhole && n <= 120 && !strings.ContainsAny(inner, "\r\n") {
				add(inner)
			}
			rest = behind
		}
	}
	for _, word := range strings.Fields(text) {
		word = strings.Trim(word, ".,;:!?()[]{}<>\"'`“”‘’*")
		switch {
		case digits(strings.ReplaceAll(word, ",", "")):
			add(word)
		case len(word) >= minPart && len(word) <= maxWhole && identifier(word):
			add(word)
		}
	}
	return all
}

// identifier reports whether a word is more than a word: it has digits, signs
// that names of things have, or capitals inside.
func identifier(s string) bool {
	for i := 0; i < len(s); i++ {
		c := s[i]
		switch {
		case c >= '0' && c <= '9', c == '_', c == '/', c == '@', c == '#':
			return true
		case (c == '.' || c == '-' || c == ':') && i > 0 && i < len(s)-1:
			return true
		case c >= 'A' && c <= 'Z' && i > 0 && s[i-1] >= 'a' && s[i-1] <= 'z':
			return true
		}
	}
	return false
}
