package demo_test

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/spillway-mcp/spillway/internal/demo"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// The page is read by people, so it is held as it is, up to the ledger's line, which differs from run to run.
func TestPage(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	temp := t.TempDir()
	t.Setenv(asSpillway, "1")
	t.Setenv("TMPDIR", temp)
	t.Setenv("TMP", temp)
	elsewhere := filepath.Join(t.TempDir(), "mine") // a person's own places are not touched
	for _, name := range []string{"SPILLWAY_CONFIG", "SPILLWAY_RULES", "SPILLWAY_STASH", "SPILLWAY_LEDGER"} {
		t.Setenv(name, elsewhere)
	}
	var out bytes.Buffer
	said, err := os.Create(filepath.Join(t.TempDir(), "stderr"))
	if err != nil {
		t.Fatal(err)
	}
	defer said.Close()
	if err := demo.Run(t.Context(), demo.Options{Spillway: self, Serve: "__demo-server", Version: "1", Out: &out, Err: said}); err != nil {
		t.Error(err)
	}
	if talk, err := os.ReadFile(said.Name()); err != nil || len(talk) > 0 {
		t.Errorf("it says %q, %v", talk, err)
	}
	for line := range strings.Lines(out.String()) {
		if n := utf8.RuneCountInString(line); n > 100 {
			t.Errorf("a line of %d characters: %s", n, line)
		}
	}
	if left, err := os.ReadDir(temp); err != nil || len(left) > 0 {
		t.Errorf("it leaves %v behind, %v", left, err)
	}

	if _, err := os.Stat(elsewhere); err == nil {
		t.Error("it writes to the person's own stash or ledger")
	}

	page, rest, _ := strings.Cut(out.String(), "4. The ledger")
	golden := filepath.Join("testdata", "page.txt")
	if *update {
		if err := os.WriteFile(golden, []byte(page), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if page != string(want) {
		t.Errorf("the page differs from %s; look at it and run with -update:\n%s", golden, page)
	}
	for _, pattern := range []string{`"event":"call"`, `"tool":"search_code"`, `"tokens_in":[1-9]`, `"estimator":"cl100k_base"`, `"stash":"r_[0-9a-f]{12}"`} {
		if !regexp.MustCompile(pattern).MatchString(rest) {
			t.Errorf("the ledger's line lacks %s: %s", pattern, rest)
		}
	}
}
