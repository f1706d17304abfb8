package contract

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/spillway-mcp/spillway/internal/jsontape"
)

// next finds the unit to submit: the first that is known not to have happened
// and that nothing before it holds up. It adds the records of a step that is
// reached for the first time. Nil is none.
func (m *mutation) next() (*StepRecord, error) {
	for i := range m.spec.Steps {
		s := &m.spec.Steps[i]
		if err := m.expand(s); err != nil {
			return nil, err
		}
		held := false
		for j := range m.rec.Steps {
			u := &m.rec.Steps[j]
			if u.Step != s.Name {
				continue
			}
			switch u.Status {
			case StepWaiting:
				return u, nil
			case StepCompleted:
			case StepRejected:
				held = true
			default:
				if m.doubted[u.unit()] {
					return u, nil
				}
				return nil, nil
			}
		}
		if held {
			return nil, nil
		}
	}
	return nil, nil
}

// expand makes sure that a step's units are in the record.
func (m *mutation) expand(s *Step) error {
	for i := range m.rec.Steps {
		if m.rec.Steps[i].Step == s.Name {
			return nil
		}
	}
	if s.Each == nil {
		m.rec.Steps = append(m.rec.Steps, StepRecord{Step: s.Name, Status: StepWaiting})
		return nil
	}
	in := m.in
	in.Step, in.Results = s.Name, m.results()
	items, err := s.Each(&in)
	if err != nil {
		return fmt.Errorf("items of step %s: %w", s.Name, err)
	}
	seen := map[string]bool{}
	for _, it := range items {
		if it.ID == "" || seen[it.ID] {
			return fmt.Errorf("items of step %s: the id %q is empty or there twice", s.Name, it.ID)
		}
		seen[it.ID] = true
		m.rec.Steps = append(m.rec.Steps, StepRecord{Step: s.Name, Item: it.ID, Status: StepWaiting})
	}
	return nil
}

// results collects those of the completed steps, by name.
func (m *mutation) results() map[string]json.RawMessage {
	all := map[string]json.RawMessage{}
	for i := range m.spec.Steps {
		s := &m.spec.Steps[i]
		items, done := []byte{'{'}, true
		var one json.RawMessage
		for j := range m.rec.Steps {
			u := &m.rec.Steps[j]
			if u.Step != s.Name || u.Status != StepCompleted {
				done = done && u.Step != s.Name
				continue
			}
			one = u.Result
			if len(items) > 1 {
				items = append(items, ',')
			}
			items = append(jsontape.AppendQuote(items, u.Item), ':')
			items = append(items, u.Result...)
		}
		switch {
		case s.Each != nil && done:
			all[s.Name] = append(items, '}')
		case s.Each == nil && one != nil:
			all[s.Name] = one
		}
	}
	return all
}

// invocation is what the functions of a unit get to see.
func (m *mutation) invocation(u *StepRecord) (*Invocation, *Step, error) {
	s := m.step(u.Step)
	if s == nil {
		return nil, nil, fmt.Errorf("step %s is not in %s", u.Step, m.def.ID())
	}
	in := m.in
	in.Step, in.StepKey, in.Results = u.Step, StepKey(m.id, u.Step, u.Item), m.results()
	if s.Each == nil {
		return &in, s, nil
	}
	items, err := s.Each(&in)
	if err != nil {
		return nil, nil, err
	}
	for i := range items {
		if items[i].ID == u.Item {
			in.Item = &items[i]
			return &in, s, nil
		}
	}
	return nil, nil, fmt.Errorf("item %q of step %s is gone", u.Item, u.Step)
}

// run submits unit after unit from a record that was just claimed, and
// records what comes of each before the next is submitted (C-19). It ends with
// one commit that records the outcome: of one step, the second and last.
func (m *mutation) run(ctx context.Context, unit *StepRecord) (*Receipt, error) {
	// From the stamp of the claim on, not from its end: others conclude from it
	// when this call is over (C-16).
	timed, cancel := withEnd(ctx, m.read.Add(m.def.spec.Bounds.Deadline))
	defer cancel()
	life := m.heartbeat()
	defer life.stop()

	if m.fresh {
		if done := m.precondition(timed, unit); done {
			return m.record(ctx)
		}
	}
	for unit != nil {
		if timed.Err() != nil || !life.alive() {
			// Not submitted, and that is known: the next call may.
			m.unsubmitted(unit, StepAbsent)
			unit.Reason, unit.Message = ReasonCancelled, "the call ended before this was submitted"
			break
		}
		m.submit(timed, unit)
		if doubtful(unit.Status) {
			break
		}
		upcoming, err := m.next()
		if err != nil {
			m.rec.Reason, m.rec.Message = "invalid_step", err.Error()
			break
		}
		if upcoming != nil {
			began := time.Now()
			m.submitting(upcoming, m.renew())
			if err := m.c.opt.Store.Update(timed, m.rec); err != nil {
				// What was done so far may be unrecorded; the last commit tries
				// once more, and nothing else is submitted.
				m.unsubmitted(upcoming, StepWaiting)
				upcoming.Reason = ""
				m.rec.Reason, m.rec.Message = ReasonJournal, "the journal could not be written between two steps"
				break
			}
			life.renewed(began)
		}
		unit = upcoming
	}
	m.compensate(ctx, life)
	return m.record(ctx)
}

// unsubmitted takes a unit's mark back: it was not submitted after all. What
// happened before this claim stays in doubt.
func (m *mutation) unsubmitted(u *StepRecord, s StepStatus) {
	if u.Status = s; m.doubted[u.unit()] {
		u.Status = StepUnknown
	}
}

// precondition checks the demanded revision. True ends the call: the unit was
// not submitted.
func (m *mutation) precondition(ctx context.Context, unit *StepRecord) bool {
	p := m.spec.Precondition
	if p == nil || p.Current == nil || m.in.Revision == "" {
		return false
	}
	in := m.in
	current, err := p.Current(ctx, &in)
	switch {
	case err != nil:
		unit.Status, unit.Reason = StepAbsent, "precondition_unreadable"
		unit.Message = "the revision could not be read, so nothing was submitted: " + failureText(ClassifyError(err))
	case current != m.in.Revision:
		unit.Status, unit.Reason = StepRejected, ReasonPrecondition
		unit.Message = "the revision demanded is no longer the one there is"
	default:
		return false
	}
	return true
}

// submit makes the attempts of one unit and classifies the end of them.
func (m *mutation) submit(ctx context.Context, u *StepRecord) {
	in, s, err := m.invocation(u)
	if err != nil {
		m.unsubmitted(u, StepRejected)
		u.Reason, u.Message = "invalid_step", err.Error()
		return
	}
	retry := m.def.spec.Retry
	again := m.def.idempotency(s) == Natural || m.def.idempotency(s) == ByKey
	inDoubt := m.doubted[u.unit()] // an earlier attempt may have happened
	for attempt := 1; ; attempt++ {
		in.Attempt = attempt
		u.Attempts++
		m.rec.Attempts++
		result, err := s.Submit(ctx, in)
		if err == nil {
			u.Status, u.Reason, u.Message = StepCompleted, "", ""
			u.Result = validResult(result)
			return
		}
		f := classify(ctx, s, err)
		refused := f.Rejected || f.Stale
		u.Reason, u.Message = f.Reason, failureText(f)
		if refused && !inDoubt {
			u.Status = StepRejected
			if f.Stale {
				setDefault(&u.Reason, ReasonPrecondition)
			}
			setDefault(&u.Reason, ReasonUpstream)
		} else {
			u.Status = StepUnknown
			setDefault(&u.Reason, ReasonNoAnswer)
			inDoubt = true
		}
		if ctx.Err() != nil || attempt > retry.Max || !retry.allows(f.Code) || !refused && !again || !pause(ctx, retry.wait(attempt)) {
			return
		}
	}
}

// classify gives an error its meaning. After a cancellation only the upstream's
// own answer can say that nothing happened (C-23).
func classify(ctx context.Context, s *Step, err error) *Failure {
	if f, ok := errors.AsType[*Failure](err); ok {
		return f
	}
	if s.Classify != nil {
		if f := s.Classify(err); f != nil {
			return f
		}
	}
	f := ClassifyError(err)
	if ctx.Err() != nil {
		f.Rejected = false
		f.Reason = ReasonNoAnswer
		if errors.Is(ctx.Err(), context.Canceled) {
			f.Reason = ReasonCancelled
		}
	}
	return f
}

// validResult keeps a result that is JSON; of another nothing can be kept.
func validResult(raw json.RawMessage) json.RawMessage {
	doc, err := jsontape.Parse(raw)
	if err != nil {
		return json.RawMessage("null")
	}
	return doc.Root().AppendCompact(nil)
}

// compensate undoes the completed steps that declare how, last first, after a
// later one was rejected and none is in doubt (C-19).
func (m *mutation) compensate(ctx context.Context, life *life) {
	rejected := false
	for i := range m.rec.Steps {
		if doubtful(m.rec.Steps[i].Status) {
			return
		}
		rejected = rejected || m.rec.Steps[i].Status == StepRejected
	}
	if !rejected {
		return
	}
	ctx, cancel := withEnd(context.WithoutCancel(ctx), time.Now().Add(m.def.spec.Bounds.Deadline))
	defer cancel()
	for i := len(m.rec.Steps) - 1; i >= 0; i-- {
		u := &m.rec.Steps[i]
		s := m.step(u.Step)
		if u.Status != StepCompleted || s == nil || s.Compensate == nil || !life.alive() {
			continue
		}
		in, _, err := m.invocation(u)
		if err != nil {
			continue
		}
		in.StepKey = StepKey(m.id, u.Step+"#compensate", u.Item)
		u.Status = StepCompensating
		began := time.Now()
		m.renew()
		if err := m.c.opt.Store.Update(ctx, m.rec); err != nil {
			u.Status = StepCompleted // not begun
			return
		}
		life.renewed(began)
		if _, err := s.Compensate(ctx, in); err != nil {
			u.Status, u.Reason, u.Message = StepCompensationFailed, ReasonUpstream, "not undone: "+failureText(classify(ctx, s, err))
			continue
		}
		u.Status = StepCompensated
	}
}

// renew marks the record as its owner's, for another step.
func (m *mutation) renew() Instant {
	now := m.later()
	m.rec.UpdatedAt, m.rec.Lease, m.rec.Stamp = now.At, now.At.Add(m.c.opt.Lease), now.Stamp
	return now
}

// life is an owner's lease, kept by a timer. It is measured in real time, not
// by the journal's clock.
type life struct {
	last  atomic.Pointer[time.Time] // of the last renewal
	lease time.Duration
	timer *time.Timer
	done  chan struct{}
	over  atomic.Bool
}

// heartbeats in a lease: several, so that a disk that is slow to answer one of
// them does not pass for a lost owner.
const heartbeats = 5

func (m *mutation) heartbeat() *life {
	l := &life{lease: m.c.opt.Lease, done: make(chan struct{})}
	claimed := m.read
	l.last.Store(&claimed)
	id, epoch, stamp, c := m.id, m.rec.Epoch, m.rec.Stamp, m.c
	var beat func()
	var mayRenew = make(chan struct{}, 1)
	mayRenew <- struct{}{}
	beat = func() {
		<-mayRenew
		defer func() { mayRenew <- struct{}{} }()
		if l.over.Load() {
			return
		}
		ctx, cancel := context.WithTimeout(context.Background(), l.lease)
		defer cancel()
		began := time.Now()
		now, err := c.instant(ctx)
		if err == nil {
			err = c.opt.Store.Heartbeat(ctx, id, epoch, now.on(stamp).Add(l.lease))
		}
		if err == nil {
			l.last.Store(&began)
		}
		if !errors.Is(err, ErrStaleRecord) && !l.over.Load() {
			l.timer.Reset(l.lease / heartbeats)
		}
	}
	l.timer = time.AfterFunc(time.Hour, beat)
	l.timer.Reset(l.lease / heartbeats)
	l.done = mayRenew
	return l
}

func (l *life) renewed(at time.Time) { l.last.Store(&at) }

// alive reports whether the lease still runs: without it another may have
// concluded that this owner is gone. A machine that slept has a monotonic clock
// that slept, too; its wall clock tells.
func (l *life) alive() bool {
	last, now := *l.last.Load(), time.Now()
	return max(now.Sub(last), now.Round(0).Sub(last.Round(0))) < l.lease
}

// stop ends the heartbeat and waits for one that is under way.
func (l *life) stop() {
	l.over.Store(true)
	l.timer.Stop()
	<-l.done
	l.done <- struct{}{}
}
