package needle

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func found(s *Set, text string) (all []string) {
	s.Scan([]byte(text), func(id, start int) { all = append(all, fmt.Sprintf("%s@%d", s.Text(id), start)) })
	return all
}

func TestScan(t *testing.T) {
	var s Set
	for _, text := range []string{"abc", "a/b.c", "/x", "abc def", "…", "größe", "42"} {
		s.Add(text)
	}
	if s.Add("abc") != 0 || s.Len() != 7 {
		t.Error("a string is added once")
	}
	for text, want := range map[string][]string{
		"abc":            {"abc@0"},
		"xabc abcx abc_": nil,
		"(abc) abc def":  {"abc@1", "abc@6", "abc def@6"},
		"see a/b.c, b.c": {"a/b.c@4"},
		"y/x x":          {"/x@1"},
		"…":              nil,
		"Die größe 42 m": {"größe@4", "42@12"},
		"142 42a 4 2":    nil,
		"“abc”—42…":      {"abc@3", "42@12"},
	} {
		if got := found(&s, text); !slices.Equal(got, want) {
			t.Errorf("%q: %v, want %v", text, got, want)
		}
	}
}

// Every place that a plain search finds between borders is found, and no other.
func TestScanFindsWhatASearchFinds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		part := rapid.StringOfN(rapid.RuneFrom([]rune("ab1_.- /")), 1, 5, -1)
		needles := rapid.SliceOfN(part, 1, 6).Draw(t, "needles")
		text := rapid.StringOfN(rapid.RuneFrom([]rune("ab1_.- /")), 0, 60, -1).Draw(t, "text")
		var s Set
		want := map[string]bool{}
		for _, n := range needles {
			s.Add(n)
			if !strings.ContainsFunc(n, func(r rune) bool { return IsWord(byte(r)) }) {
				continue
			}
			for i := 0; i+len(n) <= len(text); i++ {
				end := i + len(n)
				inside := i > 0 && IsWord(text[i-1]) && IsWord(n[0]) || end < len(text) && IsWord(text[end]) && IsWord(n[len(n)-1])
				if text[i:end] == n && !inside {
					want[fmt.Sprintf("%s@%d", n, i)] = true
				}
			}
		}
		got := map[string]bool{}
		for _, f := range found(&s, text) {
			got[f] = true
		}
		if len(got) != len(want) {
			t.Fatalf("%v, want %v", got, want)
		}
		for f := range want {
			if !got[f] {
				t.Fatalf("%s is missing in %v", f, got)
			}
		}
	})
}
