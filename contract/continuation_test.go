package contract

import (
	"context"
	"testing"
	"time"
)

func FuzzC05_Continuation(f *testing.F) {
	sealer, err := NewSealer()
	if err != nil {
		f.Fatal(err)
	}
	now := time.Date(2026, 11, 30, 0, 0, 0, 0, time.UTC)
	c, err := New(Options{Sealer: sealer, Now: func() time.Time { return now }})
	if err != nil {
		f.Fatal(err)
	}
	genuine := &continuation{Operation: "x@1.0", Caller: "alice", ParamsHash: "p", Params: []byte(`{}`), Expires: now.Add(time.Hour), State: &readState{}}
	token := c.sealContinuation(context.Background(), genuine)
	for _, s := range []string{token, token[:len(token)-1], token + "A", "c1_", "", "c2_" + token[3:], "p1_" + token[3:], "c1_\x00"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		k, e := c.openContinuation(context.Background(), s, "alice", nil, "")
		if (e == nil) != (s == token) {
			t.Errorf("%q opens as %+v, %v", s, k, e)
		}
		if e != nil && e.Reason != ReasonContinuation {
			t.Errorf("%q: %s", s, e.Reason)
		}
	})
}

func TestSealerKeepsPurposesApart(t *testing.T) {
	s, err := NewSealer()
	if err != nil {
		t.Fatal(err)
	}
	sealed := s.Seal("a", []byte("x"))
	if _, err := s.Open("b", sealed); err == nil {
		t.Error("opened for another purpose")
	}
	if got, err := s.Open("a", sealed); err != nil || string(got) != "x" {
		t.Errorf("%q, %v", got, err)
	}
	if _, err := SealerFromKey(make([]byte, 16)); err == nil {
		t.Error("took a short key")
	}
}
