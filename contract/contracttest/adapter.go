package contracttest

import (
	"context"
	"encoding/json"

	"github.com/spillway-mcp/spillway/contract"
)

// Adapter is one face of the operations. Processes that it opens in one World
// share that world's journal.
type Adapter interface {
	// Name is the face's name in messages.
	Name() string
	// Lacks says why the face has no such feature; "" where it has it.
	Lacks(Feature) string
	// Open starts a process that acts for a caller.
	Open(w *World, caller string) (Process, error)
}

// Process runs calls. Do may be called by many goroutines.
type Process interface {
	Do(ctx context.Context, call Call) Answer
	// Kill ends the process as kill -9 does: nothing of it reaches the journal
	// or the upstream any more. Calls under way answer with Died.
	Kill()
	// Close ends it in peace. After Kill it does nothing.
	Close()
}

// Feature is something that a face may not have.
type Feature string

// The features.
const (
	HasClock     Feature = "clock"     // processes take the time from World.Clock
	HasPolicy    Feature = "policy"    // processes ask World.Policy
	HasCallers   Feature = "callers"   // processes can act for different callers
	HasCancel    Feature = "cancel"    // a call ends when its context does
	HasJournal   Feature = "journal"   // World.Journal breaks the journal
	HasLease     Feature = "lease"     // processes take World.Lease
	HasResolve   Feature = "resolve"   // VerbResolve
	HasRevision  Feature = "revision"  // Call.Revision
	HasPreview   Feature = "preview"   // VerbPreview and Call.Preview
	HasPrepare   Feature = "prepare"   // VerbPrepare and VerbCommit
	HasReconcile Feature = "reconcile" // VerbReconcile
	HasSweep     Feature = "sweep"     // VerbSweep
	HasAnnounce  Feature = "announce"  // Call.Announce
	HasVersions  Feature = "versions"  // two major versions of one name side by side
	HasWait      Feature = "wait"      // Call.Wait
	HasDescribe  Feature = "describe"  // VerbDescribe, with all of a definition
)

// Verb is what a call asks for.
type Verb string

// The verbs; as the methods of contract.Client.
const (
	VerbDo        Verb = "do"
	VerbGet       Verb = "get"
	VerbReconcile Verb = "reconcile"
	VerbResolve   Verb = "resolve"
	VerbPreview   Verb = "preview"
	VerbPrepare   Verb = "prepare"
	VerbCommit    Verb = "commit"
	VerbResume    Verb = "resume" // a read's continuation alone
	VerbSweep     Verb = "sweep"
	VerbDescribe  Verb = "describe"
)

// Call is one call through a face.
type Call struct {
	Verb         Verb                 `json:"verb"`
	Operation    string               `json:"operation,omitempty"` // name, or name@major.minor
	Key          string               `json:"key,omitempty"`
	Params       json.RawMessage      `json:"params,omitempty"`
	Revision     string               `json:"revision,omitempty"`
	Preview      string               `json:"preview,omitempty"`
	Continuation string               `json:"continuation,omitempty"`
	Evidence     bool                 `json:"evidence,omitempty"`
	WaitMillis   int                  `json:"waitMillis,omitempty"`
	Resolution   *contract.Resolution `json:"resolution,omitempty"`

	// Announce is called as soon as the face has shown the operation id, before
	// the upstream is reached (A03).
	Announce func(operationID string) `json:"-"`
}

// Answer is what came back, as far as the face tells it.
type Answer struct {
	Receipt *contract.Receipt `json:"receipt,omitempty"`
	Raw     json.RawMessage   `json:"raw,omitempty"` // the receipt's bytes, as the face gave them (A01)
	Preview *contract.Preview `json:"preview,omitempty"`
	Doc     json.RawMessage   `json:"doc,omitempty"` // of VerbDescribe

	Exit    int    `json:"exit"`              // of a command; -1 where the face has no exit codes
	IsError *bool  `json:"isError,omitempty"` // of a tool; nil where the face has none
	Text    string `json:"text,omitempty"`    // what people or models read beside the receipt
	Error   string `json:"error,omitempty"`   // of the face itself, where there is no receipt

	Err  error `json:"-"` // in Go: the error; nil elsewhere
	Died bool  `json:"-"` // the process was killed under the call
}

// Outcome returns the receipt's outcome; "" where there is none.
func (a Answer) Outcome() contract.Outcome {
	if a.Receipt == nil {
		return ""
	}
	return a.Receipt.Outcome
}

// Reason returns the receipt's reason; "" where there is none.
func (a Answer) Reason() string {
	if a.Receipt == nil {
		return ""
	}
	return a.Receipt.Reason
}
