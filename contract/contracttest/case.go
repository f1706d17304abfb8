package contracttest

import (
	"fmt"
	"runtime/debug"
	"strings"
	"testing"
)

// Case is one rule's test.
type Case struct {
	ID    string // "M01"; see Cases
	Title string
	Needs []Feature
	run   func(*scene)
}

// Result is what a case found over an adapter.
type Result struct {
	ID       string
	Failures []string // empty: the case passed, or was skipped
	Skipped  string   // why, where it could not run
}

// Cases returns all cases: mutations M01 to M24, reads Q01 to Q15, what faces
// owe A01 to A05, and some of what broke comparable systems, K08 and K50 to K52.
func Cases() []Case {
	var all []Case
	for _, group := range [][]Case{mutationCases, conflictCases, previewCases, failureCases, timeCases, readCases, limitCases, continuationCases, faceCases} {
		all = append(all, group...)
	}
	return all
}

// Run runs every case over an adapter.
func Run(t *testing.T, a Adapter) {
	for _, c := range Cases() {
		t.Run(c.ID, func(t *testing.T) {
			r := c.Check(a)
			if r.Skipped != "" {
				t.Skipf("%s (%s): %s", c.ID, c.Title, r.Skipped)
			}
			for i, f := range r.Failures {
				if i == 10 {
					t.Errorf("%s: and %d more", c.ID, len(r.Failures)-i)
					break
				}
				t.Errorf("%s (%s) over %s: %s", c.ID, c.Title, a.Name(), f)
			}
		})
	}
}

// Check runs a case over an adapter, in a world of its own.
func (c Case) Check(a Adapter) (r Result) {
	r.ID = c.ID
	for _, f := range c.Needs {
		if why := a.Lacks(f); why != "" {
			r.Skipped = fmt.Sprintf("%s has no %s: %s", a.Name(), f, why)
			return r
		}
	}
	w, err := NewWorld()
	if err != nil {
		r.Failures = []string{err.Error()}
		return r
	}
	defer w.Close()
	s := newScene(a, w)
	defer s.close()
	func() {
		defer s.stopped()
		c.run(s)
		s.finish()
	}()
	r.Failures = s.result()
	return r
}

// stop is how a scene ends a case early.
type stop struct{}

// stopped catches a stop. Anything else is a face's answer that the case could
// not stomach: a failure too.
func (s *scene) stopped() {
	switch x := recover(); x.(type) {
	case nil, stop:
	default:
		s.failf("%v\n%s", x, debug.Stack())
	}
}

func (s *scene) failf(format string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.failures = append(s.failures, strings.TrimSpace(fmt.Sprintf(format, args...)))
}

func (s *scene) fatalf(format string, args ...any) {
	s.failf(format, args...)
	panic(stop{})
}

func (s *scene) result() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.failures
}
