package proxy

import (
	"crypto/rand"
	"encoding/hex"

	"github.com/spillway-mcp/spillway/internal/jsontape"
	"github.com/spillway-mcp/spillway/internal/ledger"
	"github.com/spillway-mcp/spillway/internal/record"
	"github.com/spillway-mcp/spillway/internal/tokens"
	"github.com/spillway-mcp/spillway/reduce"
)

// newSessionID names a connection in the ledger. It never reaches a peer
// (RED-42).
func newSessionID() string {
	var b [8]byte
	rand.Read(b[:]) // never fails
	return hex.EncodeToString(b[:])
}

// account writes a line that fill completes. It runs once the answer is out.
func (s *session) account(fill func(*ledger.Line)) {
	if s.opt.Ledger == nil {
		return
	}
	l := ledger.Line{Server: s.ledgerName(), Session: s.id, Caller: s.opt.Caller, Era: "legacy"}
	if s.opt.Counter != nil {
		l.Estimator = s.opt.Counter.Name()
	}
	fill(&l)
	s.opt.Ledger.Write(&l)
}

// timing says when the answer went out. Counting tokens comes after it: lines of
// calls that overlap may stand in another order than their times.
func (s *session) timing(l *ledger.Line, c *call) {
	l.TS = c.done()
	l.MS = float64(l.TS.Sub(c.start).Microseconds()) / 1000
	if c.modern {
		l.Era = "modern"
	}
}

// accountCall writes the line of a tools/call.
func (s *session) accountCall(c *call, event, outcome string, fill func(*ledger.Line)) {
	s.account(func(l *ledger.Line) {
		l.Server = s.ledgerNameOf(&c.toolCall)
		l.Event, l.Outcome, l.Tool, l.Args, l.Repeat = event, outcome, c.name, c.args, c.repeat
		if c.pick != nil {
			l.Rule = c.pick.Digest
		}
		s.timing(l, c)
		fill(l)
	})
}

// accountError books a result or error that passed because it tells of a
// failure; nil where there was none of the server's.
func (s *session) accountError(c *call, body []byte) {
	s.recordError(c, body)
	s.accountCall(c, ledger.EventError, ledger.OutcomeError, func(l *ledger.Line) {
		v := s.view(body)
		if v.text == 0 && v.structured == 0 {
			v.text, v.textTokens = int64(len(body)), s.count(body) // a JSON-RPC error
		}
		same(l, v)
	})
}

// accountPassed books a result that passed as it came; v is its value where it
// is parsed.
func (s *session) accountPassed(c *call, result []byte, v jsontape.Value, faults []string) {
	outcome := ledger.OutcomePassed
	if faults != nil {
		outcome = ledger.OutcomeFailed
	} else if failed, _ := verdictOf(result, v); failed {
		s.accountError(c, result)
		return
	}
	s.recordResult(c, record.KindCall, outcome, result, faults)
	s.checkSchema(c, result)
	s.accountCall(c, ledger.EventCall, outcome, func(l *ledger.Line) {
		l.Faults = faults
		if v.Exists() {
			same(l, s.viewOfValue(v))
		} else {
			same(l, s.view(result))
		}
	})
}

// accountReduced books what the reducer made of a result.
func (s *session) accountReduced(c *call, result []byte, out reduce.Outcome) {
	s.recordReduced(c, result, out)
	s.checkSchema(c, result)
	outcome := ledger.OutcomePassed
	if out.Changed {
		outcome = ledger.OutcomeReduced
	}
	event := ledger.EventCall
	switch {
	case out.Envelope:
		event = ledger.EventEnvelope
	case out.Verified:
		event = ledger.EventVerify
	}
	s.accountCall(c, event, outcome, func(l *ledger.Line) {
		same(l, s.viewOf(result, out.Before))
		if out.Changed {
			after := s.viewOf(out.Result, out.After)
			l.BytesOut, l.TokensOut = after.text, after.textTokens
			l.StructuredOut, l.StructuredTokensOut = after.structured, after.structuredTokens
			l.Overhead = int64(len(out.Note))
			l.Stash = out.Ref
		}
		l.Cut = ledger.Cut{Rows: int64(out.Cut.Rows), Fields: int64(out.Cut.Fields), Bytes: int64(out.Cut.Bytes)}
		l.Faults = out.Faults
	})
}

// accountStopped books a call that never got its answer (RED-48).
func (s *session) accountStopped(c *call) {
	if c.kind != tool {
		return
	}
	s.recordResult(c, record.KindCall, record.Stopped, nil, nil)
	s.accountCall(c, ledger.EventError, ledger.OutcomeStopped, func(*ledger.Line) {})
}

func same(l *ledger.Line, v view) {
	l.BytesIn, l.BytesOut = v.text, v.text
	l.TokensIn, l.TokensOut = v.textTokens, v.textTokens
	l.StructuredIn, l.StructuredOut = v.structured, v.structured
	l.StructuredTokensIn, l.StructuredTokensOut = v.structuredTokens, v.structuredTokens
}

// view is what a result shows: its text blocks together as raw UTF-8, and its
// structuredContent as compact JSON (RED-15).
type view struct{ text, textTokens, structured, structuredTokens int64 }

// viewOf is the view of a result that the reducer has measured. The text itself
// is read only for an estimator that needs it: parsing a large result again
// would cost a quarter of its way.
func (s *session) viewOf(result []byte, z reduce.Sizes) view {
	count, ok := s.opt.Counter.(tokens.Sizer)
	if s.opt.Counter != nil && !ok {
		return s.view(result)
	}
	v := view{text: int64(z.Text), structured: int64(z.Structured)}
	if ok {
		v.textTokens, v.structuredTokens = int64(count.CountLen(z.Text)), int64(count.CountLen(z.Structured))
	}
	return v
}

func (s *session) view(result []byte) (v view) {
	if s.opt.Ledger == nil {
		return v
	}
	doc, err := jsontape.Parse(result)
	if err != nil {
		return v
	}
	return s.viewOfValue(doc.Root())
}

// viewOfValue reads no text where its length tells all that is booked.
func (s *session) viewOfValue(result jsontape.Value) (v view) {
	sizer, bySize := s.opt.Counter.(tokens.Sizer)
	bySize = bySize || s.opt.Counter == nil
	var buf []byte
	for it := result.Get("content").Iter(); it.Next(); {
		if a := it.Value().Lookup("annotations", "audience"); a.Len() == 1 && a.Index(0).Is("user") {
			continue // shown to the person, not to the model
		}
		text := it.Value().Get("text")
		if !text.Exists() {
			text = it.Value().Lookup("resource", "text")
		}
		v.text += int64(text.StrLen())
		if !bySize {
			v.textTokens += s.count(text.StrBytes(buf))
		}
	}
	sc := result.Get("structuredContent")
	v.structured = int64(sc.CompactLen())
	switch {
	case sizer != nil:
		v.textTokens, v.structuredTokens = int64(sizer.CountLen(int(v.text))), int64(sizer.CountLen(int(v.structured)))
	case sc.Exists() && !bySize:
		v.structuredTokens = s.count(sc.AppendCompact(buf))
	}
	return v
}

func (s *session) count(text []byte) int64 {
	if s.opt.Counter == nil || s.opt.Ledger == nil {
		return 0
	}
	return int64(s.opt.Counter.Count(text))
}
