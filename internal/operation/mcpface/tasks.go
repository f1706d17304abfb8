package mcpface

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"strconv"
	"time"

	"github.com/spillway-mcp/spillway/contract"
	"github.com/spillway-mcp/spillway/internal/jsontape"
)

// TaskRequest is a request of the methods tasks/*.
type TaskRequest struct {
	Caller string
	Method string
	ID     string // of the task; of tasks/list ""
	Cursor string // of tasks/list
	Meta   []byte // _meta of the request
	Modern bool
}

// Task answers a request of the methods tasks/* for one of our tasks. That of
// tasks/result waits for the operation's end, or that of ctx.
func (f *Face) Task(ctx context.Context, q TaskRequest) ([]byte, *Fault) {
	client := f.now.Load().client
	if q.Method == "tasks/list" && !q.Modern {
		return f.list(ctx, client, q)
	}
	if q.Modern && !declaresTasks(q.Meta) {
		return nil, &Fault{Code: codeCapability, Message: "missing required client capability",
			Data: []byte(`{"requiredCapabilities":{"extensions":{"` + TasksExtension + `":{}}}}`)}
	}
	ref, ok := taskRef(q.Caller, q.ID)
	if !ok {
		return nil, &Fault{Code: codeParams, Message: "no task of yours has this id"}
	}
	switch {
	case q.Method == "tasks/get":
		s, fault := f.stand(ctx, client, ref)
		if fault != nil {
			return nil, fault
		}
		return f.detailed(ctx, ref, s, q.Modern), nil
	case q.Method == "tasks/result" && !q.Modern:
		s, fault := f.await(ctx, client, ref)
		if fault != nil {
			return nil, fault
		}
		f.tell(ctx, ref, s)
		meta := jsontape.AppendQuote([]byte(`,"_meta":{"`+metaRelated+`":{"taskId":`), s.id)
		result := f.receipt(s.receipt, s.receipt.Err())
		return append(append(result[:len(result)-1], meta...), `}}}`...), nil
	case q.Method == "tasks/cancel":
		return f.cancelTask(ctx, client, ref, q.Modern)
	case q.Method == "tasks/update" && q.Modern:
		// Nothing is asked while a task runs, so no answer is outstanding.
		if _, fault := f.stand(ctx, client, ref); fault != nil {
			return nil, fault
		}
		return []byte(`{}`), nil
	}
	return nil, &Fault{Code: codeMethod, Message: "no method " + q.Method + " in this revision"}
}

// Watch waits for the end of a task and returns what notifications/tasks says
// of it then, without the braces; nil where ctx ended or there is no such task.
func (f *Face) Watch(ctx context.Context, caller, id string) []byte {
	ref, ok := taskRef(caller, id)
	if !ok {
		return nil
	}
	s, fault := f.await(ctx, f.now.Load().client, ref)
	if fault != nil {
		return nil
	}
	whole := f.detailed(ctx, ref, s, true)
	return whole[1 : len(whole)-1]
}

// detailed is a task with its result, where it has ended and the era has it
// there.
func (f *Face) detailed(ctx context.Context, ref contract.Ref, s *standing, modern bool) []byte {
	status := s.status(modern)
	b := s.members([]byte{'{'}, status, modern)
	if modern && status == completed {
		b = append(append(b, `,"result":`...), f.receipt(s.receipt, s.receipt.Err())...)
	}
	if !modern {
		f.tell(ctx, ref, s)
	}
	return append(b, '}')
}

// handle is the answer that stands for a result to come. From here on the end
// of the request does not end the operation.
func (f *Face) handle(ctx context.Context, c Call, ref contract.Ref, r *run) []byte {
	r.stay()
	s, fault := f.stand(ctx, c.set.client, ref)
	if fault != nil { // it was claimed, whatever became of the journal since
		now := time.Now()
		s = &standing{id: taskID(ref), created: now, updated: now}
	}
	// A task begins at work, also where its operation has ended meanwhile.
	s.receipt = &contract.Receipt{OperationID: ref.Key, Outcome: contract.Pending}
	s.expires = time.Time{}
	meta := jsontape.AppendQuote([]byte(`,"_meta":{"`+MetaKey+`":`), ref.Key)
	if !c.Task {
		b := s.members([]byte(`{"resultType":"task",`), working, true)
		return append(append(b, meta...), `}}`...)
	}
	f.forget(ctx, ref, s)
	b := append(s.members([]byte(`{"task":{`), working, false), '}')
	meta = append(meta, `,"`+metaImmediate+`":`...)
	meta = jsontape.AppendQuote(meta, ref.Operation+" is under way as operation "+ref.Key+"; its result comes with the task. "+
		c.set.statusName()+" tells how it stands.")
	return append(append(b, meta...), `}}`...)
}

// cancelTask stops what runs of a task in this process. What was submitted by
// then is unknown or completed (C-23).
func (f *Face) cancelTask(ctx context.Context, client *contract.Client, ref contract.Ref, modern bool) ([]byte, *Fault) {
	s, fault := f.stand(ctx, client, ref)
	if fault != nil {
		return nil, fault
	}
	runs := f.runs(s.id)
	for _, r := range runs {
		r.stop()
	}
	if modern {
		return []byte(`{}`), nil
	}
	if status := s.status(false); status != working {
		return nil, &Fault{Code: codeParams, Message: "this task is " + status + " already: " + s.message(status)}
	}
	for _, r := range runs {
		select {
		case <-r.done:
		case <-ctx.Done():
		}
	}
	if s, fault = f.stand(ctx, client, ref); fault != nil {
		return nil, fault
	}
	if s.receipt.Outcome == contract.Completed {
		return nil, &Fault{Code: codeParams, Message: "this task was completed before it could be cancelled; operation id " + ref.Key}
	}
	s.stuck = cancelled
	f.stick(ctx, ref, cancelled, s.expires)
	return append(s.members([]byte{'{'}, cancelled, false), '}'), nil
}

// await waits until an operation has an outcome.
func (f *Face) await(ctx context.Context, client *contract.Client, ref contract.Ref) (*standing, *Fault) {
	id := taskID(ref)
	for wait := 20 * time.Millisecond; ; wait = min(2*wait, pollInterval) {
		s, fault := f.stand(ctx, client, ref)
		if fault != nil || s.receipt.Outcome != contract.Pending {
			return s, fault
		}
		var ours chan struct{} // what runs here is told at once, the rest is looked for
		if runs := f.runs(id); len(runs) > 0 {
			ours = runs[0].done
		}
		t := time.NewTimer(wait)
		select {
		case <-t.C:
		case <-ours:
		case <-ctx.Done():
			t.Stop()
			return nil, &Fault{Code: codeInternal, Message: "nobody waits any more for operation " + ref.Key}
		}
		t.Stop()
	}
}

// listPage is how many tasks one answer to tasks/list has.
const listPage = 100

// ListCursor heads the cursors of our part of tasks/list.
const ListCursor = "spillway:"

// list is the caller's operations as tasks, the oldest first.
func (f *Face) list(ctx context.Context, client *contract.Client, q TaskRequest) ([]byte, *Fault) {
	filter := contract.Filter{Limit: listPage + 1}
	if q.Cursor != "" {
		after, err := openCursor(q.Cursor)
		if err != nil {
			return nil, &Fault{Code: codeParams, Message: "this cursor is none of ours"}
		}
		filter.After = after
	}
	records, err := client.Records(ctx, q.Caller, filter)
	if err != nil {
		return nil, lost(err, nil)
	}
	more := len(records) > listPage
	b := []byte(`{"tasks":[`)
	first := true
	for _, r := range records[:min(len(records), listPage)] {
		if !r.Expires.IsZero() && !r.Expires.After(time.Now()) {
			continue // tasks/get says that it is expired
		}
		ref := contract.Ref{Caller: q.Caller, Operation: r.Operation, Key: r.Key}
		s := &standing{id: taskID(ref), receipt: &contract.Receipt{OperationID: r.Key, Outcome: outcome(r.State), Reason: r.Reason}, stuck: f.told(ctx, ref)}
		s.read(r)
		if !first {
			b = append(b, ',')
		}
		first = false
		b = append(s.members(append(b, '{'), s.status(false), false), '}')
	}
	b = append(b, ']')
	if more {
		b = jsontape.AppendQuote(append(b, `,"nextCursor":`...), cursorAfter(records[listPage-1]))
	}
	return append(b, '}'), nil
}

func outcome(s contract.State) contract.Outcome {
	if s == contract.StateAbsent {
		return contract.Rejected
	}
	return contract.Outcome(s)
}

// position is what a cursor of tasks/list holds.
type position struct {
	At   time.Time `json:"at"`
	Hash string    `json:"hash"`
}

func cursorAfter(r *contract.Record) string {
	return ListCursor + base64.RawURLEncoding.EncodeToString(marshal(position{r.CreatedAt, r.IDHash}))
}

func openCursor(cursor string) (*contract.Record, error) {
	if len(cursor) < len(ListCursor) {
		return nil, errors.New("too short")
	}
	raw, err := base64.RawURLEncoding.DecodeString(cursor[len(ListCursor):])
	var p position
	if err == nil {
		err = json.Unmarshal(raw, &p)
	}
	if err != nil || p.Hash == "" {
		return nil, errors.New("no position in it")
	}
	return &contract.Record{CreatedAt: p.At, IDHash: p.Hash}, nil
}

func appendMillis(b []byte, d time.Duration) []byte {
	return strconv.AppendInt(b, d.Milliseconds(), 10)
}
