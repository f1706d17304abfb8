package stash

import (
	"bytes"
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strings"
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

func TestRED24_OwnerOnly(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("modes do not exist on Windows: access is inherited from the parent directory")
	}
	for _, prepare := range []func(dir string) error{
		func(string) error { return nil },
		func(dir string) error { return os.Mkdir(dir, 0o755) },
	} {
		dir := filepath.Join(t.TempDir(), "stash")
		if err := prepare(dir); err != nil {
			t.Fatal(err)
		}
		s := open(t, dir, Options{})
		put(t, s, "a", row)
		put(t, s, "a", file)
		if p, err := s.pack(file); err != nil {
			t.Fatal(err)
		} else {
			defer p.discard() // a temporary file, as long as we look
		}
		seen := map[string]bool{}
		err := filepath.WalkDir(dir, func(path string, de fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			fi, err := de.Info()
			if err != nil {
				return err
			}
			want := fs.FileMode(0o600)
			if de.IsDir() {
				want = 0o700
			}
			if fi.Mode().Perm() != want {
				t.Errorf("%s: mode %#o, want %#o", path, fi.Mode().Perm(), want)
			}
			seen[filepath.Ext(path)] = true
			return nil
		})
		if err != nil || !seen[".db"] || !seen[".db-wal"] || !seen[".db-shm"] || !seen[".zst"] {
			t.Errorf("saw %v, %v", seen, err)
		}
	}
	t.Run("a directory of other things", func(t *testing.T) {
		dir := t.TempDir()
		if err := errors.Join(os.WriteFile(filepath.Join(dir, "x"), nil, 0o644), os.Chmod(dir, 0o777)); err != nil {
			t.Fatal(err)
		}
		if _, err := Open(dir, Options{}); err == nil || !strings.Contains(err.Error(), dir) {
			t.Errorf("a directory that others may write to is taken: %v", err)
		}
	})
}

func TestOpenRefusesANewerSchema(t *testing.T) {
	dir := t.TempDir()
	s, err := Open(dir, Options{})
	if err != nil {
		t.Fatal(err)
	}
	put(t, s, "a", row)
	if err := s.update(t.Context(), func(x *tx) error { return x.exec("PRAGMA user_version = 7") }); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	var log bytes.Buffer
	if s, err = Open(dir, Options{Log: slog.New(slog.NewTextHandler(&log, nil))}); err != nil {
		t.Fatal(err)
	}
	_, _, getErr := s.Get(t.Context(), "a", entry("a", row).Ref)
	for _, err := range []error{s.Ready(t.Context()), s.Put(t.Context(), entry("a", file), file), getErr} {
		if err == nil || !strings.Contains(err.Error(), "version 7 was made by a newer spillway") {
			t.Errorf("got %v", err)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(log.String(), "newer spillway") {
		t.Errorf("the log does not say why: %s", &log)
	}
}

func TestOpenRefusesWhatIsNotAStash(t *testing.T) {
	foreign := func(path string) error {
		db, err := sql.Open("sqlite", path)
		if err != nil {
			return err
		}
		_, err = db.Exec("CREATE TABLE entries (x)")
		return errors.Join(err, db.Close())
	}
	text := func(path string) error { return os.WriteFile(path, bytes.Repeat([]byte("hello\n"), 1000), 0o600) }
	for name, make := range map[string]func(string) error{"foreign database": foreign, "text": text} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			if err := make(filepath.Join(dir, databaseName)); err != nil {
				t.Fatal(err)
			}
			s, err := Open(dir, Options{})
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			if err := s.Ready(t.Context()); err == nil || !strings.Contains(err.Error(), "not a stash database") {
				t.Errorf("got %v", err)
			}
		})
	}
}

func TestOddDirectoryName(t *testing.T) {
	name := "a b?c#d%20é&e=f;g"
	if runtime.GOOS == "windows" {
		name = "a b#c%20é&e=f;g"
	}
	dir := filepath.Join(t.TempDir(), name)
	s := open(t, dir, Options{})
	put(t, s, "a", row)
	if _, err := os.Stat(filepath.Join(dir, databaseName+"-wal")); err != nil {
		t.Error(err)
	}
}

func TestDirectoryRemovedWhileOpen(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("Windows does not let an open file be removed")
	}
	dir := t.TempDir()
	s := open(t, dir, Options{})
	e := put(t, s, "a", file)
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	wantUnknown(t, s, "a", e.Ref)
	put(t, s, "a", file)
	put(t, s, "a", row)
	other := open(t, dir, Options{})
	wantBytes(t, other, "a", e.Ref, file)
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

func TestClosed(t *testing.T) {
	s, err := Open(t.TempDir(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	e := put(t, s, "a", row)
	for range 2 {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
	if err := s.Put(t.Context(), e, row); !errors.Is(err, ErrClosed) {
		t.Errorf("Put: %v", err)
	}
	if _, _, err := s.Get(t.Context(), "a", e.Ref); !errors.Is(err, ErrClosed) {
		t.Errorf("Get: %v", err)
	}
	if s.Has(t.Context(), "a", e.Ref) {
		t.Error("Has")
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
