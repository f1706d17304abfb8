package rules

import (
	"cmp"
	"slices"
	"strings"
	"unicode/utf8"
)

// isGlob reports whether a name under a server stands for several tools.
func isGlob(pattern string) bool { return strings.ContainsAny(pattern, "*?") }

// match reports whether a tool's name matches a pattern: * stands for any run
// of characters, also none, ? for one character, all others for themselves.
func match(pattern, name string) bool {
	star, mark := -1, 0 // the last * and how much of name it has taken
	p, n := 0, 0
	for n < len(name) {
		_, w := utf8.DecodeRuneInString(name[n:])
		switch {
		case p < len(pattern) && pattern[p] == '*':
			star, mark = p, n
			p++
		case p < len(pattern) && pattern[p] == '?':
			p, n = p+1, n+w
		case p < len(pattern) && strings.HasPrefix(pattern[p:], name[n:n+w]):
			p, n = p+w, n+w
		case star >= 0:
			_, w := utf8.DecodeRuneInString(name[mark:])
			mark += w
			p, n = star+1, mark
		default:
			return false
		}
	}
	return strings.Trim(pattern[p:], "*") == ""
}

// sortGlobs puts the longest first: the one with the most characters that
// stand for themselves, then with the most ?, then by byte order.
func sortGlobs(globs []*entry) {
	slices.SortFunc(globs, func(a, b *entry) int {
		return cmp.Or(
			cmp.Compare(literals(b.pattern), literals(a.pattern)),
			cmp.Compare(strings.Count(b.pattern, "?"), strings.Count(a.pattern, "?")),
			strings.Compare(a.pattern, b.pattern))
	})
}

func literals(pattern string) int {
	return utf8.RuneCountInString(pattern) - strings.Count(pattern, "*") - strings.Count(pattern, "?")
}
