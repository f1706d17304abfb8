package contracttest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/spillway-mcp/spillway/contract"
	"github.com/spillway-mcp/spillway/contract/contracttest/upstream"
)

// HistoryReport counts what a random history was made of.
type HistoryReport struct {
	Operations int // calls made
	Keys       int // operation keys used
	Faults     int // of the upstream and of the journal
	Kills      int
	Slips      int // of our clock, by up to a day, forth and back
	Hours      int // that passed, for the upstream, too
	Held       int // calls that were under way while others were made
	Effects    int
	Outcomes   map[contract.Outcome]int // of the keys, at the end
	Wrong      []string                 // what does not fit the log; empty is good
}

// History plays a random history of calls over an adapter that has every
// feature, as Go has: calls under new and used keys, from three processes, with
// changed parameters, faults of the upstream and of the journal, kills, calls
// that hang, hours that pass, a clock that is set forth and back, reconciles and
// sweeps. At the end it heals the
// world, settles what is unknown and judges all keys by the log. The same seed
// plays the same history.
func History(a Adapter, seed uint64, operations int) (HistoryReport, error) {
	w, err := NewWorld()
	if err != nil {
		return HistoryReport{}, err
	}
	defer w.Close()
	h := &history{
		World: w, adapter: a, rng: rand.New(rand.NewPCG(seed, 0)), held: map[int]*heldCall{},
		report: HistoryReport{Outcomes: map[contract.Outcome]int{}},
	}
	for range 3 {
		p, err := a.Open(w, alice)
		if err != nil {
			return h.report, err
		}
		h.procs = append(h.procs, p)
	}
	defer func() {
		for _, p := range h.procs {
			p.Close()
		}
	}()
	for h.report.Operations < operations {
		if err := h.step(); err != nil {
			return h.report, fmt.Errorf("after %d operations of seed %d: %w", h.report.Operations, seed, err)
		}
	}
	err = h.end()
	return h.report, err
}

type history struct {
	*World
	adapter Adapter
	rng     *rand.Rand
	procs   []Process
	intents []*intent
	held    map[int]*heldCall // by intent
	report  HistoryReport
}

// intent is one operation key.
type intent struct {
	n         int
	operation string
	key       string
	params    rawJSON
	recorded  bool // there is a record: other parameters under the key are a conflict
	last      *contract.Receipt
}

// heldCall is a call that hangs at the upstream.
type heldCall struct {
	release chan struct{}
	done    chan Answer
	proc    int
}

var historyOperations = []string{OpCreate, OpCustomer, OpBlind, OpSettled, OpMembers, OpPair}

func (h *history) newIntent() *intent {
	n := len(h.intents)
	op := historyOperations[h.rng.IntN(len(historyOperations))]
	name := fmt.Sprint("n", n)
	it := &intent{n: n, operation: op, key: fmt.Sprint("k", n), params: params("name", name)}
	switch op {
	case OpMembers:
		it.params = params("team", name, "members", []string{"a", "b", "c"})
	case OpPair:
		it.params = params("name", name, "team", name, "member", "m")
	}
	h.intents = append(h.intents, it)
	return it
}

// pick chooses a key: half the time one of the last twenty, else a new one.
func (h *history) pick() *intent {
	if len(h.intents) == 0 || h.rng.IntN(3) == 0 {
		return h.newIntent()
	}
	return h.intents[len(h.intents)-1-h.rng.IntN(min(20, len(h.intents)))]
}

func (h *history) step() error {
	switch x := h.rng.IntN(100); {
	case x < 4:
		h.slip()
		return nil
	case x < 5:
		return h.pass()
	case x < 8:
		return h.letGo()
	case x < 10:
		h.call(h.rng.IntN(3), Call{Verb: VerbSweep}, nil)
		return nil
	case x < 25:
		it := h.pick()
		h.call(h.rng.IntN(3), Call{Verb: VerbReconcile, Operation: it.operation, Key: it.key}, it)
		return nil
	case x < 30:
		it := h.pick()
		h.call(h.rng.IntN(3), Call{Verb: VerbGet, Operation: it.operation, Key: it.key}, it)
		return nil
	}
	it := h.pick()
	c := Call{Verb: VerbDo, Operation: it.operation, Key: it.key, Params: it.params}
	switch x := h.rng.IntN(100); {
	case x < 6 && it.recorded:
		c.Params = json.RawMessage(string(it.params[:len(it.params)-1]) + `,"amount":7}`)
		if a := h.call(h.rng.IntN(3), c, nil); a.Receipt != nil && a.Outcome() != contract.Rejected {
			return fmt.Errorf("other parameters under %s: %s", it.key, a.Raw)
		}
		return nil
	case x < 12 && h.held[it.n] == nil && len(h.held) < 5:
		h.hang(it, c)
		return nil
	case x < 20:
		return h.die(it, c)
	case x < 28:
		h.Journal.Break(errors.New("database is locked"), nil)
		if h.rng.IntN(16) == 0 { // seldom: the client tries for a while
			h.Journal.Break(nil, errors.New("disk is full"))
		}
		h.report.Faults++
	case x < 70:
		h.fault(it)
	}
	h.call(h.rng.IntN(3), c, it)
	h.Upstream.Heal()
	h.Journal.Break(nil, nil)
	return nil
}

// call makes a call and keeps its receipt.
func (h *history) call(proc int, c Call, it *intent) Answer {
	h.report.Operations++
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	a := h.procs[proc].Do(ctx, c)
	h.note(it, a)
	return a
}

func (h *history) note(it *intent, a Answer) {
	if it == nil || a.Receipt == nil {
		return
	}
	if !speaksOfCall(a.Receipt) {
		it.recorded, it.last = true, a.Receipt
	}
}

// fault scripts how the next submission breaks.
func (h *history) fault(it *intent) {
	h.report.Faults++
	f := upstream.Fault{On: func(a upstream.Arrival) bool { return a.Method == "POST" }, Times: 1 + h.rng.IntN(2), Reset: h.rng.IntN(2) == 0}
	switch h.rng.IntN(5) {
	case 0:
		statuses := []int{400, 403, 408, 409, 422, 429, 500, 503}
		f.Refuse = statuses[h.rng.IntN(len(statuses))]
	case 1:
		f.LoseRequest = true
	case 2:
		f.LoseAnswer = true
	case 3:
		f.Answer = 500
	case 4:
		if it.operation == OpCustomer {
			f.Twice = true
		} else {
			f.LoseAnswer = true
		}
	}
	h.Upstream.Script(f)
}

// slip sets our clock wrong, or right again.
func (h *history) slip() {
	h.report.Slips++
	d := time.Duration(h.rng.Int64N(int64(2*day))) - day
	if off := h.Clock.State().Slip; off > 3*day || off < -3*day || h.rng.IntN(4) == 0 {
		d = -off
	}
	h.Clock.Slip(d)
}

// pass lets hours go by, in which the upstream forgets keys, but not so many
// that a record is past its retention. No call hangs so long: it would have met
// its deadline.
func (h *history) pass() error {
	if h.report.Hours > 200 {
		return nil
	}
	for len(h.held) > 0 {
		if err := h.letGo(); err != nil {
			return err
		}
	}
	n := 1 + h.rng.IntN(8)
	h.report.Hours += n
	h.Clock.Jump(time.Duration(n) * time.Hour)
	return nil
}

// hang starts a call that waits at the upstream, before its effect, until
// letGo.
func (h *history) hang(it *intent, c Call) {
	h.report.Held++
	h.report.Operations++
	call := &heldCall{make(chan struct{}), make(chan Answer, 1), h.rng.IntN(3)}
	came := make(chan struct{})
	h.Upstream.Script(upstream.Fault{
		On: func(a upstream.Arrival) bool { return a.Method == "POST" },
		Before: func(upstream.Arrival) {
			close(came)
			<-call.release
		},
	})
	p := h.procs[call.proc]
	go func() { call.done <- p.Do(context.Background(), c) }()
	select {
	case <-came:
		h.held[it.n] = call
	case a := <-call.done: // it did not come to a submission
		h.note(it, a)
	}
	h.Upstream.Heal()
}

// letGo ends the oldest of the calls that hang.
func (h *history) letGo() error {
	for n := range h.intents {
		call := h.held[n]
		if call == nil {
			continue
		}
		delete(h.held, n)
		close(call.release)
		select {
		case a := <-call.done:
			h.note(h.intents[n], a)
		case <-time.After(patience):
			return fmt.Errorf("the call of %s does not end", h.intents[n].key)
		}
		return nil
	}
	return nil
}

// die makes a call whose process is killed on the way, and replaces it.
func (h *history) die(it *intent, c Call) error {
	n := h.rng.IntN(3)
	for _, call := range h.held {
		if call.proc == n {
			return nil // its own call hangs
		}
	}
	h.report.Kills++
	p := h.procs[n]
	if at := h.rng.IntN(6); at < 4 {
		h.Journal.Watch(func(step string, before bool) {
			if step == []string{"claim", "update"}[at/2] && before == (at%2 == 0) {
				p.Kill()
			}
		})
	} else {
		kill := func(upstream.Arrival) { p.Kill() }
		f := upstream.Fault{On: func(a upstream.Arrival) bool { return a.Method == "POST" }, Before: kill, LoseRequest: true}
		if at == 5 {
			f.Before, f.LoseRequest, f.After, f.LoseAnswer = nil, false, kill, true
		}
		h.Upstream.Script(f)
	}
	h.call(n, c, it)
	h.Journal.Watch(nil)
	h.Upstream.Heal()
	p.Kill()
	p.Close()
	fresh, err := h.adapter.Open(h.World, alice)
	if err != nil {
		return err
	}
	h.procs[n] = fresh
	return nil
}

// end settles everything and judges it.
func (h *history) end() error {
	for len(h.held) > 0 {
		if err := h.letGo(); err != nil {
			return err
		}
	}
	h.Clock.Slip(-h.Clock.State().Slip)
	h.Clock.Jump(12 * day)         // past every lease and settle time, and before any retention
	for _, it := range h.intents { // what has lost its owner becomes unknown now
		h.call(0, Call{Verb: VerbGet, Operation: it.operation, Key: it.key}, nil)
	}
	h.Clock.Jump(2 * SettleTime)
	var claims []Claim
	for _, it := range h.intents {
		a := h.call(0, Call{Verb: VerbGet, Operation: it.operation, Key: it.key}, nil)
		if a.Outcome() == contract.Unknown {
			a = h.call(0, Call{Verb: VerbReconcile, Operation: it.operation, Key: it.key}, nil)
			if slices.Contains(reconcilable, it.operation) && a.Outcome() == contract.Unknown {
				h.report.Wrong = append(h.report.Wrong, fmt.Sprintf("%s is unknown after a reconcile that the upstream can answer: %s", it.key, a.Raw))
			}
		}
		if a.Receipt == nil {
			return fmt.Errorf("no receipt of %s: %s", it.key, a.Text)
		}
		if a.Outcome() == contract.Pending {
			h.report.Wrong = append(h.report.Wrong, fmt.Sprintf("%s is pending for ever: %s", it.key, a.Raw))
		}
		if it.last != nil && it.last.Outcome == contract.Completed && !sameJSON(a.Receipt.Result, it.last.Result) {
			h.report.Wrong = append(h.report.Wrong, fmt.Sprintf("%s was completed with %s, and is %s", it.key, it.last.Result, a.Raw))
		}
		h.report.Outcomes[a.Outcome()]++
		claims = append(claims, Claim{Caller: alice, Operation: it.operation, Key: it.key, Params: it.params, Receipt: a.Receipt})
	}
	log := h.Upstream.Effects()
	h.report.Keys, h.report.Effects = len(h.intents), len(log)
	h.report.Wrong = append(h.report.Wrong, Judge(log, claims)...)
	return nil
}
