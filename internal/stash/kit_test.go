package stash

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"math/rand/v2"
	"os"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	if what := os.Getenv(childEnv); what != "" {
		child(what)
	}
	goleak.VerifyTestMain(m)
}

// clock is a time that tests move.
type clock struct {
	mu sync.Mutex
	t  time.Time
}

func (c *clock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.t
}

func (c *clock) add(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.t = c.t.Add(d)
}

func newClock() *clock { return &clock{t: time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)} }

func open(t testing.TB, dir string, o Options) *Store {
	t.Helper()
	s, err := Open(dir, o)
	if err != nil {
		t.Fatal(err)
	}
	s.tidyEvery = 0
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	if err := s.Ready(t.Context()); err != nil {
		t.Fatal(err)
	}
	return s
}

// entry is one for original, with the ref that its bytes would have if they
// were canonical.
func entry(caller string, original []byte) Entry {
	sum := sha256.Sum256(original)
	return Entry{Ref: "r_" + hex.EncodeToString(sum[:6]), Caller: caller, Server: "github", Tool: "search_code",
		Keep: "items[*].path", Rows: "items", Canonical: sum}
}

// result is a CallToolResult of about n bytes that compresses about as much as
// the share of it, 0 to 1, that is not random.
func result(seed uint64, n int, share float64) []byte {
	r := rand.New(rand.NewPCG(seed, 1))
	var b bytes.Buffer
	b.WriteString(`{ "content":[{"type":"text","text":"`)
	raw := make([]byte, 48)
	for b.Len() < n-20 {
		if r.Float64() < share {
			b.WriteString(`https://api.example.com/repos/octocat/hello/contents/cmd/main.go`)
			continue
		}
		for i := range raw {
			raw[i] = byte(r.Uint32())
		}
		b.WriteString(base64.StdEncoding.EncodeToString(raw))
	}
	b.WriteString(`"}],"_meta" : {"n":9007199254740993} }`)
	return b.Bytes()
}

func put(t testing.TB, s *Store, caller string, original []byte) Entry {
	t.Helper()
	e := entry(caller, original)
	if err := s.Put(t.Context(), e, original); err != nil {
		t.Fatal(err)
	}
	return e
}

func wantBytes(t testing.TB, s *Store, caller, ref string, want []byte) Entry {
	t.Helper()
	e, got, err := s.Get(t.Context(), caller, ref)
	if err != nil {
		t.Fatalf("Get(%s, %s): %v", caller, ref, err)
	}
	if !bytes.Equal(got, want) {
		t.Fatalf("Get(%s, %s): %d bytes that are not the %d that were put", caller, ref, len(got), len(want))
	}
	return e
}

func wantExpired(t testing.TB, s *Store, caller, ref, tool string) {
	t.Helper()
	_, b, err := s.Get(t.Context(), caller, ref)
	var x *ExpiredError
	if !errors.As(err, &x) || x.Tool != tool || b != nil {
		t.Fatalf("Get(%s, %s) = %d bytes, %v; want expired, of %s", caller, ref, len(b), err, tool)
	}
}

func wantUnknown(t testing.TB, s *Store, caller, ref string) {
	t.Helper()
	e, b, err := s.Get(t.Context(), caller, ref)
	if err != ErrUnknown || b != nil || e != (Entry{}) {
		t.Fatalf("Get(%s, %s) = %d bytes, %v; want unknown", caller, ref, len(b), err)
	}
}

func stats(t testing.TB, s *Store) Stats {
	t.Helper()
	st, err := s.Stats(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return st
}

// files counts what lies in objects/, and its bytes.
func files(t testing.TB, s *Store) (n int, size int64) {
	t.Helper()
	des, err := os.ReadDir(s.objects())
	if err != nil {
		t.Fatal(err)
	}
	for _, de := range des {
		fi, err := de.Info()
		if err != nil {
			t.Fatal(err)
		}
		size += fi.Size()
	}
	return len(des), size
}

// row and file are originals that are kept as what they are named for.
var (
	row  = result(1, 40_000, .9)
	file = result(2, 900_000, 0)
)
