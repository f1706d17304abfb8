package ledger

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"strings"
	"testing"
	"testing/iotest"
)

// TestRED47_ReadsInPieces gives the ledger in every size of piece: no figure may
// depend on where a read ends.
func TestRED47_ReadsInPieces(t *testing.T) {
	ledger := usual()[:20_000]
	want := texts(t, stats(t, ledger))
	for name, r := range map[string]io.Reader{
		"bytes":  iotest.OneByteReader(strings.NewReader(ledger)),
		"halves": iotest.HalfReader(strings.NewReader(ledger)),
		"EOF":    iotest.DataErrReader(strings.NewReader(ledger)),
	} {
		tally := NewTally()
		if err := tally.Read(r); err != nil {
			t.Fatal(err)
		}
		if got := texts(t, tally.Report()); got != want {
			t.Errorf("%s: got\n%s\nwant\n%s", name, got, want)
		}
	}
	tally := NewTally()
	if err := tally.Read(iotest.TimeoutReader(iotest.OneByteReader(strings.NewReader(ledger)))); err != iotest.ErrTimeout {
		t.Errorf("got %v, want the reader's error", err)
	}
}

func TestRED47_EndlessLineIsSkippedInBoundedMemory(t *testing.T) {
	line := string(new(Line).AppendJSON(nil))
	line = strings.Replace(line, `"event":""`, `"event":"call"`, 1)
	ledger := line + "\n" + strings.Repeat("x", 5<<20) + "\n" + line + "\n" + line
	r := stats(t, ledger)
	if r.All.Calls != 3 || r.Skipped != (Skipped{Unreadable: 1}) || r.Lines != 4 {
		t.Errorf("got %d calls of %d lines, %+v; want 3 of 4 and one unreadable", r.All.Calls, r.Lines, r.Skipped)
	}
	r = stats(t, line+"\n"+strings.Repeat("x", 5<<20))
	if r.All.Calls != 1 || r.Skipped != (Skipped{Torn: 1}) || r.Lines != 2 {
		t.Errorf("got %d calls of %d lines, %+v; want 1 of 2 and one torn", r.All.Calls, r.Lines, r.Skipped)
	}
}

func TestRED47_MemoryDoesNotGrowWithLines(t *testing.T) {
	allocs := func(times int) float64 {
		var b book1
		for range times * 200 {
			b.add(call("s", "github", "search_code", 1000, 100))
		}
		ledger := b.Bytes()
		return testing.AllocsPerRun(3, func() {
			tally := NewTally()
			if err := tally.Read(bytes.NewReader(ledger)); err != nil {
				t.Fatal(err)
			}
			tally.Report()
		})
	}
	if few, many := allocs(2), allocs(100); many > few+10 {
		t.Errorf("%.0f allocations for 400 lines, %.0f for 20,000", few, many)
	}
}

func TestRED47_ReadsWhatOthersWrite(t *testing.T) {
	for line, want := range map[string]bool{
		`{"event":"call"}`: true,
		` { "event" : "call" , "bytes_in" : 12 }` + "\r":               true,
		`{"event":"call","x":[{"a":"}]\"\\"},1.5e3,null,true],"y":{}}`: true,
		`{"event":"call","bytes_in":null,"tool":null}`:                 true,
		`{"event":"c\u0061ll","tool":"\ud83d\ude00\n"}`:                true,
		`{"event":"call","bytes_in":1.5}`:                              false,
		`{"event":"call","bytes_in":-1}`:                               false,
		`{"event":"call","bytes_in":01}`:                               false,
		`{"event":"call","bytes_in":99999999999999999999}`:             false,
		`{"event":"call","bytes_in":"1"}`:                              false,
		`{"event":"call","tool":1}`:                                    false,
		`{"event":"call"`:                                              false,
		`{"event":"call"}}`:                                            false,
		`{"event":"call","a":}`:                                        false,
		`{"event":"call","a":[}`:                                       false,
		`{"event":"call",}`:                                            false,
		`["event"]`:                                                    false,
		`null`:                                                         false,
	} {
		var r record
		if got := r.scan([]byte(line)); got != want || got && string(r.event) != EventCall {
			t.Errorf("%s: read %t as %q, want %t", line, got, r.event, want)
		}
	}
}

// FuzzScan holds the scanner to encoding/json: of a valid object with the right
// types it takes the same figures and strings.
func FuzzScan(f *testing.F) {
	l := full()
	f.Add(l.AppendJSON(nil))
	for line := range strings.Lines(usual()[:3000]) {
		f.Add([]byte(line))
	}
	f.Add([]byte(`{"tool":"\u00e9\"","x":{"tool":"y","z":[{}]},"bytes_in":7,"bytes_in":8}`))
	f.Fuzz(func(t *testing.T, line []byte) {
		var r record
		ok := r.scan(line)
		var want map[string]json.RawMessage
		if !json.Valid(line) || bytes.ContainsAny(line, "\n") || json.Unmarshal(line, &want) != nil || want == nil {
			return // what is torn may be taken or left, but never panics
		}
		numbers := map[string]int64{"bytes_in": r.bytesIn, "bytes_out": r.bytesOut, "tokens_in": r.tokensIn, "structured_out": r.structOut, "overhead": r.overhead}
		for key, got := range numbers {
			var n int64
			if raw, has := want[key]; has && (json.Unmarshal(raw, &n) != nil || n < 0 || n > maxFigure) {
				return
			}
			if ok && got != n {
				t.Errorf("%s of %q: %d, want %d", key, line, got, n)
			}
		}
		for key, got := range map[string][]byte{"tool": r.tool, "server": r.server, "session": r.session, "event": r.event} {
			var s string
			if raw, has := want[key]; has && json.Unmarshal(raw, &s) != nil {
				return
			}
			if ok && strings.ToValidUTF8(string(got), "?") != strings.ToValidUTF8(s, "?") && !strings.Contains(s, "\uFFFD") {
				t.Errorf("%s of %q: %q, want %q", key, line, got, s)
			}
		}
	})
}

// BenchmarkStats adds up a ledger with this package and with a line scanner and
// encoding/json, which only sums.
func BenchmarkStats(b *testing.B) {
	ledger := []byte(strings.Repeat(usual(), 200))
	lines := bytes.Count(ledger, []byte("\n"))
	b.Run("spillway", func(b *testing.B) {
		b.SetBytes(int64(len(ledger)))
		b.ReportAllocs()
		start := cpuTime()
		for b.Loop() {
			t := NewTally()
			if err := t.Read(bytes.NewReader(ledger)); err != nil {
				b.Fatal(err)
			}
			if r := t.Report(); r.Lines != int64(lines) || r.Skipped != (Skipped{}) {
				b.Fatalf("%d lines, %+v", r.Lines, r.Skipped)
			}
		}
		b.ReportMetric(float64(len(ledger))*float64(b.N)/1e6/(cpuTime()-start).Seconds(), "MB/cpu-s")
	})
	b.Run("bufio and encoding-json", func(b *testing.B) {
		b.SetBytes(int64(len(ledger)))
		b.ReportAllocs()
		start := cpuTime()
		for b.Loop() {
			sum := make(map[string]int64)
			s := bufio.NewScanner(bytes.NewReader(ledger))
			for s.Scan() {
				var l Line
				if err := json.Unmarshal(s.Bytes(), &l); err != nil {
					b.Fatal(err)
				}
				sum[l.Server+"/"+l.Tool] += l.BytesIn - l.BytesOut
				sum[l.Session] += l.BytesIn - l.BytesOut
			}
		}
		b.ReportMetric(float64(len(ledger))*float64(b.N)/1e6/(cpuTime()-start).Seconds(), "MB/cpu-s")
	})
}

// BenchmarkWrite writes lines to a file.
func BenchmarkWrite(b *testing.B) {
	w, err := Open(b.TempDir()+"/ledger.jsonl", nil)
	if err != nil {
		b.Fatal(err)
	}
	defer w.Close()
	l := full()
	b.ReportAllocs()
	for b.Loop() {
		w.Write(&l)
	}
}
