package tokens

import (
	_ "embed"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"
)

// A class is what the split patterns ask of a character, as bits.
type class uint8

const (
	upper   class = 1 << iota // in [\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]
	lower                     // in [\p{Ll}\p{Lm}\p{Lo}\p{M}]
	letter                    // \p{L}
	number                    // \p{N}
	space                     // \s of JavaScript: with U+FEFF, without U+0085
	newline                   // \r or \n, which are space too
)

// classText holds the classes of all code points in order, as runs of a letter
// (see testdata/peer/peer.mjs) and a length.
//
//go:embed data/classes.txt
var classText string

var classOf = map[byte]class{
	'U': upper | letter, 'L': lower | letter, 'B': upper | lower | letter, 'M': upper | lower,
	'N': number, 'S': space, 'R': space | newline, 'O': 0,
}

// A classTable finds the class of a code point in two steps: the page of its
// upper bits, of which few differ, and its place there.
type classTable struct {
	ascii [utf8.RuneSelf]class
	page  [(utf8.MaxRune + 1) >> 8]uint8
	pages [][256]class
}

var classes = sync.OnceValue(func() *classTable {
	t := new(classTable)
	all := make([]class, 0, utf8.MaxRune+1)
	for _, run := range strings.Fields(classText) {
		n, err := strconv.Atoi(run[1:])
		if err != nil {
			panic("tokens: embedded classes: " + run)
		}
		for range n {
			all = append(all, classOf[run[0]])
		}
	}
	copy(t.ascii[:], all)
	seen := make(map[[256]class]uint8)
	for i := range t.page {
		p := [256]class(all[i<<8:])
		at, ok := seen[p]
		if !ok {
			at = uint8(len(t.pages))
			seen[p] = at
			t.pages = append(t.pages, p)
		}
		t.page[i] = at
	}
	return t
})

// at returns the class and the length of the character at i, which is inside text.
func (t *classTable) at(text []byte, i int) (class, int) {
	if c := text[i]; c < utf8.RuneSelf {
		return t.ascii[c], 1
	}
	r, n := utf8.DecodeRune(text[i:])
	return t.pages[t.page[r>>8]][r&0xff], n
}
