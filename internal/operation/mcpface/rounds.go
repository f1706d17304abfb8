package mcpface

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"time"

	"github.com/spillway-mcp/spillway/contract"
	"github.com/spillway-mcp/spillway/internal/jsontape"
)

// round is what a requestState holds, sealed.
type round struct {
	Caller    string    `json:"caller"`
	Operation string    `json:"op"` // name@major.minor
	Key       string    `json:"key"`
	Arguments []byte    `json:"args"` // hash of their canonical form
	Ask       bool      `json:"ask"`  // a person was asked to approve
	Expires   time.Time `json:"exp"`
}

const (
	purposeRound = "mcp request state v1"
	// approval is the name of the request for a person's word.
	approval = "approve"
)

// rounds runs a mutation in rounds. The first checks it, mints its operation
// id, keeps the call and asks for another round; where the client can ask a
// person, for its approval too. Each further round with that requestState does
// what was prepared, and a repetition of it replays. A call whose _meta
// carries an operation id needs no rounds.
func (f *Face) rounds(ctx context.Context, t *tool, c Call) ([]byte, *Fault) {
	if c.State != "" {
		return f.further(ctx, t, c)
	}
	if key := inMeta(c.Meta, MetaKey); key != "" {
		ref := contract.Ref{Caller: c.Caller, Operation: t.def.Name(), Key: key}
		return f.run(ctx, c, ref, func(ctx context.Context, claimed func()) (*contract.Receipt, error) {
			return c.set.client.Do(ctx, t.def, contract.Call{
				Caller: c.Caller, Key: key, Params: c.Arguments, Revision: inMeta(c.Meta, MetaRevision), Claimed: claimed,
			})
		})
	}
	if !c.Modern { // input_required is no result that it knows
		return f.refused(t.def, &contract.Error{Kind: contract.ErrInvalid, Reason: contract.ReasonInvalid,
			Message: fmt.Sprintf("call %s, then %s with the operationId that it returns", c.set.nameOf(prepareTool, t.def), c.set.nameOf(commitTool, t.def))}), nil
	}
	return f.ask(ctx, t, c), nil
}

// ask is the first round.
func (f *Face) ask(ctx context.Context, t *tool, c Call) []byte {
	p, err := c.set.client.Prepare(ctx, t.def, contract.Call{Caller: c.Caller, Params: c.Arguments, Revision: inMeta(c.Meta, MetaRevision)})
	if err != nil {
		return f.refused(t.def, err)
	}
	hash, err := canonicalHash(c.Arguments)
	if err != nil {
		return textResult("arguments: "+err.Error(), true)
	}
	ask := canElicit(c.Meta)
	state := marshal(round{Caller: c.Caller, Operation: t.def.ID(), Key: p.OperationID, Arguments: hash, Ask: ask, Expires: p.ExpiresAt})
	b := []byte(`{"resultType":"input_required","inputRequests":{`)
	if ask {
		b = append(b, `"`+approval+`":{"method":"elicitation/create","params":{"mode":"form","message":`...)
		b = jsontape.AppendQuote(b, previewText(t.def, p))
		b = append(b, `,"requestedSchema":{"type":"object","properties":{"approve":{"type":"boolean","title":"Do it"}},"required":["approve"]}}}`...)
	}
	b = append(b, `},"requestState":`...)
	b = jsontape.AppendQuote(b, base64.RawURLEncoding.EncodeToString(f.opt.Sealer.Seal(purposeRound, state)))
	b = append(b, `,"_meta":{"`+MetaKey+`":`...)
	return append(jsontape.AppendQuote(b, p.OperationID), `}}`...)
}

// further does what an earlier round prepared.
func (f *Face) further(ctx context.Context, t *tool, c Call) ([]byte, *Fault) {
	var r round
	sealed, err := base64.RawURLEncoding.Strict().DecodeString(c.State)
	if err == nil {
		var raw []byte
		if raw, err = f.opt.Sealer.Open(purposeRound, sealed); err == nil {
			err = json.Unmarshal(raw, &r)
		}
	}
	if err != nil || r.Caller != c.Caller || r.Operation != t.def.ID() {
		e := &contract.Error{Kind: contract.ErrRejected, Reason: "request_state_invalid", Message: "this requestState is none of yours for this operation, or it was changed"}
		return f.refused(t.def, e), nil
	}
	if hash, err := canonicalHash(c.Arguments); err != nil || string(hash) != string(r.Arguments) {
		e := &contract.Error{Kind: contract.ErrPrecondition, Reason: contract.ReasonPreviewMismatch, OperationID: r.Key,
			Message: "this requestState stands for other arguments", Hint: "call with the arguments that were previewed, or without requestState for a new intent"}
		return f.refused(t.def, e), nil
	}
	if r.Ask && !approved(c.Responses) {
		e := &contract.Error{Kind: contract.ErrRejected, Reason: "declined", Message: "not approved, so nothing was submitted", OperationID: r.Key}
		return f.refused(t.def, e), nil
	}
	return f.commitKey(ctx, t, c, r.Key)
}

// approved reports whether the person said yes.
func approved(responses []byte) bool {
	doc, err := jsontape.Parse(responses)
	if err != nil {
		return false
	}
	answer := doc.Root().Get(approval)
	return answer.Get("action").Is("accept") && answer.Lookup("content", "approve").Kind() == jsontape.True
}

// canElicit reports whether a modern request declares that its client can ask
// a person by a form.
func canElicit(meta []byte) bool {
	doc, err := jsontape.Parse(meta)
	if err != nil {
		return false
	}
	can := doc.Root().Lookup("io.modelcontextprotocol/clientCapabilities", "elicitation")
	if can.Kind() != jsontape.Object {
		return false
	}
	return can.Len() == 0 || can.Get("form").Exists()
}

func canonicalHash(args []byte) ([]byte, error) {
	doc, err := jsontape.Parse(args)
	if err != nil {
		return nil, err
	}
	sum := doc.Root().SHA256()
	return sum[:], nil
}

// previewText says to a person what an operation would do.
func previewText(def *contract.Definition, p *contract.Preview) string {
	s := fmt.Sprintf("%s would %s on %s.\n%s\nparameters: %s", p.Operation, p.Effects, p.Target, p.Scope, p.Params)
	if p.Prediction != nil {
		s += fmt.Sprintf("\nexpected: %s", p.Prediction)
	}
	if p.Informational {
		s += "\nThis preview is informational: the upstream cannot be held to it."
	}
	return s + fmt.Sprintf("\nreplay: %s, reconcile: %s, operation id: %s", p.Replay, p.Reconcile, p.OperationID)
}
