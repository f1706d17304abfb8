package contract

import (
	"context"
	"errors"
	"fmt"
)

// do is the common way into an operation: caller, key, parameters.
func (c *Client) do(ctx context.Context, def *Definition, call Call) (*Receipt, error) {
	if def == nil {
		return c.refuse(nil, call.Key, &Error{Kind: ErrInvalid, Reason: ReasonInvalid, Message: "no such operation"})
	}
	caller, key, e := c.identify(call.Caller, call.Key)
	if e != nil {
		return c.refuse(def, call.Key, e)
	}
	params, e := checkedParams(def, call.Params)
	if e != nil {
		return c.refuse(def, key, e)
	}
	if def.IsRead() {
		return c.read(ctx, def, call, caller, key, params)
	}
	if call.Continuation != "" {
		return c.refuse(def, key, &Error{Kind: ErrInvalid, Reason: ReasonInvalid, Message: "a mutation takes no continuation; repeat its operation id"})
	}
	return c.mutate(ctx, def, call, caller, key, params)
}

// identify settles who calls and under which key.
func (c *Client) identify(caller, key string) (string, string, *Error) {
	if caller == "" {
		caller = c.opt.Caller
	}
	if caller == "" {
		return "", key, &Error{Kind: ErrInvalid, Reason: ReasonInvalid, Message: "no caller", Hint: "set Options.Caller or Call.Caller"}
	}
	if key == "" {
		key = c.opt.NewKey()
	}
	if !validKey(key) {
		return "", "", &Error{Kind: ErrInvalid, Reason: ReasonInvalid, Message: fmt.Sprintf("operation key of %d bytes; want 1 to 255 printable ASCII characters without spaces", len(key))}
	}
	return caller, key, nil
}

func validKey(key string) bool {
	for i := range len(key) {
		if key[i] <= ' ' || key[i] > '~' {
			return false
		}
	}
	return key != "" && len(key) <= 255
}

func checkedParams(def *Definition, raw []byte) ([]byte, *Error) {
	params, err := def.canonicalParams(raw)
	if err == nil {
		return params, nil
	}
	e := &Error{Kind: ErrInvalid, Reason: ReasonInvalid, Message: err.Error()}
	if pe, ok := errors.AsType[*paramsError](err); ok {
		e.Parameter = pe.pointer
	}
	return nil, e
}

func (d *Definition) target(in *Invocation) (string, error) {
	if d.spec.Target == nil {
		return d.spec.Upstream, nil
	}
	return d.spec.Target(in)
}

// authorize asks the hook (C-21). What it says stays with us: a refusal tells
// the caller nothing about what there is.
func (c *Client) authorize(ctx context.Context, a Access) *Error {
	if c.opt.Authorize == nil {
		return nil
	}
	err := c.opt.Authorize(ctx, a)
	if err == nil {
		return nil
	}
	c.opt.Log.Info("refused", "caller", a.Caller, "operation", a.Operation, "operationId", a.Key, "action", a.Action)
	return &Error{Kind: ErrUnauthorized, Reason: ReasonUnauthorized, Message: fmt.Sprintf("not allowed to %s this operation", a.Action), Err: err}
}

// refuse makes the receipt of an invocation that had no effect and left no
// record.
func (c *Client) refuse(def *Definition, key string, e *Error) (*Receipt, error) {
	r := &Receipt{OperationID: key, Outcome: Rejected, Effect: EffectNone, NextAction: NextNone,
		Reason: e.Reason, Message: e.Message, Hint: e.Hint, Parameter: e.Parameter}
	if def != nil {
		r.Operation, r.Digest = def.ID(), def.digest
	}
	switch e.Reason {
	case ReasonKeyConflict, ReasonPreviewMismatch, ReasonPrecondition, ReasonExpired:
		r.NextAction = NextNewKey
	case ReasonJournal:
		r.NextAction = NextResume
	}
	if in, ok := errors.AsType[conflictIn](e.Err); ok {
		r.Conflict = in
	}
	e.Operation, e.OperationID, e.receipt = r.Operation, key, r
	return r, e
}

func (c *Client) journalDown(err error) *Error {
	return &Error{Kind: ErrJournal, Reason: ReasonJournal, Message: "the journal cannot be used, so nothing was submitted: " + err.Error(), Err: err,
		Hint: "repair the journal, then call again under the same operation id"}
}

// resumeRead finds the operation and its parameters in the continuation.
func (c *Client) resumeRead(ctx context.Context, call Call) (*Receipt, error) {
	caller := call.Caller
	if caller == "" {
		caller = c.opt.Caller
	}
	k, err := c.opt.Sealer.decodeContinuation(call.Continuation)
	if err != nil {
		_, e := c.openContinuation(ctx, call.Continuation, caller, nil, "")
		return c.refuse(nil, call.Key, e)
	}
	def := c.Lookup(k.Operation)
	if def == nil {
		def = c.Lookup(nameOf(k.Operation))
	}
	if k.Caller != caller || def == nil {
		_, e := c.openContinuation(ctx, call.Continuation, caller, nil, "")
		if e == nil {
			e = &Error{Kind: ErrContinuation, Reason: ReasonContinuationVersion, Message: fmt.Sprintf("the operation %s of this continuation is not defined here", k.Operation)}
		}
		return c.refuse(def, call.Key, e)
	}
	if call.Params == nil {
		call.Params = k.Params
	}
	return c.do(ctx, def, call)
}
