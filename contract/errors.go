package contract

import (
	"errors"
	"fmt"
	"strings"
)

// What callers branch on, with errors.Is. Each comes as an *Error.
var (
	ErrInvalid        = errors.New("invalid")               // usage: the definition, parameters or options
	ErrRejected       = errors.New("rejected")              // no effect; Error.Reason says why
	ErrKeyConflict    = errors.New("key conflict")          // also ErrRejected (C-13)
	ErrPrecondition   = errors.New("precondition failed")   // also ErrRejected
	ErrExpired        = errors.New("expired")               // also ErrRejected (C-20, C-05)
	ErrContinuation   = errors.New("continuation rejected") // also ErrRejected (C-05)
	ErrNotFound       = errors.New("not found")             // also ErrRejected (C-21)
	ErrJournal        = errors.New("journal unavailable")   // also ErrRejected: nothing was submitted (C-10)
	ErrUnauthorized   = errors.New("unauthorized")          // C-21
	ErrPartial        = errors.New("partial")               // see Receipt.Steps
	ErrUnknownOutcome = errors.New("unknown outcome")       // may have happened; reconcile
	ErrIncomplete     = errors.New("incomplete")            // a read without the end signal
)

// Error is the error of every function that takes an operation. The operation
// id in it is the receipt's.
type Error struct {
	Kind        error  // one of the sentinels above
	Reason      string // as in the receipt
	Message     string // what happened, lower case
	Hint        string // what to do, for people; may be empty
	Parameter   string // of ErrInvalid, a JSON pointer into the parameters; "" is none
	Operation   string
	OperationID string
	Err         error // the cause, where there is one

	receipt *Receipt
}

// Receipt returns the receipt that the error is of. A Preview or Prepare returns
// the error alone, and its receipt is the one that a call would have had. Nil
// of an error that was made elsewhere.
func (e *Error) Receipt() *Receipt { return e.receipt }

// Error returns one line: the operation, its id, what happened and the hint.
func (e *Error) Error() string {
	var b strings.Builder
	if e.Operation != "" {
		b.WriteString(e.Operation)
		if e.OperationID != "" {
			fmt.Fprintf(&b, " (%s)", e.OperationID)
		}
		b.WriteString(": ")
	}
	if e.Kind != nil && !strings.Contains(e.Message, e.Kind.Error()) {
		b.WriteString(e.Kind.Error())
		if e.Message != "" {
			b.WriteString(": ")
		}
	}
	b.WriteString(e.Message)
	if e.Hint != "" {
		b.WriteString("; ")
		b.WriteString(e.Hint)
	}
	return b.String()
}

// Unwrap returns the kind and the cause.
func (e *Error) Unwrap() []error {
	var all []error
	if e.Kind != nil {
		all = append(all, e.Kind)
	}
	switch e.Kind {
	case ErrKeyConflict, ErrPrecondition, ErrExpired, ErrContinuation, ErrNotFound, ErrJournal:
		all = append(all, ErrRejected)
	}
	if e.Err != nil {
		all = append(all, e.Err)
	}
	return all
}
