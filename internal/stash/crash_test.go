package stash

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// childPut keeps one original of each kind, says so, and never ends.
func childPut(dir string, out io.Writer) error {
	s, err := Open(dir, Options{})
	if err != nil {
		return err
	}
	for _, b := range [][]byte{row, file} {
		if err := s.Put(context.Background(), entry("a", b), b); err != nil {
			return err
		}
	}
	fmt.Fprintln(out, "put")
	select {}
}

func TestK30_KilledAfterPut(t *testing.T) {
	dir := t.TempDir()
	p := start(t, "put", dir)
	if p.line() != "put" {
		p.kill()
		t.Fatal(p.errs.String())
	}
	p.kill()
	s := open(t, dir, Options{})
	wantBytes(t, s, "a", entry("a", row).Ref, row)
	wantBytes(t, s, "a", entry("a", file).Ref, file)
	consistent(t, s)
}

// nth is the i-th original of childPutAll: every third is a row.
func nth(i int) []byte {
	if i%3 == 0 {
		return result(uint64(i), 20_000, .9)
	}
	return result(uint64(i), 300_000, 0)
}

// allQuota holds about five of them.
const allQuota = 1_600_000

// childPutAll keeps originals without end and reports each as it is kept.
func childPutAll(dir string, out io.Writer) error {
	s, err := Open(dir, Options{MaxBytes: allQuota})
	if err != nil {
		return err
	}
	for i := 0; ; i++ {
		if err := s.Put(context.Background(), entry("a", nth(i)), nth(i)); err != nil {
			return err
		}
		fmt.Fprintln(out, i)
	}
}

// It is killed at some point within a Put, mostly one that evicts.
func TestK30_KilledWithinPut(t *testing.T) {
	dir := t.TempDir()
	for round := range 6 {
		p := start(t, "put all", dir)
		n := 0
		for ; n < 10+round && p.line() == fmt.Sprint(n); n++ {
		}
		time.AfterFunc(time.Duration(round)*700*time.Microsecond, func() { p.cmd.Process.Kill() })
		for p.line() == fmt.Sprint(n) {
			n++
		}
		p.kill()
		if n < 10 {
			t.Fatalf("it ended after %d: %s", n, p.errs.String())
		}

		c := newClock()
		s := open(t, dir, Options{MaxBytes: allQuota})
		for i := range n {
			e := entry("a", nth(i))
			_, got, err := s.Get(t.Context(), "a", e.Ref)
			var x *ExpiredError
			switch {
			case errors.As(err, &x) && i < n-4:
			case err != nil || !bytes.Equal(got, nth(i)):
				t.Fatalf("round %d: original %d of %d: %d bytes, %v", round, i, n, len(got), err)
			}
		}
		c.t = time.Now().Add(2 * time.Hour) // old enough for its temporary file
		cleaner := open(t, dir, Options{MaxBytes: allQuota, Now: c.now})
		if _, err := cleaner.GC(t.Context()); err != nil {
			t.Fatal(err)
		}
		consistent(t, cleaner)
	}
}

func TestRED18_PowerLossMakesARefUnknown(t *testing.T) {
	for name, damage := range map[string]func(path string) error{
		"file missing": os.Remove,
		"file torn":    func(path string) error { return os.Truncate(path, 100_000) },
		"file empty":   func(path string) error { return os.Truncate(path, 0) },
	} {
		t.Run(name, func(t *testing.T) {
			s := open(t, t.TempDir(), Options{})
			e := put(t, s, "a", file)
			put(t, s, "b", file)
			path := s.path(hash(e.Canonical))
			if err := damage(path); err != nil {
				t.Fatal(err)
			}
			wantUnknown(t, s, "a", e.Ref)
			// The same original again makes it good.
			put(t, s, "a", file)
			wantBytes(t, s, "a", e.Ref, file)
			consistent(t, s)
			// So does cleaning up.
			if err := damage(path); err != nil {
				t.Fatal(err)
			}
			if r, err := s.GC(t.Context()); err != nil || r.Lost != 1 {
				t.Errorf("GC: %+v, %v", r, err)
			}
			wantUnknown(t, s, "a", e.Ref)
			consistent(t, s)
		})
	}
}

func TestRED22_CorruptIsNeverReturned(t *testing.T) {
	spoilRow := func(s *Store, h hash) error {
		return s.update(context.Background(), func(x *tx) error {
			return x.exec("UPDATE objects SET data = zeroblob(length(data)) WHERE hash = ?", h[:])
		})
	}
	swapRow := func(s *Store, h hash) error { // well compressed, but another original
		other := bytes.Clone(row)
		other[100]++
		return s.update(context.Background(), func(x *tx) error {
			return x.exec("UPDATE objects SET data = ? WHERE hash = ?", *compress(other), h[:])
		})
	}
	spoilFile := func(s *Store, h hash) error {
		b, err := os.ReadFile(s.path(h))
		if err != nil {
			return err
		}
		b[len(b)/2] ^= 1
		return os.WriteFile(s.path(h), b, 0o600)
	}
	for name, c := range map[string]struct {
		original []byte
		spoil    func(*Store, hash) error
	}{
		"row, zeros":    {row, spoilRow},
		"row, swapped":  {row, swapRow},
		"file, one bit": {file, spoilFile},
	} {
		t.Run(name, func(t *testing.T) {
			s := open(t, t.TempDir(), Options{})
			e := put(t, s, "a", c.original)
			if err := c.spoil(s, hash(e.Canonical)); err != nil {
				t.Fatal(err)
			}
			for range 2 {
				_, b, err := s.Get(t.Context(), "a", e.Ref)
				var x *CorruptError
				if !errors.As(err, &x) || x.Ref != e.Ref || b != nil {
					t.Fatalf("%d bytes, %v; want a corrupt ref, named", len(b), err)
				}
				wantUnknown(t, s, "b", e.Ref)
				if _, err := s.GC(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
			put(t, s, "a", c.original)
			wantBytes(t, s, "a", e.Ref, c.original)
			consistent(t, s)
		})
	}
}

func TestGCRemovesWhatNobodyClaims(t *testing.T) {
	c := newClock()
	c.t = time.Now()
	s := open(t, t.TempDir(), Options{Now: c.now, TTL: 365 * 24 * time.Hour})
	e := put(t, s, "a", file)
	orphan := filepath.Join(s.objects(), hash{1}.file())
	temp := filepath.Join(s.objects(), tempPrefix+"1")
	other := filepath.Join(s.objects(), "README")
	for _, path := range []string{orphan, temp, other} {
		if err := os.WriteFile(path, []byte("x"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if r, err := s.GC(t.Context()); err != nil || r != (GCReport{Orphans: 1}) {
		t.Errorf("GC: %+v, %v", r, err)
	}
	c.add(2 * time.Hour)
	if r, err := s.GC(t.Context()); err != nil || r != (GCReport{Temps: 1}) {
		t.Errorf("GC: %+v, %v", r, err)
	}
	wantBytes(t, s, "a", e.Ref, file)
	if _, err := os.Stat(other); err != nil {
		t.Errorf("GC removed what is not the stash's: %v", err)
	}
}

func TestPutCleansUpInPassing(t *testing.T) {
	c := newClock()
	c.t = time.Now().Add(24 * time.Hour)
	s := open(t, t.TempDir(), Options{Now: c.now})
	s.tidyEvery = time.Hour
	leave := func() string {
		temp := filepath.Join(s.objects(), tempPrefix+"1")
		if err := os.WriteFile(temp, []byte("x"), 0o600); err != nil {
			t.Fatal(err)
		}
		return temp
	}
	for range 2 {
		temp := leave()
		put(t, s, "a", row)
		s.background.Wait()
		if _, err := os.Stat(temp); !os.IsNotExist(err) {
			t.Errorf("what a killed process left is still there: %v", err)
		}
		leave()
		put(t, s, "a", row)
		s.background.Wait()
		if _, err := os.Stat(temp); err != nil {
			t.Errorf("cleaned up again at once: %v", err)
		}
		c.add(time.Hour)
	}
}

func TestGCGivesPagesBack(t *testing.T) {
	c := newClock()
	s := open(t, t.TempDir(), Options{Now: c.now})
	for i := range 80 {
		put(t, s, "a", result(uint64(i), 250_000, 0))
	}
	c.add(25 * time.Hour)
	if _, err := s.GC(t.Context()); err != nil {
		t.Fatal(err)
	}
	var pages int64
	err := s.update(t.Context(), func(x *tx) (err error) {
		pages, err = x.count("PRAGMA page_count")
		return err
	})
	if err != nil || pages > 1500 { // 20 MB were 4,900
		t.Errorf("%d pages, %v", pages, err)
	}
}

// consistent fails unless counters, rows and files tell one story.
func consistent(t testing.TB, s *Store) {
	t.Helper()
	db, err := s.database(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for what, query := range map[string]string{
		"total":           "SELECT (SELECT bytes FROM state) = (SELECT coalesce(sum(stored), 0) FROM objects)",
		"references":      "SELECT NOT EXISTS (SELECT 1 FROM objects o WHERE refs <> (SELECT count(*) FROM entries WHERE object = o.id))",
		"objects":         "SELECT NOT EXISTS (SELECT 1 FROM entries e LEFT JOIN objects o ON o.id = e.object WHERE o.id IS NULL)",
		"unclaimed":       "SELECT NOT EXISTS (SELECT 1 FROM objects WHERE refs = 0)",
		"callers":         "SELECT NOT EXISTS (SELECT 1 FROM callers c WHERE bytes <> (SELECT sum(stored) FROM entries e JOIN objects o ON o.id = e.object WHERE e.caller = c.caller))",
		"missing callers": "SELECT (SELECT count(*) FROM callers) = (SELECT count(DISTINCT caller) FROM entries)",
		"live or dead":    "SELECT NOT EXISTS (SELECT 1 FROM entries JOIN tombstones USING (caller, ref))",
		"nothing doomed":  "SELECT NOT EXISTS (SELECT 1 FROM doomed)",
	} {
		var ok bool
		if err := db.r.QueryRowContext(t.Context(), query).Scan(&ok); err != nil || !ok {
			t.Errorf("%s: inconsistent, %v", what, err)
		}
	}
	var check string
	if err := db.r.QueryRowContext(t.Context(), "PRAGMA integrity_check").Scan(&check); err != nil || check != "ok" {
		t.Errorf("integrity: %s, %v", check, err)
	}
	if n, _ := files(t, s); n != stats(t, s).Files {
		t.Errorf("%d files for %d objects that are files", n, stats(t, s).Files)
	}
}
