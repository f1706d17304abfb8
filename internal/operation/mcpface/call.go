package mcpface

import (
	"context"
	"encoding/json"

	"github.com/spillway-mcp/spillway/contract"
	"github.com/spillway-mcp/spillway/internal/jsontape"
)

// continuationArg is the argument that resumes a read.
const continuationArg = "continuation"

// read runs a read, or resumes one. With a continuation and nothing else the
// parameters are those that it holds.
func (f *Face) read(ctx context.Context, t *tool, c Call) []byte {
	params, taken, err := without(c.Arguments, t.ours...)
	if err != nil {
		return textResult("arguments: "+err.Error(), true)
	}
	call := contract.Call{Caller: c.Caller, Params: params, Progress: c.Progress, Evidence: taken[evidenceArg].Kind() == jsontape.True}
	token := taken[continuationArg]
	if !token.Exists() || token.Kind() == jsontape.Null {
		return f.receipt(c.set.client.Do(ctx, t.def, call))
	}
	call.Continuation = token.Str()
	if string(params) == "{}" {
		call.Params = nil
		return f.receipt(c.set.client.Resume(ctx, call))
	}
	return f.receipt(c.set.client.Do(ctx, t.def, call))
}

// prepare previews a mutation and keeps it under a new operation id.
func (f *Face) prepare(ctx context.Context, t *tool, c Call) []byte {
	p, err := c.set.client.Prepare(ctx, t.def, contract.Call{
		Caller: c.Caller, Params: c.Arguments, Key: inMeta(c.Meta, MetaKey), Revision: inMeta(c.Meta, MetaRevision),
	})
	if err != nil {
		return f.refused(t.def, err)
	}
	// The commit needs the id alone; the token is for those who commit with
	// the parameters at hand.
	raw, _, err := without(marshal(p), "token")
	if err != nil {
		return textResult("the preview cannot be shown: "+err.Error(), true)
	}
	return result(raw, raw, false)
}

// status tells how a mutation stands, and asks the upstream where it is to.
func (f *Face) status(ctx context.Context, c Call) []byte {
	_, taken, err := without(c.Arguments, operationIDArg, reconcileArg)
	if err != nil {
		return textResult("arguments: "+err.Error(), true)
	}
	ref := contract.Ref{Caller: c.Caller, Key: taken[operationIDArg].Str()}
	if taken[reconcileArg].Kind() == jsontape.True {
		return f.receipt(c.set.client.Reconcile(ctx, ref))
	}
	return f.receipt(c.set.client.Get(ctx, ref))
}

// commit does what was prepared.
func (f *Face) commit(ctx context.Context, t *tool, c Call) ([]byte, *Fault) {
	rest, taken, err := without(c.Arguments, operationIDArg)
	if err != nil {
		return textResult("arguments: "+err.Error(), true), nil
	}
	id := taken[operationIDArg].Str()
	if id == "" || string(rest) != "{}" {
		return f.refused(t.def, &contract.Error{Kind: contract.ErrInvalid, Reason: contract.ReasonInvalid, Parameter: "/" + operationIDArg,
			Message: "give operationId alone, as " + c.set.nameOf(prepareTool, t.def) + " returned it"}), nil
	}
	return f.commitKey(ctx, t, c, id)
}

// commitKey does what was prepared under an operation id.
func (f *Face) commitKey(ctx context.Context, t *tool, c Call, key string) ([]byte, *Fault) {
	ref := contract.Ref{Caller: c.Caller, Operation: t.def.Name(), Key: key}
	return f.run(ctx, c, ref, func(ctx context.Context, claimed func()) (*contract.Receipt, error) {
		return c.set.client.Commit(ctx, contract.Ref{Caller: c.Caller, Operation: t.def.ID(), Key: key}, contract.Call{Claimed: claimed})
	})
}

// inMeta returns a text that a call's _meta carries; "" is none.
func inMeta(meta []byte, key string) string {
	doc, err := jsontape.Parse(meta)
	if err != nil {
		return ""
	}
	return doc.Root().Get(key).Str()
}

// without takes members out of a JSON object.
func without(args []byte, names ...string) (rest []byte, taken map[string]jsontape.Value, err error) {
	doc, err := jsontape.Parse(args)
	if err != nil {
		return nil, nil, err
	}
	taken = map[string]jsontape.Value{}
	if doc.Root().Kind() != jsontape.Object {
		return args, taken, nil // the definition refuses it, and says how
	}
	rest = []byte{'{'}
	for it := doc.Root().Iter(); it.Next(); {
		key := it.Key().Str()
		mine := false
		for _, n := range names {
			mine = mine || n == key
		}
		if mine {
			taken[key] = it.Value()
			continue
		}
		if len(rest) > 1 {
			rest = append(rest, ',')
		}
		rest = append(it.Key().AppendCompact(rest), ':')
		rest = it.Value().AppendCompact(rest)
	}
	return append(rest, '}'), taken, nil
}

// receipt makes the result of an invocation.
func (f *Face) receipt(r *contract.Receipt, err error) []byte {
	if r == nil {
		return textResult("the operation could not be run: "+err.Error(), true)
	}
	raw := r.JSON()
	if !r.IsError() {
		return result(raw, raw, false)
	}
	// Hosts show a model the text of an error, and some only that.
	return result(raw, raw, true)
}

// refused makes the result of an error that came without a receipt.
func (f *Face) refused(def *contract.Definition, err error) []byte {
	e, ok := err.(*contract.Error)
	if !ok {
		return textResult("the operation could not be run: "+err.Error(), true)
	}
	r := e.Receipt()
	if r == nil {
		r = &contract.Receipt{
			OperationID: e.OperationID, Operation: def.ID(), Digest: def.Digest(), Outcome: contract.Rejected,
			Effect: contract.EffectNone, NextAction: contract.NextNone,
			Reason: e.Reason, Message: e.Message, Hint: e.Hint, Parameter: e.Parameter,
		}
	}
	raw := r.JSON()
	return result(raw, raw, true)
}

// result is a CallToolResult: the data, and the same in text.
func result(structured, text []byte, isError bool) []byte {
	b := jsontape.AppendQuote([]byte(`{"content":[{"type":"text","text":`), text)
	b = append(b, `}],"structuredContent":`...)
	b = append(b, structured...)
	if isError {
		b = append(b, `,"isError":true`...)
	}
	return append(b, '}')
}

func textResult(text string, isError bool) []byte {
	b := jsontape.AppendQuote([]byte(`{"content":[{"type":"text","text":`), text)
	b = append(b, `}]`...)
	if isError {
		b = append(b, `,"isError":true`...)
	}
	return append(b, '}')
}

// marshal writes v as JSON without escapes that JSON does not ask for.
func marshal(v any) []byte {
	raw, err := json.Marshal(v)
	if err != nil {
		return []byte("null")
	}
	doc, err := jsontape.Parse(raw)
	if err != nil {
		return raw
	}
	return doc.Root().AppendCompact(nil)
}
