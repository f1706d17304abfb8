package contracttest

import (
	"strings"
	"time"

	"github.com/spillway-mcp/spillway/contract"
)

var continuationCases = []Case{
	{"Q09", "resume in another process", nil, resumeElsewhere},
	{"Q10", "a changed filter with a continuation", nil, changedFilter},
	{"Q11", "a tampered, expired, foreign continuation", nil, badContinuations},
}

// stopped makes a read of 70 records that stops after 50.
func (s *scene) stoppedRead(p *proc) (Answer, string) {
	s.put("c", 70)
	a := p.read(OpCount, collection("c"))
	s.wantRead(a, stableText(50), 50, 5, contract.ReasonMaxPages)
	if a.Receipt.Continuation == nil {
		s.fatalf("no continuation: %s", a.Raw)
	}
	return a, *a.Receipt.Continuation
}

func resumeElsewhere(s *scene) {
	a, token := s.stoppedRead(s.open(alice))
	s.wantRead(s.open(alice).resume(OpCount, collection("c"), a), stableText(70), 70, 7, "")
	// Again, by the continuation alone: it grants nothing that is used up.
	s.wantRead(s.open(alice).call(Call{Verb: VerbResume, Operation: OpCount, Continuation: token}), stableText(70), 70, 7, "")
}

func changedFilter(s *scene) {
	p := s.open(alice)
	s.put("d", 70)
	_, token := s.stoppedRead(p)
	before := len(s.Upstream.Arrivals())
	for _, changed := range []rawJSON{collection("d"), params("collection", "c", "label", "x")} {
		a := p.call(Call{Verb: VerbDo, Operation: OpCount, Params: changed, Continuation: token})
		s.want(a, contract.Rejected, contract.ReasonContinuationParams)
	}
	a := p.call(Call{Verb: VerbDo, Operation: OpValues, Params: collection("c"), Continuation: token})
	s.want(a, contract.Rejected, contract.ReasonContinuationVersion)
	if n := len(s.Upstream.Arrivals()); n != before {
		s.failf("a refused continuation read %d pages", n-before)
	}
}

func badContinuations(s *scene) {
	p := s.open(alice)
	_, token := s.stoppedRead(p)
	before := len(s.Upstream.Arrivals())
	resume := func(p *proc, token string) Answer {
		return p.call(Call{Verb: VerbDo, Operation: OpCount, Params: collection("c"), Continuation: token})
	}
	for _, i := range []int{0, len(token) / 2, len(token) - 2} {
		other := "A"
		if token[i] == 'A' {
			other = "B"
		}
		s.want(resume(p, token[:i]+other+token[i+1:]), contract.Rejected, contract.ReasonContinuation)
	}
	s.want(resume(p, token[:len(token)/2]), contract.Rejected, contract.ReasonContinuation)
	s.want(resume(p, "x"), contract.Rejected, contract.ReasonContinuation)
	if s.has(HasCallers) {
		for _, a := range []Answer{
			resume(s.open(bob), token),
			s.open(bob).call(Call{Verb: VerbResume, Operation: OpCount, Continuation: token}),
		} {
			s.want(a, contract.Rejected, contract.ReasonContinuationCaller, contract.ReasonContinuation)
			if strings.Contains(a.Receipt.Message+a.Receipt.Hint, "50") || a.Receipt.Coverage != nil {
				s.failf("a stranger is told how far it went: %s", a.Raw)
			}
		}
	}
	if s.has(HasClock) {
		s.Clock.Jump(25 * time.Hour)
		a := resume(p, token)
		s.want(a, contract.Rejected, contract.ReasonContinuationExpired)
		for _, tell := range []string{OpCount + "@1.0", "collection", "50"} {
			if !strings.Contains(a.Receipt.Message+a.Receipt.Hint, tell) {
				s.failf("an expired continuation does not say that it stood for %s: %s", tell, a.Raw)
			}
		}
	}
	if n := len(s.Upstream.Arrivals()); n != before {
		s.failf("a refused continuation read %d pages", n-before)
	}
}
