package ledger

import (
	"bytes"
	"strings"
	"testing"
	"time"
)

// missesOf books lines and returns their misses.
func missesOf(t *testing.T, lines ...Line) []RuleMisses {
	t.Helper()
	var b bytes.Buffer
	for _, l := range lines {
		b.Write(l.AppendJSON(nil))
		b.WriteByte('\n')
	}
	tally := NewTally()
	tally.CountMisses()
	if err := tally.Read(&b); err != nil {
		t.Fatal(err)
	}
	if r := tally.Report(); r.Skipped != (Skipped{}) {
		t.Fatalf("skipped: %+v", r.Skipped)
	}
	return tally.Misses()
}

func cutLine(rule, ref string) Line {
	return Line{
		Event: EventCall, Outcome: OutcomeReduced, Server: "github", Tool: "search_code", Session: "s", Rule: rule,
		BytesIn: 10_000, BytesOut: 1_000, Stash: ref, Cut: Cut{Fields: 3},
	}
}

func expandLine(ref string, fields ...string) Line {
	return Line{
		Event: EventExpand, Outcome: OutcomePassed, Server: "github", Tool: "search_code", Session: "s", Stash: ref,
		BytesOut: 500, Asked: &Asked{By: AskedFields, Fields: fields},
	}
}

func TestMissesAreBookedToTheRuleThatCut(t *testing.T) {
	got := missesOf(t,
		cutLine("good", "r_1"), cutLine("good", "r_2"), cutLine("good", "r_3"), cutLine("good", "r_4"), cutLine("good", "r_5"),
		cutLine("bad", "r_6"), cutLine("bad", "r_7"), cutLine("bad", "r_8"), cutLine("bad", "r_9"), cutLine("bad", "r_a"),
		expandLine("r_6", "sha"), expandLine("r_7", "sha", "score"),
		Line{Event: EventExpand, Outcome: OutcomeError, Reason: ReasonExpired, Server: "github", Tool: "search_code", Session: "s", Stash: "r_8"},
		Line{Event: EventCall, Outcome: OutcomePassed, Server: "github", Tool: "search_code", Session: "s", Rule: "bad", Repeat: RepeatNarrower},
	)
	if len(got) != 2 {
		t.Fatalf("%d rules, want 2: %+v", len(got), got)
	}
	bad, good := got[0], got[1]
	if bad.Rule != "bad" || len(good.Flags) != 0 {
		t.Fatalf("flagged first: %q, flags of the other: %q", bad.Rule, good.Flags)
	}
	if bad.Expands != 2 || bad.Expired != 1 || bad.Narrower != 1 || *bad.ExpandRate != 0.4 {
		t.Errorf("bad: %+v", bad)
	}
	if len(bad.AskedFields) != 2 || bad.AskedFields[0] != (AskedField{"sha", 2}) {
		t.Errorf("asked: %+v", bad.AskedFields)
	}
	if flags := strings.Join(bad.Flags, "\n"); !strings.Contains(flags, "sha (2)") || !strings.Contains(flags, "expired") {
		t.Errorf("the evidence does not name the field and the expiry:\n%s", flags)
	}
}

// Lines are written beside the calls: an expand may stand before its cut.
func TestMissesOfAnExpandBeforeItsCut(t *testing.T) {
	got := missesOf(t, expandLine("r_2", "sha"), cutLine("x", "r_1"), cutLine("y", "r_2"))
	for _, r := range got {
		if want := map[string]int64{"y": 1}[r.Rule]; r.Expands != want {
			t.Errorf("rule %q has %d expands, want %d", r.Rule, r.Expands, want)
		}
	}
}

// Too few results say more about chance than about a rule.
func TestMissesOfFewResultsAreNotFlagged(t *testing.T) {
	for _, r := range missesOf(t, cutLine("x", "r_1"), expandLine("r_1", "sha")) {
		if len(r.Flags) != 0 {
			t.Errorf("%+v", r)
		}
	}
}

func TestMissesCountWritesAskedForInFull(t *testing.T) {
	write := Line{Event: EventEnvelope, Outcome: OutcomeReduced, Server: "crm", Tool: "create", Session: "s", BytesIn: 900, BytesOut: 90, Stash: "r_1"}
	full := Line{Event: EventVerify, Outcome: OutcomePassed, Server: "crm", Tool: "create", Session: "s", BytesIn: 900, BytesOut: 900}
	got := missesOf(t, write, write, full, full, full)
	if len(got) != 1 || got[0].Verified != 3 || *got[0].VerifyRate != 0.6 || len(got[0].Flags) != 1 {
		t.Errorf("%+v", got)
	}
}

// Lines are written beside the calls, and one of a large result may come after
// that of the call which asked again for it.
func TestMissesOfLinesThatChangedPlaces(t *testing.T) {
	at := time.Date(2026, 11, 30, 8, 0, 0, 0, time.UTC)
	line := func(l Line, seconds int) Line {
		l.TS = at.Add(time.Duration(seconds) * time.Second)
		return l
	}
	again := cutLine("rule", "r_2")
	again.Repeat = RepeatNarrower
	equal := Line{Event: EventCall, Outcome: OutcomePassed, Server: "github", Tool: "search_code", Session: "s", Rule: "rule", Repeat: RepeatEqual}
	before := equal
	other := equal
	other.Session = "t"
	got := missesOf(t, line(before, 0), line(again, 2), line(equal, 3), line(other, 3), line(cutLine("rule", "r_1"), 1))
	if len(got) != 1 || got[0].Narrower != 1 || got[0].Equal != 1 || got[0].Reduced != 2 {
		t.Errorf("want one narrower and one equal call after a cut: %+v", got)
	}
}

// A call that asks again is booked to the cut that it came after, not to one
// before that whose line was written late.
func TestTheLatestCutIsTheLatestByItsTime(t *testing.T) {
	at := func(l Line, second int) Line {
		l.TS = time.Date(2026, 11, 30, 8, 0, second, 0, time.UTC)
		return l
	}
	again := Line{Event: EventCall, Outcome: OutcomePassed, Server: "github", Tool: "search_code", Session: "s", Rule: "third", Repeat: RepeatEqual}
	for _, m := range missesOf(t, at(cutLine("second", "r_2"), 2), at(cutLine("first", "r_1"), 1), at(again, 3)) {
		if want := map[string]int64{"second": 1}[m.Rule]; m.Equal != want {
			t.Errorf("%s is booked %d calls that ask again, want %d", m.Rule, m.Equal, want)
		}
	}
}
