package proxy

import (
	"slices"

	"github.com/spillway-mcp/spillway/internal/wire"
)

// tasks remembers by which call a task was made, so that its result, which
// comes by another way, is reduced by that tool's rule (RED-04). It forgets the
// oldest beyond maxTasks.
type tasks struct {
	calls map[string]*call
	order []string
}

const maxTasks = 1024

// maxTaskAnswer is the size in bytes up to which an answer is looked at for
// being a task and not a result.
const maxTaskAnswer = 64 << 10

func (t *tasks) add(id string, c *call) {
	if t.calls == nil {
		t.calls = make(map[string]*call)
	}
	if _, again := t.calls[id]; again {
		t.order = slices.DeleteFunc(t.order, func(x string) bool { return x == id })
	}
	t.calls[id] = c
	t.order = append(t.order, id)
	if len(t.order) > maxTasks {
		delete(t.calls, t.order[0])
		t.order = t.order[1:]
	}
}

// taskIDOf returns the taskId of an object: as a lookup key.
func taskIDOf(body []byte, sp wire.Span) string {
	return string(wire.KeyOf(wire.Member(body, sp, "taskId").Of(body)))
}

// newTaskID returns the id of the task that a tools/call was answered with, ""
// for a result: {task: {taskId}} in 2025-11-25, {resultType: "task", taskId} in
// the extension.
func newTaskID(body []byte, result wire.Span) string {
	if result.End-result.Start > maxTaskAnswer {
		return ""
	}
	var task, id wire.Span
	byType := false
	for it := wire.MembersOf(body, result); it.Next(); {
		switch k := it.Key(); {
		case wire.StringIs(k, "task"):
			task = it.Value()
		case wire.StringIs(k, "taskId"):
			id = it.Value()
		case wire.StringIs(k, "resultType"):
			byType = wire.StringIs(it.Value().Of(body), "task")
		case wire.StringIs(k, "content"), wire.StringIs(k, "structuredContent"):
			return ""
		}
	}
	if id.Present() && byType {
		return string(wire.KeyOf(id.Of(body)))
	}
	if isObject(body, task) {
		return taskIDOf(body, task)
	}
	return ""
}

// taskCall returns the call that made the task.
func (s *session) taskCall(id string) *call {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.tasks.calls[id]
}

// taskResult rewrites the answer to tasks/result, which is the tool's result.
func (s *session) taskResult(c *call, body []byte, m wire.Message) change {
	made := s.taskCall(c.taskID)
	if made == nil || !m.Result.Present() {
		return change{}
	}
	return s.reduceAt(made.again(c), body, m.Result)
}

// taskGet rewrites the answer to tasks/get, which has the tool's result as a
// member once the task is completed.
func (s *session) taskGet(c *call, body []byte, m wire.Message) change {
	made := s.taskCall(c.taskID)
	inner := wire.Member(body, m.Result, "result")
	if made == nil || !isObject(body, inner) {
		return change{}
	}
	return s.reduceAt(made.again(c), body, inner)
}

// taskNotification rewrites notifications/tasks, which has it in its params.
func (s *session) taskNotification(body []byte, m wire.Message) change {
	made := s.taskCall(taskIDOf(body, m.Params))
	inner := wire.Member(body, m.Params, "result")
	if made == nil || !isObject(body, inner) {
		return change{}
	}
	return s.reduceAt(made.again(made), body, inner)
}

// again is the call that made a task as asked for by c: its rule stands, the
// time and the caller's list are those of now.
func (c *call) again(now *call) *call {
	as := *c
	as.id, as.key, as.modern, as.answer = now.id, now.key, c.modern, nil
	return &as
}
