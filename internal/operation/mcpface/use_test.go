package mcpface_test

import (
	"strings"
	"testing"

	"github.com/spillway-mcp/spillway/contract"
	"github.com/spillway-mcp/spillway/internal/operation"
	"github.com/spillway-mcp/spillway/internal/operation/mcpface"
)

// Calls end by the definition that they began with, and its digest stays in
// their receipts; what was prepared by another definition is not committed.
func TestC22_AChangedDefinitionIsNotCommitted(t *testing.T) {
	u := &upstream{}
	url := serve(t, u)
	f, c, sealer, store := openBefore(t, url)
	_, old := call(t, f, mcpface.Call{Tool: "create_row_v1_prepare", Arguments: []byte(`{"name":"n"}`)})
	_, done := call(t, f, mcpface.Call{Tool: "create_row_v1", Arguments: []byte(`{"name":"n"}`), Meta: keyed("k1")})
	was := c.Lookup("create_row@1").Digest()
	if done.Digest != was || u.effects() != 1 {
		t.Fatalf("%s", done.JSON())
	}

	text := strings.ReplaceAll(yaml, "URL", url)
	set, err := operation.Parse("operations.yaml", []byte(strings.Replace(text, "body: {name: params.name}", `body: {name: "join('', [params.name, '!'])"}`, 1)), operation.Options{})
	if err != nil {
		t.Fatal(err)
	}
	next, err := contract.New(contract.Options{Definitions: set.Definitions, Sealer: sealer, Store: store, Caller: "a"})
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Use(next); err != nil {
		t.Fatal(err)
	}
	a, r := call(t, f, mcpface.Call{Tool: "create_row_v1_commit", Arguments: []byte(`{"operationId":"` + old.OperationID + `"}`)})
	if !a.IsError || r.Reason != contract.ReasonPreviewMismatch || u.effects() != 1 {
		t.Errorf("what was prepared before the change: %s, %d effects", a.Structured, u.effects())
	}
	if _, r := call(t, f, mcpface.Call{Tool: "create_row_v1", Arguments: []byte(`{"name":"n"}`), Meta: keyed("k1")}); !r.Replayed || r.Digest != was {
		t.Errorf("a replay is of the recorded call: %s", r.JSON())
	}
	if _, r := call(t, f, mcpface.Call{Tool: "create_row_v1", Arguments: []byte(`{"name":"n"}`), Meta: keyed("k2")}); r.Outcome != contract.Completed || r.Digest == was {
		t.Errorf("a new call is by the new definition: %s", r.JSON())
	}
}
