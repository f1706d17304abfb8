package contract

import (
	"context"
	"encoding/json"
	"fmt"
	"time"
)

// Read defines a bounded read of pages, with parameters P and result R, which
// are read and written by encoding/json. Fields are as in Spec and ReadSpec.
type Read[P, R any] struct {
	Name, Version, Title, Scope string
	Upstream                    string
	Target                      func(P) string
	Params, Result              json.RawMessage // nil: from P and R
	Bounds                      Bounds
	Retry                       Retry

	// Fetch gets the page at a cursor, nil for the first, as JSON.
	Fetch func(ctx context.Context, params P, cursor *string) ([]byte, error)

	Items, Next, End string
	EmptyCursorEnds  bool
	Where            string
	Aggregates       []Aggregate
	Dedupe           string
	Invalid          InvalidPolicy
	Fields           map[string]string
	Consistency      Consistency
	Concurrency      int // more than 1 calls Fetch from several goroutines
}

// Mutation defines an operation with an effect, with parameters P and result
// R. It has either Submit, for one step, or Steps.
type Mutation[P, R any] struct {
	Name, Version, Title, Scope string
	Upstream                    string
	Effects                     Effects
	Idempotent                  Idempotency
	KeyRetention                time.Duration
	Key                         KeyPlacement // "" is KeyInHeader with ByKey, else KeyInNothing
	KeyName                     string       // "" is "Idempotency-Key" in a header
	Target                      func(P) string
	Params, Result              json.RawMessage // nil: from P and R
	Bounds                      Bounds
	Retry                       Retry
	Settle                      time.Duration
	Retention                   time.Duration

	// Demand takes the revision that the caller demands from the parameters;
	// Current reads the one there is; see Precondition.
	Demand   func(P) string
	Current  func(context.Context, P) (string, error)
	Enforced bool
	// Preview predicts the effect.
	Preview func(context.Context, P) (any, error)

	// Submit has the effect; at.StepKey is the key to send along.
	Submit    func(ctx context.Context, at *Invocation, params P) (R, error)
	Classify  func(error) *Failure
	Reconcile func(ctx context.Context, at *Invocation, params P) (FindingState, R, error)

	Steps []StepOf[P]
	// Finish makes the result of the steps' results. Nil: an object of them.
	Finish func(params P, results map[string]json.RawMessage) (R, error)
}

// StepOf is a Step whose functions take the parameters as P. Results are
// anything that encoding/json writes.
type StepOf[P any] struct {
	Name       string
	Effect     Effects
	Idempotent Idempotency
	Key        KeyPlacement
	KeyName    string
	Each       func(params P) ([]Item, error)
	Submit     func(ctx context.Context, at *Invocation, params P) (any, error)
	Classify   func(error) *Failure
	Reconcile  func(ctx context.Context, at *Invocation, params P) (FindingState, any, error)
	Compensate func(ctx context.Context, at *Invocation, params P) (any, error)
}

// Op is a Definition that knows its Go types.
type Op[P, R any] struct {
	*Definition
}

// Do invokes op and decodes its result. The value is set where the receipt
// holds a result, also beside ErrIncomplete; the receipt is never nil.
func (op *Op[P, R]) Do(ctx context.Context, c *Client, params P, call Call) (R, *Receipt, error) {
	var none R
	raw, err := json.Marshal(params)
	if err != nil {
		return none, nil, &Error{Kind: ErrInvalid, Reason: ReasonInvalid, Operation: op.ID(), Message: "parameters cannot be written as JSON", Err: err}
	}
	call.Params = raw
	r, err := c.Do(ctx, op.Definition, call)
	v, verr := Value[R](r)
	if err == nil {
		err = verr
	}
	return v, r, err
}

// Preview previews op; see Client.Preview.
func (op *Op[P, R]) Preview(ctx context.Context, c *Client, params P, call Call) (*Preview, error) {
	raw, err := json.Marshal(params)
	if err != nil {
		return nil, &Error{Kind: ErrInvalid, Reason: ReasonInvalid, Operation: op.ID(), Message: "parameters cannot be written as JSON", Err: err}
	}
	call.Params = raw
	return c.Preview(ctx, op.Definition, call)
}

// Value decodes a receipt's result; the zero R where it holds none.
func Value[R any](r *Receipt) (R, error) {
	var v R
	if r == nil || r.Result == nil {
		return v, nil
	}
	if err := json.Unmarshal(r.Result, &v); err != nil {
		return v, &Error{Kind: ErrInvalid, Reason: ReasonInvalidResult, Operation: r.Operation, OperationID: r.OperationID,
			Message: fmt.Sprintf("result is no %T", v), Err: err}
	}
	return v, nil
}

// Define checks the definition. The error is a *DefinitionError.
func (r Read[P, R]) Define() (*Op[P, R], error) {
	spec := Spec{
		Name: r.Name, Version: r.Version, Title: r.Title, Scope: r.Scope, Upstream: r.Upstream,
		Effects: Reads, Params: r.Params, Result: r.Result, Bounds: r.Bounds, Retry: r.Retry,
		Target: typedTarget(r.Target),
		Read: &ReadSpec{
			Items: r.Items, Next: r.Next, End: r.End, EmptyCursorEnds: r.EmptyCursorEnds,
			Where: r.Where, Aggregates: r.Aggregates, Dedupe: r.Dedupe, Invalid: r.Invalid,
			Fields: r.Fields, Consistency: r.Consistency, Concurrency: r.Concurrency,
		},
	}
	if r.Fetch != nil {
		spec.Read.Fetch = func(ctx context.Context, in *Invocation) ([]byte, error) {
			p, err := typedParams[P](in)
			if err != nil {
				return nil, err
			}
			return r.Fetch(ctx, p, in.Cursor)
		}
	}
	return defineTyped[P, R](spec)
}

// MustDefine is Define for package variables; it panics on an error.
func (r Read[P, R]) MustDefine() *Op[P, R] { return must(r.Define()) }

// Define checks the definition. The error is a *DefinitionError.
func (m Mutation[P, R]) Define() (*Op[P, R], error) {
	spec := Spec{
		Name: m.Name, Version: m.Version, Title: m.Title, Scope: m.Scope, Upstream: m.Upstream,
		Effects: m.Effects, Idempotent: m.Idempotent, KeyRetention: m.KeyRetention,
		Params: m.Params, Result: m.Result, Bounds: m.Bounds, Retry: m.Retry,
		Target:   typedTarget(m.Target),
		Mutation: &MutationSpec{Settle: m.Settle, Retention: m.Retention},
	}
	ms := spec.Mutation
	if m.Current != nil || m.Demand != nil || m.Enforced {
		ms.Precondition = &Precondition{Enforced: m.Enforced}
		if m.Demand != nil {
			ms.Precondition.Demand = func(in *Invocation) (string, error) {
				p, err := typedParams[P](in)
				if err != nil {
					return "", err
				}
				return m.Demand(p), nil
			}
		}
		if m.Current != nil {
			ms.Precondition.Current = func(ctx context.Context, in *Invocation) (string, error) {
				p, err := typedParams[P](in)
				if err != nil {
					return "", err
				}
				return m.Current(ctx, p)
			}
		}
	}
	if m.Preview != nil {
		ms.Preview = func(ctx context.Context, in *Invocation) (json.RawMessage, error) {
			return typedCall(in, func(p P) (any, error) { return m.Preview(ctx, p) })
		}
	}
	if m.Finish != nil {
		ms.Result = func(in *Invocation) (json.RawMessage, error) {
			return typedCall(in, func(p P) (any, error) { return m.Finish(p, in.Results) })
		}
	}
	if m.Submit != nil {
		if m.Steps != nil {
			return nil, &DefinitionError{Operation: m.Name, Field: "Steps", Msg: "given beside Submit; use one of them"}
		}
		one := StepOf[P]{
			Key: m.Key, KeyName: m.KeyName, Classify: m.Classify,
			Submit: func(ctx context.Context, in *Invocation, p P) (any, error) { return m.Submit(ctx, in, p) },
		}
		if m.Reconcile != nil {
			one.Reconcile = func(ctx context.Context, in *Invocation, p P) (FindingState, any, error) {
				return m.Reconcile(ctx, in, p)
			}
		}
		ms.Steps = []Step{one.untyped()}
	}
	for _, s := range m.Steps {
		ms.Steps = append(ms.Steps, s.untyped())
	}
	return defineTyped[P, R](spec)
}

// MustDefine is Define for package variables; it panics on an error.
func (m Mutation[P, R]) MustDefine() *Op[P, R] { return must(m.Define()) }

func (s StepOf[P]) untyped() Step {
	u := Step{Name: s.Name, Effect: s.Effect, Idempotent: s.Idempotent, Key: s.Key, KeyName: s.KeyName, Classify: s.Classify}
	if s.Each != nil {
		u.Each = func(in *Invocation) ([]Item, error) {
			p, err := typedParams[P](in)
			if err != nil {
				return nil, err
			}
			return s.Each(p)
		}
	}
	if s.Submit != nil {
		u.Submit = func(ctx context.Context, in *Invocation) (json.RawMessage, error) {
			return typedCall(in, func(p P) (any, error) { return s.Submit(ctx, in, p) })
		}
	}
	if s.Compensate != nil {
		u.Compensate = func(ctx context.Context, in *Invocation) (json.RawMessage, error) {
			return typedCall(in, func(p P) (any, error) { return s.Compensate(ctx, in, p) })
		}
	}
	if s.Reconcile != nil {
		u.Reconcile = func(ctx context.Context, in *Invocation) (Finding, error) {
			p, err := typedParams[P](in)
			if err != nil {
				return Finding{}, err
			}
			state, v, err := s.Reconcile(ctx, in, p)
			if err != nil || state != Present {
				return Finding{State: state}, err
			}
			raw, err := json.Marshal(v)
			return Finding{State: state, Result: raw}, err
		}
	}
	return u
}

func typedParams[P any](in *Invocation) (P, error) {
	var p P
	if err := json.Unmarshal(in.Params, &p); err != nil {
		return p, Reject(ReasonInvalid, "parameters do not fit %T", p)
	}
	return p, nil
}

func typedCall[P any](in *Invocation, f func(P) (any, error)) (json.RawMessage, error) {
	p, err := typedParams[P](in)
	if err != nil {
		return nil, err
	}
	v, err := f(p)
	if err != nil {
		return nil, err
	}
	return json.Marshal(v)
}

func typedTarget[P any](f func(P) string) func(*Invocation) (string, error) {
	if f == nil {
		return nil
	}
	return func(in *Invocation) (string, error) {
		p, err := typedParams[P](in)
		if err != nil {
			return "", err
		}
		return f(p), nil
	}
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

func defineTyped[P, R any](spec Spec) (*Op[P, R], error) {
	var err error
	if spec.Params == nil {
		if spec.Params, err = schemaOf[P](); err != nil {
			return nil, &DefinitionError{Operation: spec.Name, Field: "Params", Msg: "no schema for the Go type", Err: err}
		}
	}
	if spec.Result == nil {
		if spec.Result, err = schemaOf[R](); err != nil {
			return nil, &DefinitionError{Operation: spec.Name, Field: "Result", Msg: "no schema for the Go type", Err: err}
		}
	}
	def, err := Define(spec)
	if err != nil {
		return nil, err
	}
	return &Op[P, R]{def}, nil
}
