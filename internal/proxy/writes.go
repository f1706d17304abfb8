package proxy

import (
	"bytes"
	"context"
	"errors"
	"slices"

	"github.com/spillway-mcp/spillway/internal/jsontape"
	"github.com/spillway-mcp/spillway/internal/ledger"
	"github.com/spillway-mcp/spillway/internal/rules"
	"github.com/spillway-mcp/spillway/internal/schema"
	"github.com/spillway-mcp/spillway/internal/stash"
	"github.com/spillway-mcp/spillway/internal/wire"
	"github.com/spillway-mcp/spillway/reduce"
)

// verifyOther is what verify is called on a tool that has one of its own (RED-33).
const verifyOther = "_verify"

// The names of the parameters that are added to a tool.
var verifyName, tokenName, modeName = schema.Verify.Name, schema.Token.Name, schema.Mode.Name

// inputs is what a tool's own input schema says that matters to what is added.
type inputs struct {
	open                       bool // it can be given properties
	verify, other, token, mode bool // it declares these itself
}

// readInputs reads the input schema at sp, whose properties stand at props.
func readInputs(body []byte, sp, props wire.Span) inputs {
	in := inputs{open: isObject(body, sp) && (!props.Present() || isObject(body, props))}
	src := sp.Of(body)
	if !bytes.Contains(src, []byte(verifyName)) && !bytes.Contains(src, []byte(tokenName)) &&
		!bytes.Contains(src, []byte(modeName)) && !bytes.Contains(src, []byte(`\u`)) {
		return in
	}
	doc, err := jsontape.Parse(src)
	if err != nil {
		return in
	}
	declares := func(name string) bool { return schema.Declares(doc.Root(), name) }
	in.verify, in.other, in.token, in.mode = declares(verifyName), declares(verifyOther), declares(tokenName), declares(modeName)
	return in
}

// added is what a tool's input schema is given.
type added struct {
	verify      string // the name; "" if it is no eligible write
	token, mode bool
}

// additions decides what a tool is given under its rules (RED-29, RED-33,
// RED-34). It depends on nothing that could change between the listing of a
// tool and a call of it.
func (s *session) additions(info toolInfo, rule *rules.Tool) (a added) {
	if rule == nil || info.ui || !info.inputs.open {
		return a
	}
	writes := false
	for i := range rule.Variants {
		r := rule.Variants[i].Reducer
		if r == nil || r.Rule().Pass {
			continue
		}
		w := r.Writes(info.write)
		writes = writes || w
		a.token = a.token || r.Rule().TokenParam && (w || r.Rule().Heavy)
	}
	switch {
	case !writes:
	case !info.inputs.verify:
		a.verify = verifyName
	case !info.inputs.other:
		a.verify = verifyOther
	}
	a.token = a.token && s.opt.Stash != nil && !info.inputs.token
	a.mode = a.token && !info.inputs.mode
	return a
}

// edit returns the edit that adds a's properties to the input schema at sp,
// behind those that are there; nothing where there are none to add.
func (a added) edit(body []byte, sp, props wire.Span) []wire.Edit {
	var members []byte
	add := func(name, value string) {
		if len(members) > 0 {
			members = append(members, ',')
		}
		members = append(append(jsontape.AppendQuote(members, name), ':'), value...)
	}
	if a.verify != "" {
		add(a.verify, schema.Verify.Schema)
	}
	if a.token {
		add(tokenName, schema.Token.Schema)
	}
	if a.mode {
		add(modeName, schema.Mode.Schema)
	}
	if len(members) == 0 {
		return nil
	}
	if !props.Present() {
		return []wire.Edit{wire.SetMember(body, sp, "properties", slices.Concat([]byte("{"), members, []byte("}")))}
	}
	at := props.Start + 1
	for it := wire.MembersOf(body, props); it.Next(); {
		at = it.Value().End
	}
	if at > props.Start+1 {
		members = append([]byte{','}, members...)
	}
	return []wire.Edit{{Span: wire.Span{Start: at, End: at}, With: members}}
}

// asked is what a call's arguments say in the parameters that were added.
type asked struct {
	verify      bool
	token, mode []byte // as they are written; nil where they are not given
}

// takeAdded reads the parameters that were added out of the arguments at sp, and
// returns the edits that cut them away. verify goes from every tool that does
// not declare it, read or write: whoever was shown another list may send it
// (RED-33).
func takeAdded(body []byte, sp wire.Span, info toolInfo, a added) (as asked, edits []wire.Edit) {
	ours := func(name []byte) bool {
		switch {
		case wire.StringIs(name, verifyName):
			return info.known && !info.inputs.verify
		case wire.StringIs(name, verifyOther):
			return a.verify == verifyOther
		case wire.StringIs(name, tokenName):
			return a.token
		case wire.StringIs(name, modeName):
			return a.mode
		}
		return false
	}
	type member struct {
		from, to int
		cut      bool
	}
	var all []member
	found := false
	for it := wire.MembersOf(body, sp); it.Next(); {
		m := member{from: it.KeySpan().Start, to: it.Value().End, cut: ours(it.Key())}
		all = append(all, m)
		if !m.cut {
			continue
		}
		found = true
		value := it.Value().Of(body)
		switch key := it.Key(); {
		case wire.StringIs(key, tokenName):
			as.token = value
		case wire.StringIs(key, modeName):
			as.mode = value
		case a.verify != "" && wire.StringIs(key, a.verify):
			as.verify = string(value) == "true"
		}
	}
	if !found {
		return as, nil
	}
	kept := false
	for i, m := range all {
		switch {
		case !m.cut:
			kept = true
			continue
		case kept:
			edits = append(edits, wire.Edit{Span: wire.Span{Start: all[i-1].to, End: m.to}})
		case i+1 < len(all):
			edits = append(edits, wire.Edit{Span: wire.Span{Start: m.from, End: all[i+1].from}})
		default:
			edits = append(edits, wire.Edit{Span: wire.Span{Start: m.from, End: m.to}})
		}
	}
	return as, edits
}

// redeems reports whether a call hands a token back. Null and the empty string
// are what some models write for a parameter that they leave out.
func (as asked) redeems() bool {
	return as.token != nil && string(as.token) != "null" && string(as.token) != `""`
}

// redeem answers a call that hands a token back with the result that it stands
// for: the tool's own, and the caller's own. The server does not see it, so that
// nothing is written again (RED-35).
func (s *session) redeem(c *call, as asked) {
	token, mode := bytes.Clone(as.token), bytes.Clone(as.mode)
	s.workers.Go(func() {
		entry, result, err := s.stashedFor(c, token, mode)
		if err != nil {
			s.answerText(c, true, err.Error())
		} else {
			s.answer(c, result)
		}
		x := expansion{entry: entry, asked: func() *ledger.Asked { return &ledger.Asked{By: ledger.AskedWhole} }}
		s.accountExpand(c, x, result, err)
	})
}

func (s *session) stashedFor(c *call, token, mode []byte) (stash.Entry, []byte, error) {
	named := stash.Entry{Tool: c.name}
	if len(mode) > 0 && string(mode) != "null" && !wire.StringIs(mode, "full") {
		return named, nil, errors.New("mode " + clip(mode, 60) + ": allowed is \"full\"")
	}
	ref := wire.Text(token)
	if !reduce.IsRef(ref) {
		return named, nil, errors.New(tokenName + " " + clip(token, 60) + ": allowed is a token that this tool has answered, \"r_\" and 12 hexadecimal digits")
	}
	unknown := errors.New("unknown " + tokenName + " " + quoted(ref))
	entry, original, err := s.opt.Stash.Get(context.Background(), s.opt.Caller, ref)
	var gone *stash.ExpiredError
	switch {
	case errors.As(err, &gone) && gone.Tool == c.name:
		return named, nil, err
	case errors.Is(err, stash.ErrUnknown), errors.As(err, &gone):
		return named, nil, unknown
	case err != nil:
		s.opt.Log.Error("stash", "ref", ref, "err", err)
		return named, nil, err
	case entry.Tool != c.name || entry.Server != s.ledgerNameOf(&c.toolCall):
		return named, nil, unknown
	}
	return entry, original, nil
}

// withoutSlot confirms a write where there is no stash and so no slot for a
// token (RED-34): the caller's list has neither the expand tool nor a parameter.
// It reports false where there is nothing to confirm in this way.
func (s *session) withoutSlot(c *call, result []byte, env reduce.Env) (reduce.Outcome, bool) {
	if s.opt.Stash != nil || !c.pick.Reducer.Writes(c.info.write) {
		return reduce.Outcome{}, false
	}
	env.Expand, env.TokenParam = "", false
	out := c.pick.Reducer.Reduce(result, env)
	return out, out.Envelope
}
