package contract

// Exit codes of the CLI (section 4 of the package comment).
const (
	ExitCompleted    = 0
	ExitUsage        = 2
	ExitRejected     = 3
	ExitUnauthorized = 4
	ExitConflict     = 5 // key conflict or precondition
	ExitPartial      = 6
	ExitUnknown      = 7
	ExitPending      = 8
	ExitIncomplete   = 9
)

// ExitCode returns the CLI's exit code for the receipt.
func (r *Receipt) ExitCode() int {
	switch r.Outcome {
	case Completed:
		return ExitCompleted
	case Pending:
		return ExitPending
	case Unknown:
		return ExitUnknown
	case Partial:
		if r.Coverage != nil {
			return ExitIncomplete
		}
		return ExitPartial
	}
	switch r.Reason {
	case ReasonInvalid:
		return ExitUsage
	case ReasonUnauthorized:
		return ExitUnauthorized
	case ReasonKeyConflict, ReasonPrecondition, ReasonPreviewMismatch:
		return ExitConflict
	}
	return ExitRejected
}

// IsError reports whether a tool result with this receipt sets isError: for
// every outcome but completed, pending, and an incomplete read, whose answer
// says so itself.
func (r *Receipt) IsError() bool {
	switch r.ExitCode() {
	case ExitCompleted, ExitPending, ExitIncomplete:
		return false
	}
	return true
}

// Err returns the receipt's error as Client.Do returns it, nil where there is
// none: what is left of it after a receipt came back from another process.
func (r *Receipt) Err() error {
	var kind error
	switch r.ExitCode() {
	case ExitCompleted, ExitPending:
		return nil
	case ExitUsage:
		kind = ErrInvalid
	case ExitUnauthorized:
		kind = ErrUnauthorized
	case ExitPartial:
		kind = ErrPartial
	case ExitUnknown:
		kind = ErrUnknownOutcome
	case ExitIncomplete:
		kind = ErrIncomplete
	default:
		switch r.Reason {
		case ReasonKeyConflict:
			kind = ErrKeyConflict
		case ReasonPrecondition, ReasonPreviewMismatch:
			kind = ErrPrecondition
		case ReasonExpired:
			kind = ErrExpired
		case ReasonContinuation, ReasonContinuationCaller, ReasonContinuationExpired,
			ReasonContinuationParams, ReasonContinuationVersion:
			kind = ErrContinuation
		case ReasonNotFound:
			kind = ErrNotFound
		case ReasonJournal:
			kind = ErrJournal
		default:
			kind = ErrRejected
		}
	}
	return &Error{Kind: kind, Reason: r.Reason, Message: r.Message, Hint: r.Hint, Parameter: r.Parameter,
		Operation: r.Operation, OperationID: r.OperationID, receipt: r}
}
