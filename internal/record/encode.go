package record

import (
	"bytes"
	"encoding/json"
	"strconv"

	"github.com/spillway-mcp/spillway/internal/jsontape"
)

// appendHeader appends the first line of a file without its line end.
func (h *Header) appendJSON(b []byte) []byte {
	head, err := json.Marshal(h)
	if err != nil {
		return b
	}
	b = append(b, `{"kind":"session",`...)
	return append(b, head[1:]...)
}

// AppendJSON appends the event as one JSON object without a line end. The order
// of its members is fixed, and what is empty is left out.
func (e *Event) AppendJSON(b []byte) []byte {
	b = jsontape.AppendQuote(append(b, `{"kind":`...), e.Kind)
	b = strconv.AppendInt(append(b, `,"at":`...), e.At, 10)
	b = strconv.AppendInt(append(b, `,"done":`...), e.Done, 10)
	b = text(b, "server", e.Server)
	b = text(b, "tool", e.Tool)
	b = text(b, "state", e.State)
	b = raw(b, "args", e.Args)
	if e.Env != (Env{}) {
		b = value(b, "env", e.Env)
	}
	b = text(b, "rule", e.Rule)
	b = text(b, "outcome", e.Outcome)
	b = raw(b, "result", e.Result)
	b = raw(b, "shown", e.Shown)
	b = raw(b, "error", e.Error)
	if e.Before != (Sizes{}) {
		b = value(b, "before", e.Before)
	}
	if e.After != (Sizes{}) {
		b = value(b, "after", e.After)
	}
	if e.Cut != (Cut{}) {
		b = value(b, "cut", e.Cut)
	}
	b = text(b, "note", e.Note)
	b = text(b, "ref", e.Ref)
	if len(e.Faults) > 0 {
		b = value(b, "faults", e.Faults)
	}
	if e.Dropped {
		b = append(b, `,"dropped":true`...)
	}
	b = text(b, "reason", e.Reason)
	return append(b, '}')
}

func text(b []byte, name, s string) []byte {
	if s == "" {
		return b
	}
	return jsontape.AppendQuote(append(append(append(b, `,"`...), name...), `":`...), s)
}

func value(b []byte, name string, v any) []byte {
	data, err := json.Marshal(v)
	if err != nil {
		return b
	}
	return append(append(append(append(b, `,"`...), name...), `":`...), data...)
}

// raw appends JSON as it is, but for line ends, which may stand between tokens
// only.
func raw(b []byte, name string, v json.RawMessage) []byte {
	if len(v) == 0 {
		return b
	}
	b = append(append(append(b, `,"`...), name...), `":`...)
	if bytes.IndexByte(v, '\n') < 0 {
		return append(b, v...)
	}
	at := len(b)
	b = append(b, v...)
	for i := at; i < len(b); i++ {
		if b[i] == '\n' {
			b[i] = ' '
		}
	}
	return b
}
