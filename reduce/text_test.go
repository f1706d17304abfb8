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
