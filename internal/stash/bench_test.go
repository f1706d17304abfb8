package stash

import (
	"crypto/sha256"
	"fmt"
	"path/filepath"
	"slices"
	"testing"
	"time"
)

var sizes = []struct {
	name string
	n    int
}{{"10kB", 10_000}, {"1MB", 1_000_000}, {"10MB", 10_000_000}}

// shares name how much of an original compresses: JSON of an API, and the
// worst case, which is kept as a file from 256 kB on.
var shares = []struct {
	name  string
	share float64
}{{"json", .9}, {"random", 0}}

// BenchmarkOpen: what `spillway run` waits for is "background"; "ready" is
// when the first Put can go.
func BenchmarkOpen(b *testing.B) {
	for _, bb := range []struct {
		name         string
		fresh, ready bool
	}{{"background", false, false}, {"ready", false, true}, {"fresh/background", true, false}, {"fresh/ready", true, true}} {
		b.Run(bb.name, func(b *testing.B) {
			root := b.TempDir()
			open(b, filepath.Join(root, "0"), Options{})
			for i := 0; b.Loop(); i++ {
				dir := filepath.Join(root, "0")
				if bb.fresh {
					dir = filepath.Join(root, fmt.Sprint("n", i))
				}
				s, err := Open(dir, Options{})
				if err != nil {
					b.Fatal(err)
				}
				if bb.ready {
					err = s.Ready(b.Context())
				}
				b.StopTimer()
				if err != nil {
					b.Fatal(err)
				}
				s.Close()
				b.StartTimer()
			}
		})
	}
}

// BenchmarkPut puts another original each time. p50-ns/op is the median,
// zstd-ns/op that of compressing the same bytes alone, and x-zstd the ratio of
// the two: medians, because a busy machine moves the mean at will.
func BenchmarkPut(b *testing.B) {
	for _, size := range sizes {
		for _, sh := range shares {
			b.Run(size.name+"/"+sh.name, func(b *testing.B) {
				original := result(1, size.n, sh.share)
				s := open(b, b.TempDir(), Options{MaxBytes: 200_000_000})
				e := entry("a", original)
				b.SetBytes(int64(len(original)))
				b.ReportAllocs()
				var took []time.Duration
				for i := 0; b.Loop(); i++ {
					start := time.Now()
					n := fmt.Sprintf("%012x", i)
					copy(original[40:], n)
					e.Ref = "r_" + n
					if err := s.Put(b.Context(), e, original); err != nil {
						b.Fatal(err)
					}
					took = append(took, time.Since(start))
				}
				ratio(b, took, func() { putBuffer(compress(original)) })
			})
		}
	}
}

// BenchmarkPutAgain puts what is already kept: the same read again.
func BenchmarkPutAgain(b *testing.B) {
	for _, size := range sizes {
		b.Run(size.name, func(b *testing.B) {
			original := result(1, size.n, .9)
			s := open(b, b.TempDir(), Options{})
			e := put(b, s, "a", original)
			b.SetBytes(int64(len(original)))
			for b.Loop() {
				if err := s.Put(b.Context(), e, original); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkGet(b *testing.B) {
	for _, size := range sizes {
		for _, sh := range shares {
			b.Run(size.name+"/"+sh.name, func(b *testing.B) {
				original := result(1, size.n, sh.share)
				s := open(b, b.TempDir(), Options{})
				e := put(b, s, "a", original)
				b.SetBytes(int64(len(original)))
				b.ReportAllocs()
				var took []time.Duration
				for b.Loop() {
					start := time.Now()
					if _, _, err := s.Get(b.Context(), "a", e.Ref); err != nil {
						b.Fatal(err)
					}
					took = append(took, time.Since(start))
				}
				p := compress(original)
				ratio(b, took, func() {
					if _, err := decompress(*p, int64(len(original))); err != nil {
						b.Fatal(err)
					}
				})
			})
		}
	}
}

// BenchmarkSHA256 is the part of every Put and Get that guards the bytes.
func BenchmarkSHA256(b *testing.B) {
	original := result(1, 1_000_000, .9)
	b.SetBytes(int64(len(original)))
	for b.Loop() {
		sha256.Sum256(original)
	}
}

// ratio times plain, which is zstd alone, and reports the medians.
func ratio(b *testing.B, took []time.Duration, plain func()) {
	var alone []time.Duration
	for start := time.Now(); time.Since(start) < 200*time.Millisecond; {
		t := time.Now()
		plain()
		alone = append(alone, time.Since(t))
	}
	slices.Sort(took)
	slices.Sort(alone)
	own, zstd := float64(took[len(took)/2]), float64(alone[len(alone)/2])
	b.ReportMetric(own, "p50-ns/op")
	b.ReportMetric(zstd, "zstd-ns/op")
	b.ReportMetric(own/zstd, "x-zstd")
}
