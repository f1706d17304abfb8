package contract

import (
	"encoding/json"
	"time"
)

// Receipt is the answer to every invocation, the refused ones included
// (C-24). Its JSON has one published schema, ReceiptSchema; members stand in
// this order, and numbers in Result keep the digits they came with.
type Receipt struct {
	OperationID string          `json:"operationId"` // the operation key; "" only where none could be told
	Operation   string          `json:"operation"`   // name@major.minor, of the recorded call where there is one
	Digest      string          `json:"digest"`      // of the definition
	Outcome     Outcome         `json:"outcome"`
	Effect      Effect          `json:"effect"`
	NextAction  NextAction      `json:"nextAction"`
	Result      json.RawMessage `json:"result,omitempty"`

	*Coverage // of a read; nil of a mutation

	Reason    string   `json:"reason,omitempty"`
	Message   string   `json:"message,omitempty"` // for people: what happened
	Hint      string   `json:"hint,omitempty"`    // for people: what to do
	Parameter string   `json:"parameter,omitempty"`
	Conflict  []string `json:"conflict,omitempty"` // of a key conflict: params, target, version, precondition

	Replayed    bool         `json:"replayed,omitempty"`
	CompletedAt *time.Time   `json:"completedAt,omitempty"` // the first time, UTC
	Attempts    int          `json:"attempts,omitempty"`    // submissions, of a read page fetches
	Steps       []StepReport `json:"steps,omitempty"`       // of several steps or items
	Replay      string       `json:"replay,omitempty"`      // "safe" or "unsafe", see Definition.Replay; of a mutation
	Notes       []Note       `json:"notes,omitempty"`       // what people journaled
}

// Coverage is what a read's receipt says of its scope.
type Coverage struct {
	RecordsExamined int         `json:"recordsExamined"`
	Complete        bool        `json:"complete"`     // the upstream's end signal was seen (C-01)
	Continuation    *string     `json:"continuation"` // sealed; null where there is none
	Pages           int         `json:"pages"`
	Skipped         int         `json:"skipped,omitempty"`    // records that could not be read (C-09)
	Duplicates      int         `json:"duplicates,omitempty"` // records seen before (C-04)
	Consistency     Consistency `json:"consistency"`
	Position        *Position   `json:"position,omitempty"` // of the record that stopped the read
	Evidence        []string    `json:"evidence,omitempty"` // refs of the pages, in order (C-08)
}

// Position is a record's place in a read, both counted from 1.
type Position struct {
	Page   int    `json:"page"`
	Record int    `json:"record"` // within its page
	Field  string `json:"field,omitempty"`
}

// StepReport is what became of one step, or of one of its items.
type StepReport struct {
	Step     string          `json:"step"`
	Item     string          `json:"item,omitempty"`
	Status   StepStatus      `json:"status"`
	Result   json.RawMessage `json:"result,omitempty"`
	Reason   string          `json:"reason,omitempty"`
	Message  string          `json:"message,omitempty"`
	Attempts int             `json:"attempts,omitempty"`
}

// StepStatus is the state of one step.
type StepStatus string

// The states of a step.
const (
	StepWaiting            StepStatus = "waiting"             // not submitted
	StepSubmitted          StepStatus = "submitted"           // may be on its way
	StepCompleted          StepStatus = "completed"           //
	StepRejected           StepStatus = "rejected"            // known not to have happened
	StepAbsent             StepStatus = "absent"              // reconciled: did not happen
	StepUnknown            StepStatus = "unknown"             //
	StepCompensating       StepStatus = "compensating"        // may be on its way
	StepCompensated        StepStatus = "compensated"         //
	StepCompensationFailed StepStatus = "compensation_failed" // the effect stands, or may stand
)

// Note is something a person did to a record.
type Note struct {
	At  time.Time `json:"at"`
	Who string    `json:"who"`
	Did string    `json:"did"` // "resolved completed", "resolved absent"
	Why string    `json:"why"`
}

// JSON returns the receipt as the faces print it: the members in the order of
// the type, no white space, nothing escaped that JSON does not ask to escape.
func (r *Receipt) JSON() []byte { return encode(r) }
