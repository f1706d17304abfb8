package reduce

import (
	"strings"
	"testing"

	"github.com/spillway-mcp/spillway/internal/jsontape"
)

// TestRED17_BehindAnotherSpillway: what was cut is cut again, and has one set
// of facts and both notes.
func TestRED17_BehindAnotherSpillway(t *testing.T) {
	first := mustCompile(t, Rule{MaxRows: intp(50)}).Reduce(both(`{"items":`+list(`{"id":1,"name":"a name"}`, 400)+`}`), listed)
	second := mustCompile(t, Rule{MaxRows: intp(5)}).Reduce(first.Result, listed)
	d, err := jsontape.Parse(second.Result)
	if err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(string(second.Result), MetaKey); n != 1 || d.Root().Get("_meta").Len() != 1 {
		t.Errorf("%d sets of facts: %s", n, second.Result)
	}
	if facts := d.Root().Lookup("_meta", MetaKey); string(facts.Get("total").Raw()) != "50" || !facts.Get("ref").Is(second.Ref) {
		t.Errorf("facts %s", facts.Raw())
	}
	v := d.Root().Get("structuredContent")
	if !strings.HasPrefix(v.Get("_spillway").Str(), "Showing 5 of 50 rows") || v.Get("_spillway_upstream").Str() != first.Note {
		t.Errorf("notes: %s", v.Raw())
	}
}
