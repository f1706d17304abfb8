package contract

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/spillway-mcp/spillway/internal/jsontape"
)

// settle works out a record's state from its units.
func (m *mutation) settle(now time.Time) {
	r := m.rec
	var doubt, done, undone, refused, absent *StepRecord
	for i := range r.Steps {
		u := &r.Steps[i]
		switch u.Status {
		case StepCompleted, StepCompensated, StepCompensationFailed:
			done = u
			if u.Status != StepCompleted {
				undone = u
			}
		case StepRejected:
			if refused == nil {
				refused = u
			}
		case StepAbsent, StepWaiting:
			if absent == nil || absent.Status == StepWaiting {
				absent = u
			}
		default:
			if u.Status == StepSubmitted {
				u.Status = StepUnknown
			}
			doubt = u
		}
	}
	r.UpdatedAt, r.Lease, r.Lost = now, now, false
	whole := doubt == nil && undone == nil && refused == nil && absent == nil && !m.unreached()
	var because *StepRecord
	switch {
	case doubt != nil:
		r.State, because = StateUnknown, doubt
		if r.UnknownAt.IsZero() {
			r.UnknownAt = now
		}
		setDefault(&because.Reason, ReasonOwnerLost)
	case whole:
		r.State = StateCompleted
		if r.CompletedAt.IsZero() {
			r.CompletedAt = now
		}
	case done != nil:
		r.State, because = StatePartial, cmpOr(refused, absent)
	case refused != nil:
		r.State, because = StateRejected, refused
	default:
		r.State, because = StateAbsent, absent
	}
	if because != nil && because.Reason != "" {
		r.Reason, r.Message = because.Reason, because.Message
	}
	if r.State == StateUnknown {
		r.Expires = time.Time{}
		return
	}
	r.UnknownAt = time.Time{}
	r.Expires = now.Add(m.spec.Retention)
	switch r.State {
	case StateCompleted:
		r.Params, r.Reason, r.Message = nil, "", ""
		m.result()
	case StateRejected:
		r.Params = nil
	case StateAbsent:
		setDefault(&r.Reason, ReasonAbsent)
	}
}

func cmpOr(a, b *StepRecord) *StepRecord {
	if a != nil {
		return a
	}
	return b
}

// unreached reports whether a step has no units though it should.
func (m *mutation) unreached() bool {
	for i := range m.spec.Steps {
		s := &m.spec.Steps[i]
		if s.Each == nil && !slices.ContainsFunc(m.rec.Steps, func(u StepRecord) bool { return u.Step == s.Name }) {
			return true
		}
	}
	return false
}

// result makes the result of a completed operation. What has happened stays
// completed, also where its result is not what was declared.
func (m *mutation) result() {
	r := m.rec
	if r.Result != nil {
		return
	}
	in := m.in
	in.Results = m.results()
	var err error
	switch {
	case m.spec.Result != nil:
		if r.Result, err = m.spec.Result(&in); err != nil {
			r.Reason, r.Message = ReasonInvalidResult, "the result could not be made: "+err.Error()
		}
		r.Result = validResult(r.Result)
	case len(m.spec.Steps) == 1:
		r.Result = in.Results[m.spec.Steps[0].Name]
	default:
		out := []byte{'{'}
		for i := range m.spec.Steps {
			if i > 0 {
				out = append(out, ',')
			}
			name := m.spec.Steps[i].Name
			out = append(jsontape.AppendQuote(out, name), ':')
			out = append(out, validResult(in.Results[name])...)
		}
		r.Result = append(out, '}')
	}
	if r.Result == nil {
		r.Result = json.RawMessage("null")
	}
	if m.def.result != nil && r.Reason == "" {
		if pointer, err := m.def.result.validate(r.Result); err != nil {
			r.Reason, r.Message = ReasonInvalidResult, fmt.Sprintf("it happened, but the result does not fit its schema: %s %v", pointer, err)
		}
	}
}

// record writes the outcome. It outlives the call's context: what is known
// must not be lost because nobody waits for it any more.
func (m *mutation) record(ctx context.Context) (*Receipt, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 15*time.Second)
	defer cancel()
	now := m.later()
	if slices.ContainsFunc(m.rec.Steps, func(u StepRecord) bool { return doubtful(u.Status) }) {
		// The settle time counts from here, so it has to be true also where the
		// machine slept under the call. Without a journal the last commit fails.
		if m.look(ctx) == nil {
			now = m.now
		}
	}
	m.rec.Stamp = now.Stamp
	m.settle(now.At)
	var err error
	for try := 1; try <= 4; try++ {
		if err = m.c.opt.Store.Update(ctx, m.rec); err == nil {
			m.c.opt.Log.Info("recorded", "operation", m.in.Operation, "operationId", m.id.Key, "state", m.rec.State, "reason", m.rec.Reason)
			return m.c.receipt(m.def, m.rec, false)
		}
		if !errors.Is(err, ErrStaleRecord) {
			if !pause(ctx, time.Duration(try*try)*10*time.Millisecond) {
				break
			}
			continue
		}
		current, gerr := m.c.opt.Store.Get(ctx, m.id)
		if gerr != nil {
			err = gerr
			continue
		}
		if current.Epoch != m.rec.Epoch || current.State == StateCompleted {
			if current.Epoch != m.rec.Epoch {
				m.c.opt.Log.Error("a late result meets a later submission", "operation", m.in.Operation, "operationId", m.id.Key,
					"late", m.rec.State, "epoch", m.rec.Epoch, "now", current.Epoch)
			}
			return m.c.receipt(m.def, current, true)
		}
		// Others gave us up for lost; what we know of our own submission is
		// better than what they could see from outside (M15).
		m.rec.Revision, m.rec.Notes = current.Revision, current.Notes
		if m.rec.State == StateUnknown && !current.UnknownAt.IsZero() {
			m.rec.UnknownAt = current.UnknownAt
		}
	}
	m.c.opt.Log.Error("not recorded", "operation", m.in.Operation, "operationId", m.id.Key, "state", m.rec.State, "err", err)
	r, _ := m.c.receipt(m.def, m.rec, false)
	if r.Outcome != Unknown {
		r.Hint = ""
	}
	if r.Outcome != Completed {
		r.Effect = EffectUndetermined
	}
	r.Outcome, r.NextAction, r.Reason, r.CompletedAt = Unknown, NextReconcile, ReasonUnrecorded, nil
	r.Message = fmt.Sprintf("the upstream answered (%s), but the journal could not record it: %v", m.rec.State, err)
	return r, r.Err()
}

// ownerLost records that a pending operation's owner shows no life (C-16). The
// error is ErrStaleRecord where the record has moved on.
func (c *Client) ownerLost(ctx context.Context, rec *Record, present Instant) error {
	now := present.At
	lost := rec.clone(rec.ID)
	lost.State, lost.Lost, lost.UnknownAt, lost.UpdatedAt, lost.Expires = StateUnknown, true, now, now, time.Time{}
	lost.Reason, lost.Message = ReasonOwnerLost, "the process that ran this is gone, and left no word of the outcome"
	for i := range lost.Steps {
		if lost.Steps[i].Status == StepSubmitted {
			lost.Steps[i].Status, lost.Steps[i].Reason = StepUnknown, ReasonOwnerLost
		}
	}
	if err := c.opt.Store.Update(ctx, lost); err != nil {
		return err
	}
	c.opt.Log.Info("owner lost", "operation", rec.Operation, "operationId", rec.Key, "epoch", rec.Epoch)
	*rec = *lost
	return nil
}

func outcomeOf(s State) Outcome {
	if s == StateAbsent {
		return Rejected
	}
	return Outcome(s)
}

// receipt makes the receipt of a record, and its error. def may be nil.
func (c *Client) receipt(def *Definition, rec *Record, replayed bool) (*Receipt, error) {
	r := &Receipt{
		OperationID: rec.Key, Operation: rec.Operation + "@" + rec.Version, Digest: rec.Digest,
		Outcome: outcomeOf(rec.State), Result: rec.Result, Reason: rec.Reason, Message: rec.Message,
		Replayed: replayed, Attempts: rec.Attempts, Notes: rec.Notes,
	}
	if !rec.CompletedAt.IsZero() && rec.State == StateCompleted {
		at := rec.CompletedAt
		r.CompletedAt = &at
	}
	if def != nil {
		r.Replay = def.Replay()
		r.Steps = stepReports(def, rec)
	}
	switch rec.State {
	case StateCompleted:
		r.Effect, r.NextAction = EffectCommitted, NextNone
	case StateRejected:
		r.Effect, r.NextAction = EffectNone, NextNewKey
	case StateAbsent:
		r.Effect, r.NextAction = EffectNone, NextResume
		r.Hint = "nothing happened; the same operation id may be called again"
	case StatePending:
		r.Effect, r.NextAction = EffectUndetermined, NextWait
		r.Message, r.Hint = "another call of this operation id is under way", "wait for its result"
		r.Result, r.Reason = nil, ""
	case StatePartial:
		r.Effect, r.NextAction = EffectSome, NextNewKey
		if resumable(rec) {
			r.NextAction = NextResume
			r.Hint = "the same operation id goes on with what is missing"
		}
	default:
		r.Effect, r.NextAction = EffectUndetermined, NextReconcile
		r.Hint = unknownHint(def)
	}
	return r, r.Err()
}

func unknownHint(def *Definition) string {
	switch {
	case def == nil:
		return "it may have happened: reconcile it"
	case def.Reconciles() != "none":
		return "it may have happened: reconcile this operation id"
	case def.Replay() == "safe":
		return "it may have happened: calling this operation id again is safe while the upstream keeps its key, a new id is not"
	}
	return "it may have happened, and no reconcile is declared: find out, then resolve this operation id; a new id could do it twice"
}

// stepReports lists the units of an operation that has several, those not
// reached included.
func stepReports(def *Definition, rec *Record) []StepReport {
	steps := def.spec.Mutation.Steps
	if len(steps) == 1 && steps[0].Each == nil {
		return nil
	}
	var all []StepReport
	for i := range steps {
		n := len(all)
		for _, u := range rec.Steps {
			if u.Step == steps[i].Name {
				all = append(all, StepReport{u.Step, u.Item, u.Status, u.Result, u.Reason, u.Message, u.Attempts})
			}
		}
		if len(all) == n && steps[i].Each == nil {
			all = append(all, StepReport{Step: steps[i].Name, Status: StepWaiting})
		}
	}
	return all
}

// refuseRead is the answer where the journal fails after a claim was found.
func (c *Client) refuseRead(def *Definition, key string, err error) (*Receipt, error) {
	return c.refuse(def, key, c.journalDown(err))
}
