package operation

import (
	"flag"
	"os"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// What is wrong with a file is said where it stands, with what is allowed and
// the likely word; what is only not meant is a warning.
func TestFaultsAndWarningsHavePositions(t *testing.T) {
	const path = "testdata/faults.txtar"
	archive, err := txtar.ParseFile(path)
	if err != nil {
		t.Fatal(err)
	}
	unset := func(string) (string, bool) { return "", false }
	for i := 0; i+1 < len(archive.Files); i += 2 {
		in, want := archive.Files[i], &archive.Files[i+1]
		set, err := Parse(in.Name, in.Data, Options{Lookup: unset, ServerNames: []string{"gh"}})
		var got string
		switch {
		case err != nil:
			got = err.Error() + "\n"
		case len(set.Warnings) > 0:
			got = set.Warnings.Error() + "\n"
		}
		if got == "" {
			t.Errorf("%s: nothing is said", in.Name)
		}
		if got != string(want.Data) && !*update {
			t.Errorf("%s:\n%s\nwant:\n%s", in.Name, got, want.Data)
		}
		if !strings.HasPrefix(got, in.Name+":") {
			t.Errorf("%s: no position in %q", in.Name, got)
		}
		want.Data = []byte(got)
	}
	if *update {
		if err := os.WriteFile(path, txtar.Format(archive), 0o666); err != nil {
			t.Fatal(err)
		}
	}
}

// An empty file is one that is being written, not one without operations.
func TestAnEmptyFileIsAFault(t *testing.T) {
	for _, text := range []string{"", " \n\n"} {
		if _, err := Parse("operations.yaml", []byte(text), Options{}); err == nil || !strings.Contains(err.Error(), "operations: {}") {
			t.Errorf("%q: %v", text, err)
		}
	}
	set, err := Parse("operations.yaml", []byte("operations: {}\n"), Options{})
	if err != nil || len(set.Definitions) != 0 {
		t.Errorf("said so: %v %v", set, err)
	}
}
