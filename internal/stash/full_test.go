package stash

import (
	"context"
	"errors"
	"fmt"
	"os"
	"testing"
)

// refuses checks that neither kind of original can be kept now, that nothing
// of it is left, and what was there before still is.
func refuses(s *Store, before []byte) error {
	ctx := context.Background()
	for _, b := range [][]byte{result(50, 200_000, 0), file} {
		e := entry("a", b)
		if err := s.Put(ctx, e, b); err == nil {
			return fmt.Errorf("%d bytes were put", len(b))
		}
		if _, _, err := s.Get(ctx, "a", e.Ref); err != ErrUnknown {
			return fmt.Errorf("get of %d bytes that were not put: %v", len(b), err)
		}
	}
	des, err := os.ReadDir(s.objects())
	if err != nil {
		return err
	}
	if len(des) != 0 {
		return fmt.Errorf("half-kept: %v", des)
	}
	_, _, err = s.Get(ctx, "a", entry("", before).Ref)
	return err
}

// accepts checks that both kinds can be kept again.
func accepts(s *Store) error {
	for _, b := range [][]byte{result(50, 200_000, 0), file} {
		if err := s.Put(context.Background(), entry("a", b), b); err != nil {
			return err
		}
	}
	return nil
}

func TestK32_DatabaseReadOnly(t *testing.T) {
	s := open(t, t.TempDir(), Options{})
	put(t, s, "a", row)
	pragma := func(on int) {
		t.Helper()
		if _, err := s.db.w.ExecContext(t.Context(), fmt.Sprintf("PRAGMA query_only = %d", on)); err != nil {
			t.Fatal(err)
		}
	}
	pragma(1) // every write is refused, as of a read-only file
	if err := refuses(s, row); err != nil {
		t.Error(err)
	}
	pragma(0)
	if err := accepts(s); err != nil {
		t.Error(err)
	}
	consistent(t, s)
}

func TestK32_DatabaseFull(t *testing.T) {
	s := open(t, t.TempDir(), Options{})
	put(t, s, "a", row)
	pages := func(n int64) {
		t.Helper()
		if _, err := s.db.w.ExecContext(t.Context(), fmt.Sprintf("PRAGMA max_page_count = %d", n)); err != nil {
			t.Fatal(err)
		}
	}
	var now int64
	err := s.update(t.Context(), func(x *tx) (err error) {
		now, err = x.count("PRAGMA page_count")
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	pages(now)
	b := result(50, 200_000, 0)
	if err := s.Put(t.Context(), entry("a", b), b); err == nil {
		t.Error("a full database took 200 kB")
	}
	wantUnknown(t, s, "a", entry("a", b).Ref)
	wantBytes(t, s, "a", entry("a", row).Ref, row)
	pages(1 << 30)
	if err := accepts(s); err != nil {
		t.Error(err)
	}
	consistent(t, s)
}

// A transaction fails after the file was put in place.
func TestK32_CommitFails(t *testing.T) {
	s := open(t, t.TempDir(), Options{})
	p, err := s.pack(file)
	if err != nil {
		t.Fatal(err)
	}
	defer p.discard()
	fault := errors.New("disk full")
	err = s.update(t.Context(), func(x *tx) error {
		if _, err := s.keep(x, p); err != nil {
			return err
		}
		return fault
	})
	if err != fault {
		t.Fatal(err)
	}
	if n, _ := files(t, s); n != 1 {
		t.Fatalf("%d files, want the one that was put in place", n)
	}
	s.unkeep(t.Context(), p.hash)
	consistent(t, s)
	// Unless another process has kept it since.
	e := put(t, s, "a", file)
	s.unkeep(t.Context(), p.hash)
	wantBytes(t, s, "a", e.Ref, file)
}

// The directory for files is not one.
func TestK32_ObjectsDirectoryUnusable(t *testing.T) {
	s := open(t, t.TempDir(), Options{})
	put(t, s, "a", row)
	if err := errors.Join(os.Remove(s.objects()), os.WriteFile(s.objects(), nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	if err := s.Put(t.Context(), entry("a", file), file); err == nil {
		t.Error("a file was put where no directory is")
	}
	wantUnknown(t, s, "a", entry("a", file).Ref)
	wantBytes(t, s, "a", entry("a", row).Ref, row)
	if err := errors.Join(os.Remove(s.objects())); err != nil {
		t.Fatal(err)
	}
	if err := accepts(s); err != nil { // it is made again
		t.Error(err)
	}
	consistent(t, s)
}
