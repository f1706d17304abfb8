package ledger

import (
	"math"
	"math/big"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// TestRED47_AnyLedgerAddsUp draws ledgers at random. Tools add up to servers and
// servers to all; the net saving is what the rules of book give, added by hand;
// no share is shown as larger than it is.
func TestRED47_AnyLedgerAddsUp(t *testing.T) {
	figure := rapid.OneOf(rapid.Int64Range(0, 3), rapid.Int64Range(0, 5000), rapid.Int64Range(0, maxFigure))
	line := rapid.Custom(func(t *rapid.T) Line {
		l := Line{
			Event:   rapid.SampledFrom([]string{EventCall, EventEnvelope, EventVerify, EventExpand, EventList, EventError}).Draw(t, "event"),
			Server:  rapid.SampledFrom([]string{"a", "b"}).Draw(t, "server"),
			Tool:    rapid.SampledFrom([]string{"x", "y", "\"é\n"}).Draw(t, "tool"),
			Session: rapid.SampledFrom([]string{"", "1", "2", "3"}).Draw(t, "session"),
			Outcome: rapid.SampledFrom([]string{OutcomeReduced, OutcomePassed, OutcomeError}).Draw(t, "outcome"),
			BytesIn: figure.Draw(t, "in"), BytesOut: figure.Draw(t, "out"),
		}
		if rapid.Bool().Draw(t, "structured") {
			l.StructuredIn, l.StructuredOut = figure.Draw(t, "structured in"), figure.Draw(t, "structured out")
		}
		if l.Event == EventVerify {
			l.Repeat = rapid.SampledFrom([]string{"", RepeatEqual, RepeatNarrower}).Draw(t, "repeat")
		}
		if l.Event == EventList {
			l.Tool = ""
		}
		return l
	})
	rapid.Check(t, func(rt *rapid.T) {
		lines := rapid.SliceOfN(line, 0, 30).Draw(rt, "lines")
		var b book1
		var net, in int64
		for _, l := range lines {
			b.add(l)
			switch l.Event {
			case EventExpand:
				net -= l.BytesOut
			case EventList:
				net -= max(0, l.BytesOut-l.BytesIn)
			case EventError, EventVerify:
				if l.Repeat == RepeatEqual {
					net -= l.BytesOut // of a verify call only
					break
				}
				net -= max(0, l.BytesOut-l.BytesIn)
				in += min(l.BytesIn, l.BytesOut)
			default:
				if l.BytesOut > 0 {
					net += l.BytesIn - l.BytesOut
					in += l.BytesIn
				}
			}
		}
		r := stats(t, b.String())
		if got := r.All.Text; got.NetSaved != net || got.BytesIn != in || r.Skipped != (Skipped{}) {
			rt.Fatalf("net %d of %d, skipped %+v; want net %d of %d", got.NetSaved, got.BytesIn, r.Skipped, net, in)
		}
		// A float64 holds the six digits of a fraction under a billion; losses beyond are rounded.
		if f := r.All.Text.NetFraction; f != nil && *f > -1e9 {
			shown := new(big.Int).Mul(big.NewInt(int64(math.Round(*f*micro))), big.NewInt(in))
			if exact := new(big.Int).Mul(big.NewInt(net), big.NewInt(micro)); shown.Cmp(exact) > 0 {
				rt.Fatalf("the fraction %v of %d is over %d", *f, in, net)
			}
		}
		if net > in {
			rt.Fatalf("saved %d of %d", net, in)
		}
		if text := texts(t, r); net < in && strings.Contains(lastRow(text), " 100.0 %") {
			rt.Fatalf("100 %% for %d of %d:\n%s", net, in, text)
		}
	})
}

// lastRow is the row of the bytes table that has all.
func lastRow(text string) string {
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "all ") {
			return line
		}
	}
	return ""
}
