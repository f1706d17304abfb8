package schema_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/spillway-mcp/spillway/internal/jsontape"
	"github.com/spillway-mcp/spillway/internal/schema"
	"github.com/spillway-mcp/spillway/internal/schema/schematest"
	"github.com/spillway-mcp/spillway/reduce"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// rules is what a golden file has under "rules": one rule, or several that the
// arguments choose from.
type rules struct {
	Modern bool
	Rules  []reduce.Rule
}

func (r rules) options() []schema.Options {
	var opts []schema.Options
	for _, rule := range r.Rules {
		opts = append(opts, schematest.Options(rule, r.Modern))
	}
	return opts
}

// Each file of testdata/listed is one case: what it shows, the rules, the
// upstream's schema, and the schema that is listed.
func TestListed(t *testing.T) {
	files, err := filepath.Glob("testdata/listed/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatal("no golden files: ", err)
	}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".txtar")
		t.Run(name, func(t *testing.T) {
			a, err := txtar.ParseFile(file)
			if err != nil {
				t.Fatal(err)
			}
			parts := map[string][]byte{}
			for _, f := range a.Files {
				parts[f.Name] = f.Data
			}
			var r rules
			dec := json.NewDecoder(bytes.NewReader(parts["rules"]))
			dec.DisallowUnknownFields()
			if err := dec.Decode(&r); err != nil {
				t.Fatal("rules: ", err)
			}
			doc, err := jsontape.Parse(parts["upstream"])
			if err != nil {
				t.Fatal("upstream: ", err)
			}
			listed := schema.RewriteOutput(doc.Root(), r.options()...)
			if bytes.Equal(listed, doc.Root().Raw()) {
				if !schemaKept(r) {
					t.Error("the schema is the upstream's own")
				}
			} else {
				checkListed(t, listed, r.Modern)
			}
			if err := again(doc.Root(), r, listed); err != "" {
				t.Error(err)
			}
			var pretty bytes.Buffer
			if schemaKept(r) {
				pretty.Write(listed)
			} else if err := json.Indent(&pretty, listed, "", "  "); err != nil {
				t.Fatal(err)
			}
			pretty.WriteByte('\n')
			if *update {
				writeGolden(t, file, a, pretty.Bytes())
				return
			}
			if !bytes.Equal(parts["listed"], pretty.Bytes()) {
				t.Errorf("listed schema differs (go test ./internal/schema -update rewrites it):\n%s", pretty.Bytes())
			}
		})
	}
}

func writeGolden(t *testing.T, file string, a *txtar.Archive, listed []byte) {
	kept := a.Files[:0]
	for _, f := range a.Files {
		if f.Name != "listed" {
			kept = append(kept, f)
		}
	}
	a.Files = append(kept, txtar.File{Name: "listed", Data: listed})
	if err := os.WriteFile(file, txtar.Format(a), 0o644); err != nil {
		t.Fatal(err)
	}
}

// schemaKept reports that no rule changes structuredContent.
func schemaKept(r rules) bool {
	for _, opt := range r.options() {
		if schema.Changes(opt) {
			return false
		}
	}
	return true
}

// again runs the rewrite once more: the same bytes every time (RED-39).
func again(upstream jsontape.Value, r rules, listed []byte) string {
	for range 5 {
		if !bytes.Equal(listed, schema.RewriteOutput(upstream, r.options()...)) {
			return "not the same bytes every time"
		}
	}
	return ""
}

// checkListed holds a listed schema to what clients ask of one (K12).
func checkListed(t *testing.T, listed []byte, modern bool) {
	t.Helper()
	doc, err := jsontape.Parse(listed)
	if err != nil {
		t.Fatalf("%v: %s", err, listed)
	}
	root := doc.Root()
	if !modern && !root.Get("type").Is("object") {
		t.Errorf("the root's type is not object: %s", listed)
	}
	if root.Get("$id").Exists() {
		t.Errorf("the root keeps its $id: %s", listed)
	}
	noBooleans(t, root)
	if !bytes.Contains(listed, []byte("example.com/")) && !bytes.Contains(listed, []byte(`"pattern":"("`)) {
		if _, err := schematest.Compile(listed, ""); err != nil {
			t.Errorf("%v: %s", err, listed)
		}
	}
}

// noBooleans fails for a boolean among properties, and where a keyword has one
// schema, but for those in which a boolean is usual.
func noBooleans(t *testing.T, v jsontape.Value) {
	for it := v.Iter(); it.Next(); {
		if k := it.Value().Kind(); (k == jsontape.True || k == jsontape.False) && slices.Contains([]string{"items", "contains", "not", "propertyNames", "if", "then", "else"}, it.Key().Str()) {
			t.Errorf("%s is a boolean", it.Key().Raw())
		}
		if it.Key().Is("properties") {
			for p := it.Value().Iter(); p.Next(); {
				if k := p.Value().Kind(); k == jsontape.True || k == jsontape.False {
					t.Errorf("property %s is a boolean", p.Key().Raw())
				}
			}
		}
		noBooleans(t, it.Value())
	}
}
