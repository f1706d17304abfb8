package gateway

import (
	"context"
	"strings"
	"testing"
	"time"
)

// An operation's step is held by its server: who asks again is handed a task,
// whose end a subscription is told. Another caller's task is not found (C-21).
func TestC21_TasksOverHTTP(t *testing.T) {
	const meta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{"extensions":{"io.modelcontextprotocol/tasks":{}}},"io.github.spillway-mcp/operation-id":"k1"}`
	const call = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"make_row","arguments":{},` + meta + `}}`
	for n := 1; n <= 2; n++ {
		fakes := map[string]*fake{"a": newModernFake("a"), "b": newModernFake("b")}
		ops := operations(t, `
operations:
  make_row@1.0:
    scope: One row.
    effects: create
    mutation: {steps: [{call: {tool: a/hang}}]}
`)
		s := newSiteWith(t, "{}", fakes, ops, serversOf("a", "b")[:n]...)
		first := make(chan string, 1)
		go func() { first <- s.mustModern("ann", "tools/call", "make_row", call) }()
		p, id := fakes["a"].hung("tools/call")
		again := s.mustModern("ann", "tools/call", "make_row", call)
		if !strings.Contains(again, `"resultType":"task"`) {
			t.Fatalf("%d servers: pending is no task: %s", n, again)
		}
		_, rest, _ := strings.Cut(again, `"taskId":"`)
		task, _, _ := strings.Cut(rest, `"`)
		get := `{"jsonrpc":"2.0","id":2,"method":"tasks/get","params":{"taskId":"` + task + `",` + meta + `}}`
		if got := s.mustModern("bob", "tasks/get", task, get); !strings.Contains(got, "-32602") && !strings.Contains(got, "-32601") || strings.Contains(got, "working") {
			t.Errorf("%d servers: another caller's task: %s", n, got)
		}

		ctx, cancel := context.WithCancel(t.Context())
		resp, err := s.modern(ctx, "ann", "subscriptions/listen", "", `{"jsonrpc":"2.0","id":"sub","method":"subscriptions/listen","params":{"notifications":{"taskIds":["`+task+`"]},`+meta+`}}`)
		if err != nil {
			t.Fatal(err)
		}
		if n == 1 { // the one server is shown as it is, and grants what it is asked for
			q, sub := fakes["a"].hung("subscriptions/listen")
			q.send(notification("notifications/subscriptions/acknowledged", []byte(`{"_meta":{"io.modelcontextprotocol/subscriptionId":`+string(sub)+`},"notifications":{}}`)))
		}
		var told strings.Builder
		read := func(until string) {
			buf := make([]byte, 4096)
			for !strings.Contains(told.String(), until) {
				k, err := resp.Body.Read(buf)
				if err != nil {
					t.Fatal(err, told.String())
				}
				told.Write(buf[:k])
			}
		}
		read(`"taskIds":["` + task + `"]`)
		p.send(result(id, []byte(`{"resultType":"complete","content":[],"structuredContent":{"id":"r1"}}`)))
		read(`"method":"notifications/tasks"`)
		read(`"status":"completed"`)
		if !strings.Contains(told.String(), `"io.modelcontextprotocol/subscriptionId":"sub"`) || !strings.Contains(told.String(), `"result":{"id":"r1"}`) {
			t.Errorf("%d servers: told %s", n, told.String())
		}
		cancel()
		resp.Body.Close()
		if got := <-first; !strings.Contains(got, `"outcome":"completed"`) {
			t.Errorf("%d servers: the first call: %s", n, got)
		}
		if got := s.mustModern("ann", "tasks/get", task, get); !strings.Contains(got, `"status":"completed"`) {
			t.Errorf("%d servers: its task: %s", n, got)
		}
	}
}

// A gateway that stops lets the tasks of operations end, though no call is in
// flight: their steps go over its connections.
func TestC23_DrainLetsTasksEnd(t *testing.T) {
	f := newFake("a", `initialize {"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"A","version":"1"}}
tools/list {"tools":[{"name":"hang","inputSchema":{"type":"object"}}]}
tools/call hang -`)
	ops := operations(t, `
operations:
  make_row@1.0:
    scope: One row.
    effects: create
    mutation: {steps: [{call: {tool: a/hang}}]}
`)
	s := newSiteWith(t, "{}", map[string]*fake{"a": f}, ops, child("a"))
	c := s.caller("ann")
	got := c.must(`{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"make_row","arguments":{},"task":{},"_meta":{"io.github.spillway-mcp/operation-id":"k1"}}}`)
	if !strings.Contains(got, `"status":"working"`) || s.g.InFlight() != 0 {
		t.Fatalf("no task: %s, %d in flight", got, s.g.InFlight())
	}
	p, id := f.hung("tools/call")
	drained := make(chan struct{})
	go func() {
		s.g.Drain(t.Context(), time.Minute)
		close(drained)
	}()
	eventually(t, func() bool { return s.g.draining.Load() })
	select {
	case <-drained:
		t.Error("drained while a step is under way")
	case <-time.After(50 * time.Millisecond):
	}
	p.send(result(id, []byte(`{"content":[],"structuredContent":{"id":"r1"}}`)))
	<-drained
}
