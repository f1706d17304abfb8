package main

import (
	"bytes"
	"os"
	"regexp"
	"strings"
	"testing"
)

func TestMain(m *testing.M) {
	if played() {
		return
	}
	os.Exit(m.Run())
}

// The page holds what comes out. Receipts hold an operation id, whose tokens
// differ a little from run to run.
func TestTablesAreThoseOfThePage(t *testing.T) {
	page, err := os.ReadFile("../../docs/experiments.md")
	if err != nil {
		t.Fatal(err)
	}
	var got bytes.Buffer
	if err := run(t.Context(), &got, generated()); err != nil {
		t.Fatal(err)
	}
	receipts := regexp.MustCompile(`(?m)( +)\d+$`)
	has := receipts.ReplaceAllString(string(page), "")
	for _, table := range strings.Split(got.String(), "\nSet ") {
		if want := receipts.ReplaceAllString(strings.TrimSpace(table), ""); !strings.Contains(has, want) {
			t.Errorf("docs/experiments.md does not have\n%s", table)
		}
	}
}

func TestSixPathsAgree(t *testing.T) {
	for _, s := range generated() {
		table, err := measure(t.Context(), s)
		if err != nil {
			t.Fatal(err)
		}
		want := map[string]string{"stable": "50", "mixed": table.rows[0].value, "empty": "0"}[s.name]
		for _, r := range table.rows {
			if r.value != want {
				t.Errorf("%s: %s counts %s, want %s", s.name, r.path, r.value, want)
			}
		}
		if s.name == "mixed" && (want == "0" || want == "50") {
			t.Errorf("the mixed set is not mixed: %s", want)
		}
		if n := table.rows[0].alone; s.name != "empty" && (n < 600_000 || n > 1_200_000) {
			t.Errorf("%s: %d tokens of whole pages", s.name, n)
		}
	}
}
