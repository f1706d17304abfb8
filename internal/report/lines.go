package report

import (
	"crypto/sha256"
	"time"

	"github.com/spillway-mcp/spillway/internal/ledger"
	"github.com/spillway-mcp/spillway/internal/record"
	"github.com/spillway-mcp/spillway/internal/tokens"
)

// Lines returns the lines that a session's events have in the ledger, with
// tokens by another estimator. Bytes are those of the calls themselves, before
// any redaction; tokens are of what the recording holds.
func Lines(s *record.Session, counter tokens.Counter) []ledger.Line {
	var repeats ledger.Repeats
	// Digests are compared within this session only; they need no secret.
	key := sha256.Sum256([]byte(s.Header.Session))
	all := make([]ledger.Line, 0, len(s.Events))
	for i := range s.Events {
		e := &s.Events[i]
		if e.Kind == record.KindEnd {
			continue
		}
		l := ledger.Line{
			TS:     s.Header.Started.Add(time.Duration(e.Done) * time.Microsecond),
			Event:  ledger.EventCall,
			Server: e.Server, Tool: e.Tool, Session: s.Header.Session, Era: s.Header.Client.Era,
			Rule: e.Rule, Outcome: e.Outcome, Estimator: counter.Name(), Stash: e.Ref, Faults: e.Faults,
			Cut: ledger.Cut{Rows: int64(e.Cut.Rows), Fields: int64(e.Cut.Fields), Bytes: int64(e.Cut.Bytes)},
			MS:  float64(e.Done-e.At) / 1000,
		}
		switch e.Kind {
		case record.KindList:
			l.Event, l.Tool = ledger.EventList, ""
			l.BytesIn, l.BytesOut = int64(len(e.Result)), int64(len(e.Seen()))
			l.TokensIn, l.TokensOut = count(counter, e.Result), count(counter, e.Seen())
			l.Overhead = max(0, l.BytesOut-l.BytesIn)
			all = append(all, l)
			continue
		case record.KindExpand:
			l.Event = ledger.EventExpand
			if e.Outcome == record.Error {
				l.Reason = e.Reason
				break
			}
			l.Asked = askedOf(s, e)
			out(&l, viewOf(e.Seen(), counter), e.After)
			l.Overhead = l.BytesOut
		default:
			before, after := viewOf(e.Result, counter), viewOf(e.Seen(), counter)
			switch {
			case failed(e):
				l.Event = ledger.EventError
				if len(e.Result) == 0 {
					before = view{bytes: int64(len(e.Error)), tokens: count(counter, e.Error)}
					after = before
				}
			case e.Outcome == record.Reduced && e.Note == "" && !e.Dropped:
				l.Event = ledger.EventEnvelope // everything else that is cut says so
			case e.Env.Verify:
				l.Event = ledger.EventVerify
			}
			in(&l, before, e.Before)
			out(&l, after, e.After)
			l.Overhead = int64(len(e.Note))
			if e.Kind == record.KindCall {
				l.Args = ledger.ArgDigests(key[:], e.Args)
				l.Repeat = repeats.Observe(e.Tool, l.Args)
			}
		}
		all = append(all, l)
	}
	return all
}

// failed reports whether a call came to nothing: the server's error, a refusal,
// or no answer.
func failed(e *record.Event) bool {
	return e.Outcome == record.Error || e.Outcome == record.Stopped || e.Kind == record.KindRefused
}

func in(l *ledger.Line, v view, exact record.Sizes) {
	v = v.exactly(exact)
	l.BytesIn, l.TokensIn, l.StructuredIn, l.StructuredTokensIn = v.bytes, v.tokens, v.structured, v.structuredTokens
}

func out(l *ledger.Line, v view, exact record.Sizes) {
	v = v.exactly(exact)
	l.BytesOut, l.TokensOut, l.StructuredOut, l.StructuredTokensOut = v.bytes, v.tokens, v.structured, v.structuredTokens
}
