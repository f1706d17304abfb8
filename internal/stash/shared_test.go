package stash

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"testing"
	"time"
)

// gcQuota is the cleaner's quota, far below that of those who put: it evicts
// what they have just put, while they put it again.
const gcQuota = 900_000

// childGC cleans up until its stdin ends.
func childGC(dir string, out io.Writer) error {
	done := make(chan struct{})
	go func() {
		io.Copy(io.Discard, os.Stdin)
		close(done)
	}()
	o := Options{}
	if _, err := os.Stat(dir + "/evict"); err == nil {
		o.MaxBytes = gcQuota
	}
	s, err := Open(dir, o)
	if err != nil {
		return err
	}
	for i := 0; ; i++ {
		if _, err := s.GC(context.Background()); err != nil {
			return err
		}
		select {
		case <-done:
			return s.Close()
		default:
			fmt.Fprintln(out, i)
		}
	}
}

// drain reads the child's reports, so that it never waits for us.
func (p *process) drain() (cleanings chan int) {
	cleanings = make(chan int, 1)
	go func() {
		n := 0
		for p.out.Scan() {
			n++
		}
		cleanings <- n
	}()
	return cleanings
}

func TestK35_AnotherProcessCleansUp(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir, Options{})
	p := start(t, "gc", dir)
	p.line()
	n := p.drain()
	var kept [][]byte
	for i := range 60 {
		b := nth(i)
		kept = append(kept, b)
		put(t, s, "a", b)
		again := kept[i/2]
		put(t, s, "a", again)
		wantBytes(t, s, "a", entry("a", again).Ref, again)
	}
	p.in.Close()
	t.Logf("%d cleanings beside %d puts", <-n, 2*len(kept))
	p.stop()
	for _, b := range kept {
		wantBytes(t, s, "a", entry("a", b).Ref, b)
	}
	consistent(t, s)
}

func TestK35_AnotherProcessEvictsWhatIsPutAgain(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir, Options{})
	if err := os.WriteFile(dir+"/evict", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	p := start(t, "gc", dir)
	p.line()
	n := p.drain()
	expired := 0
	var x *ExpiredError
	for i := range 200 {
		b := nth(i % 7)
		e := put(t, s, fmt.Sprint("c", i%2), b)
		_, got, err := s.Get(t.Context(), e.Caller, e.Ref)
		switch {
		case errors.As(err, &x): // it was quick
			expired++
		case err != nil || !bytes.Equal(got, b):
			t.Fatalf("put %d: %d bytes, %v", i, len(got), err)
		}
	}
	p.in.Close()
	t.Logf("%d cleanings beside 200 puts; %d were evicted before they were read", <-n, expired)
	p.stop()
	if _, err := s.GC(t.Context()); err != nil { // the files that it was killed before deleting: none
		t.Fatal(err)
	}
	list, err := s.List(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range list {
		if _, _, err := s.Get(t.Context(), e.Caller, e.Ref); err != nil {
			t.Errorf("%s: %v", e.Ref, err)
		}
	}
	consistent(t, s)
}

// Two stores in one process lock each other out as two processes do, and let
// us stop one of them at the worst moment.

func TestK35_CleaningUpBetweenRenameAndCommit(t *testing.T) {
	dir := t.TempDir()
	a, b := open(t, dir, Options{}), open(t, dir, Options{})
	p, err := a.pack(file)
	if err != nil {
		t.Fatal(err)
	}
	defer p.discard()
	e := entry("a", file)
	err = a.update(t.Context(), func(x *tx) error {
		if _, err := a.enter(x, &e, p, nil); err != nil {
			return err
		}
		// The file is in place, and no row that b can see claims it.
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		defer cancel()
		var r GCReport
		if err := b.gcFiles(ctx, &r); err == nil || r != (GCReport{}) {
			t.Errorf("b cleaned up without the lock: %+v, %v", r, err)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	wantBytes(t, b, "a", e.Ref, file)
	consistent(t, a)
}

func TestK35_PutAgainBeforeItsFileIsDeleted(t *testing.T) {
	dir := t.TempDir()
	a, b := open(t, dir, Options{}), open(t, dir, Options{})
	e := put(t, a, "a", file)
	err := a.update(t.Context(), func(x *tx) error {
		_, err := x.evict(0, 0, 1)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	wantExpired(t, b, "a", e.Ref, e.Tool)
	put(t, b, "a", file) // a has not come to deleting the file
	a.sweepSome(t.Context())
	if _, err := a.GC(t.Context()); err != nil {
		t.Fatal(err)
	}
	wantBytes(t, a, "a", e.Ref, file)
	consistent(t, a)
}

func TestK35_EvictedWhileItIsRead(t *testing.T) {
	s := open(t, t.TempDir(), Options{})
	e := put(t, s, "a", file)
	l, err := s.look(t.Context(), s.db, "a", e.Ref)
	if err != nil {
		t.Fatal(err)
	}
	s.max = 0
	if _, err := s.GC(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := s.readFile(l); err != errLost { // Get then looks again
		t.Errorf("got %v", err)
	}
	wantExpired(t, s, "a", e.Ref, e.Tool)
}

// Several processes may meet a directory that none has used yet.
func TestK35_OpenedAtOnce(t *testing.T) {
	dir := t.TempDir()
	var ps []*process
	for range 4 {
		ps = append(ps, start(t, "put", dir))
	}
	for _, p := range ps {
		if p.line() != "put" {
			p.kill()
			t.Error(p.errs.String())
		}
	}
	s := open(t, dir, Options{})
	wantBytes(t, s, "a", entry("a", file).Ref, file)
	consistent(t, s)
}
