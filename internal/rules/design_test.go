package rules

import (
	_ "embed"
	"slices"
	"testing"

	"github.com/spillway-mcp/spillway/internal/jsontape"
	"github.com/spillway-mcp/spillway/reduce"
)

// designFile is the rules file that the design promises to take as it stands.
//
//go:embed testdata/design.yaml
var designFile []byte

func TestDesignFileWorksAsWritten(t *testing.T) {
	set, err := Parse("rules.yaml", designFile)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := set.Servers(), []string{"github", "filesystem", "postgres"}; !slices.Equal(got, want) {
		t.Errorf("servers %q, want %q", got, want)
	}
	always := []string{"total_count", "incomplete_results", "next_cursor", "truncated"}
	rule := func(server, tool string) reduce.Rule {
		v := set.For(server, tool).Pick(jsontape.Value{})
		if v == nil {
			t.Fatalf("%s %s has no rule", server, tool)
		}
		r := v.Reducer.Rule()
		if r.MaxBytes != 20_000 || !slices.Equal(r.Always, always) {
			t.Errorf("%s %s inherits max_bytes %d, always %q", server, tool, r.MaxBytes, r.Always)
		}
		return r
	}
	search := rule("github", "search_code")
	if search.Keep != "items[*].{repo: repository.full_name, path: path, url: html_url}" || search.MaxRows == nil || *search.MaxRows != 25 {
		t.Errorf("search_code: %+v", search)
	}
	if r := rule("filesystem", "read_file"); !slices.Equal(r.Strip, []string{"image", "blob"}) {
		t.Errorf("read_file strips %q", r.Strip)
	}
	if r := rule("postgres", "query"); r.MaxRows == nil || *r.MaxRows != 100 {
		t.Errorf("query: %+v", r)
	}
	for _, other := range []reduce.Rule{rule("github", "get_me"), rule("elsewhere", "search_code")} {
		if other.Keep != "" || other.MaxRows != nil {
			t.Errorf("only the default holds, got %+v", other)
		}
	}
	if !set.Names("postgres") || set.Names("elsewhere") {
		t.Error("Names does not tell which servers the file names")
	}
}
