package ledger

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

var update = flag.Bool("update", false, "rewrite the goldens under testdata")

// book1 is a ledger under construction.
type book1 struct {
	bytes.Buffer
	at time.Time
}

func (b *book1) add(lines ...Line) *book1 {
	if b.at.IsZero() {
		b.at = time.Date(2026, 11, 30, 8, 0, 0, 0, time.UTC)
	}
	for _, l := range lines {
		b.at = b.at.Add(1250 * time.Millisecond)
		l.TS = b.at
		if l.Estimator == "" {
			l.Estimator = "bytes/4"
		}
		if l.TokensIn == 0 && l.TokensOut == 0 {
			l.TokensIn, l.TokensOut = (l.BytesIn+3)/4, (l.BytesOut+3)/4
		}
		b.Write(append(l.AppendJSON(nil), '\n'))
	}
	return b
}

func call(session, server, tool string, in, out int64) Line {
	l := Line{Event: EventCall, Session: session, Server: server, Tool: tool, BytesIn: in, BytesOut: out, Outcome: OutcomePassed}
	if out < in {
		l.Outcome, l.Stash, l.Cut, l.Overhead = OutcomeReduced, "r_9f2c41d08a3b", Cut{Rows: 1, Bytes: in - out}, 180
	}
	return l
}

func event(kind, session, server, tool string, in, out int64) Line {
	return Line{Event: kind, Session: session, Server: server, Tool: tool, BytesIn: in, BytesOut: out}
}

func withStructured(l Line, in, out int64) Line {
	l.StructuredIn, l.StructuredOut = in, out
	l.StructuredTokensIn, l.StructuredTokensOut = (in+3)/4, (out+3)/4
	return l
}

// usual is a day of two servers.
func usual() string {
	var b book1
	for i := range 20 {
		s := fmt.Sprintf("s%d", i)
		b.add(event(EventList, s, "github", "", 41_000, 41_612))
		for j := range 3 + i%4 {
			b.add(withStructured(call(s, "github", "search_code", 482_110+int64(1000*j), 7_023), 402_110, 6_950))
		}
		b.add(call(s, "github", "list_issues", 90_000, 19_800))
		if i%5 == 0 {
			b.add(event(EventExpand, s, "github", "search_code", 0, 31_415))
		}
		f := fmt.Sprintf("f%d", i)
		b.add(event(EventList, f, "filesystem", "", 9_000, 9_140))
		b.add(call(f, "filesystem", "read_file", 900, 900), call(f, "filesystem", "directory_tree", 64_000, 9_990))
		if i%7 == 0 {
			b.add(event(EventError, f, "filesystem", "read_file", 30_000, 30_000))
			l := call(f, "filesystem", "search_files", 1_200, 1_200)
			l.Faults = []string{"paths missing"}
			b.add(l)
		}
		if i%9 == 0 {
			b.add(event(EventExpand, f, "filesystem", "directory_tree", 0, 40_000), event(EventExpand, f, "filesystem", "directory_tree", 0, 24_100))
		}
	}
	return b.String()
}

func stats(t *testing.T, ledger string) *Report {
	t.Helper()
	tally := NewTally()
	if err := tally.Read(strings.NewReader(ledger)); err != nil {
		t.Fatal(err)
	}
	r := tally.Report()
	addsUp(t, r)
	return r
}

// addsUp holds a report to its own sums.
func addsUp(t *testing.T, r *Report) {
	t.Helper()
	check := func(name string, v View) {
		if v.NetSaved != v.BytesIn-v.BytesOut-v.BytesExpanded-v.BytesDefinitions {
			t.Errorf("%s: net saved %d is not %d - %d - %d - %d", name, v.NetSaved, v.BytesIn, v.BytesOut, v.BytesExpanded, v.BytesDefinitions)
		}
	}
	sum := func(parts []Account) (out [10]int64) {
		for _, a := range parts {
			for i, n := range []int64{a.Calls, a.Errors, a.Reduced, a.Expands, a.Text.BytesIn, a.Text.BytesOut, a.Text.BytesExpanded, a.Structured.BytesIn, a.Structured.BytesOut, a.Structured.BytesExpanded} {
				out[i] += n
			}
		}
		return out
	}
	check("all", r.All.Text)
	check("all structured", r.All.Structured)
	var servers []Account
	var definitions, net int64
	for _, s := range r.Servers {
		check(s.Server, s.Text)
		var tools []Account
		for _, tool := range s.Tools {
			check(s.Server+"/"+tool.Tool, tool.Text)
			tools = append(tools, tool.Account)
		}
		if got, want := sum(tools), sum([]Account{s.Account}); got != want {
			t.Errorf("%s: the tools add up to %v, the server has %v", s.Server, got, want)
		}
		servers = append(servers, s.Account)
		definitions += s.Text.BytesDefinitions
		net += s.Text.NetSaved
	}
	if got, want := sum(servers), sum([]Account{r.All}); got != want {
		t.Errorf("the servers add up to %v, all has %v", got, want)
	}
	if definitions != r.All.Text.BytesDefinitions || net != r.All.Text.NetSaved {
		t.Errorf("the servers' definitions and net are %d, %d; all has %d, %d", definitions, net, r.All.Text.BytesDefinitions, r.All.Text.NetSaved)
	}
}

func texts(t *testing.T, r *Report) string {
	t.Helper()
	var b strings.Builder
	if err := r.WriteText(&b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// TestRED47_Goldens holds both forms of the report, for a few ledgers, to what
// was reviewed.
func TestRED47_Goldens(t *testing.T) {
	var expandAll, nothing, mixed, escaped book1
	expandAll.add(event(EventList, "s", "github", "", 41_000, 41_612), call("s", "github", "search_code", 100_000, 4_000), event(EventExpand, "s", "github", "search_code", 0, 40_000), event(EventExpand, "s", "github", "search_code", 0, 40_000), event(EventExpand, "s", "github", "search_code", 0, 21_000))
	nothing.add(call("s", "memory", "read_graph", 0, 0), event(EventError, "s", "memory", "open_nodes", 5_000, 0))
	for i, e := range []string{"bytes/4", "o200k_base", "cl100k_base", "o200k_base"} {
		l := call("s", "github", "search_code", 1000, 300)
		l.Estimator, l.TokensIn, l.TokensOut = e, int64(250+i), int64(75+i)
		mixed.add(l)
	}
	mixed.WriteString("\n" + `{"event":"later","bytes_in":1}` + "\n" + `{"event":"call","bytes_in":"12"}` + "\n" + `{"event":"call","new":{"a":[1,{"b":"]}"}]},"bytes_in":7,"bytes_out":7,"server":"github","tool":"x","session":"s","estimator":"bytes/4","tokens_in":2,"tokens_out":2}` + "\n" + `{"event":"call","ser`)
	escaped.add(call("s", "git\"hub\u202e", "\x1b[31mred\x1b[0m", 1000, 300), call("s", strings.Repeat("long", 30), "日本語", 999, 998))

	for _, c := range []struct{ name, ledger string }{
		{"usual", usual()},
		{"K70 reduce, then expand everything", expandAll.String()},
		{"K71 one empty result and one error", nothing.String()},
		{"mixed estimators, odd lines", mixed.String()},
		{"names that a terminal would act on", escaped.String()},
		{"empty", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := stats(t, c.ledger)
			data, err := json.MarshalIndent(r, "", "  ")
			if err != nil {
				t.Fatal(err)
			}
			file := filepath.Join("testdata", strings.Map(func(c rune) rune {
				if c == ' ' {
					return '_'
				} else if c == ',' {
					return -1
				}
				return c
			}, c.name))
			same(t, file+".txt", texts(t, r))
			same(t, file+".json", string(data)+"\n")
		})
	}
}

func same(t *testing.T, file, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s (rewrite with -update): got\n%s\nwant\n%s", file, got, want)
	}
}

func TestRED47_Saving(t *testing.T) {
	t.Run("K70 reduce, then expand everything", func(t *testing.T) {
		var b book1
		r := stats(t, b.add(call("s", "a", "t", 10_000, 1_000), event(EventExpand, "s", "a", "t", 0, 10_200)).String())
		if r.All.Text.NetSaved > 0 || *r.All.Text.NetFraction > 0 || r.All.Text.Sessions.AtALoss != 1 {
			t.Errorf("got %+v, want a loss", r.All.Text)
		}
		if text := texts(t, r); !strings.Contains(text, "Nothing was saved: 1,200 bytes more") || !strings.Contains(text, "-12.0 %") {
			t.Errorf("the loss is not shown:\n%s", text)
		}
	})
	t.Run("K71 one empty result and one error", func(t *testing.T) {
		var b book1
		r := stats(t, b.add(call("s", "a", "t", 0, 0), event(EventError, "s", "a", "t", 5_000, 0)).String())
		if r.All.Calls != 2 || r.All.Errors != 1 || r.All.Text.NetSaved != 0 || r.All.Text.NetFraction != nil {
			t.Errorf("got %+v, want two calls, one error and no saving", r.All)
		}
		if text := texts(t, r); strings.Contains(text, "100") || !strings.Contains(text, "–") {
			t.Errorf("want no 100 %%, and – for a share of nothing:\n%s", text)
		}
	})
	t.Run("K20 text and structured copies are booked apart", func(t *testing.T) {
		var b book1
		r := stats(t, b.add(withStructured(call("s", "a", "t", 10_000, 1_000), 8_000, 900), call("s", "a", "t", 500, 500)).String())
		if got := r.All.Text.NetSaved; got != 9_000 {
			t.Errorf("a host that shows text saves %d, want 9000", got)
		}
		if v := r.All.Structured; v.NetSaved != 7_100 || v.BytesIn != 8_500 {
			t.Errorf("a host that shows structured content: %+v, want 7100 of 8500 saved (text where there is no other)", v)
		}
	})
	t.Run("never rounded up", func(t *testing.T) {
		var b book1
		r := stats(t, b.add(call("s", "a", "t", 10_000_000, 1)).String())
		if text := texts(t, r); strings.Contains(text, "100.0 %") || !strings.Contains(text, "99.9 %") {
			t.Errorf("99.99999 %% is shown as\n%s", text)
		}
		if f := *r.All.Text.NetFraction; f != 0.999999 {
			t.Errorf("got the fraction %v, want 0.999999", f)
		}
		for _, c := range []struct {
			a, b int64
			want string
		}{{9996, 10000, "99.9 %"}, {1, 1, "100.0 %"}, {-1, 100_000, "-0.1 %"}, {0, 5, "0.0 %"}, {1 << 62, 1<<62 + 1, "99.9 %"}, {-(1 << 62), 1, "-922337203685477580.8 %"}, {3, 0, "–"}} {
			if got := percent(c.a, c.b); got != c.want {
				t.Errorf("%d of %d is shown as %s, want %s", c.a, c.b, got, c.want)
			}
		}
	})
	t.Run("an expand that failed costs, and does not count in the rate", func(t *testing.T) {
		var b book1
		failed := event(EventExpand, "s", "a", "t", 0, 90)
		failed.Outcome = OutcomeError
		r := stats(t, b.add(call("s", "a", "t", 1000, 100), failed, event(EventExpand, "s", "a", "t", 0, 10)).String())
		if r.All.Expands != 1 || r.All.FailedExpands != 1 || *r.All.ExpandRate != 1 || r.All.Text.BytesExpanded != 100 {
			t.Errorf("got %+v", r.All)
		}
	})
}

func TestRED47_Percentiles(t *testing.T) {
	var b book1
	for i := range 10 { // sessions that save 0 %, 10 %, … 90 %
		b.add(call(fmt.Sprint("s", i), "a", "t", 1000, 1000-int64(i)*100))
	}
	b.add(event(EventList, "idle", "a", "", 100, 180)) // nothing came in: no fraction, but a loss
	s := stats(t, b.String()).All.Text.Sessions
	if s.Count != 11 || s.AtALoss != 1 || *s.MedianFraction != 0.4 || *s.P90Fraction != 0.8 || *s.MedianBytes != 400 || *s.P90Bytes != 800 {
		t.Errorf("got %d sessions, %d at a loss, %v %v %v %v; want 11, 1, 0.4, 0.8, 400, 800",
			s.Count, s.AtALoss, *s.MedianFraction, *s.P90Fraction, *s.MedianBytes, *s.P90Bytes)
	}
	for n, want := range map[int][2]int64{1: {1, 1}, 2: {1, 2}, 3: {2, 3}, 9: {5, 9}, 10: {5, 9}, 11: {6, 10}, 100: {50, 90}} {
		list := make([]int64, n)
		for i := range list {
			list[i] = int64(i + 1)
		}
		if got := [2]int64{nearest(list, 50), nearest(list, 90)}; got != want {
			t.Errorf("of 1 to %d: %v, want %v", n, got, want)
		}
	}
}

func TestRED46_EstimatorsAreNotAdded(t *testing.T) {
	var b book1
	for _, e := range []string{"bytes/4", "o200k_base"} {
		l := call("s", "a", "t", 1000, 100)
		l.Estimator = e
		b.add(l)
	}
	r := stats(t, b.String())
	if len(r.All.Text.Tokens) != 2 || r.All.Text.Tokens[0].In != 250 {
		t.Errorf("got %+v, want one entry an estimator", r.All.Text.Tokens)
	}
	if text := texts(t, r); !strings.Contains(text, "their tokens are not added") {
		t.Errorf("the report does not say so:\n%s", text)
	}
}

func TestStatsOfAMissingFile(t *testing.T) {
	_, err := Stats(filepath.Join(t.TempDir(), "none.jsonl"))
	if !os.IsNotExist(unwrapped(err)) || !strings.Contains(err.Error(), "none.jsonl") {
		t.Errorf("got %v, want an error that names the file", err)
	}
}

func unwrapped(err error) error {
	for {
		u, ok := err.(interface{ Unwrap() error })
		if !ok || os.IsNotExist(err) {
			return err
		}
		err = u.Unwrap()
	}
}

// A confirmed write saves what its echo had; a verify call saves nothing, and
// one that only repeats a call to see its echo costs all of it.
func TestRED47_WritesAreBookedNet(t *testing.T) {
	const echo, envelope = 43_190, 90
	line := func(event, repeat string, out int) string {
		return fmt.Sprintf(`{"ts":"2026-11-30T08:00:00.000Z","event":%q,"server":"s","tool":"create","bytes_in":%d,"bytes_out":%d,"outcome":"passed","repeat":%q,"session":"x"}`+"\n", event, echo, out, repeat)
	}
	for _, c := range []struct {
		name, ledger string
		net          int64
	}{
		{"an envelope", line("envelope", "", envelope), echo - envelope},
		{"a verify call", line("verify", "", echo), 0},
		{"an envelope, and a verify call of something else", line("envelope", "", envelope) + line("verify", "narrower", echo), echo - envelope},
		{"an envelope, and the same again with verify", line("envelope", "", envelope) + line("verify", "equal", echo), -envelope},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := stats(t, c.ledger)
			if got := r.All.Text.NetSaved; got != c.net {
				t.Errorf("net saved %d, want %d", got, c.net)
			}
			if n := int64(strings.Count(c.ledger, `"envelope"`)); r.All.Envelopes != n || r.All.Calls != int64(strings.Count(c.ledger, "\n")) || r.All.Verifies != r.All.Calls-n {
				t.Errorf("%d calls, %d envelopes, %d verifies", r.All.Calls, r.All.Envelopes, r.All.Verifies)
			}
		})
	}
}
