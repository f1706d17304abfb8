package contract

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"
)

// Preview is what a call would do, as seen now (C-22).
type Preview struct {
	OperationID string          `json:"operationId"`
	Operation   string          `json:"operation"`
	Digest      string          `json:"digest"`
	Scope       string          `json:"scope,omitempty"`
	Effects     Effects         `json:"effects"`
	Target      string          `json:"target,omitempty"`
	Params      json.RawMessage `json:"params"`               // with defaults
	Prediction  json.RawMessage `json:"prediction,omitempty"` // of the definition's preview
	Revision    string          `json:"revision,omitempty"`   // seen now; the commit can demand it
	// Informational says that the upstream cannot bind the commit to what was
	// seen here.
	Informational bool   `json:"informational"`
	Replay        string `json:"replay"`    // "safe" or "unsafe"
	Reconcile     string `json:"reconcile"` // "declared" or "none"
	// Recorded is the outcome that the operation id has already: the call
	// would be answered from the journal.
	Recorded  Outcome   `json:"recorded,omitempty"`
	Steps     []string  `json:"steps,omitempty"`
	Token     string    `json:"token"` // for Call.Preview
	ExpiresAt time.Time `json:"expiresAt"`
}

// previewToken is what a Preview.Token holds.
type previewToken struct {
	Operation  string    `json:"op"`
	Caller     string    `json:"caller"`
	Key        string    `json:"key"`
	ParamsHash string    `json:"ph"`
	Target     string    `json:"target"`
	Seen       string    `json:"seen,omitempty"`
	Digest     string    `json:"digest,omitempty"` // of the definition; "" of tokens that say none
	Expires    time.Time `json:"exp"`
}

const (
	previewPrefix   = "p1_"
	purposePreview  = "preview v1"
	purposePrepared = "prepared v1 "
)

func (c *Client) preview(ctx context.Context, def *Definition, call Call) (*Preview, error) {
	fail := func(e *Error) (*Preview, error) {
		_, err := c.refuse(def, call.Key, e)
		return nil, err
	}
	if def == nil || def.IsRead() {
		return fail(&Error{Kind: ErrInvalid, Reason: ReasonInvalid, Message: "only a mutation has a preview"})
	}
	caller, key, e := c.identify(call.Caller, call.Key)
	if e != nil {
		return fail(e)
	}
	call.Key = key
	params, e := checkedParams(def, call.Params)
	if e != nil {
		return fail(e)
	}
	m, e := c.newMutation(def, call, caller, key, params)
	if e != nil {
		return fail(e)
	}
	m.bind()
	if e := m.allowed(ctx, ActionPreview); e != nil {
		return fail(e)
	}
	ctx, cancel := context.WithTimeout(ctx, def.spec.Bounds.Deadline)
	defer cancel()
	now := c.now()
	p := &Preview{
		OperationID: key, Operation: def.ID(), Digest: def.digest, Scope: def.spec.Scope, Effects: def.spec.Effects,
		Target: m.in.Target, Params: json.RawMessage(params), Replay: def.Replay(), Reconcile: def.Reconciles(),
		Informational: m.spec.Precondition == nil || !m.spec.Precondition.Enforced,
		ExpiresAt:     now.Add(c.opt.ContinuationTTL),
	}
	for i := range m.spec.Steps {
		p.Steps = append(p.Steps, m.spec.Steps[i].Name)
	}
	rec, err := c.opt.Store.Get(ctx, m.id)
	switch {
	case errors.Is(err, ErrNoRecord):
	case err != nil:
		return fail(c.journalDown(err))
	default:
		if err := m.look(ctx); err != nil {
			return fail(c.journalDown(err))
		}
		m.rec = rec
		if e := m.conflict(); e != nil {
			return fail(e)
		}
		if err := m.standing(); err != nil {
			return nil, err
		}
		p.Recorded = outcomeOf(rec.State)
	}
	seen := ""
	if p.Recorded == "" {
		if seen, e = m.lookAhead(ctx, p); e != nil {
			return fail(e)
		}
	}
	p.Token = previewPrefix + base64.RawURLEncoding.EncodeToString(c.opt.Sealer.Seal(purposePreview, encode(previewToken{
		Operation: def.ID(), Caller: caller, Key: key, ParamsHash: m.claims.ParamsHash, Target: m.in.Target,
		Seen: seen, Digest: def.digest, Expires: p.ExpiresAt,
	})))
	return p, nil
}

// standing is the error that a call would get from the record there is, where
// it would submit nothing.
func (m *mutation) standing() error {
	switch r := m.rec; {
	case r.State == StateUnknown:
		if why := m.unprotected(); why != "" {
			_, err := m.unknown(why)
			return err
		}
	case r.State == StateRejected, r.State == StatePartial && !resumable(r):
		_, err := m.c.receipt(m.def, r, true)
		return err
	}
	return nil
}

// lookAhead runs the checks that a first call would run after its claim, and
// the declared prediction.
func (m *mutation) lookAhead(ctx context.Context, p *Preview) (seen string, e *Error) {
	in := m.in
	probe := *m
	probe.rec = &Record{ID: m.id}
	if unit, err := probe.next(); err != nil {
		return "", &Error{Kind: ErrInvalid, Reason: ReasonInvalid, Message: err.Error(), Err: err}
	} else if unit == nil {
		return "", errNoItems()
	}
	if pre := m.spec.Precondition; pre != nil && pre.Current != nil {
		var err error
		if seen, err = pre.Current(ctx, &in); err != nil {
			return "", &Error{Kind: ErrRejected, Reason: "precondition_unreadable", Message: "the revision could not be read: " + failureText(ClassifyError(err)), Err: err}
		}
		p.Revision = seen
		if m.in.Revision != "" && m.in.Revision != seen {
			return "", &Error{Kind: ErrPrecondition, Reason: ReasonPrecondition, Message: "precondition failed: the revision demanded is no longer the one there is"}
		}
	}
	if m.spec.Preview != nil {
		raw, err := m.spec.Preview(ctx, &in)
		if err != nil {
			f := ClassifyError(err)
			setDefault(&f.Reason, "preview_failed")
			return "", &Error{Kind: ErrRejected, Reason: f.Reason, Message: "the preview failed: " + failureText(f), Err: err}
		}
		p.Prediction = validResult(raw)
	}
	return seen, nil
}

// bindPreview holds a call to the preview that it names (C-22): the same
// operation, caller, key, parameters and target, and the revision that the
// preview saw.
func (c *Client) bindPreview(ctx context.Context, def *Definition, call Call, caller, key string, params []byte) (Call, string, *Error) {
	bad := func(format string, args ...any) *Error {
		return &Error{Kind: ErrPrecondition, Reason: ReasonPreviewMismatch, Message: "precondition failed: " + fmt.Sprintf(format, args...),
			Hint: "preview the call that you mean, and commit that"}
	}
	var t previewToken
	body, ok := strings.CutPrefix(call.Preview, previewPrefix)
	sealed, err := base64.RawURLEncoding.Strict().DecodeString(body)
	if ok && err == nil {
		var raw []byte
		if raw, err = c.opt.Sealer.Open(purposePreview, sealed); err == nil {
			err = json.Unmarshal(raw, &t)
		}
	}
	if !ok || err != nil || t.Caller != caller {
		return call, key, bad("this is no preview of yours, or it was changed")
	}
	if call.Key == "" {
		key, call.Key = t.Key, t.Key
	}
	switch {
	case t.Operation != def.ID():
		return call, key, bad("the preview is of %s", t.Operation)
	case t.Key != key:
		return call, key, bad("the preview is of another operation id")
	case t.ParamsHash != sum("params", string(params)):
		return call, key, bad("the preview is of other parameters")
	}
	switch {
	case call.Revision == "" && t.Seen != "":
		call.Revision = t.Seen
	case call.Revision != "" && t.Seen != "" && call.Revision != t.Seen:
		return call, key, bad("the preview saw another revision than the one demanded")
	}
	in := Invocation{Operation: def.ID(), Caller: caller, Key: key, Params: params, Revision: call.Revision}
	if target, err := def.target(&in); err != nil || target != t.Target {
		return call, key, bad("the preview is of another target")
	}
	late, changed := !t.Expires.After(c.now()), t.Digest != "" && t.Digest != def.digest
	if late || changed {
		// An approval that was used stands: its record answers (M12).
		switch _, err := c.opt.Store.Get(ctx, ID{caller, def.Name(), key}); {
		case err == nil:
		case changed:
			return call, key, bad("the definition of %s has changed since the preview", def.ID())
		default:
			return call, key, bad("the preview expired at %s", t.Expires.Format(time.RFC3339))
		}
	}
	return call, key, nil
}

// prepared is a call that waits for its commit, sealed in a parcel.
type prepared struct {
	Operation string          `json:"op"` // name@major.minor
	Caller    string          `json:"caller"`
	Params    json.RawMessage `json:"params"`
	Revision  string          `json:"revision,omitempty"`
	Token     string          `json:"token"`
	Expires   time.Time       `json:"exp"`
}

func (c *Client) prepare(ctx context.Context, def *Definition, call Call) (*Preview, error) {
	p, err := c.preview(ctx, def, call)
	if err != nil {
		return nil, err
	}
	caller := call.Caller
	if caller == "" {
		caller = c.opt.Caller
	}
	id := "prep_" + ID{caller, "", p.OperationID}.Hash()
	sealed := c.opt.Sealer.Seal(purposePrepared+id, encode(prepared{def.ID(), caller, p.Params, call.Revision, p.Token, p.ExpiresAt}))
	if err := c.opt.Store.PutParcel(ctx, Parcel{ID: id, Caller: caller, Data: sealed, Expires: p.ExpiresAt}); err != nil {
		_, rerr := c.refuse(def, p.OperationID, c.journalDown(err))
		return nil, rerr
	}
	return p, nil
}

func (c *Client) commit(ctx context.Context, ref Ref, call Call) (*Receipt, error) {
	caller, key, e := c.identify(ref.Caller, ref.Key)
	if e == nil && ref.Key == "" {
		e = &Error{Kind: ErrInvalid, Reason: ReasonInvalid, Message: "no operation id"}
	}
	if e != nil {
		return c.refuseRef(nil, ref, e)
	}
	id := "prep_" + ID{caller, "", key}.Hash()
	parcel, err := c.opt.Store.GetParcel(ctx, id)
	if err != nil && !errors.Is(err, ErrNoRecord) {
		return c.refuseRef(nil, ref, c.journalDown(err))
	}
	var p prepared
	if err == nil {
		var raw []byte
		if raw, err = c.opt.Sealer.Open(purposePrepared+id, parcel.Data); err == nil {
			err = json.Unmarshal(raw, &p)
		}
	}
	def := c.Lookup(p.Operation)
	if err != nil || def == nil || ref.Operation != "" && nameOf(ref.Operation) != def.Name() {
		// Nothing is prepared, or no longer: what was committed still answers.
		rec, found, e := c.find(ctx, Ref{Caller: caller, Operation: ref.Operation, Key: key}, ActionDo)
		if e != nil && e.Kind == ErrNotFound && err == nil && def == nil {
			e.Message = fmt.Sprintf("what is prepared under this id is %s, which is not defined here any more", p.Operation)
			e.Hint = "prepare it anew"
		}
		if e != nil {
			return c.refuseRef(found, ref, e)
		}
		def = found
		return c.receipt(def, rec, true)
	}
	call.Caller, call.Key, call.Params, call.Revision, call.Preview = caller, key, p.Params, p.Revision, p.Token
	return c.do(ctx, def, call)
}
