package journal_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/spillway-mcp/spillway/contract"
)

// BenchmarkFsync is what the disk asks for one durable append of 4 kB: the
// figure to hold the others against.
func BenchmarkFsync(b *testing.B) {
	f, err := os.Create(filepath.Join(b.TempDir(), "f"))
	if err != nil {
		b.Fatal(err)
	}
	defer f.Close()
	page := make([]byte, 4096)
	for b.Loop() {
		if _, err := f.Write(page); err != nil {
			b.Fatal(err)
		}
		if err := f.Sync(); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkMutation is a whole mutation whose upstream answers at once: two
// durable commits.
func BenchmarkMutation(b *testing.B) {
	benchmarkMutations(b, func(b *testing.B) contract.Store { return open(b, filepath.Join(b.TempDir(), "journal.db")) })
}

func benchmarkMutations(b *testing.B, store func(*testing.B) contract.Store) {
	op := contract.Mutation[struct{}, struct{}]{Name: "create", Version: "1.0", Scope: "x", Effects: contract.Creates,
		Submit: func(context.Context, *contract.Invocation, struct{}) (struct{}, error) { return struct{}{}, nil },
	}.MustDefine()
	for _, callers := range []int{1, 16} {
		b.Run(fmt.Sprintf("callers=%d", callers), func(b *testing.B) {
			c, err := contract.New(contract.Options{Store: store(b), Caller: "alice"})
			if err != nil {
				b.Fatal(err)
			}
			var left atomic.Int64
			left.Store(int64(b.N))
			var wg sync.WaitGroup
			began := time.Now()
			for range callers {
				wg.Go(func() {
					for left.Add(-1) >= 0 {
						if _, _, err := op.Do(context.Background(), c, struct{}{}, contract.Call{}); err != nil {
							b.Error(err)
							return
						}
					}
				})
			}
			wg.Wait()
			b.ReportMetric(float64(b.N)/time.Since(began).Seconds(), "mutations/s")
		})
	}
}
