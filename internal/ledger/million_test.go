package ledger

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// million writes a ledger of a million lines, as agents leave them: 20,000
// sessions on four servers, two at a time.
func million(tb testing.TB) (path string, size int64) {
	tb.Helper()
	path = filepath.Join(tb.TempDir(), "ledger.jsonl")
	f, err := os.Create(path)
	if err != nil {
		tb.Fatal(err)
	}
	w := bufio.NewWriterSize(f, 1<<20)
	at := time.Date(2026, 11, 1, 8, 0, 0, 0, time.UTC)
	servers := []string{"github", "filesystem", "postgres", "memory"}
	var b []byte
	for n := range 1_000_000 {
		at = at.Add(2317 * time.Millisecond)
		session := n/100*2 + n%2
		in := int64(900 + n%37*13_001)
		l := Line{
			TS: at, Event: EventCall, Server: servers[session%4], Tool: "tool_" + strconv.Itoa(n%23),
			BytesIn: in, BytesOut: in, Estimator: "bytes/4", Outcome: OutcomePassed,
			Session: fmt.Sprintf("%016x", session*7919), Caller: "local:1000", Rule: "8c1f00aa11bb22cc", Era: "legacy", MS: 12.345,
			Args: map[string]string{"q": "00ff00ff00ff00ff", "page": "1122334455667788"},
		}
		switch {
		case n%100 < 2:
			l.Event, l.Tool, l.BytesIn, l.BytesOut = EventList, "", 41_000, 41_612
		case n%100 == 77:
			l.Event, l.BytesIn, l.BytesOut, l.Asked = EventExpand, 0, 9_000, &Asked{By: AskedRows}
		case in > 20_000:
			l.BytesOut, l.Outcome, l.Stash, l.Overhead = 9_000, OutcomeReduced, fmt.Sprintf("r_%012x", n), 181
			l.Cut = Cut{Rows: 75, Fields: 43, Bytes: in - 9_000}
			l.StructuredIn, l.StructuredOut = in-40, 8_900
		}
		l.TokensIn, l.TokensOut, l.StructuredTokensIn, l.StructuredTokensOut = l.BytesIn/4, l.BytesOut/4, l.StructuredIn/4, l.StructuredOut/4
		b = append(l.AppendJSON(b[:0]), '\n')
		w.Write(b)
	}
	if err := w.Flush(); err != nil {
		tb.Fatal(err)
	}
	if err := f.Close(); err != nil {
		tb.Fatal(err)
	}
	info, err := os.Stat(path)
	if err != nil {
		tb.Fatal(err)
	}
	return path, info.Size()
}

// BenchmarkMillion adds up a ledger of a million lines from a file that the
// system has in memory; beside it, on the same file, Go only finds the lines, and
// decodes them with encoding/json. The last line is what a process that does
// nothing but stats takes of memory.
func BenchmarkMillion(b *testing.B) {
	path, size := million(b)
	run := func(name string, do func(f *os.File) int64) {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(size)
			start := cpuTime()
			for b.Loop() {
				f, err := os.Open(path)
				if err != nil {
					b.Fatal(err)
				}
				if n := do(f); n != 1_000_000 {
					b.Fatalf("%d lines", n)
				}
				f.Close()
			}
			b.ReportMetric(float64(size)*float64(b.N)/1e6/(cpuTime()-start).Seconds(), "MB/cpu-s")
		})
	}
	run("stats", func(*os.File) int64 {
		r, err := Stats(path)
		if err != nil || r.Skipped != (Skipped{}) || r.All.Text.Sessions.Count != 20_000 {
			b.Fatal(err, r)
		}
		return r.All.Calls + r.All.Expands + r.All.Lists
	})
	run("stats and misses", func(f *os.File) int64 {
		t := NewTally()
		t.CountMisses()
		if err := t.Read(f); err != nil {
			b.Fatal(err)
		}
		t.Misses()
		return t.Report().Lines
	})
	run("only lines, bufio", func(f *os.File) (n int64) {
		for s := bufio.NewScanner(f); s.Scan(); {
			n++
		}
		return n
	})
	run("encoding-json", func(f *os.File) (n int64) {
		sum := make(map[string]int64)
		for s := bufio.NewScanner(f); s.Scan(); n++ {
			var l Line
			if err := json.Unmarshal(s.Bytes(), &l); err != nil {
				b.Fatal(err)
			}
			sum[l.Server+"/"+l.Tool] += l.BytesIn - l.BytesOut
			sum[l.Session] += l.BytesIn - l.BytesOut
		}
		return n
	})
	b.Run("memory", func(b *testing.B) {
		for b.Loop() {
			cmd := exec.Command(os.Args[0], "-test.run=^TestChildStats$", "-test.v")
			cmd.Env = append(os.Environ(), "LEDGER_TEST_FILE="+path)
			out, err := cmd.CombinedOutput()
			if err != nil {
				b.Fatalf("%v: %s", err, out)
			}
			_, peak, ok := strings.Cut(string(out), "VmHWM:")
			if !ok {
				b.Skip("the system does not say in /proc/self/status what a process took")
			}
			kilobytes, err := strconv.Atoi(strings.Fields(peak)[0])
			if err != nil {
				b.Fatal(err)
			}
			b.ReportMetric(float64(kilobytes)*1024/1e6, "MB-peak")
		}
	})
}

// TestChildStats is the process whose memory BenchmarkMillion looks at.
func TestChildStats(t *testing.T) {
	path := os.Getenv("LEDGER_TEST_FILE")
	if path == "" {
		t.Skip("runs as a child of BenchmarkMillion")
	}
	r, err := Stats(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := r.WriteText(io.Discard); err != nil {
		t.Fatal(err)
	}
	status, _ := os.ReadFile("/proc/self/status")
	for line := range strings.Lines(string(status)) {
		if strings.HasPrefix(line, "VmHWM:") {
			t.Log(line)
		}
	}
}
