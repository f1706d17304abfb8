package contracttest

import (
	"fmt"

	"github.com/spillway-mcp/spillway/contract"
	"github.com/spillway-mcp/spillway/contract/contracttest/upstream"
)

var limitCases = []Case{
	{"Q03", "exactly at the page limit", nil, atLimit},
	{"Q04", "one over it", nil, overLimit},
	{"Q08", "each limit", nil, eachLimit},
	{"K08", "a sum over 276 records is of all of them, or says that it is not", nil, sumOfAll},
}

func atLimit(s *scene) {
	s.put("c", 10*CountMaxPages)
	s.wantRead(s.open(alice).read(OpCount, collection("c")), stableText(50), 50, 5, "")
}

func overLimit(s *scene) {
	p := s.open(alice)
	s.put("c", 10*CountMaxPages+1)
	a := p.read(OpCount, collection("c"))
	s.wantRead(a, stableText(50), 50, 5, contract.ReasonMaxPages)
	if a.Receipt.NextAction != contract.NextResume {
		s.failf("what follows a page limit: %s", a.Raw)
	}
	if n := len(s.Upstream.Arrivals()); n != CountMaxPages {
		s.failf("want %d requests, have %d", CountMaxPages, n)
	}
	s.wantRead(p.resume(OpCount, collection("c"), a), stableText(51), 51, 6, "")
}

func eachLimit(s *scene) {
	p := s.open(alice)
	s.put("c", 120) // pages: 5, 5 and 2
	a := p.read(OpCount, collection("c"))
	s.wantRead(a, stableText(50), 50, 5, contract.ReasonMaxPages)
	a = p.resume(OpCount, collection("c"), a)
	s.wantRead(a, stableText(100), 100, 10, contract.ReasonMaxPages)
	s.wantRead(p.resume(OpCount, collection("c"), a), stableText(120), 120, 12, "")

	s.put("d", 60) // records: 25 of them are two and a half pages
	a = p.read(OpValues, collection("d"))
	if a.Reason() != contract.ReasonMaxRecords || a.Receipt.Complete || a.Receipt.RecordsExamined > ValuesMaxRecords {
		s.fatalf("want %s, have %s", contract.ReasonMaxRecords, a.Raw)
	}
	for rounds := 0; !a.Receipt.Complete; rounds++ {
		if rounds == 10 {
			s.fatalf("no end after %d rounds: %s", rounds, a.Raw)
		}
		a = p.resume(OpValues, collection("d"), a)
	}
	if want := valuesText(60); a.Receipt.RecordsExamined != 60 || !sameJSON(a.Receipt.Result, []byte(want)) {
		s.failf("want %s, have %s", want, a.Raw)
	}

	// Time: a page that does not come.
	s.put("e", 30)
	s.Upstream.Script(upstream.Fault{On: upstream.OnPage(3), Before: func(a upstream.Arrival) {
		select {
		case <-a.Gone:
		case <-s.ctx.Done():
		}
	}})
	a = p.read(OpQuick, collection("e"))
	s.wantRead(a, `{"count":20}`, 20, 2, contract.ReasonDeadline)
	s.wantRead(p.resume(OpQuick, collection("e"), a), `{"count":30}`, 30, 3, "")

	// The result's size.
	s.put("f", 300)
	a = p.read(OpList, collection("f"))
	if a.Reason() != contract.ReasonMaxResult || a.Receipt.Complete || len(a.Receipt.Result) > ListMaxBytes {
		s.failf("want %s and at most %d bytes, have %d: %s", contract.ReasonMaxResult, ListMaxBytes, len(a.Receipt.Result), a.Raw)
	}
}

func valuesText(n int) string {
	ids, sum := "", 0
	for i := 1; i <= n; i++ {
		ids += fmt.Sprint(",", i)
		sum += 100*i + 25
	}
	return fmt.Sprintf(`{"count":%d,"total":%d.%02d,"least":1.25,"ids":[%s]}`, n, sum/100, sum%100, ids[1:])
}

func sumOfAll(s *scene) {
	p := s.open(alice)
	s.put("c", 276)
	a := p.read(OpValues, collection("c"))
	for rounds := 1; a.Receipt != nil && a.Receipt.Coverage != nil && !a.Receipt.Complete; rounds++ {
		// What it has so far is that, and not the answer.
		if a.Reason() != contract.ReasonMaxRecords || a.Receipt.RecordsExamined != rounds*ValuesMaxRecords ||
			!sameJSON(a.Receipt.Result, []byte(valuesText(rounds*ValuesMaxRecords))) {
			s.fatalf("round %d: %s", rounds, a.Raw)
		}
		a = p.resume(OpValues, collection("c"), a)
	}
	if a.Outcome() != contract.Completed || a.Receipt.RecordsExamined != 276 || !sameJSON(a.Receipt.Result, []byte(valuesText(276))) {
		s.failf("want %s, have %s", valuesText(276), a.Raw)
	}
}
