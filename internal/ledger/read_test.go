package ledger

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"reflect"
	"runtime"
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

// TestRED47_SideBySide adds up a ledger of several blocks on one processor and on
// four: the report has the same bytes, whoever read which line.
func TestRED47_SideBySide(t *testing.T) {
	var b bytes.Buffer
	for i := range 12 {
		for line := range strings.Lines(usual()) {
			// More sessions and tools, and three estimators in changing order.
			line = strings.Replace(line, `"session":"`, fmt.Sprintf(`"session":"%d-`, i%5), 1)
			line = strings.Replace(line, `"estimator":"bytes/4"`, fmt.Sprintf(`"estimator":"e%d"`, (len(line)+i)%3), 1)
			line = strings.Replace(line, `"faults":["paths missing"]`, fmt.Sprintf(`"faults":["fault %d","paths missing"]`, i*31%12), 1)
			b.WriteString(line)
		}
		b.WriteString(strings.Repeat("y", maxLine-i) + "\nno line\n" + `{"event":"later"}` + "\n")
	}
	ledger := append(b.Bytes(), `{"event":"call`...)
	read := func(processors int) string {
		defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(processors))
		tally := NewTally()
		if err := tally.Read(bytes.NewReader(ledger)); err != nil {
			t.Fatal(err)
		}
		r := tally.Report()
		addsUp(t, r)
		data, err := json.Marshal([]any{r, tally.Sessions()})
		if err != nil {
			t.Fatal(err)
		}
		return string(data)
	}
	want := read(1)
	if !strings.Contains(want, `"torn":1,"unreadable":24,"unknown_event":12`) || !strings.Contains(want, `"fault 7":`) {
		t.Fatalf("on one processor %s", want)
	}
	for range 5 {
		if got := read(4); got != want {
			t.Fatalf("on four processors\n%s\non one\n%s", got, want)
		}
	}
}

// TestRED47_FaultsInAnyOrder counts more faults than have a place, which lines
// of another program may bring.
func TestRED47_FaultsInAnyOrder(t *testing.T) {
	var want map[string]int64
	for seed := range uint64(20) {
		order := rand.New(rand.NewPCG(seed, 1)).Perm(300)
		var parts [3]faultCounts
		for i, n := range order {
			parts[i%3].add(fmt.Sprintf("fault %03d", n%100), 1)
		}
		parts[0].merge(&parts[1])
		parts[2].merge(&parts[0])
		got := parts[2].counts()
		if want == nil {
			want = got
		}
		if !maps.Equal(got, want) || len(got) != maxFaults+1 || got["fault 000"] != 3 || got["others"] != 3*(100-maxFaults) {
			t.Fatalf("order %d: got %v, want %v", seed, got, want)
		}
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

// TestRED47_KeysInAnyOrder reads a line with its keys in another order, twice, and
// with keys between them.
func TestRED47_KeysInAnyOrder(t *testing.T) {
	l := full()
	l.Asked, l.Reason = &Asked{By: AskedRows}, ReasonExpired
	line := l.AppendJSON(nil)
	var want record
	if !want.scan(line) || want.bytesIn != l.BytesIn || string(want.reason) != ReasonExpired || string(want.faults) != `["paths missing"]` {
		t.Fatalf("read %+v", want)
	}
	var members []string
	dec := json.NewDecoder(bytes.NewReader(line))
	dec.Token()
	for dec.More() {
		key, _ := dec.Token()
		var value json.RawMessage
		if err := dec.Decode(&value); err != nil {
			t.Fatal(err)
		}
		members = append(members, fmt.Sprintf("%q:%s", key, value))
	}
	for seed := range uint64(100) {
		rnd := rand.New(rand.NewPCG(seed, 2))
		rnd.Shuffle(len(members), func(i, j int) { members[i], members[j] = members[j], members[i] })
		other := append([]string{`"new":[{"ts":1}]`, `"ms":7`}, members...)
		var got record
		if text := "{" + strings.Join(other, ",") + "}"; !got.scan([]byte(text)) || !reflect.DeepEqual(got, want) {
			t.Fatalf("of %s read\n%+v, want\n%+v", text, got, want)
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
