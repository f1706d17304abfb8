package contracttest

import (
	"fmt"
	"slices"

	"github.com/spillway-mcp/spillway/contract"
	"github.com/spillway-mcp/spillway/contract/contracttest/upstream"
)

var readCases = []Case{
	{"Q01", "empty", nil, emptyRead},
	{"Q02", "mixed", nil, mixedRead},
	{"Q05", "an empty page in the middle", nil, emptyPage},
	{"Q06", "a repeated cursor", nil, repeatedCursor},
	{"Q07", "duplicate ids across pages", nil, duplicateIDs},
	{"Q12", "an error on page k", nil, errorOnPage},
	{"Q13", "writes while paging", nil, writesWhilePaging},
	{"Q14", "access lost midway", nil, accessLost},
	{"Q15", "a record without the field that where reads", nil, invalidRecord},
}

func emptyRead(s *scene) {
	p := s.open(alice)
	s.put("c", 0)
	s.wantRead(p.read(OpCount, collection("c")), `{"stable":0}`, 0, 1, "")
	s.wantRead(p.read(OpValues, collection("c")), `{"count":0,"total":0,"least":null,"ids":[]}`, 0, 1, "")
}

func mixedRead(s *scene) {
	p := s.open(alice)
	s.put("c", 20)
	s.wantRead(p.read(OpCount, collection("c")), stableText(20), 20, 2, "")
	s.put("c", 3)
	s.wantRead(p.read(OpValues, collection("c")), `{"count":3,"total":6.75,"least":1.25,"ids":[1,2,3]}`, 3, 1, "")
	s.put("c", 45)
	s.wantRead(p.read(OpCount, collection("c")), stableText(45), 45, 5, "")
	a := p.call(Call{Verb: VerbDo, Operation: OpCount, Params: collection("c"), Evidence: true}) // C-08
	s.wantRead(a, stableText(45), 45, 5, "")
	if len(a.Receipt.Evidence) != 5 {
		s.failf("want the refs of 5 pages, have %s", a.Raw)
	}
}

func emptyPage(s *scene) {
	all := records(20)
	s.Upstream.PutCollection("c", upstream.Collection{Pages: [][]rawJSON{all[:10], {}, all[10:]}})
	s.wantRead(s.open(alice).read(OpCount, collection("c")), stableText(20), 20, 3, "")
	// An empty cursor is no end either, unless the definition says so.
	s.Upstream.PutCollection("d", upstream.Collection{Pages: [][]rawJSON{all[:10], all[10:]}, Next: map[int]string{1: `""`}})
	a := s.open(alice).read(OpCount, collection("d"))
	if a.Receipt == nil || a.Receipt.Coverage == nil || a.Receipt.Complete {
		s.failf(`an empty cursor was taken for the end: %s`, a.Raw)
	}
}

func repeatedCursor(s *scene) {
	p := s.open(alice)
	all := records(40)
	for name, next := range map[string]map[int]string{
		"twice in a row": {2: `"p2"`},
		"seen before":    {3: `"p2"`},
	} {
		s.Upstream.PutCollection("c", upstream.Collection{Pages: upstream.Pages(10, all...), Next: next})
		a := p.read(OpCount, collection("c"))
		if a.Reason() != contract.ReasonCursorLoop || a.Receipt.Complete {
			s.failf("%s: want %s, have %s", name, contract.ReasonCursorLoop, a.Raw)
		}
		if n := len(s.Upstream.Arrivals()); n > 10 {
			s.failf("%s: %d requests", name, n)
		}
	}
}

func duplicateIDs(s *scene) {
	all := records(20)
	pages := [][]rawJSON{all[:10], append(slices.Clone(all[7:10]), all[10:]...), slices.Clone(all[:2])}
	s.Upstream.PutCollection("c", upstream.Collection{Pages: pages})
	a := s.open(alice).read(OpCount, collection("c"))
	if a.Outcome() != contract.Completed || !sameJSON(a.Receipt.Result, []byte(stableText(20))) || a.Receipt.Duplicates != 5 {
		s.failf("want %s with 5 duplicates, have %s", stableText(20), a.Raw)
	}
}

func errorOnPage(s *scene) {
	p := s.open(alice)
	s.put("c", 40)
	for _, f := range []upstream.Fault{
		{On: upstream.OnPage(3), Refuse: 500},
		{On: upstream.OnPage(3), LoseAnswer: true, Times: -1}, // clients may repeat a GET on a new connection
		{On: upstream.OnPage(3), Refuse: 429},
	} {
		s.Upstream.Script(f)
		a := p.read(OpCount, collection("c"))
		s.Upstream.Heal()
		s.wantRead(a, stableText(20), 20, 2, contract.ReasonUpstreamError)
		if a.Receipt.NextAction != contract.NextResume {
			s.failf("what follows an error on page 3: %s", a.Raw)
		}
		s.wantRead(p.resume(OpCount, collection("c"), a), stableText(40), 40, 4, "")
	}
	s.Upstream.Script(upstream.Fault{On: upstream.OnPage(2), Refuse: 200, Body: `<html>`})
	s.wantRead(p.read(OpCount, collection("c")), stableText(10), 10, 1, contract.ReasonInvalidPage)
	s.Upstream.Script(upstream.Fault{On: upstream.OnPage(2), Refuse: 200, Body: `{"next":null}`})
	s.wantRead(p.read(OpCount, collection("c")), stableText(10), 10, 1, contract.ReasonInvalidPage)
}

func writesWhilePaging(s *scene) {
	p := s.open(alice)
	s.put("c", 20)
	// Between the pages somebody puts a record in front: what was on page one
	// slides to page two and is counted once.
	s.Upstream.Script(upstream.Fault{On: upstream.OnPage(1), After: func(upstream.Arrival) {
		all := append([]rawJSON{record(101)}, records(20)...)
		s.Upstream.PutCollection("c", upstream.Collection{Pages: upstream.Pages(10, all...)})
	}})
	a := p.read(OpCount, collection("c"))
	if a.Outcome() != contract.Completed || !sameJSON(a.Receipt.Result, []byte(stableText(20))) || a.Receipt.Duplicates != 1 {
		s.failf("want each record once, have %s", a.Raw)
	}
	if a.Receipt != nil && a.Receipt.Coverage != nil && a.Receipt.Consistency != contract.Live {
		s.failf("the receipt of a live read says %s", a.Receipt.Consistency)
	}
}

func accessLost(s *scene) {
	p := s.open(alice)
	s.put("c", 40)
	for _, status := range []int{401, 403} {
		s.Upstream.Script(upstream.Fault{On: upstream.OnPage(3), Refuse: status})
		s.wantRead(p.read(OpCount, collection("c")), stableText(20), 20, 2, contract.ReasonAccessLost)
	}
	if !s.has(HasPolicy) {
		return
	}
	s.Upstream.Script(upstream.Fault{On: upstream.OnPage(2), After: func(upstream.Arrival) {
		s.Policy.Refuse(func(a contract.Access) bool { return a.Caller == alice })
	}})
	a := p.read(OpCount, collection("c"))
	if a.Receipt == nil || a.Receipt.Coverage == nil || a.Receipt.Complete || a.Reason() != contract.ReasonAccessLost && a.Reason() != contract.ReasonUnauthorized {
		s.failf("the policy changed midway: %s", a.Raw)
	}
	for _, x := range s.Upstream.Arrivals() {
		if a.Receipt != nil && x.Seq == len(s.Upstream.Arrivals()) && x.Cursor != "p2" {
			s.failf("page %s was read after access was lost", x.Cursor)
		}
	}
}

func invalidRecord(s *scene) {
	p := s.open(alice)
	for name, bad := range map[string]string{
		"absent": `{"id":99,"prerelease":false}`,
		"null":   `{"id":99,"draft":null,"prerelease":false}`,
		"string": `{"id":99,"draft":"false","prerelease":false}`,
		"number": `{"id":99,"draft":0,"prerelease":false}`,
	} {
		all := records(20)
		all[13] = rawJSON(bad)
		s.Upstream.PutCollection("c", upstream.Collection{Pages: upstream.Pages(10, all...)})
		a := p.read(OpCount, collection("c"))
		if a.Reason() != contract.ReasonInvalidRecord || a.Receipt.Complete {
			s.failf("%s: want %s, have %s", name, contract.ReasonInvalidRecord, a.Raw)
			continue
		}
		if at := a.Receipt.Position; at == nil || at.Page != 2 || at.Record != 4 || at.Field != "draft" {
			s.failf("%s: want the position page 2, record 4, field draft; have %s", name, a.Raw)
		}
	}
	all := records(3)
	all[1] = rawJSON(fmt.Sprintf(`{"id":%d,"amount":"12"}`, 2))
	s.Upstream.PutCollection("c", upstream.Collection{Pages: upstream.Pages(10, all...)})
	a := p.read(OpValues, collection("c"))
	if a.Reason() != contract.ReasonInvalidRecord || a.Receipt.Position == nil || a.Receipt.Position.Record != 2 {
		s.failf("a sum over a string: %s", a.Raw)
	}
}
