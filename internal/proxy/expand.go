package proxy

import (
	"context"
	"errors"
	"fmt"

	"github.com/spillway-mcp/spillway/internal/ledger"
	"github.com/spillway-mcp/spillway/internal/rules"
	"github.com/spillway-mcp/spillway/internal/stash"
	"github.com/spillway-mcp/spillway/reduce"
)

// expandName is the tool that gives back what was cut (RED-25).
const expandName = rules.ExpandName

// expandDefinition is the tool as tools/list shows it, at most 140 tokens
// (RED-25).
const expandDefinition = `{"name":"reducer_expand",` +
	`"description":"Get back what a result left out. ref: its r_ id, or a continuation_token. Narrow by rows (26-50, 26-, -10), fields (names or paths), query (JMESPath) or lines; else all, in parts if large.",` +
	`"inputSchema":{"type":"object","properties":{` +
	`"ref":{"type":"string"},` +
	`"rows":{"type":"string"},` +
	`"fields":{"type":"array","items":{"type":"string"}},` +
	`"query":{"type":"string"},` +
	`"lines":{"type":"string"},` +
	`"block":{"type":"integer"},` +
	`"offset":{"type":"integer"}},` +
	`"required":["ref"]},"annotations":{"readOnlyHint":true}}`

// expandWanted reports whether the configuration and the rules want the expand
// tool listed (RED-19). The session's lock is held.
func (s *session) expandWanted(server string) bool {
	if !s.opt.Expand {
		return false
	}
	set := s.tools.rules
	if set == nil {
		set = s.opt.rules()
	}
	return set == nil || !set.For(server, expandName).Hide
}

// expandServed reports whether a call of the expand tool is for us: always where
// the server's list has no tool of that name and ours is not turned off.
func (s *session) expandServed(server string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.opt.Stash != nil && !s.tools.theirs && s.expandWanted(server)
}

// expandFor answers a call of the expand tool, beside the pump: the server may
// be slow, the stash need not wait for it.
func (s *session) expandFor(c *call, args []byte) {
	args = append([]byte(nil), args...)
	if s.opt.Record != nil {
		c.recorded.args = args
	}
	s.workers.Go(func() {
		x, result, err := s.expand(args)
		if err != nil {
			s.answerText(c, true, err.Error())
		} else {
			s.answer(c, result)
		}
		s.accountExpand(c, x, result, err)
	})
}

// accountExpand books what was given back: all of it is a cost (RED-47).
func (s *session) accountExpand(c *call, x expansion, result []byte, err error) {
	entry := x.entry
	s.recordExpand(c, entry.Server, entry.Tool, entry.Ref, result, err)
	s.account(func(l *ledger.Line) {
		s.timing(l, c)
		l.Event, l.Outcome = ledger.EventExpand, ledger.OutcomePassed
		l.Tool, l.Stash = entry.Tool, entry.Ref
		if entry.Server != "" {
			l.Server = entry.Server
		}
		if err != nil {
			l.Outcome, l.Reason = ledger.OutcomeError, reasonOf(err)
		} else {
			if x.asked != nil {
				l.Asked = x.asked()
			}
			v := s.view(result)
			l.BytesOut, l.TokensOut = v.text, v.textTokens
			l.StructuredOut, l.StructuredTokensOut = v.structured, v.structuredTokens
			l.Overhead = l.BytesOut
		}
	})
}

// expansion is whose original was asked for, and what was asked of it, for the
// ledger.
type expansion struct {
	entry stash.Entry
	asked func() *ledger.Asked
}

func (s *session) expand(args []byte) (x expansion, result []byte, err error) {
	if len(args) == 0 {
		args = []byte("{}")
	}
	q, err := reduce.ParseExpandRequest(args)
	if err != nil {
		return x, nil, err
	}
	var original []byte
	x.entry, original, err = s.opt.Stash.Get(context.Background(), s.opt.Caller, q.Ref)
	if err != nil {
		var gone *stash.ExpiredError
		if errors.As(err, &gone) {
			x.entry.Tool, x.entry.Ref = gone.Tool, gone.Ref
		} else if errors.Is(err, stash.ErrUnknown) {
			err = fmt.Errorf("%w %s", stash.ErrUnknown, quoted(q.Ref))
		} else {
			s.opt.Log.Error("stash", "ref", q.Ref, "err", err)
		}
		return x, nil, err
	}
	// The expressions were compiled when the original was cut.
	r, err := reduce.Compile(reduce.Rule{Keep: x.entry.Keep, Rows: x.entry.Rows})
	if err != nil {
		s.opt.Log.Error("the rule of a stashed result cannot be read; expand goes without", "ref", q.Ref, "err", err)
		r = nil
	}
	x.asked = func() *ledger.Asked { return askedOf(&q, r, original) }
	result, err = r.Expand(original, q, s.opt.ExpandBudget)
	return x, result, err
}
