package peertest

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// BenchmarkResult2MB times one tool result of 2 MB (a file of 1 MB, which the
// filesystem server repeats in structuredContent) from the request's first
// byte written to the response's last byte read: from the server direct, and
// through `spillway run` with rules that cut nothing, that look at everything
// and cut nothing, and that cut it to 20 kB. The sides take turns, so that a
// busy machine is busy for each; the figures are medians.
//
//	SPILLWAY_TEST_PEERS=1 go test -run '^$' -bench Result2MB -benchtime 40x ./internal/peertest
func BenchmarkResult2MB(b *testing.B) {
	need(b)
	dir := b.TempDir()
	files := filepath.Join(dir, "files")
	if err := os.MkdirAll(files, 0o755); err != nil {
		b.Fatal(err)
	}
	var text strings.Builder
	for i := 0; text.Len() < 1_000_000; i++ {
		text.WriteString("line " + strconv.Itoa(i) + ": the quick brown fox jumps over the lazy dog, once more\n")
	}
	path := filepath.Join(files, "big.txt")
	if err := os.WriteFile(path, []byte(text.String()), 0o644); err != nil {
		b.Fatal(err)
	}
	argv := server(b, "filesystem", files)
	sides := []struct {
		name string
		s    *session
	}{
		{"direct", start(b, dir, argv...)},
		{"pass", start(b, dir, run(b, "filesystem", "pass.yaml", argv...)...)},
		{"wide", start(b, dir, run(b, "filesystem", "wide.yaml", argv...)...)},
		{"cut", start(b, dir, run(b, "filesystem", "", argv...)...)},
	}
	times := map[string][]time.Duration{}
	read := func(side int) time.Duration {
		s := sides[side].s
		s.seen = nil
		begin := time.Now()
		s.send(`{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"read_text_file","arguments":{"path":"` + path + `"}}}` + "\n")
		for {
			// Only the response can be this long, and nothing else comes unasked for.
			if line, ok := s.next(); !ok || strings.Contains(line[max(0, len(line)-40):], `"id":7`) || strings.HasPrefix(line, `{"jsonrpc":"2.0","id":7`) {
				return time.Since(begin)
			}
		}
	}
	for side := range sides {
		sides[side].s.initialize("2025-11-25", `{}`)
		for range 5 {
			read(side)
		}
	}
	for b.Loop() {
		for side := range sides {
			times[sides[side].name] = append(times[sides[side].name], read(side))
		}
	}
	report(b, times)
}

// quick is a Node server that answers initialize as soon as Node can: what a
// real one does before would only hide the difference.
const quick = `process.stdin.on('data', d => process.stdout.write('{"jsonrpc":"2.0","id":"hello","result":{"protocolVersion":"2025-11-25","capabilities":{},"serverInfo":{"name":"quick","version":"1"}}}\n'))`

// BenchmarkStart times from the start of the process to the answer to
// initialize: the server alone, and behind `spillway run`. more-ms is the
// median of what each start through Spillway took longer than the direct one
// before it.
//
//	SPILLWAY_TEST_PEERS=1 go test -run '^$' -bench Start -benchtime 30x ./internal/peertest
func BenchmarkStart(b *testing.B) {
	need(b)
	dir := b.TempDir()
	argv := []string{"node", "-e", quick}
	through := run(b, "quick", "", argv...)
	times := map[string][]time.Duration{}
	var more []time.Duration
	launch := func(argv []string) time.Duration {
		begin := time.Now()
		s := start(b, dir, argv...)
		s.initialize("2025-11-25", `{}`)
		took := time.Since(begin)
		s.stop()
		return took
	}
	for b.Loop() {
		alone, behind := launch(argv), launch(through)
		times["direct"] = append(times["direct"], alone)
		times["run"] = append(times["run"], behind)
		more = append(more, behind-alone)
	}
	report(b, times)
	b.ReportMetric(median(more), "more-ms")
}

// report prints the median of each side in milliseconds, and the median of
// what it took as a multiple of the direct one in the same round: what disturbs
// the machine disturbs both.
func report(b *testing.B, times map[string][]time.Duration) {
	for name, d := range times {
		b.ReportMetric(median(d), name+"-ms")
		if name == "direct" {
			continue
		}
		ratios := make([]float64, len(d))
		for round := range d {
			ratios[round] = float64(d[round]) / float64(times["direct"][round])
		}
		slices.Sort(ratios)
		b.ReportMetric(ratios[len(ratios)/2], name+"-x")
	}
	b.ReportMetric(0, "ns/op") // the sum of the sides says nothing
}

// median is in milliseconds.
func median(d []time.Duration) float64 {
	d = slices.Clone(d)
	slices.Sort(d)
	return float64(d[len(d)/2].Microseconds()) / 1000
}
