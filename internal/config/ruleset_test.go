package config

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/spillway-mcp/spillway/internal/rules"
	"github.com/spillway-mcp/spillway/internal/yamlpos"
)

// TestRED51InlineRules changes the rules inside a configuration file.
func TestRED51InlineRules(t *testing.T) {
	path := filepath.Join(t.TempDir(), "c.yaml")
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("expand: off\nrules:\n  default: {max_bytes: 1k}\n")
	c, err := open(Flags{Config: path}, env("HOME", t.TempDir(), "USERPROFILE", t.TempDir()), "linux")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	w, err := c.WatchRules(ctx, slog.New(slog.DiscardHandler))
	if err != nil {
		cancel()
		t.Fatal(err)
	}
	changes := w.Changes()
	if got := inForce(w.Current()); got != 1000 {
		t.Errorf("at the start: max_bytes %d", got)
	}
	write("expand: off\nrules:\n  default: {max_bytes: 2k}\n")
	select {
	case <-changes:
	case <-time.After(20 * time.Second):
		t.Fatal("no change was seen")
	}
	if got := inForce(w.Current()); got != 2000 {
		t.Errorf("after the change: max_bytes %d", got)
	}
	cancel()
	<-w.Done()
}

func inForce(set *rules.Set) int {
	return set.For("s", "t").Variants[0].Reducer.Rule().MaxBytes
}

// TestRulesWithoutAFile follows what never changes.
func TestRulesWithoutAFile(t *testing.T) {
	c, err := open(Flags{}, env("HOME", t.TempDir(), "USERPROFILE", t.TempDir()), "linux")
	if err != nil {
		t.Fatal(err)
	}
	w, err := c.WatchRules(t.Context(), slog.New(slog.DiscardHandler))
	if err != nil || inForce(w.Current()) != 20_000 {
		t.Errorf("%v, %v", w, err)
	}
}

// FuzzParse holds the reader to no panic and to errors with positions, and the
// rule that no secret is shown.
func FuzzParse(f *testing.F) {
	f.Add(designFile)
	f.Add(`{"mcpServers": {"s": {"command": "x", "args": ["${A:-b}"], "env": {"T": "${S3CR3T}"}, "x": 1}}}`)
	f.Add("stash: {ttl: 7d, max_bytes: 2GiB}\nexpand: off\nrules: {default: {max_bytes: 1k}}\n")
	lookup := env("HOME", "/home/u", "USERPROFILE", "/home/u", "S3CR3T", "hunter2-hunter2")
	f.Fuzz(func(t *testing.T, text string) {
		c, err := Parse("f.yaml", []byte(text), lookup)
		if err == nil {
			for _, name := range c.ServerNames() {
				_, _ = c.Server(name)
			}
			err = c.Warnings.Err()
		}
		if err == nil {
			return
		}
		errs, ok := err.(yamlpos.Errors)
		if !ok || len(errs) == 0 {
			t.Fatalf("%T: %v", err, err)
		}
		for _, e := range errs {
			if e.Msg == "" || e.Line > 0 && e.Col < 1 {
				t.Fatalf("%+v", e)
			}
		}
		if strings.Contains(text, "S3CR3T") && !strings.Contains(text, "hunter2") && strings.Contains(err.Error(), "hunter2") {
			t.Fatalf("a variable's value is shown: %v", err)
		}
	})
}
