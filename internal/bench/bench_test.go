package bench

import (
	"testing"
	"time"
)

// run measures both sides under their names: the last columns of each are to be compared.
func run(b *testing.B, w Work, err error) {
	b.Helper()
	if err != nil {
		b.Fatal(err)
	}
	for _, side := range []struct {
		name string
		do   func() error
	}{{"spillway", w.Ours}, {"other", w.Theirs}} {
		b.Run(side.name, func(b *testing.B) {
			b.SetBytes(int64(w.Size))
			b.ReportAllocs()
			for b.Loop() {
				if err := side.do(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkReduce1MB(b *testing.B)  { w, err := Reduce(1_000_000); run(b, w, err) }
func BenchmarkReduce10MB(b *testing.B) { w, err := Reduce(10_000_000); run(b, w, err) }
func BenchmarkProject1MB(b *testing.B) { w, err := Project(1_000_000); run(b, w, err) }
func BenchmarkProject10MB(b *testing.B) {
	w, err := Project(10_000_000)
	run(b, w, err)
}
func BenchmarkCanonical1MB(b *testing.B) { run(b, Canonical(1_000_000), nil) }
func BenchmarkBrackets(b *testing.B)     { run(b, Brackets(), nil) }

func TestMeasureIsPaired(t *testing.T) {
	spin := func(d time.Duration) func() error {
		return func() error {
			for begin := time.Now(); time.Since(begin) < d; {
			}
			return nil
		}
	}
	fast, slow := spin(least), spin(2*least)
	row, err := Measure(Work{Name: "x", Size: 1000, Ours: fast, Theirs: slow}, 3)
	if err != nil || row.Speed < 1.5 || row.Rounds != 3 {
		t.Errorf("got %+v, %v", row, err)
	}
}

func TestMedian(t *testing.T) {
	for _, c := range []struct {
		in   []float64
		want float64
	}{{[]float64{3}, 3}, {[]float64{9, 1}, 5}, {[]float64{7, 1, 3}, 3}, {[]float64{4, 1, 2, 100}, 3}} {
		if got := median(c.in); got != c.want {
			t.Errorf("median of %v is %v, want %v", c.in, got, c.want)
		}
	}
}
