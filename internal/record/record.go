// Package record keeps whole sessions in files, where a person has asked for
// it, and reads them back: what tools were listed, each call with its arguments,
// the server's original result and what was shown in its place. It decides what
// of that reaches the disk: never a header, never what looks like a secret,
// nothing of what the configuration redacts.
//
// Writing starts with [Open] and [Recorder.Start], reading with [Load]. What a
// recording is good for is package replay's business.
package record

import (
	"encoding/json"
	"time"
)

// Version is that of the files that this package writes.
const Version = 1

// Header is the first line of a session.
type Header struct {
	Version  int       `json:"version"`
	Spillway string    `json:"spillway"` // version of the program
	Server   string    `json:"server"`   // as rules call it; of a gateway "", each call names its own
	Session  string    `json:"session"`  // as in the ledger
	Started  time.Time `json:"started"`  // UTC, in milliseconds
	Rules    string    `json:"rules"`    // digest of the rule set in force; "" without
	Client   Client    `json:"client"`
	Redacts  string    `json:"redacts"` // digest of the redactions in force; "" without
}

// Client is what results were made for (RED-42).
type Client struct {
	Name     string `json:"name"`
	Revision string `json:"revision"` // of MCP
	Era      string `json:"era"`      // "legacy" or "modern"
	Expand   bool   `json:"expand"`   // reducer_expand was offered
}

// The kinds of an Event.
const (
	KindList      = "list"      // an answer to tools/list
	KindCall      = "call"      // a tools/call that reached the server
	KindExpand    = "expand"    // a call of reducer_expand, or of a tool with a token
	KindOperation = "operation" // a call of one of Spillway's own operations
	KindRefused   = "refused"   // a call that did not go upstream (RED-49)
	KindEnd       = "end"       // the session ended, or its recording did
)

// The outcomes of an Event, as in the ledger.
const (
	Reduced = "reduced" // Shown differs from Result
	Passed  = "passed"  // what the server sent was shown
	Failed  = "failed"  // a fault of ours; what the server sent was shown
	Error   = "error"   // the server's or the caller's error
	Stopped = "stopped" // there was no answer
)

// Event is one line of a session behind its header. Times are offsets from the
// start of the session in microseconds. The raw members are JSON as it came over
// the wire, redacted; of a loaded session they share the memory of the file.
type Event struct {
	Kind   string
	At     int64 // when the request came
	Done   int64 // when the answer was out
	Server string
	Tool   string          // as the server calls it
	Args   json.RawMessage // as the server got them; nil without
	State  string          // the name that the caller gave this read of the end of the session; not shown to the model
	Env    Env
	Rule   string // digest of the rule that applied; ""

	Outcome string
	Result  json.RawMessage // as the server sent it; of a list the array of tools; nil where there is none, or it was dropped
	Shown   json.RawMessage // what was sent in its place; nil: Result itself, or it was dropped
	Error   json.RawMessage // a JSON-RPC error
	Before  Sizes           // of what the server sent, before any redaction
	After   Sizes           // of what was shown
	Cut     Cut
	Note    string // as shown
	Ref     string // that Shown names; of an expand, that was asked for
	Faults  []string
	Dropped bool // the redactions have removed Result, Shown and Args, or parts of them that no rule can do without
	Reason  string
}

// Env is what a result was reduced for, as reduce.Env.
type Env struct {
	Expand bool `json:"expand"` // reducer_expand was listed
	Schema bool `json:"schema"` // the tool lists an output schema
	UI     bool `json:"ui"`     // an MCP App
	Link   bool `json:"link"`   // a resource_link is added
	Write  bool `json:"write"`  // annotated readOnlyHint: false
	Verify bool `json:"verify"` // the caller asked for the full result
	Token  bool `json:"token"`  // the tool lists a continuation_token
}

// Sizes are the bytes of the two views of a result: the text blocks together as
// UTF-8, and structuredContent as compact JSON. Of a list, Text is the size of
// the array of tools as JSON.
type Sizes struct {
	Text       int `json:"text"`
	Structured int `json:"structured"`
}

// Cut is what a rule removed.
type Cut struct {
	Rows   int `json:"rows"`
	Fields int `json:"fields"`
	Bytes  int `json:"bytes"`
}

// Seen returns what was shown to the caller: Shown, else Result.
func (e *Event) Seen() json.RawMessage {
	if e.Shown != nil {
		return e.Shown
	}
	return e.Result
}
