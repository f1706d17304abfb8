package yamlpos

import "strings"

// Nearest returns the candidate that a person who wrote name most likely
// meant, or "" if none is close: the same letters in another case or with
// other separators, else the one with the fewest slips (a letter added,
// missing, wrong or swapped with its neighbour), at most one in three letters.
// Of equally close ones the first.
func Nearest(name string, candidates []string) string {
	best, slips := "", len([]rune(name))/3+1
	for _, c := range candidates {
		if squash(c) == squash(name) {
			return c
		}
		if d := distance(name, c); d < slips {
			best, slips = c, d
		}
	}
	return best
}

// DidYouMean returns the hint for a name that is close to a candidate, or "".
func DidYouMean(name string, candidates []string) string {
	if c := Nearest(name, candidates); c != "" {
		return "did you mean " + quote(c) + "?"
	}
	return ""
}

func squash(s string) string {
	return strings.NewReplacer("_", "", "-", "", " ", "").Replace(strings.ToLower(s))
}

// distance counts the slips between two names (optimal string alignment).
func distance(a, b string) int {
	s, t := []rune(a), []rune(b)
	if len(s) > 64 || len(t) > 64 {
		return 64
	}
	prev2, prev, cur := make([]int, len(t)+1), make([]int, len(t)+1), make([]int, len(t)+1)
	for j := range prev {
		prev[j] = j
	}
	for i := 1; i <= len(s); i++ {
		cur[0] = i
		for j := 1; j <= len(t); j++ {
			cost := 1
			if s[i-1] == t[j-1] {
				cost = 0
			}
			cur[j] = min(prev[j]+1, cur[j-1]+1, prev[j-1]+cost)
			if i > 1 && j > 1 && s[i-1] == t[j-2] && s[i-2] == t[j-1] {
				cur[j] = min(cur[j], prev2[j-2]+1)
			}
		}
		prev2, prev, cur = prev, cur, prev2
	}
	return prev[len(t)]
}
