package reduce

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"

	"github.com/spillway-mcp/spillway/internal/fixture"
)

// everythingOnce hashes what a few rules make of a few results.
func everythingOnce(t *testing.T) string {
	h := sha256.New()
	for _, rule := range []Rule{
		{MaxBytes: 900},
		{MaxBytes: 20_000, MaxRows: intp(7)},
		{Keep: "items[*].{all: @, keys: keys(@), values: values(repository)}", MaxBytes: 5_000},
		{Keep: "items[?score > `0`] | sort_by(@, &path)[*].{p: path, r: merge(repository, {x: `1`})}", MaxBytes: 5_000},
		{Keep: "{n: length(items), first: items[0]}", Always: []string{"a.b", "c"}, Strip: []string{"base64"}},
	} {
		r := mustCompile(t, rule)
		for _, result := range [][]byte{
			fixture.Result(fixture.CodeSearch(30), fixture.Options{}),
			fixture.Result(fixture.Releases(5, 1), fixture.Options{NoData: true}),
			textResult(lines(500)),
			textResult(rowsOf(40, 500)),
		} {
			o := r.Reduce(result, Env{Expand: "reducer_expand", Schema: true, ResourceLink: true})
			fmt.Fprintf(h, "%s\n%s\n%+v\n%q\n", o.Result, o.Note, o.Cut, o.Faults)
			if o.Ref == "" {
				continue
			}
			back, err := r.Expand(result, ExpandRequest{Ref: o.Ref, Query: "keys(@)"}, 0)
			fmt.Fprintf(h, "%s %v\n", back, err)
		}
	}
	return hex.EncodeToString(h.Sum(nil))
}

func TestRED42_SameBytesInEveryProcessAndUnderLoad(t *testing.T) {
	const child = "SPILLWAY_TEST_PRINT_HASH"
	got := everythingOnce(t)
	if os.Getenv(child) != "" {
		fmt.Println("hash " + got)
		return
	}
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			if again := everythingOnce(t); again != got {
				t.Errorf("side by side: %s, then %s", got, again)
			}
		})
	}
	wg.Wait()
	for range 3 {
		cmd := exec.Command(os.Args[0], "-test.run=^"+t.Name()+"$")
		cmd.Env = append(os.Environ(), child+"=1")
		out, err := cmd.CombinedOutput()
		if err != nil || !strings.Contains(string(out), "hash "+got+"\n") {
			t.Fatalf("another process: %v\n%s", err, out)
		}
	}
}
