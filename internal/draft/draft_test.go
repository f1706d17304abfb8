package draft

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spillway-mcp/spillway/internal/fixture"
	"github.com/spillway-mcp/spillway/internal/rules"
	"github.com/spillway-mcp/spillway/reduce"
)

var update = flag.Bool("update", false, "rewrite the golden files")

func text(s string) []byte { return fixture.TextResult(s) }

// A draft is read by people and by package rules, so it is held word for word
// and has to load.
func TestDraft(t *testing.T) {
	rows := func(n int, row string) string {
		return "{\"items\":[" + strings.TrimSuffix(strings.Repeat(row+",", n), ",") + "],\"as_of\":\"2026-11-30\",\"total_count\":9}"
	}
	var ids []string
	for i := range 30 {
		ids = append(ids, fmt.Sprintf(`{"id":%d,"node id":"x%d","state":"open","avatar_url":"https://e/%d","gone":null,"user":{"login":"u%d","url":"https://u/%d"}}`, i, i, i, i%3, i))
	}
	mirrored := func(s string) []byte {
		return fmt.Appendf(nil, `{"content":[{"type":"text","text":%[1]q}],"structuredContent":{"content":%[1]q}}`, s)
	}
	nested := `[{"name":"a","children":[` + strings.Repeat(`{"name":"one of many files"},`, 200) + `{"name":"z"}]},{"name":"b","children":[]}]`
	tree := "[" + strings.Join(ids, ",") + "]"
	for name, in := range map[string]Input{
		// as the reference filesystem server sends JSON: as a string inside structuredContent
		"string": {Server: "s", Tool: "tree", Results: [][]byte{fmt.Appendf(nil, `{"content":[{"type":"text","text":%[1]q}],"structuredContent":{"content":%[1]q}}`, tree)}},
		"search": {Server: "github", Tool: "search_code", Results: [][]byte{fixture.Result(fixture.CodeSearch(40), fixture.Options{})}},
		"small":  {Server: "my server", Tool: "a.list", Results: [][]byte{text(rows(4, `{"id":7,"same":"x"}`)), text(`{"items":[]}`)}},
		"array":  {Server: "s", Tool: "t", Results: [][]byte{text("[" + strings.Join(ids, ",") + "]")}, Needed: map[string]int{"[*].state": 3}},
		"beside": {Server: "s", Tool: "graph", Results: [][]byte{text(`{"entities":` + tree + `,"relations":[],"of":7}`)}},
		"logs":   {Server: "s", Tool: "on", Results: [][]byte{text(strings.Repeat("a line of a log\n", 2000))}},
		// a reader of files: text, and now and then a file that is JSON; results of several kinds; rows within rows
		"files":   {Server: "fs", Tool: "read", Results: [][]byte{mirrored("a line\n"), mirrored("another\n"), mirrored(tree)}},
		"mixed":   {Server: "s", Tool: "read", Results: [][]byte{text(`[{"sha":"a","message":"one"},{"sha":"b","message":"two"}]`), text(`[{"file":"a.go","patch":"+1"},{"file":"b.go","patch":"-1"}]`)}},
		"nested":  {Server: "s", Tool: "tree", Results: [][]byte{text(nested)}},
		"used":    {Server: "s", Tool: "tree", Results: [][]byte{text(nested)}, Needed: map[string]int{"[*].children[*].name": 1}},
		"picture": {Server: "s", Tool: "shot", Results: [][]byte{[]byte(`{"content":[{"type":"image","mimeType":"image/png","data":"` + strings.Repeat("iVBORw0K", 50) + `"}]}`)}},
	} {
		got, err := Rule(in)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if _, err := rules.Parse("draft.yaml", got); err != nil {
			t.Errorf("%s does not load: %v", name, err)
		}
		if !strings.HasPrefix(string(got), "# DRAFT, NOT REVIEWED.") {
			t.Errorf("%s is not marked", name)
		}
		path := filepath.Join("testdata", name+".yaml")
		if *update {
			if err := os.WriteFile(path, got, 0o666); err != nil {
				t.Fatal(err)
			}
		}
		if want, err := os.ReadFile(path); err != nil || string(want) != string(got) {
			t.Errorf("%s differs; write it with -update:\n%s", path, got)
		}
	}
}

// A name that a rules file reads as something else cannot have a rule.
func TestDraftRefusesWhatItCannotName(t *testing.T) {
	for _, tool := range []string{"default", "get_*"} {
		if _, err := Rule(Input{Server: "s", Tool: tool, Results: [][]byte{text("[]")}}); err == nil {
			t.Errorf("a draft for a tool named %q", tool)
		}
	}
	if _, err := Rule(Input{Server: "s", Tool: "t"}); err == nil {
		t.Error("a draft from nothing")
	}
}

// A draft never costs what the results had: what it keeps is in them.
func TestDraftKeepsTheColumnsThatWereUsed(t *testing.T) {
	results := [][]byte{fixture.Result(fixture.CodeSearch(40), fixture.Options{})}
	got, err := Rule(Input{Server: "github", Tool: "search_code", Results: results, Needed: map[string]int{"items[*].node_id": 1}})
	if err != nil {
		t.Fatal(err)
	}
	set, err := rules.Parse("draft.yaml", got)
	if err != nil {
		t.Fatal(err)
	}
	out := set.For("github", "search_code").Variants[0].Reducer.Reduce(results[0], reduce.Env{Expand: "reducer_expand"})
	if len(out.Faults) > 0 || !strings.Contains(string(out.Result), "node_id") || out.After.Text >= out.Before.Text/5 {
		t.Errorf("faults %v, %d of %d bytes", out.Faults, out.After.Text, out.Before.Text)
	}
}
