package record

import (
	"bytes"
	"encoding/json"
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

	"github.com/klauspost/compress/zstd"
)

var start = time.Date(2026, 11, 30, 8, 0, 0, 0, time.UTC)

func clock() time.Time { return start.Add(time.Second) }

func open(t *testing.T, opt Options) (*Recorder, string) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "sessions")
	if opt.Now == nil {
		opt.Now = clock
	}
	opt.Log = slog.New(slog.DiscardHandler)
	r, err := Open(dir, opt)
	if err != nil {
		t.Fatal(err)
	}
	return r, dir
}

func result(text string) json.RawMessage {
	quoted, err := json.Marshal(text)
	if err != nil {
		panic(err)
	}
	return json.RawMessage(`{"content":[{"type":"text","text":` + string(quoted) + `}]}`)
}

func TestSessionComesBackAsItWas(t *testing.T) {
	r, dir := open(t, Options{Spillway: "1.2.3"})
	w := r.Start(Header{Server: "git/hub", Session: "ab12", Started: start, Rules: "d1", Client: Client{Name: "c", Revision: "2025-11-25", Era: "legacy", Expand: true}})
	events := []Event{
		{Kind: KindList, At: 1, Done: 2, Server: "github", Outcome: Passed, Result: json.RawMessage(`[{"name":"t"}]`), Before: Sizes{Text: 14}, After: Sizes{Text: 14}},
		{Kind: KindCall, At: 3, Done: 9, Server: "github", Tool: "t", Args: json.RawMessage(`{"id":9007199254740993}`), Env: Env{Expand: true, Schema: true},
			Rule: "r", Outcome: Reduced, Result: json.RawMessage("{\"content\":[],\n\"structuredContent\":{\"a\":1.0}}"), Shown: result("cut"), Cut: Cut{Rows: 1}, Note: "note", Ref: "r_1", Faults: []string{"keep"}},
		{Kind: KindCall, At: 4, Done: 5, Server: "github", Tool: "t", Outcome: Error, Error: json.RawMessage(`{"code":-1}`), State: "end"},
	}
	for i := range events {
		w.Write(&events[i])
	}
	w.Close()
	w.Close()
	s, err := Load(w.Path())
	if err != nil || s.Torn || s.Skipped != 0 {
		t.Fatalf("%+v, %v", s, err)
	}
	h := Header{Version: 1, Spillway: "1.2.3", Server: "git/hub", Session: "ab12", Started: start, Rules: "d1", Client: Client{Name: "c", Revision: "2025-11-25", Era: "legacy", Expand: true}}
	if s.Header != h {
		t.Errorf("header %+v, want %+v", s.Header, h)
	}
	events[1].Result = json.RawMessage(`{"content":[], "structuredContent":{"a":1.0}}`)
	events[1].Before, events[1].After = Sizes{Structured: 9}, Sizes{Text: 3}
	events = append(events, Event{Kind: KindEnd, At: 1e6, Done: 1e6, Reason: "closed"})
	for i := range events {
		got, want := s.Events[i].AppendJSON(nil), events[i].AppendJSON(nil)
		if !bytes.Equal(got, want) {
			t.Errorf("event %d:\n%s, want\n%s", i, got, want)
		}
	}
	// Owner-only, whatever the umask.
	if runtime.GOOS != "windows" {
		for path, want := range map[string]fs.FileMode{dir: 0o700, w.Path(): 0o600} {
			if info, err := os.Stat(path); err != nil || info.Mode().Perm() != want {
				t.Errorf("%s: %v, want %o", path, info.Mode(), want)
			}
		}
	}
}

// A process that is killed leaves what it had written before.
func TestTornSessionCanBeRead(t *testing.T) {
	r, _ := open(t, Options{})
	w := r.Start(Header{Server: "s", Session: "x", Started: start})
	for i := range 50 {
		w.Write(&Event{Kind: KindCall, Server: "s", Tool: "t", Outcome: Passed, Result: result(strings.Repeat(fmt.Sprintf("line %d;", i*7919), 200))})
	}
	data, err := os.ReadFile(w.Path()) // not closed
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "torn.jsonl.zst")
	last := 51
	for cut := len(data); cut > len(data)/2; cut -= 97 {
		if err := os.WriteFile(path, data[:cut], 0o600); err != nil {
			t.Fatal(err)
		}
		s, err := Load(path)
		if err != nil || !s.Torn {
			t.Fatalf("cut at %d of %d: %+v, %v", cut, len(data), s, err)
		}
		if n := len(s.Events); n > last || n == 0 || cut == len(data) && n != 50 {
			t.Fatalf("cut at %d of %d: %d events, before %d", cut, len(data), n, last)
		}
		last = len(s.Events)
	}
	w.Close()
}

func TestLoadSaysWhatIsNoRecording(t *testing.T) {
	dir := t.TempDir()
	for text, want := range map[string]string{
		"":                                "empty",
		"hello":                           "not a recorded session",
		`{"kind":"call"}`:                 `has no "kind":"session"`,
		`{"kind":"session","version":99}`: "version 99",
	} {
		path := filepath.Join(dir, "x.jsonl")
		if err := os.WriteFile(path, []byte(text+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := Load(path); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
	s, err := Parse("x", []byte(`{"kind":"session","version":1}`+"\n\nnonsense\n"+`{"kind":"later","x":1}`+"\n"+`{"kind":"ca`))
	if err != nil || len(s.Events) != 1 || s.Skipped != 1 || !s.Torn {
		t.Errorf("%+v, %v", s, err)
	}
}

// The directory keeps its bound: the oldest sessions go, with what is declared
// of them, and so do those over their time.
func TestDirectoryIsBounded(t *testing.T) {
	now := start
	var mu sync.Mutex
	r, dir := open(t, Options{MaxBytes: 300_000, Keep: 24 * time.Hour, Now: func() time.Time { mu.Lock(); defer mu.Unlock(); return now }})
	chance := rand.New(rand.NewPCG(1, 2))
	var paths []string
	for i := range 12 {
		w := r.Start(Header{Server: "s", Session: fmt.Sprint("n", i), Started: now})
		for k := range 2 {
			w.Write(&Event{Kind: KindCall, Outcome: Passed, Result: result(fmt.Sprint(k) + noise(chance, 30_000))})
		}
		w.Close()
		paths = append(paths, w.Path())
		if err := os.WriteFile(DeclaredPaths(w.Path())[0], []byte("task: x\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(w.Path(), now, now); err != nil {
			t.Fatal(err)
		}
		now = now.Add(time.Hour)
	}
	r.Start(Header{Server: "s", Session: "last", Started: now}).Close()
	if size := sizeOf(t, dir); size > 300_000 {
		t.Errorf("%d bytes, over the bound", size)
	}
	if exists(paths[0]) || exists(DeclaredPaths(paths[0])[0]) || !exists(paths[11]) {
		t.Error("the oldest go first, with what is declared of them")
	}
	now = now.Add(48 * time.Hour)
	r.Start(Header{Server: "s", Session: "later", Started: now}).Close()
	if exists(paths[11]) {
		t.Error("a session over its time stays")
	}
}

// One session takes at most a quarter of the directory, and says that it ends.
func TestLongSessionEnds(t *testing.T) {
	r, _ := open(t, Options{MaxBytes: 1 << 20})
	w := r.Start(Header{Server: "s", Session: "x", Started: start})
	chance := rand.New(rand.NewPCG(1, 2))
	for i := range 40 {
		w.Write(&Event{Kind: KindCall, Outcome: Passed, Result: result(fmt.Sprint(i) + noise(chance, 40_000))})
	}
	w.Close()
	s, err := Load(w.Path())
	if err != nil {
		t.Fatal(err)
	}
	last := s.Events[len(s.Events)-1]
	if info, _ := os.Stat(w.Path()); last.Kind != KindEnd || last.Reason == "closed" || info.Size() > 400_000 {
		t.Errorf("%d events, the last %+v", len(s.Events), last)
	}
}

// noise is text that does not compress well.
func noise(r *rand.Rand, n int) string {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte('A' + r.IntN(26))
	}
	return string(b)
}

func exists(path string) bool { _, err := os.Stat(path); return err == nil }

func sizeOf(t *testing.T, dir string) (n int64) {
	t.Helper()
	all, err := filepath.Glob(filepath.Join(dir, "*"+extension))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range all {
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		n += info.Size()
	}
	return n
}

// A nil Writer drops every event, as of a session that is not recorded.
func TestNilWriter(t *testing.T) {
	var w *Writer
	w.Write(&Event{Kind: KindCall})
	w.Close()
	if w.Path() != "" || w.Since(start) != 0 {
		t.Error("a nil Writer has something")
	}
	var r *Recorder
	if r.Start(Header{}) != nil {
		t.Error("a nil Recorder starts sessions")
	}
}

// onDisk returns all that stands in a session's file.
func onDisk(t *testing.T, path string) string {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	d, err := zstd.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	var b bytes.Buffer
	if _, err := b.ReadFrom(d); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func BenchmarkWrite(b *testing.B) {
	dir := b.TempDir()
	r, err := Open(dir, Options{Log: slog.New(slog.DiscardHandler), MaxBytes: 1 << 40})
	if err != nil {
		b.Fatal(err)
	}
	w := r.Start(Header{Server: "s"})
	var rows []string
	for i := range 150 {
		rows = append(rows, fmt.Sprintf(`{"id":%d,"name":"service-%d","sha":"%x","url":"https://api.example.com/v1/things/%d"}`, i, i*7919, i*104729*7919, i))
	}
	e := Event{Kind: KindCall, Server: "s", Tool: "t", Outcome: Passed, Result: result("[" + strings.Join(rows, ",") + "]")}
	b.SetBytes(int64(len(e.Result)))
	b.ReportAllocs()
	for b.Loop() {
		w.Write(&e)
	}
	w.Close()
}
