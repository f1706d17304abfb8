package cli

import (
	"bytes"
	"io"
	"os/exec"
	"strings"
	"testing"

	"github.com/spillway-mcp/spillway/internal/client"
	"github.com/spillway-mcp/spillway/internal/rules"
)

// A host tells by the status whether the server broke or was ended, so ours is the server's where that ended by itself,
// with the client still there.
func TestRunEndsWithTheServersStatus(t *testing.T) {
	if _, err := exec.LookPath("sh"); err != nil {
		t.Skip("no sh to write a server with:", err)
	}
	t.Setenv("HOME", t.TempDir())
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	t.Setenv("XDG_CONFIG_HOME", t.TempDir())
	t.Setenv("GORACE", "atexit_sleep_ms=0") // the process that watches the server is this binary too
	for _, c := range []struct {
		args   []string
		status int
		says   string
	}{
		{[]string{"sh", "-c", "echo oops >&2; exit 7"}, 7, "spillway: "},
		{[]string{"sh", "-c", "kill -9 $$"}, 128 + 9, "spillway: "},
		{[]string{"sh", "-c", "exit 0"}, 0, ""},
		{[]string{"no-such-command-here"}, exitNotFound, "spillway: "},
		{[]string{"./golden_test.go"}, exitNoStart, "spillway: "},
	} {
		in, open := io.Pipe()
		var out, said bytes.Buffer
		status := Run(t.Context(), append([]string{"run", "--"}, c.args...), streams{In: in, Out: &out, Err: &said})
		open.Close()
		if status != c.status || out.Len() > 0 || !strings.Contains(said.String(), c.says) {
			t.Errorf("%q: status %d, want %d; stdout %q, stderr %q", c.args, status, c.status, out.String(), said.String())
		}
	}
}

func TestCompareLive(t *testing.T) {
	set, err := rules.Parse("rules.yaml", []byte(`s:
  get:
    keep: "{a: a, b: b}"
  list:
    keep: "items[*].nope"
  gone:
    max_rows: 1
`))
	if err != nil {
		t.Fatal(err)
	}
	const closed = `{"type":"object","additionalProperties":false,"properties":{"a":{"type":"string"},` +
		`"items":{"type":"array","items":{"type":"object","additionalProperties":false,"properties":{"x":{"type":"string"}}}}}}`
	tools := []client.Tool{
		{Name: "get", OutputSchema: []byte(closed)},
		{Name: "list", OutputSchema: []byte(closed)},
		{Name: "other"},
	}
	l, err := compareLive(set, "s", "own name", tools)
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	l.write(&b)
	golden(t, "live.txt", b.String())
}
