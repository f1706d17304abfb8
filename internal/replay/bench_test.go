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

// BenchmarkReplay replays results of a median of 20 kB, evidence and all, from
// files as they were recorded and from memory. It reports results a second by the
// clock and for a second of all processors, and the part of the processors that
// it used: of all there are, and of what work that does nothing but spin got in
// the same minute, turn by turn. Other processes take the first down, not the
// second.
func BenchmarkReplay(b *testing.B) {
	all := recordings(b, 16, 50)
	paths, bytes := recorded(b, all)
	rule := `s: {search: {keep: "items[*].{repo: repository.full_name, path: path}", max_rows: 25}}`
	for _, estimator := range []string{"bytes/4", "cl100k_base", "o200k_base"} {
		counter, err := tokens.ByName(estimator)
		if err != nil {
			b.Fatal(err)
		}
		counter.Count([]byte("loads what it needs"))
		opt := Options{Rules: parse(b, rule), Counter: counter}
		for _, way := range []struct {
			name string
			run  func() (*Report, error)
		}{
			{"files", func() (*Report, error) { return Run(b.Context(), paths, opt) }},
			{"memory", func() (*Report, error) { return Sessions(b.Context(), all, opt) }},
		} {
			b.Run(estimator+" "+way.name, func(b *testing.B) {
				b.SetBytes(bytes)
				var took, used, spinTook, spinUsed time.Duration
				n := 0
				for b.Loop() {
					t, c := timed(func() {
						r, err := way.run()
						if err != nil {
							b.Fatal(err)
						}
						if n = r.Rules.All.Results; n != 800 {
							b.Fatal(n)
						}
					})
					took, used = took+t, used+c
					b.StopTimer()
					t, c = timed(spin)
					spinTook, spinUsed = spinTook+t, spinUsed+c
					b.StartTimer()
				}
				cores := float64(runtime.GOMAXPROCS(0))
				busy := float64(used) / float64(took) / cores
				b.ReportMetric(float64(n*b.N)/took.Seconds(), "results/s")
				b.ReportMetric(float64(n*b.N)/used.Seconds()*cores, "results/s-idle")
				b.ReportMetric(100*busy, "%cores")
				b.ReportMetric(100*busy/(float64(spinUsed)/float64(spinTook)/cores), "%of-spinning")
			})
		}
	}
}

func timed(do func()) (took, used time.Duration) {
	begin, cpu := time.Now(), cpuTime()
	do()
	return time.Since(begin), cpuTime() - cpu
}

// spin takes all processors for about as long as a replay does.
func spin() {
	each(runtime.GOMAXPROCS(0), 64, func(i int) {
		for range 5_000_000 {
			i = i*1664525 + 1013904223
		}
		spun.Store(int64(i))
	})
}

var spun atomic.Int64

// recorded writes the sessions to files, and tells how many bytes of results are
// in them.
func recorded(tb testing.TB, all []*record.Session) (paths []string, bytes int64) {
	dir := tb.TempDir()
	r, err := record.Open(dir, record.Options{})
	if err != nil {
		tb.Fatal(err)
	}
	for n, s := range all {
		w := r.Start(record.Header{Server: "s", Session: fmt.Sprint("x", n)})
		for i := range s.Events {
			w.Write(&s.Events[i])
			bytes += int64(len(s.Events[i].Result))
		}
		w.Close()
		paths = append(paths, w.Path())
	}
	return paths, bytes
}

// BenchmarkLoad reads a session of 50 results as it stands on the disk.
func BenchmarkLoad(b *testing.B) {
	paths, bytes := recorded(b, recordings(b, 1, 50))
	b.SetBytes(bytes)
	for b.Loop() {
		if _, err := record.Load(paths[0]); err != nil {
			b.Fatal(err)
		}
	}
}
