package stash

import (
	"errors"
	"os"
	"testing"
)

// An original that was prepared is kept like any other, small or as a file; one
// that is discarded leaves nothing (RED-18).
func TestRED18_PreparedOriginalsAreKeptLikeOthers(t *testing.T) {
	for name, original := range map[string][]byte{
		"small": result(1, 2_000, .9), "as a file": result(2, 600_000, 0),
	} {
		t.Run(name, func(t *testing.T) {
			s := open(t, t.TempDir(), Options{})
			e := entry("a", original)
			for range 2 { // the second time it is there already
				p := s.Prepare(original)
				if err := p.Put(t.Context(), e); err != nil {
					t.Fatal(err)
				}
				p.Discard()
				wantBytes(t, s, "a", e.Ref, original)
			}
			if got := stats(t, s); got.Entries != 1 {
				t.Errorf("%d entries", got.Entries)
			}

			unwanted := s.Prepare(append([]byte("x"), original...))
			unwanted.Discard()
			unwanted.Discard()
			refused := s.Prepare(original)
			if err := refused.Put(t.Context(), Entry{Ref: e.Ref, Caller: "a"}); err == nil {
				t.Error("kept without its canonical hash")
			}
			refused.Discard()
			left, err := os.ReadDir(s.objects())
			if err != nil || len(left) > 1 {
				t.Errorf("%d files, error %v", len(left), err)
			}
		})
	}
}

func TestPreparedOriginalOverTheQuotaIsRefused(t *testing.T) {
	s := open(t, t.TempDir(), Options{MaxBytes: 1000})
	original := result(1, 50_000, 0)
	p := s.Prepare(original)
	defer p.Discard()
	if err := p.Put(t.Context(), entry("a", original)); !errors.Is(err, ErrTooLarge) {
		t.Errorf("error %v, want %v", err, ErrTooLarge)
	}
	empty := s.Prepare(nil)
	defer empty.Discard()
	if err := empty.Put(t.Context(), entry("a", []byte("{}"))); err == nil {
		t.Error("nothing was kept for something")
	}
}
