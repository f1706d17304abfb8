package mcpface_test

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/spillway-mcp/spillway/contract"
	"github.com/spillway-mcp/spillway/internal/operation/mcpface"
	"github.com/spillway-mcp/spillway/internal/proxy"
)

// task is a task as both eras write it.
type task struct {
	TaskID        string
	Status        string
	StatusMessage string
	Result        *answer
	NextCursor    string
	Tasks         []task
	Task          *task
}

func ask(t *testing.T, f *mcpface.Face, q mcpface.TaskRequest) (got task, code int) {
	t.Helper()
	if q.Caller == "" {
		q.Caller = "a"
	}
	raw, fault := f.Task(t.Context(), q)
	if fault != nil {
		return got, fault.Code
	}
	if err := json.Unmarshal(raw, &got); err != nil {
		t.Fatalf("%s: %v", raw, err)
	}
	return got, 0
}

// again is the face of another process over the same journal.
func again(t *testing.T, c *contract.Client, sealer *contract.Sealer, store contract.Store) *mcpface.Face {
	t.Helper()
	other, err := contract.New(contract.Options{Definitions: c.Definitions(), Sealer: sealer, Store: store, Caller: "a"})
	if err != nil {
		t.Fatal(err)
	}
	f, err := mcpface.New(mcpface.Options{Client: other, Sealer: sealer, Store: store, Name: proxy.ToolName})
	if err != nil {
		t.Fatal(err)
	}
	return f
}

const declared = `{"io.modelcontextprotocol/clientCapabilities":{"extensions":{"io.modelcontextprotocol/tasks":{}}}}`

func keyed(key string) []byte { return []byte(`{"io.github.spillway-mcp/operation-id":"` + key + `"}`) }

// A task is found by every process and after every restart, by its caller
// alone: its id is made of the operation's, and the journal is what it is kept
// in (C-21).
func TestC21_TasksOutliveTheProcess(t *testing.T) {
	f, c, sealer, store := openOn(t)
	raw, fault := f.Call(t.Context(), mcpface.Call{Caller: "a", Tool: "create_row_v1", Arguments: []byte(`{"name":"x"}`), Meta: keyed("k1"), Task: true})
	if fault != nil {
		t.Fatalf("%+v", fault)
	}
	var made task
	if err := json.Unmarshal(raw, &made); err != nil || made.Task == nil || made.Task.Status != "working" {
		t.Fatalf("%s %v", raw, err)
	}
	f.Close(t.Context())

	g := again(t, c, sealer, store)
	id := made.Task.TaskID
	if got, code := ask(t, g, mcpface.TaskRequest{Method: "tasks/get", ID: id}); code != 0 || got.Status != "completed" {
		t.Errorf("after a restart: %+v, error %d", got, code)
	}
	got, code := ask(t, g, mcpface.TaskRequest{Method: "tasks/get", ID: id, Modern: true, Meta: []byte(declared)})
	if code != 0 || got.Result == nil || got.Result.IsError || got.Result.Structured == nil {
		t.Errorf("its result: %+v, error %d", got, code)
	}
	for _, method := range []string{"tasks/get", "tasks/result", "tasks/cancel"} {
		if _, code := ask(t, g, mcpface.TaskRequest{Caller: "b", Method: method, ID: id}); code != -32602 {
			t.Errorf("another caller's %s: error %d, want -32602", method, code)
		}
	}
	if got, code := ask(t, g, mcpface.TaskRequest{Caller: "b", Method: "tasks/list"}); code != 0 || len(got.Tasks) != 0 {
		t.Errorf("another caller's list: %+v, error %d", got, code)
	}
	if f.Close(t.Context()); g.OwnsTask("b", id) || !g.OwnsTask("a", id) {
		t.Error("whose task it is cannot be told from its id")
	}
}

// Every task is in a list of as many pages as it takes, once.
func TestTasksAreListedInPages(t *testing.T) {
	f, _, _, _ := openOn(t)
	const n = 205
	for i := range n {
		if _, fault := f.Call(t.Context(), mcpface.Call{Caller: "a", Tool: "create_row_v1", Arguments: []byte(`{"name":"x"}`), Meta: keyed(fmt.Sprint("k", i))}); fault != nil {
			t.Fatalf("%+v", fault)
		}
	}
	seen, pages := map[string]bool{}, 0
	for cursor := ""; ; pages++ {
		got, code := ask(t, f, mcpface.TaskRequest{Method: "tasks/list", Cursor: cursor})
		if code != 0 {
			t.Fatalf("error %d", code)
		}
		for _, x := range got.Tasks {
			if seen[x.TaskID] {
				t.Errorf("%s twice", x.TaskID)
			}
			seen[x.TaskID] = true
		}
		if cursor = got.NextCursor; cursor == "" {
			break
		}
	}
	if len(seen) != n || pages != 2 {
		t.Errorf("%d tasks on %d pages, want %d on 3", len(seen), pages+1, n)
	}
}

// A modern client that does not declare the extension is never handed a task,
// and its word task means nothing; nor is one handed for what is quick.
func TestTasksAreForWhoDeclaresThem(t *testing.T) {
	f, _, _, _ := openOn(t)
	for i, meta := range []string{
		`{"io.github.spillway-mcp/operation-id":"a"}`,
		`{"io.github.spillway-mcp/operation-id":"b","io.modelcontextprotocol/clientCapabilities":{"extensions":{"io.modelcontextprotocol/tasks":{}}}}`,
	} {
		a, r := call(t, f, mcpface.Call{Tool: "create_row_v1", Arguments: []byte(`{"name":"x"}`), Meta: []byte(meta), Modern: true})
		if a.ResultType == "task" || r.Outcome != contract.Completed {
			t.Errorf("%d: %+v %s", i, a, r.JSON())
		}
	}
	if _, code := ask(t, f, mcpface.TaskRequest{Method: "tasks/get", ID: "spillway:create_row:a:0", Modern: true, Meta: []byte(`{}`)}); code != -32021 {
		t.Errorf("tasks/get without the capability: error %d, want -32021", code)
	}
}
