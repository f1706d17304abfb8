package ledger

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

func logTo(b *bytes.Buffer) *slog.Logger { return slog.New(slog.NewTextHandler(b, nil)) }

func readLines(t *testing.T, path string) (lines []Line) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(data)) {
		var l Line
		if err := json.Unmarshal([]byte(line), &l); err != nil {
			t.Fatalf("line %d: %v in %q", len(lines)+1, err, line)
		}
		lines = append(lines, l)
	}
	return lines
}

func TestRED45_OwnerOnly(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("Windows has no permission bits")
	}
	dir := t.TempDir()
	path := filepath.Join(dir, "a", "b", "ledger.jsonl")
	w, err := Open(path, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	for p, want := range map[string]fs.FileMode{path: 0o600, filepath.Dir(path): fs.ModeDir | 0o700, filepath.Join(dir, "a"): fs.ModeDir | 0o700} {
		info, err := os.Stat(p)
		if err != nil || info.Mode() != want {
			t.Errorf("%s: %v %v, want %v", p, info.Mode(), err, want)
		}
	}
}

func TestRED48_NilAndClosedWritersDropLines(t *testing.T) {
	var none *Writer
	none.Write(&Line{})
	if err := none.Close(); err != nil {
		t.Error(err)
	}
	path := filepath.Join(t.TempDir(), "l")
	w, err := Open(path, nil)
	if err != nil {
		t.Fatal(err)
	}
	w.Write(&Line{Tool: "a"})
	for range 2 {
		if err := w.Close(); err != nil {
			t.Error(err)
		}
	}
	w.Write(&Line{Tool: "b"})
	if got := readLines(t, path); len(got) != 1 || got[0].Tool != "a" || got[0].TS.IsZero() {
		t.Errorf("got %+v, want the line before Close, with its time", got)
	}
}

func TestRED48_FullDiskIsReportedOnceAndOver(t *testing.T) {
	if _, err := os.Stat("/dev/full"); err != nil {
		t.Skip("this system has no /dev/full")
	}
	dir := t.TempDir()
	path := filepath.Join(dir, "ledger.jsonl")
	if err := os.Symlink("/dev/full", path); err != nil {
		t.Fatal(err)
	}
	var log bytes.Buffer
	w, err := Open(path, logTo(&log))
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	for range 5 {
		w.Write(&Line{Tool: "lost"})
	}
	if n := strings.Count(log.String(), "\n"); n != 1 || !strings.Contains(log.String(), "no space left") {
		t.Errorf("five lost lines gave %d reports: %s", n, log.String())
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	w.Write(&Line{Tool: "kept"})
	w.Write(&Line{Tool: "kept"})
	if n := strings.Count(log.String(), "\n"); n != 2 || !strings.Contains(log.String(), "lost=5") {
		t.Errorf("want one more report, of five lost lines: %s", log.String())
	}
	if got := readLines(t, path); len(got) != 2 {
		t.Errorf("got %d lines, want 2", len(got))
	}
}

// shortFile takes a few bytes and is full, then has room again.
type shortFile struct {
	file
	room int
}

func (f *shortFile) Write(b []byte) (int, error) {
	if f.room < 0 {
		return f.file.Write(b)
	}
	n, _ := f.file.Write(b[:min(f.room, len(b))])
	f.room = -1
	return n, errors.New("no space left on device")
}

func TestRED48_HalfWrittenLineSpoilsNoOther(t *testing.T) {
	path := filepath.Join(t.TempDir(), "l")
	w, err := Open(path, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	w.Write(&Line{Event: EventCall, Tool: "a"})
	w.file = &shortFile{w.file, 20}
	w.Write(&Line{Event: EventCall, Tool: "half"})
	w.Write(&Line{Event: EventCall, Tool: "b"})
	w.Close()

	// Another process was killed within its line.
	f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	f.WriteString(`{"ts":"2026`)
	f.Close()
	w, err = Open(path, nil)
	if err != nil {
		t.Fatal(err)
	}
	w.Write(&Line{Event: EventCall, Tool: "c"})
	w.Close()

	r, err := Stats(path)
	if err != nil {
		t.Fatal(err)
	}
	if r.All.Calls != 3 || r.Skipped != (Skipped{Unreadable: 2}) {
		t.Errorf("got %d calls, skipped %+v; want 3 calls and two unreadable lines", r.All.Calls, r.Skipped)
	}
}

func TestRED48_RotatedFileIsStartedAgain(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("an open file cannot be moved on Windows")
	}
	path := filepath.Join(t.TempDir(), "l")
	w, err := Open(path, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	w.Write(&Line{Tool: "old"})
	if err := os.Rename(path, path+".1"); err != nil {
		t.Fatal(err)
	}
	w.Write(&Line{Tool: "new"})
	if got := readLines(t, path); len(got) != 1 || got[0].Tool != "new" {
		t.Errorf("got %+v", got)
	}
}

// countedFile counts its writes.
type countedFile struct {
	file
	writes int
}

func (f *countedFile) Write(b []byte) (int, error) {
	f.writes++
	return f.file.Write(b)
}

func TestRED48_GatheredLinesAreOneWrite(t *testing.T) {
	const d = 20 * time.Millisecond
	path := filepath.Join(t.TempDir(), "l")
	synctest.Test(t, func(t *testing.T) {
		w, err := Open(path, slog.New(slog.DiscardHandler))
		if err != nil {
			t.Fatal(err)
		}
		w.Gather(d)
		count := &countedFile{file: w.file}
		w.file = count
		check := func(when string, lines, writes int) {
			t.Helper()
			synctest.Wait()
			w.mu.Lock()
			defer w.mu.Unlock()
			if got := len(readLines(t, path)); got != lines || count.writes != writes {
				t.Errorf("%s: %d lines in %d writes, want %d in %d", when, got, count.writes, lines, writes)
			}
		}
		line := func(n int) {
			for range n {
				w.Write(&Line{Event: EventCall, Tool: "t"})
			}
		}
		line(1)
		check("the first line", 1, 1)
		line(3)
		check("lines close behind it", 1, 1)
		time.Sleep(d)
		check("after a while", 4, 2)
		line(1)
		time.Sleep(3 * d)
		check("and again", 5, 3)
		line(1)
		check("the first line after a pause", 6, 4)
		line(1000)
		if got := len(readLines(t, path)); got < 700 || got == 1006 {
			t.Errorf("many lines at once: %d are there, want nearly all", got)
		}
		w.Close()
		if got := len(readLines(t, path)); got != 1006 {
			t.Errorf("Close left out %d lines", 1006-got)
		}
	})
}

func TestRED48_LostLinesAreCountedWithinOneWrite(t *testing.T) {
	path := filepath.Join(t.TempDir(), "l")
	var log bytes.Buffer
	synctest.Test(t, func(t *testing.T) {
		w, err := Open(path, logTo(&log))
		if err != nil {
			t.Fatal(err)
		}
		defer w.Close()
		w.Gather(time.Second)
		w.Write(&Line{Event: EventCall, Tool: "kept"})
		first, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		w.file = &shortFile{w.file, len(first) + 20} // one line and some of the next
		for range 4 {
			w.Write(&Line{Event: EventCall, Tool: "four"})
		}
		time.Sleep(time.Second)
		synctest.Wait()
		w.Write(&Line{Event: EventCall, Tool: "kept"})
		time.Sleep(time.Second)
		synctest.Wait()
	})
	if !strings.Contains(log.String(), "lost=3") {
		t.Errorf("want a report of three lost lines: %s", log.String())
	}
	r, err := Stats(path)
	if err != nil || r.All.Calls != 3 || r.Skipped != (Skipped{Unreadable: 1}) {
		t.Errorf("got %d calls, skipped %+v, %v; want 3 calls and one unreadable line", r.All.Calls, r.Skipped, err)
	}
}

func TestRED45_ManyWritersDoNotMix(t *testing.T) {
	path := filepath.Join(t.TempDir(), "l")
	w, err := Open(path, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	var wg sync.WaitGroup
	for range 3 { // processes
		wg.Go(func() {
			if out, err := helper(path, "500").CombinedOutput(); err != nil {
				t.Errorf("%v: %s", err, out)
			}
		})
	}
	for range 4 { // goroutines
		wg.Go(func() {
			for range 250 {
				w.Write(&Line{Event: EventCall, Tool: "t"})
			}
		})
	}
	wg.Wait()
	if got := len(readLines(t, path)); got != 3*500+4*250 {
		t.Errorf("got %d lines, want %d", got, 3*500+4*250)
	}
}

func TestRED48_KilledProcessLeavesItsLines(t *testing.T) {
	path := filepath.Join(t.TempDir(), "l")
	cmd := helper(path, "0")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	said := 0
	for s := bufio.NewScanner(out); s.Scan(); {
		if said++; said == 200 {
			cmd.Process.Kill()
		}
	}
	cmd.Wait()
	if got := len(readLines(t, path)); got < said {
		t.Errorf("the process had written %d lines when it was killed, %d are there", said, got)
	}
}

// helper is this test as another process that writes n lines, or endless ones
// that it tells of.
func helper(path, n string) *exec.Cmd {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "LEDGER_HELPER="+path, "LEDGER_LINES="+n)
	return cmd
}

func TestMain(m *testing.M) {
	path := os.Getenv("LEDGER_HELPER")
	if path == "" {
		os.Exit(m.Run())
	}
	w, err := Open(path, nil)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	var n int
	fmt.Sscan(os.Getenv("LEDGER_LINES"), &n)
	for i := 0; n == 0 || i < n; i++ {
		w.Write(&Line{Event: EventCall, Server: "s", Tool: "t", Session: fmt.Sprint("p", os.Getpid())})
		if n == 0 {
			if _, err := fmt.Println(i); err != nil {
				break
			}
		}
	}
}
