package replay

import (
	"fmt"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"github.com/spillway-mcp/spillway/internal/fixture"
	"github.com/spillway-mcp/spillway/internal/record"
	"github.com/spillway-mcp/spillway/internal/tokens"
)

// recordings are sessions of results whose median is 20 kB, each with calls that
// use what an earlier result held.
func recordings(tb testing.TB, sessions, calls int) (all []*record.Session) {
	var results [][]byte
	var lengths []int64
	for i, size := range []int{4, 8, 14, 19, 25, 26, 30, 40, 60, 90} {
		r := fixture.Sized(size*1000, fixture.Options{NoData: i%2 == 0})
		results, lengths = append(results, r), append(lengths, int64(len(r)))
	}
	if m := spread(lengths).Median; m < 20_000 || m > 30_000 {
		tb.Fatalf("results of a median of %d bytes", m)
	}
	for n := range sessions {
		s := newSession(fmt.Sprintf("s%d.jsonl.zst", n))
		for i := range calls {
			s.call("search", fmt.Sprintf(`{"q":"x%d","path":"api/ferry/parse_vector.yaml","id":%d}`, i, 363376737+i), results[i%10])
		}
		all = append(all, &s.Session)
	}
	return all
}

// BenchmarkReplay replays results of a median of 20 kB, evidence and all. It
// reports results a second and the part of the processors that it used.
func BenchmarkReplay(b *testing.B) {
	all := recordings(b, 16, 50)
	var bytes int64
	for _, s := range all {
		for i := range s.Events {
			bytes += int64(len(s.Events[i].Result))
		}
	}
	rule := `s: {search: {keep: "items[*].{repo: repository.full_name, path: path}", max_rows: 25}}`
	for _, estimator := range []string{"bytes/4", "cl100k_base"} {
		b.Run(estimator, func(b *testing.B) {
			counter, err := tokens.ByName(estimator)
			if err != nil {
				b.Fatal(err)
			}
			opt := Options{Rules: parse(b, rule), Counter: counter}
			b.SetBytes(bytes)
			begin, cpu := time.Now(), cpuTime()
			n := 0
			for b.Loop() {
				r, err := Sessions(b.Context(), all, opt)
				if err != nil {
					b.Fatal(err)
				}
				if n = r.Rules.All.Results; n != 800 {
					b.Fatal(n)
				}
			}
			took := time.Since(begin)
			b.ReportMetric(float64(n*b.N)/took.Seconds(), "results/s")
			used := cpuTime() - cpu
			cores := float64(runtime.GOMAXPROCS(0))
			b.ReportMetric(100*float64(used)/float64(took)/cores, "%cores")
			// What a machine that does nothing else does, all its processors used.
			b.ReportMetric(float64(n*b.N)/used.Seconds()*cores, "results/s-idle")
		})
	}
}

// BenchmarkProcessors is what the machine gives to work that does nothing but
// take all processors: of a busy machine that is what 100 % means.
func BenchmarkProcessors(b *testing.B) {
	begin, cpu := time.Now(), cpuTime()
	for b.Loop() {
		each(runtime.GOMAXPROCS(0), 64, func(i int) {
			for range 5_000_000 {
				i = i*1664525 + 1013904223
			}
			spun.Store(int64(i))
		})
	}
	b.ReportMetric(100*float64(cpuTime()-cpu)/float64(time.Since(begin))/float64(runtime.GOMAXPROCS(0)), "%cores")
}

var spun atomic.Int64

// BenchmarkLoad reads a session of 50 results as it stands on the disk.
func BenchmarkLoad(b *testing.B) {
	r, err := record.Open(b.TempDir(), record.Options{})
	if err != nil {
		b.Fatal(err)
	}
	s := recordings(b, 1, 50)[0]
	w := r.Start(record.Header{Server: "s", Session: "x"})
	var bytes int64
	for i := range s.Events {
		w.Write(&s.Events[i])
		bytes += int64(len(s.Events[i].Result))
	}
	w.Close()
	b.SetBytes(bytes)
	for b.Loop() {
		if _, err := record.Load(w.Path()); err != nil {
			b.Fatal(err)
		}
	}
}
