package contracttest

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/spillway-mcp/spillway/contract"
	"github.com/spillway-mcp/spillway/contract/contracttest/upstream"
)

// params writes parameters: name, value, name, value, …
func params(pairs ...any) json.RawMessage {
	m := map[string]any{}
	for i := 0; i < len(pairs); i += 2 {
		m[pairs[i].(string)] = pairs[i+1]
	}
	raw, err := json.Marshal(m)
	if err != nil {
		panic(err)
	}
	return raw
}

func (p *proc) do(operation, key string, params json.RawMessage) Answer {
	return p.call(Call{Verb: VerbDo, Operation: operation, Key: key, Params: params})
}

func (p *proc) get(operation, key string) Answer {
	return p.call(Call{Verb: VerbGet, Operation: operation, Key: key})
}

func (p *proc) reconcile(operation, key string) Answer {
	return p.call(Call{Verb: VerbReconcile, Operation: operation, Key: key})
}

func (p *proc) read(operation string, params json.RawMessage) Answer {
	return p.call(Call{Verb: VerbDo, Operation: operation, Params: params})
}

// resume goes on with a read under its parameters.
func (p *proc) resume(operation string, params json.RawMessage, from Answer) Answer {
	if from.Receipt == nil || from.Receipt.Coverage == nil || from.Receipt.Continuation == nil {
		p.s.fatalf("no continuation in %s", from.Raw)
	}
	return p.call(Call{Verb: VerbDo, Operation: operation, Params: params, Continuation: *from.Receipt.Continuation})
}

// want holds an answer's outcome, and its reason where one is given.
func (s *scene) want(a Answer, outcome contract.Outcome, reason ...string) {
	if a.Outcome() != outcome || len(reason) > 0 && !slices.Contains(reason, a.Reason()) {
		s.fatalf("want %s %v, have %s %s: %s %s", outcome, reason, a.Outcome(), a.Reason(), a.Raw, a.Text)
	}
}

func (s *scene) wantEffects(n int) {
	if log := s.Upstream.Effects(); len(log) != n {
		s.fatalf("want %d effects, the log has %d: %s", n, len(log), logText(log))
	}
}

func (s *scene) wantSubmissions(n int) {
	if have := s.Upstream.Submissions(); have != n {
		s.fatalf("want %d submissions, the upstream saw %d", n, have)
	}
}

func logText(log []upstream.Effect) string {
	out := ""
	for _, e := range log {
		out += fmt.Sprintf("\n  %d %s key=%s", e.Seq, effectSubject(e), e.Key)
	}
	return out
}

// hold makes the next submission wait at the upstream, before it has an effect.
// It returns a channel that is closed when it has come, and the release.
func (s *scene) hold(fault upstream.Fault) (arrived <-chan struct{}, release func()) {
	came, gate := make(chan struct{}), make(chan struct{})
	fault.Before = func(upstream.Arrival) {
		close(came)
		select {
		case <-gate:
		case <-s.ctx.Done():
		}
	}
	s.Upstream.Script(fault)
	return came, func() { close(gate) }
}

// await waits for a channel to close.
func (s *scene) await(c <-chan struct{}, what string) {
	select {
	case <-c:
	case <-time.After(patience):
		s.fatalf("waited %s for %s", patience, what)
	}
}

// start makes a call in the background.
func (p *proc) start(c Call) <-chan Answer {
	done := make(chan Answer, 1)
	go func() {
		defer p.s.stopped()
		done <- p.call(c)
	}()
	return done
}

func (s *scene) answer(c <-chan Answer) Answer {
	select {
	case a := <-c:
		return a
	case <-time.After(patience):
		s.fatalf("waited %s for an answer", patience)
		return Answer{}
	}
}

// Lapser is a Process that can make the lease of a killed one run out, where
// the face has no clock to move.
type Lapser interface {
	Lapse(operation, key string)
}

// lapse lets the lease of a killed process run out: by the clock where the
// face has one to move, else as the face can, else by asking until it has.
func (p *proc) lapse(operation, key string) {
	if l, ok := p.Process.(Lapser); ok {
		l.Lapse(operation, key)
		return
	}
	if p.s.has(HasClock) {
		lease := p.s.Lease
		if lease == 0 {
			lease = 30 * time.Second
		}
		p.s.Clock.Jump(2 * lease)
		return
	}
	for end := time.Now().Add(patience); p.get(operation, key).Outcome() == contract.Pending; {
		if time.Now().After(end) {
			p.s.fatalf("%s %s is still pending after %s", operation, key, patience)
		}
	}
}
