package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/spillway-mcp/spillway/contract"
	"github.com/spillway-mcp/spillway/internal/jsontape"
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
	face, closeFace, err := openFace(c, streams{Err: io.Discard}, newLog(io.Discard, 0), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer closeFace()
	entries := map[string]jsontape.Value{}
	for _, raw := range append(face.List(false), face.List(true)...) {
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
