package proxy

import (
	"bytes"
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/spillway-mcp/spillway/internal/httpmcp"
	"github.com/spillway-mcp/spillway/internal/jsontape"
	"github.com/spillway-mcp/spillway/internal/operation/mcpface"
	"github.com/spillway-mcp/spillway/internal/wire"
)

// Operations can become tasks: the core ones of 2025-11-25, and those of the
// extension in 2026-07-28. A task's id says whose it is: ours are answered
// here, all others go to the server.

// legacyTasks reports whether the client has the tasks of 2025-11-25. The
// session's lock is held.
func (s *session) legacyTasks() bool {
	return s.profile.legacy && s.profile.revision == httpmcp.Revision20251125
}

// wantsTask reports whether a legacy call of an operation asks for a task.
// Where none were declared the parameter means nothing.
func (s *session) wantsTask(c *call, body []byte, m wire.Message) bool {
	if c.modern || !isObject(body, wire.Member(body, m.Params, "task")) {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.legacyTasks()
}

// declareTasks returns the capabilities of the answer to a handshake, with
// what says that calls of operations can become tasks. The session's lock is
// held.
func (s *session) declareTasks(c *call, caps []byte) []byte {
	if s.opt.Operations == nil || !s.opt.Operations.Mutates() || !isObject(caps, wire.Span{End: len(caps)}) {
		return caps
	}
	switch {
	case c.modern:
		return object(caps, member{"extensions", `{"` + mcpface.TasksExtension + `":{}}`})
	case s.legacyTasks():
		return object(caps, member{"tasks", `{"list":{},"cancel":{},"requests":{"tools":{"call":{}}}}`})
	}
	return caps
}

type member struct{ key, value string }

// object is an object with a member; where it has that one already, with the
// members of it that it does not have, at any depth.
func object(has []byte, m member) []byte {
	all := wire.Span{End: len(has)}
	at := wire.Member(has, all, m.key)
	if !isObject(has, at) {
		return wire.Splice(has, wire.SetMember(has, all, m.key, []byte(m.value)))
	}
	inner := bytes.Clone(at.Of(has))
	for it := wire.MembersOf([]byte(m.value), wire.Span{End: len(m.value)}); it.Next(); {
		inner = object(inner, member{wire.Text(it.Key()), string(it.Value().Of([]byte(m.value)))})
	}
	return wire.Splice(has, wire.Edit{Span: at, With: inner})
}

// ownTask answers a request of tasks/* that is about a task of ours, and
// reports whether it was.
func (s *session) ownTask(c *call, method string, body []byte, m wire.Message) bool {
	if s.opt.Operations == nil {
		return false
	}
	id := wire.Text(wire.Member(body, m.Params, "taskId").Of(body))
	cursor := wire.Text(wire.Member(body, m.Params, "cursor").Of(body))
	s.mu.Lock()
	// A server that has no tasks is not asked for one.
	alone := s.profile.noTasks && (c.modern || s.legacyTasks()) && s.opt.Operations.Mutates() && s.opt.Origin == nil
	s.mu.Unlock()
	switch {
	case method == "tasks/list" && c.modern:
		return false
	case method == "tasks/list":
		if !alone && !strings.HasPrefix(cursor, mcpface.ListCursor) {
			return false
		}
	case !alone && !s.opt.Operations.OwnsTask(s.opt.Caller, id):
		return false
	}
	q := mcpface.TaskRequest{
		Caller: s.opt.Caller, Method: method, ID: id, Cursor: cursor, Modern: c.modern,
		Meta: bytes.Clone(wire.Member(body, m.Params, "_meta").Of(body)),
	}
	s.serve(c, func(ctx context.Context) ([]byte, *mcpface.Fault) { return s.opt.Operations.Task(ctx, q) }, nil)
	return true
}

// taskList adds our tasks to the last page of the server's.
func (s *session) taskList(c *call, body []byte, m wire.Message) change {
	tasks := wire.Member(body, m.Result, "tasks")
	next := wire.Member(body, m.Result, "nextCursor")
	if !tasks.Present() || body[tasks.Start] != '[' || next.Present() && body[next.Start] == '"' {
		return change{}
	}
	page, fault := s.opt.Operations.Task(context.Background(), mcpface.TaskRequest{Caller: s.opt.Caller, Method: "tasks/list"})
	if fault != nil {
		s.opt.Log.Error("operations not listed as tasks", "err", fault.Message)
		return change{}
	}
	all := wire.Span{End: len(page)}
	ours := bytes.Trim(wire.Member(page, all, "tasks").Of(page), "[]")
	if len(ours) == 0 {
		return change{}
	}
	theirs := bytes.TrimSuffix(tasks.Of(body), []byte("]"))
	if len(bytes.TrimSpace(theirs)) > 1 {
		theirs = append(bytes.Clone(theirs), ',')
	}
	edits := []wire.Edit{{Span: tasks, With: slices.Concat(theirs, ours, []byte("]"))}}
	if own := wire.Member(page, all, "nextCursor"); own.Present() {
		edits = append(edits, wire.SetMember(body, m.Result, "nextCursor", own.Of(page)))
	}
	slices.SortStableFunc(edits, func(a, b wire.Edit) int { return cmp.Compare(a.Start, b.Start) })
	return change{edits: edits}
}

// listenTasks takes the tasks that are ours out of a subscription, whose ends
// we tell of, and returns the change to what goes to the server.
func (s *session) listenTasks(c *call, body []byte, m wire.Message) (edits []wire.Edit) {
	ids := wire.Path(body, m.Params, "notifications", "taskIds")
	if s.opt.Operations == nil || !ids.Present() {
		return nil
	}
	rest := []byte{'['}
	for it := wire.ElementsOf(body, ids); it.Next(); {
		id := wire.Text(it.Value().Of(body))
		if s.opt.Operations.OwnsTask(s.opt.Caller, id) {
			c.ownTasks = append(c.ownTasks, id)
			continue
		}
		if len(rest) > 1 {
			rest = append(rest, ',')
		}
		rest = append(rest, it.Value().Of(body)...)
	}
	if c.ownTasks == nil {
		return nil
	}
	c.over = make(chan struct{})
	if len(rest) > 1 {
		return []wire.Edit{{Span: ids, With: append(rest, ']')}}
	}
	return []wire.Edit{dropMember(body, wire.Member(body, m.Params, "notifications"), "taskIds")}
}

// acknowledged adds our tasks to what a server grants a subscription, and
// begins to watch them.
func (s *session) acknowledged(body []byte, m wire.Message) change {
	sub := wire.Path(body, m.Params, "_meta", metaSubscription)
	granted := wire.Member(body, m.Params, "notifications")
	s.mu.Lock()
	c := s.pending[wire.KeyOf(sub.Of(body))]
	var over chan struct{}
	if c != nil {
		over = c.over
	}
	s.mu.Unlock()
	if over == nil || !isObject(body, granted) {
		return change{}
	}
	ids := []byte{'['}
	had := wire.Member(body, granted, "taskIds")
	for it := wire.ElementsOf(body, had); it.Next(); {
		ids = append(append(ids, it.Value().Of(body)...), ',')
	}
	for _, id := range c.ownTasks {
		ids = append(jsontape.AppendQuote(ids, id), ',')
	}
	ids[len(ids)-1] = ']'
	edit := wire.Edit{Span: had, With: ids}
	if !had.Present() {
		edit = wire.SetMember(body, granted, "taskIds", ids)
	}
	return change{edits: []wire.Edit{edit}, after: func() { s.watchTasks(c, over) }}
}

// watchTasks tells a subscription of the end of each of our tasks in it.
func (s *session) watchTasks(c *call, over <-chan struct{}) {
	for _, id := range c.ownTasks {
		s.workers.Go(func() {
			ctx, cancel := context.WithCancel(context.Background())
			defer cancel()
			go func() {
				defer cancel()
				select {
				case <-s.ended:
				case <-over:
				case <-ctx.Done():
				}
			}()
			task := s.opt.Operations.Watch(ctx, s.opt.Caller, id)
			if task == nil || ctx.Err() != nil {
				return
			}
			s.toClient([]byte(`{"jsonrpc":"2.0","method":"notifications/tasks","params":{"_meta":{"`+metaSubscription+`":`), c.id, []byte(`},`), task, []byte(`}}`))
		})
	}
}

const metaSubscription = "io.modelcontextprotocol/subscriptionId"
