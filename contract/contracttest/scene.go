package contracttest

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spillway-mcp/spillway/contract"
)

// patience bounds every wait of a case.
const patience = 30 * time.Second

// alice and bob are the callers of the cases.
const (
	alice = "alice"
	bob   = "bob"
)

// scene is one case under way.
type scene struct {
	*World
	adapter Adapter
	ctx     context.Context
	cancel  context.CancelFunc

	mu       sync.Mutex
	procs    []*proc
	claims   map[claimID]*Claim
	order    []claimID
	gone     map[claimID]bool // past retention: nothing is known of them
	failures []string
}

type claimID struct{ caller, operation, key string }

// proc is a process of the face, acting for a caller.
type proc struct {
	Process
	s      *scene
	caller string
}

func newScene(a Adapter, w *World) *scene {
	ctx, cancel := context.WithTimeout(context.Background(), 2*patience)
	return &scene{World: w, adapter: a, ctx: ctx, cancel: cancel, claims: map[claimID]*Claim{}, gone: map[claimID]bool{}}
}

func (s *scene) close() {
	s.cancel()
	s.mu.Lock()
	procs := slices.Clone(s.procs)
	s.mu.Unlock()
	for _, p := range procs {
		p.Close()
	}
}

func (s *scene) has(f Feature) bool { return s.adapter.Lacks(f) == "" }

// open starts a process.
func (s *scene) open(caller string) *proc {
	p, err := s.adapter.Open(s.World, caller)
	if err != nil {
		s.fatalf("no process for %s: %v", caller, err)
	}
	q := &proc{p, s, caller}
	s.mu.Lock()
	s.procs = append(s.procs, q)
	s.mu.Unlock()
	return q
}

// call makes a call and looks at what holds for every answer.
func (p *proc) call(c Call) Answer { return p.callCtx(p.s.ctx, c) }

func (p *proc) callCtx(ctx context.Context, c Call) Answer {
	id := claimID{p.caller, nameOf(c.Operation), c.Key}
	mutates := c.Verb == VerbDo && subjects(c.Operation, c.Params) != nil
	if mutates && c.Key != "" {
		p.s.claim(id, c)
	}
	a := p.Do(ctx, c)
	if mutates && c.Key == "" && a.Receipt != nil && !speaksOfCall(a.Receipt) {
		id.key = a.Receipt.OperationID
		p.s.claim(id, c)
	}
	if a.Error != "" {
		p.s.failf("%s %s %s: the face failed: %s", c.Verb, c.Operation, c.Key, a.Error)
	}
	if a.Receipt == nil {
		return a
	}
	if c.Verb == VerbDo || c.Verb == VerbGet || c.Verb == VerbReconcile || c.Verb == VerbCommit || c.Verb == VerbResolve {
		p.s.believe(id, a.Receipt)
		p.s.sane(c, a)
	}
	return a
}

func (s *scene) claim(id claimID, c Call) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.claims[id] == nil {
		s.claims[id] = &Claim{Caller: id.caller, Operation: id.operation, Key: id.key, Params: c.Params}
		s.order = append(s.order, id)
	}
}

// speaksOfCall reports whether a refusal is about the call that was made, not
// about the operation under its key.
func speaksOfCall(r *contract.Receipt) bool {
	switch r.Reason {
	case contract.ReasonInvalid, contract.ReasonKeyConflict, contract.ReasonNotFound, contract.ReasonUnauthorized,
		contract.ReasonExpired, contract.ReasonPreviewMismatch, contract.ReasonJournal:
		return true
	}
	return false
}

// believe notes the newest receipt of a key.
func (s *scene) believe(id claimID, r *contract.Receipt) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if c := s.claims[id]; c != nil && (c.Receipt == nil || !speaksOfCall(r)) {
		c.Receipt = r
	}
}

// sane holds one answer against the log at once.
func (s *scene) sane(c Call, a Answer) {
	r := a.Receipt
	where := string(c.Verb) + " " + c.Operation + " " + c.Key
	if r.OperationID == "" && r.Outcome != contract.Rejected {
		s.failf("%s: no operation id in %s", where, a.Raw)
	}
	if r.Outcome == contract.Unknown && strings.Contains(strings.ToLower(a.Text+string(a.Raw)), "try again") {
		s.failf(`%s: "try again" of an unknown outcome: %s %s`, where, a.Text, a.Raw)
	}
	subs := subjects(c.Operation, c.Params)
	if len(subs) != 1 || subs[0].step != "" || speaksOfCall(r) {
		return
	}
	var results []json.RawMessage
	for _, e := range s.Upstream.Effects() {
		if effectSubject(e) == subs[0].text {
			results = append(results, e.Result)
		}
	}
	switch r.Outcome {
	case contract.Completed:
		if r.Effect != contract.EffectCommitted {
			s.failf("%s: completed with the effect %s", where, r.Effect)
		}
		if !slices.ContainsFunc(results, func(x json.RawMessage) bool { return sameJSON(x, r.Result) }) {
			s.failf("%s: completed with the result %s, and the log has %s", where, r.Result, results)
		}
	case contract.Rejected:
		if r.Effect != contract.EffectNone {
			s.failf("%s: rejected with the effect %s", where, r.Effect)
		}
		s.mu.Lock()
		same := 0
		for _, other := range s.claims {
			if x := subjects(other.Operation, other.Params); len(x) == 1 && x[0] == subs[0] {
				same++
			}
		}
		s.mu.Unlock()
		if len(results) > 0 && same == 1 {
			s.failf("%s: rejected (%s), and the log has %s", where, r.Reason, results)
		}
	case contract.Unknown:
		// What the upstream has said and the journal could not take is known.
		if r.Effect != contract.EffectUndetermined && r.Reason != contract.ReasonUnrecorded {
			s.failf("%s: unknown with the effect %s", where, r.Effect)
		}
	}
}
