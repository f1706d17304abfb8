package main

import (
	"bytes"
	"os"
	"strings"
	"testing"
)

func TestMain(m *testing.M) {
	if played() {
		return
	}
	os.Exit(m.Run())
}

func TestCustomers(t *testing.T) {
	rows, err := run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range rows {
		want := 2
		if r.key == "kept" {
			want = 1
		}
		if r.customers != want || r.key == "kept" && (r.customersChanged != 1 || r.intents != 2 || !strings.HasPrefix(r.changed, "refused")) {
			t.Errorf("%+v", r)
		}
	}
	page, err := os.ReadFile("../../docs/experiments.md")
	if err != nil {
		t.Fatal(err)
	}
	var got bytes.Buffer
	if err := write(&got, rows); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(page), strings.TrimSpace(got.String())) {
		t.Errorf("docs/experiments.md does not have\n%s", got.String())
	}
}
