package report

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/spillway-mcp/spillway/internal/ledger"
	"github.com/spillway-mcp/spillway/internal/record"
	"github.com/spillway-mcp/spillway/internal/replay"
	"github.com/spillway-mcp/spillway/internal/rules"
	"github.com/spillway-mcp/spillway/internal/tokens"
)

// The sessions of rules/sessions were made by scripted agents on real servers,
// see peers/agents.
func sessions(t testing.TB) []string {
	t.Helper()
	all, err := filepath.Glob("../../rules/sessions/*.jsonl.zst")
	if err != nil || len(all) < 12 {
		t.Fatalf("%d recorded sessions, want 12 and more: %v", len(all), err)
	}
	return all
}

func counter(t testing.TB, name string) tokens.Counter {
	t.Helper()
	c, err := tokens.ByName(name)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func replayed(t testing.TB, set *rules.Set) *replay.Report {
	t.Helper()
	r, err := replay.Run(context.Background(), sessions(t), replay.Options{Rules: set})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// What the sessions needed is still shown under the reviewed rules, or one
// expand away; nothing is lost, and each task still ends as it was meant to.
func TestReviewedRulesKeepWhatTheSessionsNeed(t *testing.T) {
	set, err := rules.Load("../../rules/reviewed.yaml")
	if err != nil {
		t.Fatal(err)
	}
	r := replayed(t, set).Rules
	if r.Evidence.Survival == nil || *r.Evidence.Survival < 0.85 || r.Evidence.Lost > 0 {
		t.Errorf("evidence: %+v, survival %v; missed: %+v", r.Evidence, r.Evidence.Survival, r.Missed)
	}
	for _, c := range r.Checks {
		if !c.OK {
			t.Errorf("%+v", c)
		}
	}
}

// A rule that drops a field which a session needed is found out, by its name and
// the field's.
func TestBadRuleIsCaughtByName(t *testing.T) {
	set, err := rules.Parse("bad.yaml", []byte("github:\n  search_code:\n    keep: \"items[*].{sha: sha, score: score}\"\n"))
	if err != nil {
		t.Fatal(err)
	}
	for _, rule := range replayed(t, set).Rules.PerRule {
		if rule.Rule != "github.search_code" {
			continue
		}
		var fields []string
		for _, f := range rule.Fields {
			fields = append(fields, f.Field)
		}
		if got := strings.Join(fields, " "); !strings.Contains(got, "items[*].path") {
			t.Errorf("fields missed: %s", got)
		}
		return
	}
	t.Error("the rule is not in the report")
}

// A ledger's figures come out the same when they are made anew from the
// recordings of the same sessions: bytes, tokens, expands and repeats.
func TestRED46_RecordingsGiveTheLedgersFigures(t *testing.T) {
	live, again := ledger.NewTally(), ledger.NewTally()
	f, err := os.Open("testdata/ledger.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	live.CountMisses()
	again.CountMisses()
	if err := live.Read(f); err != nil {
		t.Fatal(err)
	}
	for _, path := range sessions(t) {
		s, err := record.Load(path)
		if err != nil {
			t.Fatal(err)
		}
		var b bytes.Buffer
		for _, l := range Lines(s, counter(t, "o200k_base")) {
			b.Write(append(l.AppendJSON(nil), '\n'))
		}
		if err := again.Read(&b); err != nil {
			t.Fatal(err)
		}
	}
	for _, x := range []struct {
		what      string
		got, want any
	}{
		{"account", again.Report().Servers, live.Report().Servers},
		{"sessions", again.Sessions(), live.Sessions()},
		{"misses", again.Misses(), live.Misses()},
	} {
		got, _ := json.MarshalIndent(x.got, "", " ")
		want, _ := json.MarshalIndent(x.want, "", " ")
		if !bytes.Equal(got, want) {
			t.Errorf("%s differs:\n%s", x.what, firstDifference(string(got), string(want)))
		}
	}
}

func firstDifference(got, want string) string {
	a, b := strings.Split(got, "\n"), strings.Split(want, "\n")
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			from := max(0, i-12)
			return "got  " + strings.Join(a[from:i+1], "\n     ") + "\nwant " + b[i]
		}
	}
	return "one is longer"
}

// A recorded session takes the place of its lines, so that nothing counts twice.
func TestASessionCountsOnce(t *testing.T) {
	opt := Options{Counter: counter(t, "o200k_base")}
	both, err := Build(append(sessions(t), "testdata/ledger.jsonl"), opt)
	if err != nil {
		t.Fatal(err)
	}
	alone, err := Build(sessions(t), opt)
	if err != nil {
		t.Fatal(err)
	}
	if both.Stats.All.Calls != alone.Stats.All.Calls || both.Stats.All.Text.BytesIn != alone.Stats.All.Text.BytesIn {
		t.Errorf("%d calls with the ledger beside, %d without", both.Stats.All.Calls, alone.Stats.All.Calls)
	}
}

// A session in which notes and definitions take more than was cut is shown as a
// loss, on the page and in the figures.
func TestRED47_ALossIsShownAsOne(t *testing.T) {
	r, err := Build(sessions(t), Options{Counter: counter(t, "o200k_base")})
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for _, c := range r.Costs {
		switch without, with := c.Text.Without.Total.Tokens, c.Text.With.Total.Tokens; c.File {
		case "everything-weather.jsonl.zst": // nothing to cut
			found++
			if c.Text.Saved.Tokens >= 0 || c.Structured.Saved.Tokens >= 0 {
				t.Errorf("%s saves %+v", c.File, c.Text.Saved)
			}
		case "memory-towns.jsonl.zst": // the cut is paid for, and then all that was cut
			found++
			if with < 2*without || c.Text.Saved.Tokens != without-with {
				t.Errorf("%s costs %d tokens, %d without, and is said to save %d", c.File, with, without, c.Text.Saved.Tokens)
			}
		}
	}
	if found != 2 {
		t.Errorf("%d of the two sessions are recorded", found)
	}
	if r.Stats.All.Text.Sessions.AtALoss == 0 || r.Spread[0].Text == 0 {
		t.Error("no session is at a loss")
	}
	var page bytes.Buffer
	if err := r.WriteHTML(&page); err != nil {
		t.Fatal(err)
	}
	if !regexp.MustCompile(`bad"[^>]*>−[\d,]+<`).Match(page.Bytes()) {
		t.Error("no loss stands on the page")
	}
}

func TestCostsStandApart(t *testing.T) {
	totals := map[string]int64{}
	for _, model := range []string{"none", "window:2", "all"} {
		retain, err := ParseRetention(model)
		if err != nil {
			t.Fatal(err)
		}
		r, err := Build(sessions(t), Options{Retain: retain})
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range r.Costs {
			for _, c := range []Costs{s.Text.With, s.Text.Without, s.Structured.With, s.Structured.Without} {
				if sum := c.Definitions.plus(c.Arguments).plus(c.Results).plus(c.Carried).plus(c.Failures); sum != c.Total {
					t.Errorf("%s: %+v is not %+v", s.File, sum, c.Total)
				}
				if model == "none" && c.Carried != (Cost{}) {
					t.Errorf("%s: %+v is carried where nothing is", s.File, c.Carried)
				}
				totals[model] += c.Total.Bytes
			}
			failures := s.Text.With.Failures.Bytes
			if mistakes := s.File == "everything-mistakes.jsonl.zst"; mistakes != (failures > 0) {
				t.Errorf("%s: failures of %d bytes", s.File, failures)
			}
			if first := s.Curve[0]; first.With == 0 || len(s.Curve) != s.Turns+1 {
				t.Errorf("%s: the curve has %d points for %d turns and begins with %+v", s.File, len(s.Curve), s.Turns, first)
			}
		}
	}
	if !(totals["none"] < totals["window:2"] && totals["window:2"] < totals["all"]) {
		t.Errorf("retention does not count: %v", totals)
	}
}

// The numbers of twenty thousand sessions stand over their bars, not over each
// other.
func TestNumbersOverBarsHaveRoom(t *testing.T) {
	all := make([]ledger.SessionAccount, 20_000)
	saved := 0.95
	for i := range all {
		all[i].NetFraction, all[i].StructuredPortion = &saved, &saved
	}
	h := (&page{Report: &Report{Spread: spread(all)}}).Hist()
	var over []histBar
	for _, b := range h.Bars {
		if b.N != "" {
			over = append(over, b)
		}
	}
	if len(over) != 2 || over[0].N != "20 k" || over[0].TY-over[1].TY < 11 || over[1].TY < 10 {
		t.Errorf("%+v", over)
	}
}
