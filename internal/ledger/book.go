package ledger

// A booking is one line as it is added to a group: which counter it raises and
// what it adds to each view.
type booking struct {
	event             string
	reduced, failed   bool
	envelope, verify  bool
	overhead          int64
	text, structured  amount
	textTok, strucTok amount
	estimator         int // -1: no tokens
	faults            []string
}

// An amount is what one line brings in one view, in bytes or tokens.
type amount struct{ in, out, expanded, definitions int64 }

func (a amount) net() int64 { return a.in - a.out - a.expanded - a.definitions }

// book decides what a line counts for (RED-47):
//
//   - a result counts what came in and what went out;
//   - an error, and an answer of which nothing went out, saved nothing: its in is
//     no more than its out, so that a failed call never looks like a saving;
//   - an expand is a cost, all of it;
//   - a write answered in full because the caller asked for it saved nothing; where
//     it repeats an earlier call of the session, made again to see what the
//     confirmation left out, it is a cost like an expand;
//   - a list costs what it grew; one that shrank, since a rule hides tools, is no
//     saving of results, and saves nothing here.
//
// The structured view of a result without structuredContent is its text, since
// that is what such a host shows then.
func book(r *record, estimator int) booking {
	b := booking{
		overhead:  r.overhead,
		estimator: estimator,
		reduced:   r.cut || r.stash || string(r.outcome) == OutcomeReduced,
		failed:    string(r.outcome) == OutcomeError,
	}
	structured := r.structIn > 0 || r.structOut > 0
	sIn, sOut, stIn, stOut := r.bytesIn, r.bytesOut, r.tokensIn, r.tokensOut
	if structured {
		sIn, sOut, stIn, stOut = r.structIn, r.structOut, r.structTokensIn, r.structTokensOut
	}
	var kind func(in, out int64) amount
	switch string(r.event) {
	case EventExpand:
		b.event, b.reduced = EventExpand, false
		kind = func(_, out int64) amount { return amount{expanded: out} }
	case EventList:
		b.event, b.reduced = EventList, false
		kind = func(in, out int64) amount { return amount{definitions: max(0, out-in)} }
	case EventError:
		b.event, b.reduced = EventError, false
		kind = func(in, out int64) amount { return amount{in: min(in, out), out: out} }
	case EventVerify:
		b.event, b.verify = EventCall, true
		kind = func(in, out int64) amount {
			if string(r.repeat) == RepeatEqual {
				return amount{expanded: out}
			}
			return amount{in: min(in, out), out: out}
		}
	default:
		b.event, b.envelope = EventCall, string(r.event) == EventEnvelope
		kind = func(in, out int64) amount {
			if out == 0 {
				in = 0
			}
			return amount{in: in, out: out}
		}
	}
	b.text, b.structured = kind(r.bytesIn, r.bytesOut), kind(sIn, sOut)
	b.textTok, b.strucTok = kind(r.tokensIn, r.tokensOut), kind(stIn, stOut)
	return b
}

func (g *group) add(b *booking, noSession bool) {
	switch b.event {
	case EventExpand:
		if b.failed {
			g.failedExpands++
		} else {
			g.expands++
		}
	case EventList:
		g.lists++
	case EventError:
		g.calls++
		g.errors++
	default:
		g.calls++
	}
	if b.reduced {
		g.reduced++
	}
	if b.envelope {
		g.envelopes++
	}
	if b.verify {
		g.verifies++
	}
	g.overhead += b.overhead
	g.text.add(b.text, b.textTok, b.estimator)
	g.structured.add(b.structured, b.strucTok, b.estimator)
	for _, f := range b.faults {
		g.faults.add(f, 1)
	}
	if noSession {
		g.noSession++
	}
}

// saved is what the line brings to its session.
func (b *booking) saved() saved {
	return saved{b.text.in, b.text.net(), b.structured.in, b.structured.net()}
}

func (v *view) add(a, tok amount, estimator int) {
	v.in += a.in
	v.out += a.out
	v.expanded += a.expanded
	v.definitions += a.definitions
	if estimator < 0 {
		return
	}
	for len(v.tokens) <= estimator {
		v.tokens = append(v.tokens, tokenSum{})
	}
	t := &v.tokens[estimator]
	t.in += tok.in
	t.out += tok.out
	t.expanded += tok.expanded
	t.definitions += tok.definitions
}
