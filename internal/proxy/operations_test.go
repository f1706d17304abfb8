package proxy

import (
	"context"
	"fmt"
	"testing"

	"github.com/spillway-mcp/spillway/contract"
	"github.com/spillway-mcp/spillway/internal/operation"
	"github.com/spillway-mcp/spillway/internal/operation/mcpface"
)

// fileOperations are those of a file.
func fileOperations(t *testing.T, text string) Operations {
	set, err := operation.Parse("operations.yaml", []byte(text), operation.Options{})
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	c, err := contract.New(contract.Options{Definitions: set.Definitions, NewKey: func() string {
		n++
		return fmt.Sprint("key-", n)
	}})
	if err != nil {
		t.Fatal(err)
	}
	face, err := mcpface.New(mcpface.Options{Client: c, Name: ToolName})
	if err != nil {
		t.Fatal(err)
	}
	return face
}

// fakeOperations are the operations of the transcripts: op_count, which says
// what it was handed, and op_slow, which ends when it is cancelled. The server
// may have an op_count of its own.
type fakeOperations struct{}

func (fakeOperations) Names() []string { return []string{"op_count", "op_slow"} }

func (fakeOperations) Has(name string) bool { return name == "op_count" || name == "op_slow" }

func (fakeOperations) Mutates() bool { return false }

func (fakeOperations) OwnsTask(string, string) bool { return false }

func (fakeOperations) Task(context.Context, mcpface.TaskRequest) ([]byte, *mcpface.Fault) {
	panic("no tasks")
}

func (fakeOperations) Watch(context.Context, string, string) []byte { panic("no tasks") }

func (fakeOperations) Settle(context.Context) {}

func (fakeOperations) List(v mcpface.Viewer) [][]byte {
	return [][]byte{
		[]byte(`{"name":"op_count","inputSchema":{"type":"object"}}`),
		fmt.Appendf(nil, `{"name":"op_slow","inputSchema":{"type":"object"},"_meta":{"modern":%t}}`, v.Modern),
	}
}

func (fakeOperations) Call(ctx context.Context, c mcpface.Call) ([]byte, *mcpface.Fault) {
	if c.Tool == "op_slow" {
		<-ctx.Done()
		return []byte(`{"content":[{"type":"text","text":"unknown"}],"isError":true}`), nil
	}
	if c.Progress != nil {
		c.Progress(contract.Progress{Pages: 1, RecordsExamined: 10})
	}
	if c.Modern && c.State == "" {
		return []byte(`{"resultType":"input_required","inputRequests":{},"requestState":"s1"}`), nil
	}
	return fmt.Appendf(nil, `{"content":[],"structuredContent":{"caller":%q,"arguments":%q,"meta":%q,"state":%q,"responses":%q}}`,
		c.Caller, c.Arguments, c.Meta, c.State, c.Responses), nil
}
