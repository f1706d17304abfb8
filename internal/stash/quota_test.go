package stash

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"math/rand/v2"
	"os"
	"runtime"
	"runtime/debug"
	"strings"
	"testing"
)

func TestK34_QuotaHoldsAndMemoryIsFlat(t *testing.T) {
	n, quota := 300, int64(20_000_000)
	if os.Getenv("SPILLWAY_TEST_LONG") != "" {
		n, quota = 10_000, 100_000_000
	} else {
		t.Log("300 results under 20 MB; SPILLWAY_TEST_LONG=1 makes it 10,000 under 100 MB")
	}
	s := open(t, t.TempDir(), Options{MaxBytes: quota})
	original := result(1, 1_000_000, 0)
	nth := func(i int) (Entry, []byte) {
		hex.Encode(original[40:], fmt.Appendf(nil, "%06d", i))
		return entry("a", original), original
	}
	var first, last Entry
	var early, late int64
	r := rand.New(rand.NewPCG(1, 1))
	for i := range n {
		e, b := nth(i)
		if err := s.Put(t.Context(), e, b); err != nil {
			t.Fatal(err)
		}
		if i == 0 {
			first = e
		}
		last = e
		if i%10 == 9 || i > n-50 {
			st := stats(t, s)
			_, size := files(t, s)
			if st.Stored > quota || size > quota {
				t.Fatalf("after %d: %d bytes by the books, %d on disk; the quota is %d", i+1, st.Stored, size, quota)
			}
		}
		switch i {
		case n / 3:
			early = memory()
		case n - 1:
			late = memory()
		}
		// Any earlier one is there or says that it is not.
		j := r.IntN(i + 1)
		e, b = nth(j)
		want := bytes.Clone(b)
		if perMB := int(quota / 1_010_000); j > i-perMB {
			wantBytes(t, s, "a", e.Ref, want)
		} else if j < i-perMB-2 {
			wantExpired(t, s, "a", e.Ref, e.Tool)
		}
	}
	wantExpired(t, s, "a", first.Ref, first.Tool)
	if _, _, err := s.Get(t.Context(), "a", last.Ref); err != nil {
		t.Error(err)
	}
	t.Logf("memory %d kB after a third, %d kB at the end", early/1000, late/1000)
	if late > early+8_000_000 {
		t.Errorf("memory grew from %d to %d bytes", early, late)
	}
	consistent(t, s)
}

// memory is what this process holds: resident bytes where the kernel tells,
// because SQLite's memory is not on Go's heap.
func memory() int64 {
	debug.FreeOSMemory()
	if b, err := os.ReadFile("/proc/self/status"); err == nil {
		_, rest, _ := strings.Cut(string(b), "VmRSS:")
		var kB int64
		if _, err := fmt.Sscan(rest, &kB); err == nil {
			return kB * 1024
		}
	}
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapInuse + m.StackInuse)
}

// Small originals are rows: the database file must not outgrow the quota by
// much either.
func TestK34_QuotaHoldsForRows(t *testing.T) {
	const quota = 4_000_000
	s := open(t, t.TempDir(), Options{MaxBytes: quota})
	for i := range 200 {
		put(t, s, "a", result(uint64(i), 100_000, 0))
		if st := stats(t, s); st.Stored > quota {
			t.Fatalf("%+v", st)
		}
	}
	var pages int64
	err := s.update(t.Context(), func(x *tx) (err error) {
		pages, err = x.count("PRAGMA page_count")
		return err
	})
	if err != nil || pages*4096 > quota*5/4 {
		t.Errorf("%d bytes of database, %v", pages*4096, err)
	}
	consistent(t, s)
}
