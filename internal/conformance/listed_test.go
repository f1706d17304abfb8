package conformance

import (
	"context"
	"encoding/json"
	"reflect"
	"strings"
	"sync"
	"testing"

	"github.com/spillway-mcp/spillway/contract"
	"github.com/spillway-mcp/spillway/contract/contracttest"
)

// listedTool is an entry of tools/list.
type listedTool struct {
	Name, Title, Description string
	InputSchema              struct {
		Properties map[string]any
		Required   []string
	}
	OutputSchema json.RawMessage
	Annotations  struct{ ReadOnlyHint, DestructiveHint, IdempotentHint bool }
}

// TestListedTools holds what a client is told of the operations to their
// definitions (A05, C-17).
func TestListedTools(t *testing.T) {
	for _, modern := range []bool{false, true} {
		a := tools{modern: modern, states: &sync.Map{}}
		t.Run("A05 "+a.Name(), func(t *testing.T) {
			w := newWorld(t)
			p := open(t, a, w).(*toolProcess)
			raw, err := p.conn.call(context.Background(), "tools/list", map[string]any{"_meta": p.request("", nil, "").Meta})
			if err != nil {
				t.Fatal(err)
			}
			var got struct{ Tools []listedTool }
			if err := json.Unmarshal(raw, &got); err != nil {
				t.Fatal(err)
			}
			byName := map[string]listedTool{}
			for _, x := range got.Tools {
				byName[x.Name] = x
			}
			defs, err := contracttest.Definitions(w.URL, nil)
			if err != nil {
				t.Fatal(err)
			}
			for _, d := range defs {
				names := []string{tool(d.ID())}
				if !d.IsRead() && !modern {
					names = []string{tool(d.ID()) + "_prepare", tool(d.ID()) + "_commit"}
				}
				for _, name := range names {
					x, ok := byName[name]
					if !ok {
						t.Errorf("no tool %s", name)
						continue
					}
					listedAs(t, d, x)
				}
			}
		})
	}
}

func listedAs(t *testing.T, d *contract.Definition, x listedTool) {
	spec := d.Spec()
	for _, tell := range []string{spec.Scope, spec.Title, spec.Bounds.Deadline.String(), "replay: " + d.Replay()} {
		if !strings.Contains(x.Title+" "+x.Description, strings.TrimSuffix(tell, ".")) {
			t.Errorf("%s: the description does not tell %q: %s", x.Name, tell, x.Description)
		}
	}
	if !d.IsRead() && !strings.Contains(x.Description, "reconcile: "+d.Reconciles()) {
		t.Errorf("%s: the description does not tell whether there is a reconcile: %s", x.Name, x.Description)
	}
	if len(x.OutputSchema) == 0 {
		t.Errorf("%s: no output schema", x.Name)
	}
	commit := strings.HasSuffix(x.Name, "_commit")
	if want := d.IsRead() || strings.HasSuffix(x.Name, "_prepare"); x.Annotations.ReadOnlyHint != want {
		t.Errorf("%s: readOnlyHint is %t", x.Name, x.Annotations.ReadOnlyHint)
	}
	if commit != x.Annotations.IdempotentHint && !d.IsRead() {
		t.Errorf("%s: idempotentHint is %t", x.Name, x.Annotations.IdempotentHint)
	}
	if commit {
		return
	}
	var params struct {
		Properties map[string]any
		Required   []string
	}
	if err := json.Unmarshal(spec.Params, &params); err != nil {
		t.Fatal(err)
	}
	for name, want := range params.Properties {
		if !reflect.DeepEqual(x.InputSchema.Properties[name], want) {
			t.Errorf("%s: the parameter %s is listed as %v, and is %v", x.Name, name, x.InputSchema.Properties[name], want)
		}
	}
	if !reflect.DeepEqual(x.InputSchema.Required, params.Required) {
		t.Errorf("%s: required is listed as %v, and is %v", x.Name, x.InputSchema.Required, params.Required)
	}
	for name := range x.InputSchema.Properties {
		if _, ok := params.Properties[name]; !ok && !(d.IsRead() && (name == "continuation" || name == "evidence")) {
			t.Errorf("%s: the parameter %s is none of the operation's", x.Name, name)
		}
	}
}
