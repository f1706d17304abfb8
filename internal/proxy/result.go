package proxy

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"time"

	"github.com/spillway-mcp/spillway/internal/jsontape"
	"github.com/spillway-mcp/spillway/internal/ledger"
	"github.com/spillway-mcp/spillway/internal/rules"
	"github.com/spillway-mcp/spillway/internal/stash"
	"github.com/spillway-mcp/spillway/internal/wire"
	"github.com/spillway-mcp/spillway/reduce"
)

// callTool looks at a tools/call of the client: our own tool is answered, a cut
// marker in the arguments refused (RED-49), a renamed tool given its name back,
// and the rule chosen by which the result will be reduced.
func (s *session) callTool(c *call, body []byte, m wire.Message) (edits []wire.Edit, forward bool) {
	nameSp := wire.Member(body, m.Params, "name")
	name := wire.Text(nameSp.Of(body))
	argsSp := wire.Member(body, m.Params, "arguments")
	args := argsSp.Of(body)
	c.server = s.serverName()
	if name == expandName && s.expandServed(c.server) {
		s.expandFor(c, args)
		return nil, false
	}
	if s.operationServed(name) {
		s.operate(c, name, body, m)
		return nil, false
	}
	set, info := s.lookUp(c, name)
	if info.name != name {
		edits = []wire.Edit{{Span: nameSp, With: jsontape.AppendQuote(nil, info.name)}}
	}
	c.name, c.info = info.name, info
	c.server, c.name = s.origin(c.server, c.name)
	if set != nil {
		c.rule = set.For(c.server, c.name)
	}
	if c.rule != nil {
		plus := s.additions(info, c.rule)
		as, cuts := takeAdded(body, argsSp, info, plus)
		if as.redeems() {
			s.redeem(c, as)
			return nil, false
		}
		c.verify, c.token = as.verify, plus.token
		args = cut(body, argsSp, slices.Clone(cuts))
		edits = append(edits, cuts...)
		slices.SortStableFunc(edits, func(a, b wire.Edit) int { return cmp.Compare(a.Start, b.Start) })
		c.pick = c.rule.Pick(c.arguments(args))
		if c.pick != nil && c.pick.Reducer != nil && c.pick.Reducer.Writes(info.write) {
			c.sent = bytes.Clone(args)
		}
	}
	s.toRecord(c, args, body, m)
	if ref := s.cutMarker(c, args); ref != "" {
		s.refuseMarker(c, ref)
		return nil, false
	}
	if s.opt.Ledger != nil {
		c.args = ledger.ArgDigests(s.digestKey, args)
		c.repeat = s.repeats.Observe(c.name, c.args)
	}
	return edits, true
}

// arguments parses a call's arguments where a rule looks at them.
func (c *toolCall) arguments(args []byte) jsontape.Value {
	for i := range c.rule.Variants {
		if c.rule.Variants[i].When != nil {
			doc, err := jsontape.Parse(args)
			if err != nil {
				break
			}
			return doc.Root()
		}
	}
	return jsontape.Value{}
}

// lookUp returns the rules in force for a call and what is known of the tool
// that the client calls name.
func (s *session) lookUp(c *call, name string) (*rules.Set, toolInfo) {
	s.mu.Lock()
	defer s.mu.Unlock()
	info, ok := s.tools.tools[name]
	if !ok && s.tools.tools == nil {
		info, ok = s.own.tools[name]
	}
	if !ok {
		info = toolInfo{name: name}
	}
	set := s.tools.rules
	if set == nil || c.modern && !time.Now().Before(s.tools.until) {
		set = s.opt.rules()
	}
	switch {
	case s.tools.expand == yes, s.tools.expand == unknown && s.expandWanted(c.server):
		c.expand = expandName
	case s.opt.Stash == nil && s.expandWanted(c.server):
		// What is cut could not be got back, as was wanted: with a ref that
		// cannot be kept the original passes (RED-18).
		c.expand = expandName
	}
	c.link = s.linkFor(c)
	return set, info
}

// result rewrites the answer to a tools/call.
func (s *session) result(c *call, body []byte, m wire.Message) change {
	if !m.Result.Present() {
		return change{after: func() { s.accountError(c, m.Error.Of(body)) }}
	}
	if id := newTaskID(body, m.Result); id != "" {
		c.answer.free()
		s.mu.Lock()
		s.tasks.add(id, c)
		s.mu.Unlock()
		return change{}
	}
	return s.reduceAt(c, body, m.Result)
}

// reduceAt reduces the tool result that stands at sp.
func (s *session) reduceAt(c *call, body []byte, sp wire.Span) change {
	result := sp.Of(body)
	if c.pick == nil || c.pick.Reducer == nil || c.info.ui || c.sureToPass(len(result)) {
		return change{after: func() { s.accountPassed(c, result, c.answer.at(sp), nil) }}
	}
	env := reduce.Env{
		Expand: c.expand, Schema: c.info.schema, UI: c.info.ui, ResourceLink: c.link,
		Write: c.info.write, Args: c.sent, Verify: c.verify, TokenParam: c.token,
	}
	ready := s.prepare(c, result, sp)
	if ready != nil {
		defer ready.Discard()
	}
	out, confirmed := s.withoutSlot(c, result, env)
	if !confirmed {
		if v := c.answer.at(sp); v.Exists() {
			out = c.pick.Reducer.ReduceParsed(v, env)
		} else {
			out = c.pick.Reducer.Reduce(result, env)
		}
	}
	if out.Err != nil {
		s.opt.Log.Error("result not reduced, it passes whole", "server", c.server, "tool", c.name, "err", out.Err)
		return change{after: func() { s.accountPassed(c, result, c.answer.at(sp), []string{"reducer"}) }}
	}
	switch {
	case out.IsError:
		return change{after: func() { s.accountError(c, result) }}
	case !out.Changed:
		return change{after: func() { s.accountReduced(c, result, out) }}
	}
	if out.Ref != "" {
		if err := s.keep(c, result, out, ready); err != nil {
			s.opt.Log.Error("original not stashed, it passes whole", "server", c.server, "tool", c.name, "err", err)
			return change{after: func() { s.accountPassed(c, result, c.answer.at(sp), []string{stashFault(err)}) }}
		}
	}
	return change{
		edits: []wire.Edit{{Span: sp, With: out.Result}},
		after: func() { s.accountReduced(c, result, out) },
	}
}

// sureToPass reports whether a result of size bytes passes whatever it holds: its
// rule exempts it, or does nothing but cap the views of a result, of which none
// is longer than the result as JSON. It is then sent before it is looked at.
func (c *call) sureToPass(size int) bool {
	r := c.pick.Reducer.Rule()
	if r.Pass {
		return true
	}
	capOnly := r.Keep == "" && r.MaxRows == nil && r.Rows == "" && len(r.Strip) == 0 && !r.Heavy
	return capOnly && (r.MaxBytes == 0 || size <= r.MaxBytes) && !c.pick.Reducer.Writes(c.info.write)
}

// keep stashes an original, before anything names its ref (RED-18). A client
// that has hung up does not stop it: its next session may ask.
func (s *session) keep(c *call, result []byte, out reduce.Outcome, ready *stash.Prepared) error {
	if s.opt.Stash == nil {
		return errors.New("no stash")
	}
	rule := c.pick.Reducer.Rule()
	e := stash.Entry{
		Ref: out.Ref, Canonical: out.Canonical, Caller: s.opt.Caller,
		Server: s.ledgerNameOf(&c.toolCall), Tool: c.name, Keep: rule.Keep, Rows: rule.Rows,
	}
	if ready != nil {
		return ready.Put(context.Background(), e)
	}
	return s.opt.Stash.Put(context.Background(), e, result)
}

// The sizes in bytes of originals that are compressed beside the cutting. What
// a larger one needs is not to be held all at once.
const prepareFrom, prepareMost = 256 << 10, 8 << 20

// prepare begins to make a result that will almost surely be cut ready for the
// stash; nil of others, and where the same was asked before, since its answer is
// likely to be there.
func (s *session) prepare(c *call, result []byte, sp wire.Span) *stash.Prepared {
	can, ok := s.opt.Stash.(interface{ Prepare([]byte) *stash.Prepared })
	if !ok || len(result) < prepareFrom || len(result) > prepareMost || c.expand == "" || c.verify || c.repeat == ledger.RepeatEqual {
		return nil
	}
	rule := c.pick.Reducer.Rule()
	over := rule.MaxBytes > 0 && len(result)/2 > rule.MaxBytes
	if !over && rule.Keep == "" && rule.MaxRows == nil || c.answer.at(sp).Get("isError").Kind() == jsontape.True {
		return nil
	}
	return can.Prepare(result)
}

func stashFault(err error) string {
	if errors.Is(err, stash.ErrCollision) {
		return "collision"
	}
	return "stash"
}

// cutMarker returns the first ref in the arguments that was cut out of a result
// of this caller's, "" if there is none or the rule allows it (RED-49).
func (s *session) cutMarker(c *call, args []byte) string {
	if s.opt.Stash == nil || c.pick != nil && c.pick.Reducer != nil && c.pick.Reducer.Rule().AllowMarkers {
		return ""
	}
	for _, ref := range reduce.Markers(args) {
		if s.opt.Stash.Has(context.Background(), s.opt.Caller, ref) {
			return ref
		}
	}
	return ""
}

// refuseMarker answers a call whose arguments hold a stub of what was cut. It is
// a result that the model sees, not an error of the protocol.
func (s *session) refuseMarker(c *call, ref string) {
	way := "Call " + expandName + " with ref " + ref
	if c.expand == "" {
		way = "Read the resource " + reduce.URIPrefix + ref
	}
	s.answerText(c, true, "Not sent to the server: the arguments contain a mark of cut text ("+ref+
		"), which stands for text that was left out when it was shown to you. Writing it back would destroy that text. "+
		way+" to get the whole, and call this tool again with the real text.")
	s.accountError(c, nil)
}

// answerText answers a call with one text block.
func (s *session) answerText(c *call, isError bool, text string) {
	b := jsontape.AppendQuote([]byte(`{"content":[{"type":"text","text":`), text)
	b = append(b, `}]`...)
	if isError {
		b = append(b, `,"isError":true`...)
	}
	s.answer(c, append(b, '}'))
}

// answer answers a request of the client with a result of ours.
func (s *session) answer(c *call, result []byte) {
	if c.modern {
		all := wire.Span{End: len(result)}
		if !wire.Member(result, all, "resultType").Present() {
			result = wire.Splice(result, wire.SetMember(result, all, "resultType", []byte(`"complete"`)))
		}
	}
	c.answered = time.Now()
	s.answerTo(c.id, []byte(`{"jsonrpc":"2.0","id":`), c.id, []byte(`,"result":`), result, []byte(`}`))
}

func milliseconds(raw []byte) time.Duration {
	var ms float64
	if json.Unmarshal(raw, &ms) != nil || ms < 0 {
		return 0
	}
	return time.Duration(min(ms, 1e9)) * time.Millisecond
}
