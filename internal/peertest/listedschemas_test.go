package peertest

import (
	"bufio"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/spillway-mcp/spillway/internal/jsontape"
	"github.com/spillway-mcp/spillway/internal/schema"
	"github.com/spillway-mcp/spillway/internal/schema/schematest"
	"github.com/spillway-mcp/spillway/reduce"
)

// listedCase is a schema, what is listed for it, and values that must be valid
// under both (the first) or under the listed one (the others).
type listedCase struct {
	Upstream json.RawMessage   `json:"upstream"`
	Listed   json.RawMessage   `json:"listed"`
	Values   []json.RawMessage `json:"values"`
}

// strictClient is a running listedschemas.mjs.
type strictClient struct {
	in  io.Writer
	out *bufio.Reader
}

func startStrictClient(t *testing.T) *strictClient {
	need(t)
	cmd := exec.Command("node", "listedschemas.mjs")
	cmd.Dir, cmd.Stderr = scripts(t), os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		in.Close()
		cmd.Wait()
	})
	return &strictClient{in, bufio.NewReader(out)}
}

func (c *strictClient) check(t interface{ Fatal(...any) }, of listedCase) string {
	line, err := json.Marshal(of)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.in.Write(append(line, '\n')); err != nil {
		t.Fatal(err)
	}
	verdict, err := c.out.ReadString('\n')
	if err != nil {
		t.Fatal("the client ended: ", err)
	}
	return strings.TrimSpace(verdict)
}

// Random schemas, values and rules: the strict client takes the listed schema,
// and under it the original and the reduced result.
func TestK12_StrictClientTakesListedSchemas(t *testing.T) {
	client := startStrictClient(t)
	checked, skipped := 0, map[string]int{}
	rapid.Check(t, func(t *rapid.T) {
		c := schematest.Root(t)
		doc, err := jsontape.Parse([]byte(c.Schema))
		if err != nil {
			t.Fatal(err)
		}
		for range 4 {
			value := c.Value(t)
			if value[0] != '{' {
				continue
			}
			rule := schematest.Rule(t)
			r, err := reduce.Compile(rule)
			if err != nil || !schema.Changes(schematest.Options(rule, false)) {
				continue // the upstream's own bytes are listed, be they what they are
			}
			out := r.Reduce([]byte(schematest.Result(t, value)), reduce.Env{Expand: "reducer_expand", Schema: true})
			reduced, err := jsontape.Parse(out.Result)
			if err != nil {
				t.Fatal(err)
			}
			of := listedCase{
				Upstream: []byte(c.Schema), Listed: schema.RewriteOutput(doc.Root(), schematest.Options(rule, false)),
				Values: []json.RawMessage{[]byte(value), reduced.Root().Get("structuredContent").AppendCompact(nil)},
			}
			switch verdict := client.check(t, of); {
			case verdict == "ok":
				checked++
			case strings.HasPrefix(verdict, "skip: "):
				skipped[strings.SplitN(verdict, ":", 3)[1]]++
			default:
				t.Fatalf("%s\nschema  %s\nlisted  %s\nrule    %+v\nvalue   %s\nreduced %s", verdict, of.Upstream, of.Listed, rule, value, of.Values[1])
			}
		}
	})
	t.Logf("%d cases checked; skipped: %v", checked, skipped)
	if checked == 0 {
		t.Error("nothing was checked")
	}
}

// The golden cases of internal/schema, but those that no such client takes.
func TestK12_StrictClientTakesTheGoldenSchemas(t *testing.T) {
	client := startStrictClient(t)
	files, err := filepath.Glob(filepath.Join(root(), "internal/schema/testdata/listed/*.txtar"))
	if err != nil || len(files) == 0 {
		t.Fatal("no golden files: ", err)
	}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".txtar")
		t.Run(name, func(t *testing.T) {
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			_, listed, ok := strings.Cut(string(data), "-- listed --\n")
			if !ok {
				t.Fatal("no listed schema in ", file)
			}
			of := listedCase{Upstream: []byte(`{"type":"object"}`), Listed: []byte(listed), Values: []json.RawMessage{[]byte(`{"_spillway":"cut","summary":{}}`)}}
			verdict := client.check(t, of)
			switch name {
			case "bad-pattern", "network-reference", "modern-array-root", "RED-39-no-rule":
				// The upstream's own schema is one that this client rejects.
				if verdict == "ok" {
					t.Error("taken; the case shows nothing now")
				}
			default:
				if strings.Contains(verdict, "does not take") {
					t.Error(verdict)
				}
			}
		})
	}
}
