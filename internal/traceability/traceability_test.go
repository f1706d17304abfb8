package traceability

import (
	"flag"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

var update = flag.Bool("update", false, "rewrite "+Page)

const root = "../.."

func TestEveryStatementHasATest(t *testing.T) {
	statements, err := ReadStatements(root)
	if err != nil {
		t.Fatal(err)
	}
	tests, err := Scan(root)
	if err != nil {
		t.Fatal(err)
	}
	exclusions, err := ReadExclusions(root)
	if err != nil {
		t.Fatal(err)
	}
	if len(statements) < 40 || len(tests) < 40 {
		t.Fatalf("%d statements and %d numbers in tests were found; the forms that are looked for have changed", len(statements), len(tests))
	}
	for _, f := range Faults(statements, tests, exclusions) {
		t.Error(f)
	}
	got := Markdown(statements, tests, exclusions)
	file := filepath.Join(root, filepath.FromSlash(Page))
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o666); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(file)
	if err != nil || string(want) != got {
		t.Errorf("%s is not up to date (%v): go test ./internal/traceability -update", Page, err)
	}
}

func TestIDsIn(t *testing.T) {
	for _, c := range []struct {
		in   string
		want []ID
	}{
		{"TestRED22_RefIsOfCanonicalContent", []ID{"RED-22"}},
		{"TestRED06MatchOrder", []ID{"RED-06"}},
		{"TestK13_RED49_WriteOfWhatWasCut", []ID{"K13", "RED-49"}},
		{"TestK22_K24_K64_RawBytes", []ID{"K22", "K24", "K64"}},
		{"RED-05 K15 an empty result", []ID{"RED-05", "K15"}},
		{"are one shape (K15, RED_05, RED-05).", []ID{"K15", "RED-05"}},
		{"C-07 a claim", []ID{"C-07"}},
		{"16K20 and SHAK12 and K123", []ID{"K123"}},
		{"TestReducerKeepsOrder", nil},
	} {
		if got := IDsIn(c.in); !slices.Equal(got, c.want) {
			t.Errorf("%q: %q, want %q", c.in, got, c.want)
		}
	}
}

func TestStatements(t *testing.T) {
	got := Statements("d", "- **RED-01** These pass\n  whole. And more.\n- **RED-29** to **RED-37** are elsewhere\n| K05 | one `long` string | shortened |\n| id | input |\nSee **RED-02**.\n")
	want := []Statement{{"RED-01", "These pass whole. And more.", "d"}, {"K05", "one `long` string", "d"}}
	if !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
}

func TestFaults(t *testing.T) {
	statements := []Statement{{"RED-01", "tested", "d"}, {"RED-02", "excluded", "d"}, {"RED-03", "neither", "d"}, {"RED-04", "both", "d"}}
	tests := map[ID][]Test{"RED-01": {{"p", "TestRED01"}}, "RED-04": {{"p", "TestRED04"}}}
	exclusions := map[ID]string{"RED-02": "why", "RED-04": "why", "RED-99": "why"}
	got := Faults(statements, tests, exclusions)
	want := []string{
		"RED-03 of d has neither a test that names it nor an exclusion with a reason",
		"RED-04 is excluded in docs/traceability-exclusions.md, but p: TestRED04 tests it: take the exclusion out",
		"docs/traceability-exclusions.md excludes RED-99, which no document states",
	}
	if !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
}

func TestWhatCountsAsATest(t *testing.T) {
	source := "package p\n" +
		"func TestRED01_A(t *testing.T) {\n" +
		"\tt.Run(\"K02 b \"+name, func(t *testing.T) { t.Fatal(\"RED-19: an error is no test\") })\n" +
		"\tfor _, c := range []struct{ name string }{{\"K03 c\"}, {name: \"RED-04 d\"}, {\"about K05\"}} { _ = c }\n" +
		"}\n" +
		"func helperK06() { _ = []string{\"K07\"} }\n"
	got, err := inGo("p/x_test.go", []byte(source))
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, n := range got {
		names = append(names, n.test.Name)
	}
	if want := []string{"TestRED01_A", "TestRED01_A/K02 b ", "TestRED01_A/K03 c", "TestRED01_A/RED-04 d"}; !slices.Equal(names, want) {
		t.Errorf("%q", names)
	}
	script, _ := inArchive("p/testdata/scripts/x.txtar", []byte("# RED-06 is shown\nexec K09\n-- K10 --\n"))
	golden, _ := inArchive("p/testdata/k42-x.txtar", []byte("K43 in words\n-- a --\nK44\n"))
	if len(script) != 1 || !slices.Equal(script[0].ids, []ID{"RED-06"}) || len(golden) != 1 || !slices.Equal(golden[0].ids, []ID{"K42", "K43"}) {
		t.Errorf("%v %v", script, golden)
	}
	peer, _ := inPeer("peers/x.mjs", []byte("check(`${name}: K12 the schema`, ok);\nlog('K13');\n"))
	if len(peer) != 1 || peer[0].test.Name != "K12 the schema" {
		t.Errorf("%v", peer)
	}
}
