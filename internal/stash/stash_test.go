package stash

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"
)

func TestRED22_OriginalKeptByteForByte(t *testing.T) {
	dir := t.TempDir()
	c := newClock()
	s := open(t, dir, Options{Now: c.now})
	odd := [][]byte{
		row, file, result(3, 3_000_000, .99),
		[]byte("{}"), []byte("\x00"), []byte("{\"a\":\"\xff\xfe\", \"a\":1.0,\r\n\t\"b\":1e400 }\n"),
		bytes.Repeat([]byte{0}, 5_000_000),
	}
	for _, b := range odd {
		e := put(t, s, "local:1", b)
		got := wantBytes(t, s, "local:1", e.Ref, b)
		if got.Stored <= 0 || got.Stored > got.Bytes+100 {
			t.Errorf("%d bytes stored as %d", got.Bytes, got.Stored)
		}
		e.Bytes, e.Stored, e.Created, e.Expires = int64(len(b)), got.Stored, got.Created, got.Expires
		if got != e {
			t.Errorf("got  %+v\nwant %+v", got, e)
		}
		if !got.Created.Equal(c.now()) || !got.Expires.Equal(c.now().Add(24*time.Hour)) {
			t.Errorf("created %v, expires %v", got.Created, got.Expires)
		}
	}
	if st := stats(t, s); st.Entries != len(odd) || st.Files != 1 {
		t.Errorf("%+v; want %d entries of which one is a file", st, len(odd))
	}
	s2 := open(t, dir, Options{Now: c.now})
	for _, b := range odd {
		wantBytes(t, s2, "local:1", entry("", b).Ref, b)
	}
}

func TestRED22_SameOriginalIsOneEntry(t *testing.T) {
	c := newClock()
	s := open(t, t.TempDir(), Options{Now: c.now})
	for _, first := range [][]byte{row, file} {
		// Another _meta: other bytes, the same canonical form.
		second := append(bytes.Clone(first[:len(first)-2]), ` , "x":1} }`...)
		e := entry("a", first)
		if err := s.Put(t.Context(), e, first); err != nil {
			t.Fatal(err)
		}
		c.add(20 * time.Hour)
		e.Tool, e.Keep, e.Rows = "list_code", "items[*].url", ""
		if err := s.Put(t.Context(), e, second); err != nil {
			t.Fatal(err)
		}
		c.add(20 * time.Hour)
		got := wantBytes(t, s, "a", e.Ref, first)
		if got.Tool != e.Tool || got.Keep != e.Keep || got.Rows != e.Rows {
			t.Errorf("the latest cut's rule is not kept: %+v", got)
		}
		if !got.Expires.Equal(c.now().Add(4 * time.Hour)) {
			t.Errorf("expires %v at %v", got.Expires, c.now())
		}
	}
}

func TestRED22_CollisionIsRefused(t *testing.T) {
	c := newClock()
	s := open(t, t.TempDir(), Options{Now: c.now})
	e := put(t, s, "a", row)
	other := entry("a", file)
	other.Ref = e.Ref
	collides := func() {
		t.Helper()
		if err := s.Put(t.Context(), other, file); !errors.Is(err, ErrCollision) || !strings.Contains(err.Error(), e.Ref) {
			t.Fatalf("got %v, want a collision naming %s", err, e.Ref)
		}
		if n, _ := files(t, s); n != 0 {
			t.Fatalf("%d files are left of what was refused", n)
		}
	}
	collides()
	wantBytes(t, s, "a", e.Ref, row)
	// A note in some transcript still names the ref of what expired.
	c.add(25 * time.Hour)
	if _, err := s.GC(t.Context()); err != nil {
		t.Fatal(err)
	}
	collides()
	wantExpired(t, s, "a", e.Ref, e.Tool)
	// Another caller's refs are its own affair.
	other.Caller = "b"
	if err := s.Put(t.Context(), other, file); err != nil {
		t.Fatal(err)
	}
	wantBytes(t, s, "b", other.Ref, file)
	wantExpired(t, s, "a", e.Ref, e.Tool)
}

func TestRED23_EntriesBelongToTheirCaller(t *testing.T) {
	s := open(t, t.TempDir(), Options{})
	for _, b := range [][]byte{row, file} {
		e := put(t, s, "alice", b)
		wantUnknown(t, s, "bob", e.Ref)
		wantUnknown(t, s, "", e.Ref)
		if s.Has(t.Context(), "bob", e.Ref) || !s.Has(t.Context(), "alice", e.Ref) {
			t.Error("Has is wrong about whose ref it is")
		}
	}
	never := "r_000000000000"
	wantUnknown(t, s, "alice", never)
	wantUnknown(t, s, "bob", never)

	list, err := s.List(t.Context(), "bob")
	if err != nil || len(list) != 0 {
		t.Errorf("bob's list: %v, %v", list, err)
	}
	put(t, s, "bob", row)
	list, err = s.List(t.Context(), "")
	if err != nil || len(list) != 3 || list[0].Caller != "bob" {
		t.Errorf("everyone's list: %v, %v", list, err)
	}
}

func TestRED23_CallersShareAnObject(t *testing.T) {
	c := newClock()
	s := open(t, t.TempDir(), Options{Now: c.now})
	for _, b := range [][]byte{row, file} {
		before := stats(t, s)
		e := put(t, s, "alice", b)
		one := stats(t, s)
		c.add(time.Hour)
		put(t, s, "bob", b)
		both := stats(t, s)
		if both.Stored != one.Stored || both.Objects != one.Objects || both.Entries != one.Entries+1 {
			t.Errorf("one %+v, both %+v", one, both)
		}
		c.add(23*time.Hour + time.Minute) // alice's is over, bob's is not
		if _, err := s.GC(t.Context()); err != nil {
			t.Fatal(err)
		}
		wantExpired(t, s, "alice", e.Ref, e.Tool)
		wantBytes(t, s, "bob", e.Ref, b)
		c.add(time.Hour)
		if _, err := s.GC(t.Context()); err != nil {
			t.Fatal(err)
		}
		wantExpired(t, s, "bob", e.Ref, e.Tool)
		if after := stats(t, s); after.Stored != before.Stored || after.Objects != before.Objects {
			t.Errorf("before %+v, after %+v", before, after)
		}
	}
	// Not with another's _meta in it: the bytes are each caller's own.
	mine, theirs := row, append(bytes.Clone(row), ' ')
	e := entry("carol", mine)
	for caller, b := range map[string][]byte{"carol": mine, "dave": theirs} {
		e.Caller = caller
		if err := s.Put(t.Context(), e, b); err != nil {
			t.Fatal(err)
		}
	}
	wantBytes(t, s, "carol", e.Ref, mine)
	wantBytes(t, s, "dave", e.Ref, theirs)
}

func TestPutRefusesWhatItCannotKeep(t *testing.T) {
	s := open(t, t.TempDir(), Options{})
	e := entry("a", row)
	for name, f := range map[string]func(e *Entry, b *[]byte){
		"no ref":            func(e *Entry, _ *[]byte) { e.Ref = "" },
		"no caller":         func(e *Entry, _ *[]byte) { e.Caller = "" },
		"no canonical hash": func(e *Entry, _ *[]byte) { e.Canonical = [32]byte{} },
		"no original":       func(_ *Entry, b *[]byte) { *b = nil },
	} {
		e, b := e, row
		f(&e, &b)
		if err := s.Put(t.Context(), e, b); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	if _, err := Open(t.TempDir(), Options{MaxBytes: -1}); err == nil {
		t.Error("a negative quota is taken")
	}
}

func TestPutEndsWithItsContext(t *testing.T) {
	dir := t.TempDir()
	a, b := open(t, dir, Options{}), open(t, dir, Options{})
	err := a.update(t.Context(), func(*tx) error { // a holds the lock
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
		defer cancel()
		start := time.Now()
		if err := b.Put(ctx, entry("a", file), file); err == nil || time.Since(start) > busyTimeout/2 {
			t.Errorf("after %v: %v", time.Since(start), err)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if n, _ := files(t, b); n != 0 {
		t.Errorf("%d files are left", n)
	}
	put(t, b, "a", file)
}

func TestConcurrentUse(t *testing.T) {
	s := open(t, t.TempDir(), Options{MaxBytes: 2_000_000})
	var wg sync.WaitGroup
	for g := range 4 {
		wg.Go(func() {
			for i := range 15 {
				b := result(uint64(i%5), 10_000+40_000*(i%5)*g, 0)
				e := entry(fmt.Sprint("c", g), b)
				if err := s.Put(t.Context(), e, b); err != nil {
					t.Error(err)
				}
				_, got, err := s.Get(t.Context(), e.Caller, e.Ref)
				var x *ExpiredError
				if !errors.As(err, &x) && (err != nil || !bytes.Equal(got, b)) {
					t.Errorf("%d bytes, %v", len(got), err)
				}
			}
		})
	}
	wg.Wait()
	if st := stats(t, s); st.Stored > 2_000_000 {
		t.Errorf("%+v", st)
	}
}
