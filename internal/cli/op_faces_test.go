package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/spillway-mcp/spillway/contract"
	"github.com/spillway-mcp/spillway/internal/jsontape"
	"github.com/spillway-mcp/spillway/internal/operation/mcpface"
)

// The command line shows the whole definition; a tool's entry shows what a
// model may rely on: scope, bounds, schemas, effects and recovery.
func TestA05_EveryFieldOfTheDefinitionSurvives(t *testing.T) {
	k := newOpKit(t)
	ops, err := openForTest(t, k)
	if err != nil {
		t.Fatal(err)
	}
	defer ops.Close()
	c, err := openConfig(opOptions{}.files)
	if err != nil {
		t.Fatal(err)
	}
	c.Operations = k.file
	opened, err := openFace(c, streams{Err: io.Discard}, newLog(io.Discard, 0), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer opened.Close()
	face := opened.Operations
	entries := map[string]jsontape.Value{}
	for _, raw := range append(face.List(mcpface.Viewer{}), face.List(mcpface.Viewer{Modern: true})...) {
		doc, err := jsontape.Parse(raw)
		if err != nil {
			t.Fatal(err)
		}
		entries[doc.Root().Get("name").Str()] = doc.Root()
	}
	for _, def := range ops.client.Definitions() {
		status, out, _ := k.run("describe", def.ID(), "--json")
		var described struct {
			Digest     string
			Definition json.RawMessage
		}
		if err := json.Unmarshal([]byte(out), &described); err != nil || status != 0 {
			t.Fatalf("%s: %d, %v", def.ID(), status, err)
		}
		if described.Digest != def.Digest() || canonicalJSON(t, described.Definition) != canonicalJSON(t, def.Describe()) {
			t.Errorf("%s\n%s", described.Definition, def.Describe())
		}

		names := []string{def.Name()}
		if !def.IsRead() {
			names = append(names, def.Name()+"_prepare", def.Name()+"_commit")
		}
		spec := def.Spec()
		for _, name := range names {
			e := entries[name]
			text := e.Get("description").Str()
			wanted := []string{strings.TrimSuffix(spec.Scope, "."), spec.Bounds.Deadline.String(), "replay: " + def.Replay()}
			if def.IsRead() {
				wanted = append(wanted, fmt.Sprintf("%d pages", spec.Bounds.MaxPages), fmt.Sprintf("%d records", spec.Bounds.MaxRecords))
			} else {
				wanted = append(wanted, "Effects: "+string(spec.Effects), "reconcile: "+def.Reconciles())
			}
			for _, w := range wanted {
				if !strings.Contains(text, w) {
					t.Errorf("%s: no %q in %q", name, w, text)
				}
			}
			if name == def.Name()+"_commit" {
				continue
			}
			params, err := jsontape.Parse(spec.Params)
			if err != nil {
				t.Fatal(err)
			}
			for it := params.Root().Get("properties").Iter(); it.Next(); {
				if shown := e.Lookup("inputSchema", "properties", it.Key().Str()); !jsontape.Equal(shown, it.Value()) {
					t.Errorf("%s: the parameter %s is %s", name, it.Key().Raw(), shown.Raw())
				}
			}
			if !jsontape.Equal(e.Lookup("inputSchema", "required"), params.Root().Get("required")) {
				t.Errorf("%s: required differs", name)
			}
		}
	}
}

// A continuation goes on in another process: each command is one, and opens
// everything anew.
func TestQ09_ResumedInAnotherProcess(t *testing.T) {
	k := newOpKit(t)
	_, out, _ := k.run("call", "count_rows", "table=t", "--json")
	first := receiptOf(t, out)
	if first.Continuation == nil {
		t.Fatal(out)
	}
	status, out, _ := k.run("call", "count_rows", "table=t", "--continuation", *first.Continuation, "--json")
	if r := receiptOf(t, out); status != contract.ExitCompleted || !r.Complete || string(r.Result) != `{"n":3}` || r.RecordsExamined != 3 {
		t.Errorf("status %d, %s", status, out)
	}
}

// An operation may call the server that run stands in front of, by the name
// that --server gives it, without a configuration.
func TestOperationOverTheServerInFront(t *testing.T) {
	if _, err := exec.LookPath("sh"); err != nil {
		t.Skip("no sh to write a server with:", err)
	}
	k := newOpKit(t)
	yaml := "operations:\n  count@1.0:\n    scope: x\n    effects: read\n    read: {call: {tool: tiny/rows}, end: page.last, items: page.rows, aggregate: count}\n"
	if err := os.WriteFile(k.file, []byte(yaml), 0o600); err != nil {
		t.Fatal(err)
	}
	const server = `while read -r line; do
  id=$(printf '%s' "$line" | sed -n 's/.*"id":\([^,}]*\).*/\1/p')
  case "$line" in
  *'"initialize"'*) echo "{\"jsonrpc\":\"2.0\",\"id\":$id,\"result\":{\"protocolVersion\":\"2025-11-25\",\"capabilities\":{\"tools\":{}},\"serverInfo\":{\"name\":\"s\",\"version\":\"1\"}}}" ;;
  *'"tools/list"'*) echo "{\"jsonrpc\":\"2.0\",\"id\":$id,\"result\":{\"tools\":[{\"name\":\"rows\",\"inputSchema\":{\"type\":\"object\"}}]}}" ;;
  *'"tools/call"'*) echo "{\"jsonrpc\":\"2.0\",\"id\":$id,\"result\":{\"content\":[],\"structuredContent\":{\"rows\":[1,2,3],\"last\":true}}}" ;;
  esac
done
`
	in := strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}` + "\n" +
		`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"count","arguments":{}}}` + "\n")
	var out, said bytes.Buffer
	status := Run(t.Context(), []string{"run", "--server", "tiny", "--operations", k.file, "--", "sh", "-c", server}, streams{In: in, Out: &out, Err: &said})
	if status != 0 || !strings.Contains(out.String(), `"result":3,"recordsExamined":3,"complete":true`) {
		t.Errorf("status %d\n%s\n%s", status, out.String(), said.String())
	}
}
