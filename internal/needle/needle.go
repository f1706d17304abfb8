// Package needle finds many known strings in texts in one pass: identifiers,
// paths and names, where they stand between word borders. It does not decode
// JSON and knows nothing of what the strings mean.
package needle

// Set is a set of strings to look for. Adding is not safe for concurrent use;
// scanning is, once nothing is added any more. The zero Set is empty.
type Set struct {
	needles []entry
	ids     map[string]int
	byWord  map[string][]int32
	// filter has, for each first byte of a word, a bit for each length of a
	// word that some needle starts with: most words of a text end here.
	filter [256]uint64
}

type entry struct {
	text string
	off  int // of the first word in text
}

var word = func() (t [256]bool) {
	for c := range t {
		t[c] = c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_' || c >= 0x80 && c != general
	}
	return t
}()

// general is the first of the three bytes of U+2000 to U+2FFF: the quotation
// marks, dashes and signs of all scripts, which end a word as a comma does.
const general = 0xe2

// skip returns where the next byte that may begin a word is, behind i, which is
// in none.
func skip[T []byte | string](text T, i int) int {
	if text[i] == general {
		return min(i+3, len(text))
	}
	return i + 1
}

// IsWord reports whether a byte belongs to a word: a letter, a digit, an
// underscore, or part of a character beyond ASCII.
func IsWord(c byte) bool { return word[c] }

// Add adds a string and returns its number, from 0 in the order of adding; that
// of before if it is there. A string without a word in it is never found.
func (s *Set) Add(text string) int {
	if id, ok := s.ids[text]; ok {
		return id
	}
	if s.ids == nil {
		s.ids, s.byWord = map[string]int{}, map[string][]int32{}
	}
	id := len(s.needles)
	s.ids[text] = id
	from := 0
	for from < len(text) && !word[text[from]] {
		from = skip(text, from)
	}
	s.needles = append(s.needles, entry{text, from})
	if from == len(text) {
		return id
	}
	to := from
	for to < len(text) && word[text[to]] {
		to++
	}
	w := text[from:to]
	s.byWord[w] = append(s.byWord[w], int32(id))
	s.filter[w[0]] |= 1 << min(len(w), 63)
	return id
}

// ID returns the number of a string, and whether it is in the set.
func (s *Set) ID(text []byte) (int, bool) {
	id, ok := s.ids[string(text)]
	return id, ok
}

// Len returns how many strings are in the set.
func (s *Set) Len() int { return len(s.needles) }

// Text returns the string with a number.
func (s *Set) Text(id int) string { return s.needles[id].text }

// Scan calls found for each place in text where a string of the set stands, in
// the order of their first words; places may overlap. A string that starts or
// ends with a part of a word is found only where that word starts or ends.
func (s *Set) Scan(text []byte, found func(id, start int)) {
	if len(s.needles) == 0 {
		return
	}
	for i := 0; i < len(text); {
		if !word[text[i]] {
			i = skip(text, i)
			continue
		}
		from := i
		for i++; i < len(text) && word[text[i]]; i++ {
		}
		if s.filter[text[from]]&(1<<min(i-from, 63)) == 0 {
			continue
		}
		for _, id := range s.byWord[string(text[from:i])] {
			n := s.needles[id]
			start := from - n.off
			end := start + len(n.text)
			if start < 0 || end > len(text) || string(text[start:end]) != n.text {
				continue
			}
			if end < len(text) && word[text[end]] && word[text[end-1]] {
				continue
			}
			found(int(id), start)
		}
	}
}
