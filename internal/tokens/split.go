package tokens

// A splitter returns the end of the piece of text that starts at i. It does by
// hand what the vocabulary's pattern does, with the same choice among the
// alternatives; text is valid UTF-8 and i is inside it.
type splitter func(t *classTable, text []byte, i int) int

// splitCL100K follows
//
//	'(?:[sS]|[dD]|[mM]|[tT]|[lL][lL]|[vV][eE]|[rR][eE])
//	|[^\r\n\p{L}\p{N}]?\p{L}+
//	|\p{N}{1,3}
//	| ?[^\s\p{L}\p{N}]+[\r\n]*
//	|\s+$|\s*[\r\n]|\s+(?!\S)|\s
func splitCL100K(t *classTable, text []byte, i int) int {
	if text[i] == '\'' {
		if end := contraction(text, i); end > i {
			return end
		}
	}
	c, n := t.at(text, i)
	switch {
	case c&letter != 0:
		return t.run(text, i+n, letter)
	case c&number != 0:
		return t.numbers(text, i+n)
	}
	if c&newline == 0 && i+n < len(text) {
		if next, m := t.at(text, i+n); next&letter != 0 {
			return t.run(text, i+n+m, letter)
		} else if text[i] == ' ' && next&(space|number) == 0 {
			return t.symbols(text, i+n, false)
		}
	}
	if c&space == 0 {
		return t.symbols(text, i, false)
	}
	return t.spaces(text, i, true)
}

// splitO200K follows
//
//	[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+('s|…)?
//	|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*('s|…)?
//	|\p{N}{1,3}
//	| ?[^\s\p{L}\p{N}]+[\r\n/]*
//	|\s*[\r\n]+|\s+(?!\S)|\s+
func splitO200K(t *classTable, text []byte, i int) int {
	c, n := t.at(text, i)
	switch {
	case c&letter != 0:
		end, _ := t.word(text, i)
		return end
	case c&number != 0:
		return t.numbers(text, i+n)
	}
	if c&newline == 0 && i+n < len(text) {
		if next, _ := t.at(text, i+n); next&(upper|lower) != 0 {
			end, lowered := t.word(text, i+n)
			// A mark is both a prefix and a letter of a word: where the pattern's
			// first alternative fails with it as prefix, it succeeds with it alone.
			if !lowered && c&lower != 0 {
				return contraction(text, i+n)
			}
			return end
		} else if text[i] == ' ' && next&(space|number) == 0 {
			return t.symbols(text, i+n, true)
		}
	}
	switch {
	case c&lower != 0: // a mark by itself
		return contraction(text, i+n)
	case c&space == 0:
		return t.symbols(text, i, true)
	}
	return t.spaces(text, i, false)
}

// word returns the end of the o200k word at i, whose first character is upper or
// lower, and whether the first alternative (with at least one lower) made it.
func (t *classTable) word(text []byte, i int) (end int, lowered bool) {
	last := -1 // end of the last character of the upper run that is lower too
	for i < len(text) {
		c, n := t.at(text, i)
		if c&upper == 0 {
			if c&lower != 0 {
				return contraction(text, t.run(text, i+n, lower)), true
			}
			break
		}
		i += n
		if c&lower != 0 {
			last = i
		}
	}
	if last >= 0 {
		return contraction(text, last), true
	}
	return contraction(text, i), false
}

// run returns the end of the run of characters of class k at i.
func (t *classTable) run(text []byte, i int, k class) int {
	for i < len(text) {
		c, n := t.at(text, i)
		if c&k == 0 {
			break
		}
		i += n
	}
	return i
}

// numbers returns the end of up to two more numbers at i.
func (t *classTable) numbers(text []byte, i int) int {
	for range 2 {
		if i == len(text) {
			break
		}
		c, n := t.at(text, i)
		if c&number == 0 {
			break
		}
		i += n
	}
	return i
}

// symbols returns the end of the symbols at i and of the line ends (and, for
// o200k, the slashes) after them.
func (t *classTable) symbols(text []byte, i int, slash bool) int {
	for i < len(text) {
		c, n := t.at(text, i)
		if c&(space|letter|number) != 0 {
			break
		}
		i += n
	}
	for i < len(text) && (text[i] == '\n' || text[i] == '\r' || slash && text[i] == '/') {
		i++
	}
	return i
}

// spaces returns the end of the piece of white space at i: to the last line end
// of the run, or to the run's last character but one, which belongs to what
// follows. A run at the end of the text is one piece; in cl100k (whole) even
// where it has line ends.
func (t *classTable) spaces(text []byte, i int, whole bool) int {
	line, before := -1, i
	end := i
	for end < len(text) {
		c, n := t.at(text, end)
		if c&space == 0 {
			break
		}
		before = end
		end += n
		if c&newline != 0 {
			line = end
		}
	}
	switch {
	case end == len(text) && whole:
		return end
	case line >= 0:
		return line
	case end == len(text) || before == i:
		return end
	}
	return before
}

// contraction returns the end of an English contraction ('s, 'LL, …) at i, or i.
func contraction(text []byte, i int) int {
	if i+1 >= len(text) || text[i] != '\'' {
		return i
	}
	switch text[i+1] | 0x20 {
	case 's', 'd', 'm', 't':
		return i + 2
	case 'l':
		if i+2 < len(text) && text[i+2]|0x20 == 'l' {
			return i + 3
		}
	case 'v', 'r':
		if i+2 < len(text) && text[i+2]|0x20 == 'e' {
			return i + 3
		}
	}
	return i
}
