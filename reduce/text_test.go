package reduce

import (
	"strings"
	"testing"
)

func TestRED14_EndsOfOneLine(t *testing.T) {
	o := mustCompile(t, Rule{MaxBytes: 900, Text: "ends"}).Reduce(textResult(strings.Repeat("ab", 9000)), listed)
	if !strings.Contains(o.Note, "Showing bytes 1-326 and 17,675-18,000 of the 18,000 of line 1 of 1 ") {
		t.Errorf("the note tells of one end: %q", o.Note)
	}
}

func TestRED14_NoRowsIsNoPartOfOne(t *testing.T) {
	for _, side := range TextSides {
		o := mustCompile(t, Rule{MaxBytes: 4000, MaxRows: intp(0), Text: side}).Reduce(textResult(strings.Repeat("a", 9000)), listed)
		if !strings.Contains(o.Note, "Showing none of 1 lines") || strings.Contains(string(o.Result), "aa") {
			t.Errorf("%s: %s", side, o.Result)
		}
	}
}

// TestRED11_ManyFlags: of a long run of flags, none is split.
func TestRED11_ManyFlags(t *testing.T) {
	flags := []byte(strings.Repeat("🇩🇪", 500))
	for n := range len(flags) {
		if k := border(flags, n); k%8 != 0 {
			t.Fatalf("%d bytes are cut to %d: half a flag", n, k)
		}
	}
}
