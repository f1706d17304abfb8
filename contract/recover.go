package contract

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"
)

// find reads the record that a Ref names, after asking whether the caller may.
// A pending one whose owner shows no life comes back as unknown.
func (c *Client) find(ctx context.Context, ref Ref, action Action) (*Record, *Definition, *Error) {
	rec, def, _, e := c.findNow(ctx, ref, action)
	return rec, def, e
}

// findNow also returns the time at which the record stood so.
func (c *Client) findNow(ctx context.Context, ref Ref, action Action) (*Record, *Definition, Instant, *Error) {
	var now Instant
	caller, key, e := c.identify(ref.Caller, ref.Key)
	if e != nil {
		return nil, nil, now, e
	}
	if ref.Key == "" {
		return nil, nil, now, &Error{Kind: ErrInvalid, Reason: ReasonInvalid, Message: "no operation id"}
	}
	rec, err := c.lookupRecord(ctx, caller, nameOf(ref.Operation), key)
	if err != nil && !errors.Is(err, ErrNoRecord) {
		if e, ok := errors.AsType[*Error](err); ok {
			return nil, nil, now, e
		}
		return nil, nil, now, c.journalLost(err)
	}
	access := Access{Action: action, Caller: caller, Operation: ref.Operation, Key: key}
	var def *Definition
	if rec != nil {
		access.Operation, access.Target = rec.Operation+"@"+rec.Version, rec.Target
		if def = c.Lookup(rec.Operation + "@" + majorOf(rec.Version)); def != nil {
			access.Effects = def.spec.Effects
		}
	}
	if e := c.authorize(ctx, access); e != nil {
		return nil, def, now, e
	}
	if rec == nil {
		return nil, nil, now, &Error{Kind: ErrNotFound, Reason: ReasonNotFound, Message: "no operation of yours has this id: not found"}
	}
	if now, err = c.instant(ctx); err != nil {
		return nil, def, now, c.journalLost(err)
	}
	if expired(rec, now.At) {
		return nil, def, now, &Error{Kind: ErrExpired, Reason: ReasonExpired, Message: fmt.Sprintf("the record of this operation id is past retention; its outcome was %s", outcomeOf(rec.State))}
	}
	for rec.State == StatePending && rec.lapsed(now) {
		err := c.ownerLost(ctx, rec, now)
		if errors.Is(err, ErrStaleRecord) {
			rec, err = c.opt.Store.Get(ctx, rec.ID)
		}
		if err != nil {
			return nil, def, now, c.journalLost(err)
		}
	}
	return rec, def, now, nil
}

// lookupRecord finds a record by its whole identity, or by caller and key
// alone where that is enough.
func (c *Client) lookupRecord(ctx context.Context, caller, name, key string) (*Record, error) {
	if name != "" {
		return c.opt.Store.Get(ctx, ID{caller, name, key})
	}
	found, err := c.opt.Store.List(ctx, Filter{Caller: caller, Key: key, Limit: 2})
	if err != nil {
		return nil, err
	}
	switch len(found) {
	case 1:
		return found[0], nil
	case 2:
		return nil, &Error{Kind: ErrInvalid, Reason: ReasonInvalid,
			Message: fmt.Sprintf("this id was used for %s and for %s: name the operation", found[0].Operation, found[1].Operation)}
	}
	// A tombstone has lost its key, but not its identity.
	for _, d := range c.Definitions() {
		if rec, err := c.opt.Store.Get(ctx, ID{caller, d.Name(), key}); !errors.Is(err, ErrNoRecord) {
			return rec, err
		}
	}
	return nil, ErrNoRecord
}

func (c *Client) refuseRef(def *Definition, ref Ref, e *Error) (*Receipt, error) {
	r, err := c.refuse(def, ref.Key, e)
	if def == nil && e.Kind != ErrUnauthorized {
		r.Operation = ref.Operation
		e.Operation = ref.Operation
	}
	if e.Kind == ErrJournal {
		r.Effect = EffectUndetermined // an earlier call under this id may have had one
	}
	return r, err
}

// journalLost is journalDown for who asks about an operation: that nothing was
// submitted now says nothing of what was before.
func (c *Client) journalLost(err error) *Error {
	e := c.journalDown(err)
	e.Message = "the journal cannot be used, so how this operation stands is not known: " + err.Error()
	e.Hint = "repair the journal, then ask again with the same operation id"
	return e
}

func (c *Client) get(ctx context.Context, ref Ref) (*Receipt, error) {
	rec, def, e := c.find(ctx, ref, ActionGet)
	if e != nil {
		if e.Kind == ErrNotFound && c.isPrepared(ctx, ref) {
			e.Message, e.Hint = "not found: nothing was called under this operation id yet, it is prepared", "commit it"
		}
		return c.refuseRef(def, ref, e)
	}
	return c.receipt(def, rec, true)
}

// isPrepared tells an operation that its caller has prepared from one that never
// was; neither has a record (C-22).
func (c *Client) isPrepared(ctx context.Context, ref Ref) bool {
	caller, key, e := c.identify(ref.Caller, ref.Key)
	if e != nil {
		return false
	}
	_, err := c.opt.Store.GetParcel(ctx, "prep_"+ID{caller, "", key}.Hash())
	return err == nil
}

func (c *Client) reconcile(ctx context.Context, ref Ref) (*Receipt, error) {
	for {
		rec, def, now, e := c.findNow(ctx, ref, ActionReconcile)
		if e != nil {
			return c.refuseRef(def, ref, e)
		}
		if rec.State != StateUnknown {
			return c.receipt(def, rec, true)
		}
		m, e := c.recorded(rec)
		if e != nil {
			r, _ := c.receipt(def, rec, true)
			r.Message, r.Hint = e.Message, e.Hint
			return r, r.Err()
		}
		m.now, m.read = now, time.Now()
		r, err, again := m.ask(ctx)
		if !again {
			return r, err
		}
	}
}

// ask runs the declared reads and records what they found.
func (m *mutation) ask(ctx context.Context) (r *Receipt, rerr error, again bool) {
	ctx, cancel := context.WithTimeout(ctx, m.def.spec.Bounds.Deadline)
	defer cancel()
	wait, since := m.spec.Settle, "after the last attempt ended"
	if m.rec.Lost {
		// Whoever claimed it may have it in hand until its deadline (C-16).
		wait, since = wait+cmp.Or(m.rec.Deadline, m.def.spec.Bounds.Deadline), "after the owner was last heard of"
	}
	least, _ := m.now.Since(m.rec.Stamp)
	settled := least >= wait
	if m.rec.Stamp.Clock == "" || m.now.Clock == "" {
		// A wall clock alone may have been set forward before anybody looked.
		settled = settled && m.now.At.Sub(m.rec.UnknownAt) >= m.spec.Settle
	}
	changed, reason, message := false, ReasonUndetermined, ""
	for i := range m.rec.Steps {
		u := &m.rec.Steps[i]
		if !doubtful(u.Status) {
			continue
		}
		in, s, err := m.invocation(u)
		if err != nil || s.Reconcile == nil {
			message = fmt.Sprintf("step %s declares no reconcile", u.Step)
			continue
		}
		found, err := s.Reconcile(ctx, in)
		undoing := u.Status == StepCompensating
		switch {
		case err != nil:
			message = "the reconcile failed: " + failureText(ClassifyError(err))
		case found.State == Present && undoing:
			u.Status, u.Reason, u.Message, changed = StepCompensationFailed, ReasonOwnerLost, "not undone", true
		case found.State == Present:
			u.Status, u.Reason, u.Message, changed = StepCompleted, "", "", true
			u.Result = validResult(found.Result)
		case found.State == Absent && !settled:
			reason = ReasonNotSettled
			message = fmt.Sprintf("the upstream shows nothing of it, but it may still be under way: absence counts from %s %s", wait, since)
		case found.State == Absent && undoing:
			u.Status, u.Reason, u.Message, changed = StepCompensated, "", "", true
		case found.State == Absent:
			u.Status, u.Reason, u.Message, changed = StepAbsent, ReasonAbsent, "the upstream shows that this did not happen", true
		default:
			message = "the upstream could not tell"
		}
	}
	if changed {
		unknown := m.rec.UnknownAt
		m.settle(m.later().At)
		if m.rec.State == StateUnknown {
			m.rec.UnknownAt = unknown
		}
		switch err := m.c.opt.Store.Update(ctx, m.rec); {
		case errors.Is(err, ErrStaleRecord):
			return nil, nil, true
		case err != nil:
			r, rerr = m.c.refuseRead(m.def, m.id.Key, err)
			r.Outcome, r.Effect, r.NextAction = Unknown, EffectUndetermined, NextReconcile
			return r, r.Err(), false
		}
		m.c.opt.Log.Info("reconciled", "operation", m.in.Operation, "operationId", m.id.Key, "state", m.rec.State)
	}
	// The upstream was asked: what comes of it is no replay, the first time.
	r, rerr = m.c.receipt(m.def, m.rec, false)
	if r.Outcome == Unknown {
		r.Reason, r.Message = reason, message
		if reason == ReasonNotSettled {
			r.Hint = "reconcile again later"
		} else if r.Hint == unknownHint(m.def) && m.def.Reconciles() != "none" {
			r.Hint = "reconcile again later, or find out and resolve this operation id"
		}
		rerr = r.Err()
	}
	return r, rerr, false
}

func (c *Client) resolve(ctx context.Context, ref Ref, res Resolution) (*Receipt, error) {
	if res.Who == "" || res.Why == "" {
		return c.refuseRef(nil, ref, &Error{Kind: ErrInvalid, Reason: ReasonInvalid, Message: "a resolution names who and why"})
	}
	for {
		rec, def, present, e := c.findNow(ctx, ref, ActionResolve)
		if e != nil {
			return c.refuseRef(def, ref, e)
		}
		if rec.State != StateUnknown {
			return c.refuseRef(def, ref, &Error{Kind: ErrInvalid, Reason: ReasonInvalid,
				Message: fmt.Sprintf("only an unknown outcome can be resolved; this one is %s", rec.State)})
		}
		m, e := c.recorded(rec)
		if e != nil {
			if def == nil {
				return c.refuseRef(def, ref, e)
			}
			// The parameters cannot be opened, but a person knows what happened.
			m = &mutation{c: c, def: def, spec: def.spec.Mutation, id: rec.ID, rec: rec}
			m.in = Invocation{Operation: def.ID(), Caller: rec.Caller, Key: rec.Key, Params: []byte("{}"), Target: rec.Target}
		}
		now := present.At
		note := Note{At: now, Who: res.Who, Did: "resolved absent", Why: res.Why}
		if res.Completed {
			note.Did = "resolved completed"
		}
		for i := range rec.Steps {
			u := &rec.Steps[i]
			if !doubtful(u.Status) {
				continue
			}
			undoing := u.Status == StepCompensating
			switch {
			case res.Completed && undoing:
				u.Status = StepCompensationFailed
			case res.Completed:
				u.Status = StepCompleted
				u.Result = validResult(res.Result)
			case undoing:
				u.Status = StepCompensated
			default:
				u.Status = StepAbsent
			}
			u.Reason, u.Message = ReasonResolved, "resolved by "+res.Who
		}
		if res.Completed && res.Result != nil {
			rec.Result = validResult(res.Result)
		}
		rec.Notes = append(rec.Notes, note)
		m.settle(now)
		switch err := c.opt.Store.Update(ctx, rec); {
		case err == nil:
			c.opt.Log.Info("resolved", "operation", rec.Operation, "operationId", rec.Key, "who", res.Who, "state", rec.State)
			return c.receipt(def, rec, false)
		case !errors.Is(err, ErrStaleRecord):
			return c.refuseRead(def, ref.Key, err)
		}
	}
}

func (c *Client) resumeMutation(ctx context.Context, ref Ref) (*Receipt, error) {
	rec, def, e := c.find(ctx, ref, ActionDo)
	if e != nil {
		return c.refuseRef(def, ref, e)
	}
	if rec.State != StateAbsent && rec.State != StatePartial && rec.State != StateUnknown {
		return c.receipt(def, rec, true)
	}
	m, e := c.recorded(rec)
	if e != nil {
		return c.refuseRef(def, ref, e)
	}
	return m.again(ctx)
}

func (c *Client) records(ctx context.Context, caller string, f Filter) ([]*Record, error) {
	if caller == "" {
		caller = c.opt.Caller
	}
	if e := c.authorize(ctx, Access{Action: ActionGet, Caller: caller, Operation: f.Operation, Key: f.Key}); e != nil {
		return nil, e
	}
	f.Caller = caller
	list, err := c.opt.Store.List(ctx, f)
	if err != nil {
		return nil, c.journalDown(err)
	}
	return list, nil
}
