package schema_test

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/spillway-mcp/spillway/internal/jmespath"
	"github.com/spillway-mcp/spillway/internal/jsontape"
	"github.com/spillway-mcp/spillway/internal/schema"
)

// allListed hashes the schemas that are listed for the upstream schemas of all
// golden files under one sharp rule.
func allListed(t *testing.T) string {
	keep, err := jmespath.Compile("items[*].{id: id, all: @, rest: merge(@, {x: `1`})}")
	if err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob("testdata/listed/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatal("no golden files", err)
	}
	h := sha256.New()
	for _, file := range files {
		a, err := txtar.ParseFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range a.Files {
			d, err := jsontape.Parse(f.Data)
			if err != nil {
				continue
			}
			for _, modern := range []bool{false, true} {
				fmt.Fprintf(h, "%s\n", schema.RewriteOutput(d.Root(), schema.Options{Keep: keep, HasRows: true, MaxBytes: true, Strip: true, Modern: modern}))
			}
		}
	}
	return hex.EncodeToString(h.Sum(nil))
}

// What is listed has the same bytes twenty times, for two who list at once, and
// after a restart.
func TestK43_K10_RED39_RED42_ListedSchemasNeverVary(t *testing.T) {
	const child = "SPILLWAY_TEST_PRINT_HASH"
	got := allListed(t)
	if os.Getenv(child) != "" {
		fmt.Println("hash " + got)
		return
	}
	var wg sync.WaitGroup
	for range 2 {
		wg.Go(func() {
			for range 10 {
				if again := allListed(t); again != got {
					t.Errorf("%s, then %s", got, again)
				}
			}
		})
	}
	wg.Wait()
	cmd := exec.Command(os.Args[0], "-test.run=^"+t.Name()+"$")
	cmd.Env = append(os.Environ(), child+"=1")
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "hash "+got+"\n") {
		t.Fatalf("after a restart: %v\n%s", err, out)
	}
}
