package stash

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"
)

func TestRED24_TimeToLive(t *testing.T) {
	for name, ttl := range map[string]time.Duration{"default of 24 h": 0, "one hour": time.Hour} {
		t.Run(name, func(t *testing.T) {
			c := newClock()
			s := open(t, t.TempDir(), Options{TTL: ttl, Now: c.now})
			if ttl == 0 {
				ttl = 24 * time.Hour
			}
			small, large := put(t, s, "a", row), put(t, s, "a", file)
			c.add(ttl - time.Second)
			wantBytes(t, s, "a", small.Ref, row)
			wantBytes(t, s, "a", large.Ref, file)
			c.add(time.Second)
			wantExpired(t, s, "a", small.Ref, small.Tool)
			wantUnknown(t, s, "b", small.Ref)
			if list, err := s.List(t.Context(), "a"); err != nil || len(list) != 0 {
				t.Errorf("list: %v, %v", list, err)
			}
			r, err := s.GC(t.Context())
			if err != nil || r.Expired != 2 || r.Freed < int64(len(file))*7/10 {
				t.Errorf("GC: %+v, %v", r, err)
			}
			if n, _ := files(t, s); n != 0 {
				t.Errorf("%d files are left", n)
			}
			wantExpired(t, s, "a", large.Ref, large.Tool)
			if !s.Has(t.Context(), "a", large.Ref) {
				t.Error("an expired ref was issued all the same")
			}
			c.add(30 * 24 * time.Hour)
			wantUnknown(t, s, "a", large.Ref)
			if s.Has(t.Context(), "a", large.Ref) {
				t.Error("a ref is forgotten after 30 days")
			}
			if r, err := s.GC(t.Context()); err != nil || r.Tombstones != 2 {
				t.Errorf("GC: %+v, %v", r, err)
			}
			// What expired may come again.
			put(t, s, "a", file)
			wantBytes(t, s, "a", large.Ref, file)
		})
	}
}

func TestRED24_PutRemovesWhatExpired(t *testing.T) {
	c := newClock()
	s := open(t, t.TempDir(), Options{Now: c.now})
	for i := range 3 {
		put(t, s, "a", result(uint64(i), 500_000, 0))
	}
	c.add(25 * time.Hour)
	put(t, s, "a", row)
	if st := stats(t, s); st.Entries != 1 || st.Expired != 3 {
		t.Errorf("%+v", st)
	}
	if n, _ := files(t, s); n != 0 {
		t.Errorf("%d files are left", n)
	}
}

func TestRED24_OldestGoFirst(t *testing.T) {
	s := open(t, t.TempDir(), Options{MaxBytes: 2_900_000})
	var es []Entry
	var bs [][]byte
	for i := range 3 {
		b := result(uint64(10+i), 900_000, 0) // at most 900 kB as stored
		bs, es = append(bs, b), append(es, put(t, s, "a", b))
	}
	put(t, s, "a", bs[0]) // it is young again
	fourth := result(20, 900_000, 0)
	put(t, s, "b", fourth)
	wantBytes(t, s, "a", es[0].Ref, bs[0])
	wantExpired(t, s, "a", es[1].Ref, es[1].Tool)
	wantBytes(t, s, "a", es[2].Ref, bs[2])
	wantBytes(t, s, "b", entry("b", fourth).Ref, fourth)
}

func TestRED24_QuotaPerCaller(t *testing.T) {
	s := open(t, t.TempDir(), Options{MaxBytes: 10_000_000, MaxBytesPerCaller: 2_000_000})
	theirs := put(t, s, "quiet", result(1, 900_000, 0))
	var last Entry
	for i := range 20 {
		last = put(t, s, "loud", result(uint64(10+i), 900_000, 0))
	}
	list, err := s.List(t.Context(), "loud")
	if err != nil || len(list) != 2 || list[0].Ref != last.Ref {
		t.Errorf("%d entries, %v; want the two latest", len(list), err)
	}
	wantBytes(t, s, "quiet", theirs.Ref, result(1, 900_000, 0))
}

func TestRED24_TooLargeForTheQuota(t *testing.T) {
	for name, o := range map[string]Options{
		"total":      {MaxBytes: 500_000},
		"per caller": {MaxBytesPerCaller: 500_000},
	} {
		t.Run(name, func(t *testing.T) {
			s := open(t, t.TempDir(), o)
			e := put(t, s, "a", row)
			err := s.Put(t.Context(), entry("a", file), file)
			if !errors.Is(err, ErrTooLarge) || !strings.Contains(err.Error(), "500000") {
				t.Errorf("got %v", err)
			}
			wantBytes(t, s, "a", e.Ref, row)
			if n, _ := files(t, s); n != 0 {
				t.Errorf("%d files are left of it", n)
			}
		})
	}
}

func TestRED24_LoweredQuota(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir, Options{})
	for i := range 70 {
		put(t, s, fmt.Sprint("c", i%2), result(uint64(i), 30_000, 0))
	}
	s = open(t, dir, Options{MaxBytes: 1_000_000, MaxBytesPerCaller: 300_000})
	r, err := s.GC(t.Context())
	if st := stats(t, s); err != nil || r.Evicted < 40 || st.Stored > 600_000 || st.Stored < 500_000 {
		t.Errorf("%+v, %v; %+v", r, err, st)
	}
}

func TestRED24_TombstonesAreBounded(t *testing.T) {
	s := open(t, t.TempDir(), Options{MaxBytes: 100_000})
	e := put(t, s, "a", result(1, 90_000, 0))
	err := s.update(t.Context(), func(x *tx) error {
		return x.exec(`WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?)
			INSERT INTO tombstones (caller, ref, canonical, tool, at) SELECT 'z', i, x'00', 't', ? FROM n`, tombstoneCap+50, x.now)
	})
	if err != nil {
		t.Fatal(err)
	}
	put(t, s, "a", result(2, 90_000, 0))
	if st := stats(t, s); st.Expired != tombstoneCap {
		t.Errorf("%d tombstones, want %d", st.Expired, tombstoneCap)
	}
	wantExpired(t, s, "a", e.Ref, e.Tool)
	wantUnknown(t, s, "z", "1")
}
