package officialsuite

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

func TestCompare(t *testing.T) {
	pass := func(id string) check { return check{ID: id, Name: "N", Status: "SUCCESS"} }
	fail := func(id string) check {
		return check{ID: id, Name: "N", Status: "FAILURE", Message: "no text"}
	}
	run := func(exit int, checks ...check) outcome { return outcome{exit, map[string][]check{"tools": checks}} }
	flipped := []difference{{scenario: "tools", check: "b (N)", direct: "SUCCESS", through: "FAILURE"}}
	for name, c := range map[string]struct {
		direct, through outcome
		known           []difference
		want            []string
	}{
		"the same":           {direct: run(0, pass("a"), fail("b")), through: run(0, pass("a"), fail("b"))},
		"in another order":   {direct: run(0, pass("a"), fail("b")), through: run(0, fail("b"), pass("a"))},
		"a known difference": {direct: run(0, pass("b")), through: run(0, fail("b")), known: flipped},
		"a changed status": {
			direct: run(0, pass("a"), pass("b")), through: run(0, pass("a"), fail("b")),
			want: []string{"scenario tools, check b (N): directly SUCCESS, through the gateway FAILURE: no text"},
		},
		"better is different too": {
			direct: run(0, fail("b")), through: run(0, pass("b")),
			want: []string{"scenario tools, check b (N): directly FAILURE, through the gateway SUCCESS"},
		},
		"a check that did not run": {
			direct: run(0, pass("a"), pass("b")), through: run(0, pass("b")),
			want: []string{"scenario tools, check a (N): directly SUCCESS, through the gateway not run"},
		},
		"a check more": {
			direct: run(0, pass("a")), through: run(0, pass("a"), pass("b")),
			want: []string{"scenario tools, check b (N): directly not run, through the gateway SUCCESS"},
		},
		"a check once less": {
			direct: run(0, pass("a"), pass("a")), through: run(0, pass("a")),
			want: []string{"scenario tools, check a (N): directly SUCCESS, SUCCESS, through the gateway SUCCESS"},
		},
		"a scenario that did not run": {
			direct: run(0, pass("a")), through: outcome{},
			want: []string{"scenario tools, check a (N): directly SUCCESS, through the gateway not run"},
		},
		"the exit status": {
			direct: run(0, pass("a")), through: run(1, pass("a")),
			want: []string{"scenario of all, check exit status: directly 0, through the gateway 1"},
		},
		"a known difference that is there no more": {
			direct: run(0, pass("b")), through: run(0, pass("b")), known: flipped,
			want: []string{"scenario tools, check b (N): directly SUCCESS, through the gateway FAILURE: this difference was known, and is there no more"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			var got []string
			for _, d := range compare(c.direct, c.through, c.known) {
				got = append(got, d.String())
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

func TestReadChecks(t *testing.T) {
	dir := t.TempDir()
	write := func(folder, text string) {
		t.Helper()
		if err := os.MkdirAll(filepath.Join(dir, folder), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, folder, "checks.json"), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write("server-server-x-2026-11-30T11-04-12-568Z", `[{"id":"x","name":"X","status":"FAILURE","errorMessage":"m"}]`)
	write("tools-2025-2026-11-30T11-04-12-568Z", `[{"id":"incoming-request","status":"INFO"},{"id":"stream-closed","status":"INFO"},{"id":"incoming-x","name":"Y","status":"SUCCESS"},{"id":"server-info","name":"Z","status":"INFO"}]`)
	got, err := readChecks(dir, "server-")
	if err != nil {
		t.Fatal(err)
	}
	if a := got["server-x"]; len(got) != 2 || !slices.Equal(a, []check{{"x", "X", "FAILURE", "m"}}) {
		t.Errorf("read %v", got)
	}
	if b := got["tools-2025"]; !slices.Equal(b, []check{{ID: "incoming-x", Name: "Y", Status: "SUCCESS"}, {ID: "server-info", Name: "Z", Status: "INFO"}}) {
		t.Errorf("a log of messages is no verdict, and the rest is: %v", b)
	}
	write("tools-2025-2026-11-30T11-04-13-000Z", `[]`)
	if _, err := readChecks(dir, "server-"); err == nil {
		t.Error("a scenario with two results passes unnoticed")
	}
}
