package contract

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/spillway-mcp/spillway/internal/jsontape"
)

// reading is one call of a read.
type reading struct {
	c      *Client
	def    *Definition
	plan   *readPlan
	call   Call
	in     Invocation
	hash   string // of the params
	st     *readState
	doc    jsontape.Doc
	buf    []byte
	ids    []byte
	steps  []step
	budget struct{ pages, records int }

	reason, message string
	position        *Position
	noContinuation  bool
}

func (c *Client) read(ctx context.Context, def *Definition, call Call, caller, key string, params []byte) (*Receipt, error) {
	r := &reading{c: c, def: def, call: call, plan: def.read, hash: sum("params", string(params))}
	r.in = Invocation{Operation: def.ID(), Caller: caller, Key: key, Params: params, Revision: call.Revision}
	fail := func(e *Error) (*Receipt, error) { return c.refuse(def, r.in.Key, e) }
	var k *continuation
	if call.Continuation != "" {
		var e *Error
		if k, e = c.openContinuation(ctx, call.Continuation, caller, def, r.hash); e != nil {
			return fail(e)
		}
		r.in.Key = k.ID
	}
	var err error
	if r.in.Target, err = def.target(&r.in); err != nil {
		return fail(&Error{Kind: ErrInvalid, Reason: ReasonInvalid, Message: "target: " + err.Error(), Err: err})
	}
	action := ActionDo
	if k != nil {
		action = ActionContinue
		if k.Target != r.in.Target {
			return fail(&Error{Kind: ErrContinuation, Reason: ReasonContinuationParams, Message: "the target is not that of this continuation"})
		}
	}
	if e := c.authorize(ctx, Access{Action: action, Caller: caller, Operation: def.ID(), Effects: Reads, Key: r.in.Key, Target: r.in.Target, Params: params}); e != nil {
		return fail(e)
	}
	if call.Evidence && c.opt.Evidence == nil {
		return fail(&Error{Kind: ErrInvalid, Reason: ReasonInvalid, Message: "evidence is not kept here"})
	}
	if def.planUsesParams() {
		if r.plan, err = def.compilePlan(params); err != nil {
			return fail(&Error{Kind: ErrInvalid, Reason: ReasonInvalid, Message: err.Error(), Err: err})
		}
	}
	if call.Announce != nil {
		call.Announce(r.in.Key)
	}
	if k != nil {
		r.st = k.State
		if err := unpackStates(r.plan.aggs, r.st.Aggs); err != nil {
			return fail(&Error{Kind: ErrContinuation, Reason: ReasonContinuation, Message: "the state of this continuation does not fit the operation"})
		}
	} else {
		r.st = &readState{Aggs: newStates(r.plan.aggs)}
		r.st.Bytes = len(appendStates(nil, r.plan.aggs, r.st.Aggs))
	}
	r.st.cursors, r.st.bodies, r.st.ids = setOf(r.st.Cursors), setOf(r.st.Bodies), setOf(r.st.IDs)
	r.budget.pages, r.budget.records = def.spec.Bounds.MaxPages, def.spec.Bounds.MaxRecords

	timed, cancel := context.WithTimeout(ctx, def.spec.Bounds.Deadline)
	complete := r.run(timed)
	cancel()
	return r.receipt(ctx, complete)
}

// stop says why the read ends early.
func (r *reading) stop(reason, format string, args ...any) bool {
	r.reason, r.message = reason, fmt.Sprintf(format, args...)
	return false
}

// run walks pages until the end signal or a limit; true is the end signal.
func (r *reading) run(ctx context.Context) bool {
	b := r.def.spec.Bounds
	pages := r.pages(ctx)
	defer pages.close()
	for {
		if r.budget.pages == 0 {
			return r.stop(ReasonMaxPages, "stopped after %d pages, the limit of one call", b.MaxPages)
		}
		if r.budget.records == 0 {
			return r.stop(ReasonMaxRecords, "stopped after %d records, the limit of one call", b.MaxRecords)
		}
		page := pages.next()
		r.st.Fetches += page.attempts
		if page.reason != "" {
			return r.stop(page.reason, "%s", page.message)
		}
		r.budget.pages--
		next, end, ok := r.page(ctx, page.body)
		if !ok {
			return false
		}
		r.st.Pages++
		r.st.Skip = 0
		if r.call.Progress != nil {
			r.call.Progress(Progress{r.in.Key, r.st.Pages, r.st.Examined})
		}
		if end {
			return true
		}
		if next == nil {
			r.noContinuation = true
			return r.stop(ReasonNoEnd, "page %d has neither a next cursor nor the end signal", r.st.Pages)
		}
		seen := markOf([]byte(*next))
		if _, had := r.st.cursors[seen]; had {
			r.noContinuation = true
			return r.stop(ReasonCursorLoop, "page %d leads back to a page that was read before", r.st.Pages)
		}
		r.st.cursors[seen] = struct{}{}
		r.st.Cursor = next
	}
}

func failureText(f *Failure) string {
	if f.Message != "" {
		return f.Message
	}
	if f.Err != nil {
		return f.Err.Error()
	}
	return f.Code
}

// page takes one page in. ok is false where the read stops within it.
func (r *reading) page(ctx context.Context, body []byte) (next *string, end, ok bool) {
	at := r.st.Pages + 1
	r.buf = append(r.buf[:0], `{"params":`...)
	r.buf = append(r.buf, r.in.Params...)
	r.buf = append(r.buf, `,"key":`...)
	r.buf = jsontape.AppendQuote(r.buf, r.in.Key)
	r.buf = append(r.buf, `,"page":`...)
	r.buf = append(r.buf, body...)
	r.buf = append(r.buf, '}')
	if err := r.doc.Reset(r.buf, jsontape.Limits{}); err != nil {
		return nil, false, r.stop(ReasonInvalidPage, "page %d is not JSON", at)
	}
	root := r.doc.Root()
	items, err := r.plan.items.Search(root)
	if err != nil || items.Kind() != jsontape.Array {
		return nil, false, r.stop(ReasonInvalidPage, "page %d has no records: %s is %s, not an array", at, r.def.spec.Read.Items, items.Kind())
	}
	next, end, ok = r.after(root)
	if !ok {
		return nil, false, false
	}
	// The same bytes again are the same page again, whatever its cursor is
	// called; pages without records may well be alike.
	body16 := mark{}
	if items.Len() > 0 {
		body16 = markOf(body)
		if _, had := r.st.bodies[body16]; had && r.st.Skip == 0 {
			r.noContinuation = true
			return nil, false, r.stop(ReasonCursorLoop, "page %d is a page that was read before", at)
		}
	}
	if r.call.Evidence && r.st.Skip == 0 {
		if err := r.keep(ctx, body); err != nil {
			return nil, false, r.stop(ReasonUpstreamError, "the evidence of page %d could not be kept", at)
		}
	}
	if ok = r.records(items); ok && items.Len() > 0 {
		r.st.bodies[body16] = struct{}{}
	}
	return next, end, ok
}

// after finds the next cursor, or the end signal (C-01).
func (r *reading) after(root jsontape.Value) (next *string, end, ok bool) {
	at := r.st.Pages + 1
	s := r.def.spec.Read
	if r.plan.end != nil {
		got, err := r.plan.end.Search(root)
		if err != nil {
			return nil, false, r.stop(ReasonInvalidPage, "page %d: the end signal cannot be read: %v", at, err)
		}
		if got.Truthy() {
			return nil, true, true
		}
	}
	if r.plan.next == nil {
		n := fmt.Sprint(r.st.Pages + 2)
		return &n, false, true
	}
	got, err := r.plan.next.Search(root)
	if err != nil {
		return nil, false, r.stop(ReasonInvalidPage, "page %d: the next cursor cannot be read: %v", at, err)
	}
	switch got.Kind() {
	case jsontape.Null:
		if r.plan.end == nil {
			return nil, true, true
		}
		// The page counts, but nothing says that it is the last.
		return nil, false, true
	case jsontape.String:
		cursor := got.Text()
		if cursor == "" && s.EmptyCursorEnds {
			return nil, true, true
		}
		return &cursor, false, true
	case jsontape.Number:
		cursor := string(got.AppendJSON(nil))
		return &cursor, false, true
	}
	return nil, false, r.stop(ReasonInvalidPage, "page %d: the next cursor is %s", at, got.Kind())
}

func (r *reading) keep(ctx context.Context, page []byte) error {
	ref, err := r.c.opt.Evidence(ctx, r.in.Caller, r.def.ID(), page)
	if err == nil {
		r.st.Evidence = append(r.st.Evidence, ref)
	}
	return err
}

func (r *reading) receipt(ctx context.Context, complete bool) (*Receipt, error) {
	st := r.st
	out := &Receipt{
		OperationID: r.in.Key, Operation: r.def.ID(), Digest: r.def.digest,
		Outcome: Completed, Effect: EffectNone, NextAction: NextNone,
		Result: appendStates(nil, r.plan.aggs, st.Aggs),
		Coverage: &Coverage{RecordsExamined: st.Examined, Complete: complete, Pages: st.Pages, Skipped: st.Skipped,
			Duplicates: st.Dups, Consistency: r.def.spec.Read.Consistency, Position: r.position, Evidence: st.Evidence},
		Attempts: st.Fetches,
	}
	if complete {
		if r.def.result != nil {
			if pointer, err := r.def.result.validate(out.Result); err != nil {
				out.Outcome, out.Reason = Rejected, ReasonInvalidResult
				out.Message = fmt.Sprintf("the result does not fit its schema: %s %v", pointer, err)
				out.Result = nil
				return out, out.Err()
			}
		}
		return out, nil
	}
	out.Outcome, out.Reason, out.Message = Partial, r.reason, r.message
	if !r.noContinuation {
		packStates(st.Aggs)
		st.Cursors, st.Bodies, st.IDs = listOf(st.cursors), listOf(st.bodies), listOf(st.ids)
		// The call's own context may be over; the token is still worth keeping.
		kept, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
		defer cancel()
		token := r.c.sealContinuation(kept, &continuation{
			Operation: r.def.ID(), Caller: r.in.Caller, ParamsHash: r.hash, Params: json.RawMessage(r.in.Params), Target: r.in.Target,
			ID: r.in.Key, Expires: r.c.now().Add(r.c.opt.ContinuationTTL), Examined: st.Examined, State: st,
		})
		if token != "" {
			out.Continuation = &token
			out.NextAction = NextResume
			out.Hint = "resume with the continuation"
		}
	}
	return out, out.Err()
}
