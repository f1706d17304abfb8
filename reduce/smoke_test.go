package reduce

import (
	"fmt"
	"os"
	"testing"

	"github.com/spillway-mcp/spillway/internal/fixture"
)

func TestSmoke(t *testing.T) {
	n := 25
	r, err := Compile(Rule{Keep: "items[*].{repo: repository.full_name, path: path, url: html_url}", MaxRows: &n, MaxBytes: 20000})
	if err != nil {
		t.Fatal(err)
	}
	_ = r
	res := fixture.Result(fixture.CodeSearch(100), fixture.Options{})
	o := r.Reduce(res, Env{Expand: "reducer_expand"})
	fmt.Println(o.Err, o.Faults, o.Note, o.Before, o.After, o.Cut, len(res), len(o.Result))
	os.Stdout.Write(o.Result[:min(3000, len(o.Result))])
}
