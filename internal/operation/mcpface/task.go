package mcpface

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spillway-mcp/spillway/contract"
	"github.com/spillway-mcp/spillway/internal/jsontape"
)

const (
	// taskPrefix heads the ids of our tasks.
	taskPrefix = "spillway:"
	// TasksExtension is the extension of 2026-07-28 that tasks are.
	TasksExtension = "io.modelcontextprotocol/tasks"
	metaRelated    = "io.modelcontextprotocol/related-task"
	metaImmediate  = "io.modelcontextprotocol/model-immediate-response"
	metaCapability = "io.modelcontextprotocol/clientCapabilities"

	pollInterval = time.Second
)

// taskID is the id of the task that stands for a caller's operation: the same
// from every process and after every restart, since the journal is what the
// task is kept in. It grants nothing; whoever shows it has to be the caller
// (C-21), whose identity the end of it is made of.
func taskID(ref contract.Ref) string {
	hash := contract.ID(ref).Hash()
	return taskPrefix + ref.Operation + ":" + ref.Key + ":" + hash[:16]
}

// taskRef undoes taskID for a caller.
func taskRef(caller, id string) (contract.Ref, bool) {
	body, ok := strings.CutPrefix(id, taskPrefix)
	name, rest, ok2 := strings.Cut(body, ":")
	end := strings.LastIndexByte(rest, ':')
	if !ok || !ok2 || end < 0 {
		return contract.Ref{}, false
	}
	ref := contract.Ref{Caller: caller, Operation: name, Key: rest[:end]}
	return ref, taskID(ref) == id
}

// OwnsTask reports whether a task is an operation of this caller's. It may be
// one that nobody has called.
func (f *Face) OwnsTask(caller, id string) bool {
	_, ok := taskRef(caller, id)
	return ok
}

// declaresTasks reports whether a modern request says that its client knows
// tasks.
func declaresTasks(meta []byte) bool {
	doc, err := jsontape.Parse(meta)
	return err == nil && doc.Root().Lookup(metaCapability, "extensions", TasksExtension).Kind() == jsontape.Object
}

// standing is a task as the journal has it.
type standing struct {
	id      string
	receipt *contract.Receipt
	created time.Time
	updated time.Time
	expires time.Time // zero is never
	stuck   string    // a terminal status that was told to a client of 2025-11-25
}

// stand reads how a task stands.
func (f *Face) stand(ctx context.Context, client *contract.Client, ref contract.Ref) (*standing, *Fault) {
	s := &standing{id: taskID(ref)}
	var err error
	if s.receipt, err = client.Get(ctx, ref); refused(err) {
		return nil, lost(err, s.receipt)
	}
	// It is what the call would have been answered with, which is no replay.
	s.receipt.Replayed = false
	records, err := client.Records(ctx, ref.Caller, contract.Filter{Operation: ref.Operation, Key: ref.Key, Limit: 1})
	if err != nil {
		return nil, lost(err, nil)
	}
	if len(records) == 1 {
		s.read(records[0])
	}
	s.stuck = f.told(ctx, ref)
	return s, nil
}

func (s *standing) read(r *contract.Record) {
	s.created, s.updated, s.expires = r.CreatedAt, r.UpdatedAt, r.Expires
}

// lost says why a task cannot be told of.
func lost(err error, r *contract.Receipt) *Fault {
	fault := &Fault{Code: codeParams, Message: "no task of yours has this id"}
	var e *contract.Error
	switch {
	case !errors.As(err, &e):
		fault.Code, fault.Message = codeInternal, err.Error()
	case e.Kind == contract.ErrJournal:
		fault.Code, fault.Message = codeInternal, e.Message
	case e.Kind != contract.ErrNotFound:
		fault.Message = e.Message
	}
	if r != nil {
		fault.Data = r.JSON()
	}
	return fault
}

const (
	working   = "working"
	completed = "completed"
	failed    = "failed"
	cancelled = "cancelled"
)

// status is the task's word for the operation's outcome. An answer that is an
// error is one that came: in 2026-07-28 the task is completed by it. In
// 2025-11-25 it has failed, and a status that ended stays as it was told.
func (s *standing) status(modern bool) string {
	switch {
	case s.receipt.Outcome == contract.Pending && (modern || s.stuck != cancelled):
		return working
	case modern:
		return completed
	case s.stuck != "":
		return s.stuck
	case s.receipt.IsError():
		return failed
	}
	return completed
}

// message says to people how the operation stands.
func (s *standing) message(status string) string {
	r := s.receipt
	var b strings.Builder
	if status == cancelled {
		b.WriteString("cancelled; ")
	}
	fmt.Fprintf(&b, "operation %s: ", r.OperationID)
	if r.Outcome == contract.Pending {
		b.WriteString("under way")
		return b.String()
	}
	b.WriteString(string(r.Outcome))
	if r.Reason != "" {
		fmt.Fprintf(&b, " (%s)", r.Reason)
	}
	if r.Hint != "" {
		b.WriteString("; " + r.Hint)
	}
	return b.String()
}

// members writes the members of a task, without the braces.
func (s *standing) members(b []byte, status string, modern bool) []byte {
	ttl, poll := `,"ttl":`, `,"pollInterval":`
	if modern {
		ttl, poll = `,"ttlMs":`, `,"pollIntervalMs":`
	}
	b = jsontape.AppendQuote(append(b, `"taskId":`...), s.id)
	b = append(append(b, `,"status":"`...), status...)
	b = jsontape.AppendQuote(append(b, `","statusMessage":`...), s.message(status))
	b = append(s.created.UTC().AppendFormat(append(b, `,"createdAt":"`...), time.RFC3339Nano), '"')
	b = append(s.updated.UTC().AppendFormat(append(b, `,"lastUpdatedAt":"`...), time.RFC3339Nano), '"')
	b = append(b, ttl...)
	if s.expires.IsZero() {
		b = append(b, `null`...)
	} else {
		b = appendMillis(b, s.expires.Sub(s.created))
	}
	if status == working {
		b = appendMillis(append(b, poll...), pollInterval)
	}
	return b
}
