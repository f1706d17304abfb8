package cli

import (
	"bytes"
	"context"
	"flag"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/spf13/cobra"

	"github.com/spillway-mcp/spillway/internal/fixture"
)

var update = flag.Bool("update", false, "rewrite the golden files and scripts")

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"spillway": func() { os.Exit(Main()) }})
}

// Each script is headed by the fault that it guards against.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                 filepath.Join("testdata", "scripts"),
		UpdateScripts:       *update,
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Cmds:                map[string]func(*testscript.TestScript, bool, []string){"fixture": makeFixture},
		Setup: func(env *testscript.Env) error {
			home := filepath.Join(env.WorkDir, "home")
			for _, name := range []string{"HOME", "LOCALAPPDATA", "APPDATA", "USERPROFILE", "XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME"} {
				env.Setenv(name, home)
			}
			return os.MkdirAll(home, 0o700)
		},
	})
}

// makeFixture is the command "fixture KIND SIZE FILE" of the scripts: it writes a CallToolResult.
func makeFixture(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 3 {
		ts.Fatalf("usage: fixture search|releases|text SIZE FILE")
	}
	size, err := strconv.Atoi(args[1])
	ts.Check(err)
	var data []byte
	switch args[0] {
	case "search":
		data = fixture.Result(fixture.CodeSearch(size), fixture.Options{})
	case "releases":
		data = fixture.Result(fixture.Releases(size, 1), fixture.Options{NoData: true})
	case "text":
		data = fixture.TextResult(fixture.Text(size))
	default:
		ts.Fatalf("no fixture %q", args[0])
	}
	ts.Check(os.WriteFile(ts.MkAbs(args[2]), data, 0o666))
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(got), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("%v; write it with -update", err)
	}
	if got != string(want) {
		t.Errorf("differs from %s; look at it and write it with -update:\n%s", path, got)
	}
}

// All that help says is read by people: it is held word for word, and fits a terminal.
func TestHelp(t *testing.T) {
	var all func(cmd *cobra.Command)
	all = func(cmd *cobra.Command) {
		if cmd.Hidden {
			return
		}
		var out bytes.Buffer
		words := strings.Fields(cmd.CommandPath())[1:]
		status := Run(context.Background(), append([]string{"help"}, words...), streams{Out: &out, Err: &out, In: strings.NewReader("")})
		if status != exitOK {
			t.Errorf("help %v: status %d", words, status)
		}
		for line := range strings.Lines(out.String()) {
			if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > 100 {
				t.Errorf("help %v: a line of %d characters: %s", words, n, line)
			}
		}
		golden(t, filepath.Join("help", strings.Join(append([]string{"spillway"}, words...), "-")+".txt"), out.String())
		for _, sub := range cmd.Commands() {
			all(sub)
		}
	}
	all(newRoot(streams{}))
}
