// Package bench measures the engines against the obvious way to do the same work, both sides in one run, so that
// a reader can check the figures of docs/performance.md on a machine of their own. The inputs are those of package
// fixture; what the obvious way uses is linked for this alone.
package bench

import (
	"fmt"
	"runtime"
	"slices"
	"time"
)

// Work is one thing to do in two ways.
type Work struct {
	Name    string
	Against string // what the other side is made of
	Size    int    // bytes of the input
	Ours    func() error
	Theirs  func() error
}

// Side is what one way took, in the median of the rounds.
type Side struct {
	Seconds   float64 `json:"seconds"`
	Rate      float64 `json:"megabytes_per_second"`
	Allocs    int     `json:"allocations"`
	Allocated int     `json:"allocated_bytes"`
}

// Row is the outcome of one Work. Its JSON fields are promised in docs/json.md.
type Row struct {
	Name    string  `json:"name"`
	Against string  `json:"against"`
	Size    int     `json:"bytes"`
	Rounds  int     `json:"rounds"`
	Ours    Side    `json:"spillway"`
	Theirs  Side    `json:"other"`
	Speed   float64 `json:"times_as_fast"`     // median of the ratios of each round
	Fewer   float64 `json:"fewer_allocations"` // times
	Smaller float64 `json:"less_allocated"`    // times, in bytes
}

// Measure runs both sides in turn, rounds times after one round that does not count, so that what disturbs the machine
// disturbs both.
func Measure(w Work, rounds int) (Row, error) {
	var ours, theirs []sample
	var ratios []float64
	for round := range rounds + 1 {
		a, err := measure(w.Ours)
		if err != nil {
			return Row{}, fmt.Errorf("%s: %w", w.Name, err)
		}
		b, err := measure(w.Theirs)
		if err != nil {
			return Row{}, fmt.Errorf("%s: the other side: %w", w.Name, err)
		}
		if round == 0 {
			continue
		}
		ours, theirs = append(ours, a), append(theirs, b)
		ratios = append(ratios, b.seconds/a.seconds)
	}
	r := Row{Name: w.Name, Against: w.Against, Size: w.Size, Rounds: rounds, Ours: side(ours, w.Size), Theirs: side(theirs, w.Size)}
	r.Speed = median(ratios)
	r.Fewer = float64(r.Theirs.Allocs) / float64(max(r.Ours.Allocs, 1))
	r.Smaller = float64(r.Theirs.Allocated) / float64(max(r.Ours.Allocated, 1))
	return r, nil
}

type sample struct {
	seconds           float64
	allocs, allocated int
}

// least is how long one measurement takes at least: short work is repeated.
const least = 20 * time.Millisecond

func measure(do func() error) (sample, error) {
	runtime.GC()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	begin := time.Now()
	n := 0
	for n == 0 || time.Since(begin) < least {
		if err := do(); err != nil {
			return sample{}, err
		}
		n++
	}
	took := time.Since(begin)
	runtime.ReadMemStats(&after)
	return sample{
		seconds:   took.Seconds() / float64(n),
		allocs:    int(after.Mallocs-before.Mallocs) / n,
		allocated: int(after.TotalAlloc-before.TotalAlloc) / n,
	}, nil
}

func side(samples []sample, size int) Side {
	of := func(get func(sample) float64) float64 {
		all := make([]float64, len(samples))
		for i, s := range samples {
			all[i] = get(s)
		}
		return median(all)
	}
	seconds := of(func(s sample) float64 { return s.seconds })
	return Side{
		Seconds:   seconds,
		Rate:      float64(size) / 1e6 / seconds,
		Allocs:    int(of(func(s sample) float64 { return float64(s.allocs) })),
		Allocated: int(of(func(s sample) float64 { return float64(s.allocated) })),
	}
}

// median returns the middle of all, of an even number the mean of the two.
func median(all []float64) float64 {
	sorted := slices.Sorted(slices.Values(all))
	n := len(sorted)
	return (sorted[(n-1)/2] + sorted[n/2]) / 2
}
