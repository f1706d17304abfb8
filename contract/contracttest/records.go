package contracttest

import (
	"encoding/json"
	"fmt"

	"github.com/spillway-mcp/spillway/contract"
	"github.com/spillway-mcp/spillway/contract/contracttest/upstream"
)

// record is one release record: every third is a draft, every fifth a
// prerelease, so that of n records some are stable.
func record(i int) rawJSON {
	return fmt.Appendf(nil, `{"id":%d,"draft":%t,"prerelease":%t,"amount":%d.25}`, i, i%3 == 0, i%5 == 0, i)
}

// stable counts the records from 1 to n that are neither.
func stable(n int) int {
	count := 0
	for i := 1; i <= n; i++ {
		if i%3 != 0 && i%5 != 0 {
			count++
		}
	}
	return count
}

func records(n int) []json.RawMessage {
	var all []json.RawMessage
	for i := 1; i <= n; i++ {
		all = append(all, record(i))
	}
	return all
}

// put makes a collection of n records in pages of ten.
func (s *scene) put(name string, n int) {
	s.Upstream.PutCollection(name, upstream.Collection{Pages: upstream.Pages(10, records(n)...)})
}

// wantRead holds a read's result and its account of itself. An empty reason
// means complete.
func (s *scene) wantRead(a Answer, result string, examined, pages int, reason string) {
	r := a.Receipt
	if r == nil || r.Coverage == nil {
		s.fatalf("no receipt of a read: %s %s", a.Raw, a.Text)
	}
	outcome := contract.Completed
	if reason != "" {
		outcome = contract.Partial
	}
	if r.Outcome != outcome || r.Reason != reason || r.Complete != (reason == "") {
		s.fatalf("want %s, reason %q; have %s", outcome, reason, a.Raw)
	}
	if !sameJSON(r.Result, []byte(result)) || r.RecordsExamined != examined || r.Pages != pages {
		s.fatalf("want %s of %d records on %d pages; have %s", result, examined, pages, a.Raw)
	}
	if r.Complete && r.Continuation != nil {
		s.failf("a complete read goes on: %s", a.Raw)
	}
	if r.Effect != contract.EffectNone {
		s.failf("a read has the effect %s", r.Effect)
	}
}

func stableText(n int) string { return fmt.Sprintf(`{"stable":%d}`, stable(n)) }

func collection(name string) rawJSON { return params("collection", name) }
