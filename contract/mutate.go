package contract

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// mutation is one call of a mutation, and what it knows of its record.
type mutation struct {
	c      *Client
	def    *Definition
	spec   *MutationSpec
	call   Call
	in     Invocation
	id     ID
	rec    *Record // as last read or written
	claims Record  // what a claim would write: identity and fingerprint
	fresh  bool    // nothing of the operation can have happened before this claim
	// now is the present when the call began, or was last asked for, and read is
	// when that was by a clock of this process.
	now  Instant
	read time.Time
	// doubted are the units whose earlier submission, before this claim, may
	// have happened: no refusal of a later one says that it did not.
	doubted map[unitID]bool
}

type unitID struct{ step, item string }

func (u *StepRecord) unit() unitID { return unitID{u.Step, u.Item} }

func nameOf(operation string) string {
	name, _, _ := strings.Cut(operation, "@")
	return name
}

// newMutation settles the identity and fingerprint of a call.
func (c *Client) newMutation(def *Definition, call Call, caller, key string, params []byte) (*mutation, *Error) {
	m := &mutation{c: c, def: def, spec: def.spec.Mutation, call: call}
	m.id = ID{Caller: caller, Operation: def.Name(), Key: key}
	m.in = Invocation{Operation: def.ID(), Caller: caller, Key: key, Params: params, Revision: call.Revision}
	invalid := func(what string, err error) *Error {
		return &Error{Kind: ErrInvalid, Reason: ReasonInvalid, Message: what + ": " + err.Error(), Err: err}
	}
	var err error
	if m.in.Target, err = def.target(&m.in); err != nil {
		return nil, invalid("target", err)
	}
	if p := m.spec.Precondition; p != nil && p.Demand != nil {
		demanded, err := p.Demand(&m.in)
		if err != nil {
			return nil, invalid("precondition", err)
		}
		switch {
		case demanded == "":
		case m.in.Revision == "":
			m.in.Revision = demanded
		case m.in.Revision != demanded:
			return nil, invalid("revision", fmt.Errorf("the call and its parameters demand two different ones"))
		}
	}
	if m.in.Revision != "" && m.spec.Precondition == nil {
		return nil, invalid("revision", fmt.Errorf("%s has no precondition that could hold it", def.ID()))
	}
	return m, nil
}

// bind makes the fingerprint, once the demanded revision is settled.
func (m *mutation) bind() {
	hash, pre := sum("params", string(m.in.Params)), ""
	if m.in.Revision != "" {
		pre = sum("revision", m.in.Revision)
	}
	m.claims = Record{ID: m.id, Version: m.def.Version(), Digest: m.def.digest, Target: m.in.Target,
		ParamsHash: hash, Precondition: pre, Fingerprint: fingerprint(hash, m.in.Target, pre)}
}

func (c *Client) mutate(ctx context.Context, def *Definition, call Call, caller, key string, params []byte) (*Receipt, error) {
	if call.Preview != "" {
		var e *Error
		if call, key, e = c.bindPreview(ctx, def, call, caller, key, params); e != nil {
			return c.refuse(def, key, e)
		}
	}
	m, e := c.newMutation(def, call, caller, key, params)
	if e != nil {
		return c.refuse(def, key, e)
	}
	m.bind()
	if e := m.allowed(ctx, ActionDo); e != nil {
		return c.refuse(def, key, e)
	}
	if call.Announce != nil {
		call.Announce(key)
	}
	return m.claimAndRun(ctx)
}

func (m *mutation) allowed(ctx context.Context, action Action) *Error {
	return m.c.authorize(ctx, Access{Action: action, Caller: m.id.Caller, Operation: m.def.ID(), Effects: m.def.spec.Effects,
		Key: m.id.Key, Target: m.in.Target, Params: m.in.Params})
}

// look reads the journal's clock. The process's own is read before: what is
// counted from there ends no later than what others count from the journal's.
func (m *mutation) look(ctx context.Context) error {
	read := time.Now()
	now, err := m.c.instant(ctx)
	if err == nil {
		m.now, m.read = now, read
	}
	return err
}

// later is the present without asking the journal again, counted by this
// process from when it did.
func (m *mutation) later() Instant { return m.now.after(time.Since(m.read)) }

// claimAndRun is section 3's diagram.
func (m *mutation) claimAndRun(ctx context.Context) (*Receipt, error) {
	if err := m.look(ctx); err != nil {
		return m.c.refuse(m.def, m.id.Key, m.c.journalDown(err))
	}
	now := m.now.At
	first := m.claims
	first.State, first.Epoch = StatePending, 1
	first.Owner, first.Lease = fmt.Sprintf("%s/%d", m.c.opt.Owner, m.c.claims.Add(1)), now.Add(m.c.opt.Lease)
	first.Stamp, first.Deadline = m.now.Stamp, m.def.spec.Bounds.Deadline
	first.CreatedAt, first.UpdatedAt, first.SubmittedAt = now, now, now
	first.Params = m.sealed()
	m.rec, m.fresh = &first, true
	unit, err := m.next()
	if err != nil {
		return m.c.refuse(m.def, m.id.Key, &Error{Kind: ErrInvalid, Reason: ReasonInvalid, Message: err.Error(), Err: err})
	}
	if unit == nil {
		return m.c.refuse(m.def, m.id.Key, errNoItems())
	}
	m.submitting(unit, m.now)
	existing, ok, err := m.c.opt.Store.Claim(ctx, m.rec)
	if err != nil && m.claimed(ctx) {
		ok, err = true, nil
	}
	if err != nil {
		return m.c.refuse(m.def, m.id.Key, m.c.journalDown(err))
	}
	if ok {
		m.tellClaimed()
		return m.run(ctx, unit)
	}
	m.rec = existing
	return m.again(ctx)
}

func (m *mutation) tellClaimed() {
	if m.call.Claimed != nil {
		m.call.Claimed()
	}
}

// claimed reports whether a claim whose answer was lost, as a database loses it
// that is restarted, is durable all the same: it would look like that of an owner
// who vanished, and nobody could tell that nothing was submitted.
func (m *mutation) claimed(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, 200*time.Millisecond)
	defer cancel()
	for wait := 10 * time.Millisecond; ; wait *= 2 {
		rec, err := m.c.opt.Store.Get(ctx, m.id)
		if err == nil {
			m.rec.Revision, m.rec.IDHash = rec.Revision, rec.IDHash
			return rec.Owner == m.rec.Owner && rec.Revision == 1
		}
		if errors.Is(err, ErrNoRecord) || !pause(ctx, wait) {
			return false
		}
	}
}

func errNoItems() *Error {
	return &Error{Kind: ErrInvalid, Reason: ReasonInvalid, Message: "there are no items to submit"}
}

// again answers a call under a key that has a record.
func (m *mutation) again(ctx context.Context) (*Receipt, error) {
	var deadline time.Time
	if m.call.Wait > 0 {
		deadline = time.Now().Add(m.call.Wait)
	}
	for poll := 2 * time.Millisecond; ; {
		if err := m.look(ctx); err != nil {
			return m.c.refuseRead(m.def, m.id.Key, err)
		}
		if e := m.conflict(); e != nil {
			return m.c.refuse(m.def, m.id.Key, e)
		}
		switch m.rec.State {
		case StatePending:
			if !m.rec.lapsed(m.now) {
				if deadline.IsZero() || !m.await(ctx, deadline, &poll) {
					return m.c.receipt(m.def, m.rec, false)
				}
				continue
			}
			if err := m.c.ownerLost(ctx, m.rec, m.now); err != nil {
				if !errors.Is(err, ErrStaleRecord) {
					return m.c.refuseRead(m.def, m.id.Key, err)
				}
				if r, err, ok := m.reread(ctx); !ok {
					return r, err
				}
			}
			continue
		case StateUnknown:
			if why := m.unprotected(); why != "" {
				return m.unknown(why)
			}
		case StateAbsent:
		case StatePartial:
			if !resumable(m.rec) {
				return m.c.receipt(m.def, m.rec, true)
			}
		default:
			return m.c.receipt(m.def, m.rec, true)
		}
		unit, err := m.reclaim(ctx)
		switch {
		case err == nil && unit != nil:
			m.tellClaimed()
			return m.run(ctx, unit)
		case err == nil:
			return m.c.receipt(m.def, m.rec, true)
		case !errors.Is(err, ErrStaleRecord):
			return m.c.refuseRead(m.def, m.id.Key, err)
		}
		if r, err, ok := m.reread(ctx); !ok {
			return r, err
		}
	}
}

// reread fetches the record anew after another process changed it.
func (m *mutation) reread(ctx context.Context) (*Receipt, error, bool) {
	rec, err := m.c.opt.Store.Get(ctx, m.id)
	if err != nil {
		r, err := m.c.refuseRead(m.def, m.id.Key, err)
		return r, err, false
	}
	m.rec = rec
	return nil, nil, true
}

// await sleeps until the record may have changed, and reads it.
func (m *mutation) await(ctx context.Context, deadline time.Time, poll *time.Duration) bool {
	left := time.Until(deadline)
	if left <= 0 || !pause(ctx, min(*poll, left)) {
		return false
	}
	*poll = min(*poll*2, 100*time.Millisecond)
	rec, err := m.c.opt.Store.Get(ctx, m.id)
	if err != nil {
		return false
	}
	m.rec = rec
	return true
}

// conflict compares a call with the record under its key (C-13).
func (m *mutation) conflict() *Error {
	r := m.rec
	if expired(r, m.now.At) {
		return &Error{Kind: ErrExpired, Reason: ReasonExpired, Message: fmt.Sprintf("this operation id was used, with the outcome %s, and its record is past retention", outcomeOf(r.State))}
	}
	var in []string
	if r.ParamsHash != m.claims.ParamsHash {
		in = append(in, "params")
	}
	if r.Target != m.claims.Target {
		in = append(in, "target")
	}
	if majorOf(r.Version) != strconv.Itoa(m.def.major) {
		in = append(in, "version")
	}
	if r.Precondition != m.claims.Precondition {
		in = append(in, "precondition")
	}
	if in == nil {
		return nil
	}
	return &Error{Kind: ErrKeyConflict, Reason: ReasonKeyConflict, Err: conflictIn(in),
		Message: "key conflict: this operation id stands for a call with other " + strings.Join(in, " and "),
		Hint:    "repeat the first call as it was, or use a new operation id for a new intent"}
}

type conflictIn []string

func (c conflictIn) Error() string { return "differs in " + strings.Join(c, ", ") }

func expired(r *Record, now time.Time) bool {
	return r.Tombstone || !r.Expires.IsZero() && !r.Expires.After(now)
}

// unprotected says why the steps in doubt may not be submitted again; "" where
// the upstream surely still holds the key of each (C-16, C-18).
func (m *mutation) unprotected() string {
	found := false
	for i := range m.rec.Steps {
		u := &m.rec.Steps[i]
		if !doubtful(u.Status) {
			continue
		}
		found = true
		s := m.step(u.Step)
		if s == nil || u.Status == StepCompensating || m.def.idempotency(s) != ByKey {
			return noKey
		}
		keep := m.def.keyRetention(s)
		if keep == Forever {
			continue
		}
		switch _, most := m.now.Since(Stamp{u.First, u.Clock, u.Tick}); {
		case keep == 0:
			return noKey
		case most == never:
			return fmt.Sprintf("the clock was set back, to before what the journal was told, so nobody can tell whether the upstream still holds the key: it does for %s", keep)
		case most >= keep:
			return fmt.Sprintf("the upstream holds a key for %s, and the first submission is longer ago: the key protects nothing any more", keep)
		}
	}
	if !found {
		return noKey
	}
	return ""
}

// noKey is that there is no key that could protect.
const noKey = "no key"

// unknown answers that the outcome stays unknown; of a key that could have
// protected another submission it says why it does not.
func (m *mutation) unknown(why string) (*Receipt, error) {
	r, _ := m.c.receipt(m.def, m.rec, true)
	if why != noKey {
		r.Message, r.Hint = why, "find out, then resolve this operation id; a new id could do it twice"
		if m.def.Reconciles() != "none" {
			r.Hint = "it may have happened: reconcile this operation id"
		}
	}
	return r, r.Err()
}

func doubtful(s StepStatus) bool {
	return s == StepSubmitted || s == StepUnknown || s == StepCompensating
}

// resumable reports whether a partial operation has something left that is
// known not to have happened, and nothing undone.
func resumable(r *Record) bool {
	for i := range r.Steps {
		switch r.Steps[i].Status {
		case StepCompensating, StepCompensated, StepCompensationFailed:
			return false
		}
	}
	return true
}

func (m *mutation) step(name string) *Step {
	for i := range m.spec.Steps {
		if m.spec.Steps[i].Name == name {
			return &m.spec.Steps[i]
		}
	}
	return nil
}

// reclaim takes the record over for another submission: one conditional
// update, durable before it returns. The unit is nil where nothing is left.
func (m *mutation) reclaim(ctx context.Context) (*StepRecord, error) {
	now := m.now.At
	was := *m.rec
	was.Steps = append([]StepRecord(nil), m.rec.Steps...)
	m.rec = was.clone(was.ID)
	r := m.rec
	m.fresh, m.doubted = true, map[unitID]bool{}
	for i := range r.Steps {
		s := r.Steps[i].Status
		m.fresh = m.fresh && s != StepCompleted && !doubtful(s)
		switch {
		case s == StepCompleted:
		case doubtful(s): // until it is submitted again, and may be after it
			r.Steps[i].Status = StepUnknown
			m.doubted[r.Steps[i].unit()] = true
		default:
			r.Steps[i].Status, r.Steps[i].Reason, r.Steps[i].Message = StepWaiting, "", ""
		}
	}
	r.State, r.Epoch, r.Owner, r.Lease = StatePending, r.Epoch+1, m.c.opt.Owner, now.Add(m.c.opt.Lease)
	r.UpdatedAt, r.UnknownAt, r.Expires = now, time.Time{}, time.Time{}
	r.Stamp, r.Deadline, r.Lost = m.now.Stamp, m.def.spec.Bounds.Deadline, false
	r.Reason, r.Message = "", ""
	if r.Params == nil {
		r.Params = m.sealed()
	}
	unit, err := m.next()
	if err != nil || unit == nil {
		m.rec = &was
		return nil, err
	}
	m.submitting(unit, m.now)
	if err := m.c.opt.Store.Update(ctx, r); err != nil {
		m.rec = &was
		return nil, err
	}
	m.c.opt.Log.Info("submitting again", "operation", m.in.Operation, "operationId", m.id.Key, "was", was.State, "epoch", r.Epoch)
	return unit, nil
}

const purposeParams = "journaled params v1 "

// journaled is what a reconcile or a resume needs of the call, sealed.
type journaled struct {
	Params   json.RawMessage `json:"params"`
	Revision string          `json:"revision,omitempty"`
}

func (m *mutation) sealed() []byte {
	return m.c.opt.Sealer.Seal(purposeParams+m.id.Hash(), encode(journaled{json.RawMessage(m.in.Params), m.in.Revision}))
}

// recorded makes the mutation of a record again.
func (c *Client) recorded(rec *Record) (*mutation, *Error) {
	def := c.Lookup(rec.Operation + "@" + majorOf(rec.Version))
	if def == nil || def.IsRead() {
		return nil, &Error{Kind: ErrInvalid, Reason: ReasonInvalid, Message: fmt.Sprintf("%s@%s is not defined here", rec.Operation, rec.Version)}
	}
	raw, err := c.opt.Sealer.Open(purposeParams+rec.ID.Hash(), rec.Params)
	var j journaled
	if err == nil {
		err = json.Unmarshal(raw, &j)
	}
	if err != nil {
		return nil, &Error{Kind: ErrInvalid, Reason: ReasonInvalid, Message: "the journaled parameters cannot be opened with this seal key", Err: err,
			Hint: "use the key file that stands beside the journal"}
	}
	m, e := c.newMutation(def, Call{Key: rec.Key, Revision: j.Revision}, rec.Caller, rec.Key, j.Params)
	if e != nil {
		return nil, e
	}
	m.bind()
	m.rec = rec
	return m, nil
}

func majorOf(version string) string {
	major, _, _ := strings.Cut(version, ".")
	return major
}

// submitting marks a unit so that whoever finds the record without its owner
// knows that it is in doubt.
func (m *mutation) submitting(u *StepRecord, now Instant) {
	u.Status = StepSubmitted
	if u.First.IsZero() {
		u.First, u.Clock, u.Tick = now.At, now.Clock, now.Tick
	}
}
