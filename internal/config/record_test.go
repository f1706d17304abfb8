package config

import (
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestRecordSection(t *testing.T) {
	none := func(string) (string, bool) { return "", false }
	c, err := Parse(filepath.Join("/srv", "spillway.yaml"), []byte(`record:
  path: sessions
  max_bytes: 100MB
  keep: 7d
  redact:
    - user.email
    - {tool: "github/*", paths: ["items[*].author.email"], args: [q], names: [login]}
    - {tool: "mail/send", drop: true}
`), none)
	if err != nil {
		t.Fatal(err)
	}
	r := c.Record
	if r.Path != filepath.Join("/srv", "sessions") || r.MaxBytes != 100_000_000 || r.Keep != 7*24*time.Hour || r.Redact == nil {
		t.Errorf("got %+v", r)
	}
	if c, err := Parse("spillway.yaml", []byte("expand: on\n"), none); err != nil || c.Record.Path != "" {
		t.Errorf("nothing is recorded unless asked for: %+v, %v", c, err)
	}
	for text, want := range map[string]string{
		"record: {redact: [a]}":                            "record needs a path",
		"record: {path: p, redact: [\"a[?b]\"]}":           "only names",
		"record: {path: p, redact: [\"a[\"]}":              "spillway.yaml:1:",
		"record: {path: p, redact: [{tool: x}]}":           "needs paths, args, names, or drop",
		"record: {path: p, keep: soon}":                    "keep needs a time",
		"record: {path: p, redact: [{tool: x, drip: 1}]}":  `did you mean "drop"?`,
		"record: {path: p, redact: {tool: x, drop: true}}": "redact needs a list",
	} {
		if _, err := Parse("spillway.yaml", []byte(text), none); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}

// Another program may count recorded sessions; lines keep an estimator of ours.
func TestRED46_EstimatorCommand(t *testing.T) {
	none := func(string) (string, bool) { return "", false }
	c, err := Parse("f.yaml", []byte("ledger: {estimator: {command: [count, --model, m]}}"), none)
	if err != nil {
		t.Fatal(err)
	}
	if len(c.Ledger.Command) != 3 || c.Ledger.Estimator != "bytes/4" {
		t.Errorf("%+v", c.Ledger)
	}
	for _, bad := range []string{"{}", "{command: x}", "{command: []}", "{program: [x]}"} {
		if _, err := Parse("f.yaml", []byte("ledger: {estimator: "+bad+"}"), none); err == nil {
			t.Errorf("%s is taken", bad)
		}
	}
}
