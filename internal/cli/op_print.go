package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/spillway-mcp/spillway/contract"
)

// printReceipt prints a receipt and makes its exit status. With --json or
// --value stdout holds that alone; what went wrong is said on stderr.
func printReceipt(s streams, asJSON, value bool, r *contract.Receipt, err error) error {
	return printAs(s, asJSON, value, false, r, err)
}

// printAs is printReceipt; looked says that nobody called the operation, but
// asked how it stands, so that a receipt from the journal is no replay.
func printAs(s streams, asJSON, value, looked bool, r *contract.Receipt, err error) error {
	if r == nil {
		return opError(err)
	}
	var werr error
	switch {
	case looked && !asJSON && (r.Reason == contract.ReasonInvalid || r.Reason == contract.ReasonNotFound):
		// The question was refused, not the operation: a receipt that says
		// "rejected, effect none" would be taken for how that stands.
	case value:
		if r.Result != nil {
			_, werr = fmt.Fprintf(s.Out, "%s\n", r.Result)
		}
	case asJSON:
		_, werr = fmt.Fprintf(s.Out, "%s\n", r.JSON())
	default:
		werr = writeReceipt(s.Out, r, looked)
	}
	if werr != nil {
		return werr
	}
	status := r.ExitCode()
	switch {
	case status == contract.ExitCompleted:
		return nil
	case err != nil:
		return withStatus(status, err)
	}
	return quiet(status)
}

// opError gives an error of package contract the exit status of its kind.
func opError(err error) error {
	var e *contract.Error
	if !errors.As(err, &e) {
		return err
	}
	return withStatus((&contract.Receipt{Outcome: contract.Rejected, Reason: e.Reason}).ExitCode(), err)
}

// writeField writes a line of a receipt; a text that starts with a line end
// stands under its name.
func writeField(b *strings.Builder, name, text string) {
	if !strings.HasPrefix(text, "\n") {
		name = fmt.Sprintf("%-11s", name)
	}
	fmt.Fprintf(b, "%s%s\n", name, text)
}

// writeReceipt writes a receipt for people.
func writeReceipt(w io.Writer, r *contract.Receipt, looked bool) error {
	var b strings.Builder
	line := func(name, format string, args ...any) { writeField(&b, name, fmt.Sprintf(format, args...)) }
	outcome := string(r.Outcome)
	if r.Coverage != nil && !r.Complete {
		outcome = "incomplete"
	}
	if r.Replayed && !looked {
		outcome += ", as recorded before: nothing was sent"
	}
	if r.Operation != "" {
		line("operation", "%s", r.Operation)
	}
	if r.Coverage == nil && r.OperationID != "" {
		line("id", "%s", r.OperationID)
	}
	line("outcome", "%s", outcome)
	if r.CompletedAt != nil {
		line("completed", "%s", clock(*r.CompletedAt))
	}
	if r.Reason != "" {
		line("reason", "%s", r.Reason)
	}
	if r.Result != nil {
		line("result", "%s", resultText(r.Result))
	}
	if c := r.Coverage; c != nil {
		text := several(c.RecordsExamined, "record") + " on " + several(c.Pages, "page")
		if c.Skipped > 0 {
			text += fmt.Sprintf(", %s skipped", grouped(c.Skipped))
		}
		if c.Duplicates > 0 {
			text += fmt.Sprintf(", %s seen twice", grouped(c.Duplicates))
		}
		line("examined", "%s (%s)", text, c.Consistency)
		if c.Position != nil {
			line("stopped at", "page %d, record %d %s", c.Position.Page, c.Position.Record, c.Position.Field)
		}
		for _, ref := range c.Evidence {
			line("evidence", "%s", ref)
		}
		if c.Continuation != nil {
			line("go on", "spillway op resume %s", *c.Continuation)
		}
	} else {
		line("effect", "%s", r.Effect)
	}
	for _, st := range r.Steps {
		name := st.Step
		if st.Item != "" {
			name += "[" + st.Item + "]"
		}
		text := string(st.Status)
		if st.Reason != "" {
			text += ", " + st.Reason
		}
		line("step", "%s: %s", name, text)
	}
	for _, n := range r.Notes {
		line("note", "%s %s: %s", n.Who, n.Did, n.Why)
	}
	if next := nextText(r); next != "" {
		line("next", "%s", next)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// nextText says what helps, as a command where it is one.
func nextText(r *contract.Receipt) string {
	switch {
	case r.NextAction == contract.NextNone, r.Coverage != nil: // of a read it stands under go on
		return ""
	case r.NextAction == contract.NextNewKey:
		return "this id is spent; a new intent needs a new one"
	case r.OperationID == "":
		return string(r.NextAction)
	case r.NextAction == contract.NextWait:
		return "wait, then spillway op status " + r.OperationID
	case r.NextAction == contract.NextReconcile && strings.Contains(r.Hint, "resolve"):
		return "find out, then spillway op resolve " + r.OperationID
	}
	return fmt.Sprintf("spillway op %s %s", r.NextAction, r.OperationID) // reconcile, resume
}

// several counts things for people.
func several(n int, what string) string {
	if n != 1 {
		what += "s"
	}
	return grouped(n) + " " + what
}

// resultText writes a result for people: on one line if it is short.
func resultText(raw json.RawMessage) string {
	if len(raw) <= 80 {
		return string(raw)
	}
	return "\n" + indented(raw)
}

func writePreview(w io.Writer, p *contract.Preview) error {
	var b strings.Builder
	line := func(name, format string, args ...any) { writeField(&b, name, fmt.Sprintf(format, args...)) }
	line("operation", "%s", p.Operation)
	line("id", "%s", p.OperationID)
	line("scope", "%s", strings.ReplaceAll(p.Scope, "\n", " "))
	line("effects", "%s on %s", p.Effects, p.Target)
	line("params", "%s", p.Params)
	if p.Prediction != nil {
		line("would be", "%s", resultText(p.Prediction))
	}
	if p.Revision != "" {
		line("revision", "%s", p.Revision)
	}
	if p.Informational {
		line("note", "informational: the upstream cannot hold the commit to what was seen here")
	}
	if p.Recorded != "" {
		line("recorded", "%s: the commit will be answered from the journal", p.Recorded)
	}
	line("replay", "%s, reconcile: %s", p.Replay, p.Reconcile)
	line("commit", "spillway op commit %s", p.OperationID)
	line("until", "%s", clock(p.ExpiresAt))
	_, err := io.WriteString(w, b.String())
	return err
}

// progressEvery is how often a long read says how far it has come.
const progressEvery = 2 * time.Second

// progressOn reports the progress of a long read on a terminal, in whole
// lines; anywhere else it is nil and nothing is said.
func progressOn(w io.Writer) func(contract.Progress) {
	if !isTerminal(w) {
		return nil
	}
	return progressTo(w)
}

func progressTo(w io.Writer) func(contract.Progress) {
	var mu sync.Mutex
	last := time.Now()
	return func(p contract.Progress) {
		mu.Lock()
		defer mu.Unlock()
		if now := time.Now(); now.Sub(last) >= progressEvery {
			last = now
			fmt.Fprintf(w, "spillway: %s on %s so far\n", several(p.RecordsExamined, "record"), several(p.Pages, "page"))
		}
	}
}

func isTerminal(w io.Writer) bool {
	if l, ok := w.(*lockedWriter); ok {
		w = l.w
	}
	f, ok := w.(*os.File)
	if !ok {
		return false
	}
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}
