package peertest

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

var refPattern = regexp.MustCompile(`r_[0-9a-f]{12}`)

// A result of a real server is cut, Spillway is killed, and the ref that it
// printed gives the same bytes back: on the command line, and to the next
// session.
func TestK30_RED22_RED24_RED42_RefOutlivesTheProcess(t *testing.T) {
	need(t)
	dir := t.TempDir()
	work := filepath.Join(dir, "work")
	if err := os.MkdirAll(work, 0o755); err != nil {
		t.Fatal(err)
	}
	var text strings.Builder
	for i := range 5000 {
		text.WriteString("line " + strconv.Itoa(i+1) + " – größer als der Rahmen\n")
	}
	path := filepath.Join(work, "lines.txt")
	if err := os.WriteFile(path, []byte(text.String()), 0o644); err != nil {
		t.Fatal(err)
	}
	argv := server(t, "filesystem", work)
	read := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"read_text_file","arguments":{"path":"` + path + `"}}}` + "\n"

	direct := start(t, dir, argv...)
	direct.initialize("2025-11-25", `{}`)
	direct.send(read)
	want := resultOf(t, direct.answer(`1`))
	direct.stop()

	first := start(t, dir, run(t, "filesystem", "", argv...)...)
	first.initialize("2025-11-25", `{}`)
	first.send(`{"jsonrpc":"2.0","id":"tools","method":"tools/list"}` + "\n")
	first.answer(`"tools"`)
	first.send(read)
	cut := first.answer(`1`)
	first.cmd.Process.Kill()
	ref := refPattern.FindString(cut)
	if ref == "" || len(cut) > 50_000 {
		t.Fatalf("want a cut result with a ref, got %d bytes: %.300s", len(cut), cut)
	}

	cmd := exec.Command(spillway(t), "stash", "expand", ref, "--raw")
	cmd.Env = isolated(t, dir)
	raw, err := cmd.Output()
	if err != nil {
		t.Fatalf("stash expand %s --raw: %v", ref, err)
	}
	if strings.TrimSuffix(string(raw), "\n") != string(want) {
		t.Errorf("the stash gives other bytes than the server: %d and %d", len(raw), len(want))
	}

	next := start(t, dir, run(t, "filesystem", "", argv...)...)
	next.initialize("2025-11-25", `{}`)
	next.send(`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"reducer_expand","arguments":{"ref":"` + ref + `","lines":"4999-5000"}}}` + "\n")
	var result struct {
		Content []struct{ Text string }
		IsError bool
	}
	if err := json.Unmarshal(resultOf(t, next.answer(`2`)), &result); err != nil {
		t.Fatal(err)
	}
	if got, want := result.Content[0].Text, "line 4999 – größer als der Rahmen\nline 5000 – größer als der Rahmen\n"; got != want || result.IsError {
		t.Errorf("lines 4999-5000 = %q, want %q", got, want)
	}
	// The same result has the same ref in any process.
	next.send(read)
	if again := next.answer(`1`); again != cut {
		t.Errorf("the next process cuts the same result to other bytes:\n%.300s\n%.300s", again, cut)
	}
}

// resultOf returns the raw result of a response line.
func resultOf(t *testing.T, line string) json.RawMessage {
	t.Helper()
	var m message
	if err := json.Unmarshal([]byte(line), &m); err != nil {
		t.Fatal(err)
	}
	if m.Result == nil {
		t.Fatalf("no result: %.300s", line)
	}
	return m.Result
}
