package contract

import "time"

// Effects says what an operation, or one step of it, does to the upstream.
type Effects string

// What an operation can do.
const (
	Reads   Effects = "read"
	Creates Effects = "create"
	Updates Effects = "update"
	Deletes Effects = "delete"
)

// Idempotency says what the upstream offers against a second submission.
type Idempotency string

// What an upstream can offer. Natural means that doing it twice leaves what
// doing it once leaves; it allows a retry inside one call, never one that we
// start on our own later (C-16). ByKey means that the upstream takes our key
// and answers a repetition with the first result, for as long as its
// retention lasts (C-18).
const (
	Natural       Idempotency = "natural"
	ByKey         Idempotency = "key"
	NotIdempotent Idempotency = "none"
)

// Forever is the KeyRetention of an upstream that never forgets a key.
const Forever = time.Duration(-1)

// KeyPlacement says how a step's key travels to the upstream.
type KeyPlacement string

// Where a key can travel. The name of the argument, header or _meta member
// stands in Step.KeyName.
const (
	KeyInNothing  KeyPlacement = "none"
	KeyInArgument KeyPlacement = "argument"
	KeyInHeader   KeyPlacement = "header"
	KeyInMeta     KeyPlacement = "_meta"
)

// Consistency says over what a read counts.
type Consistency string

// Snapshot is a read of something that does not change under it; Live is one
// of something that may (C-06).
const (
	Snapshot Consistency = "snapshot"
	Live     Consistency = "live"
)

// InvalidPolicy says what happens at a record that Where or an aggregate
// cannot read (C-09).
type InvalidPolicy string

// Stop ends the read as incomplete at the record; Skip counts it as skipped.
const (
	InvalidStop InvalidPolicy = "stop"
	InvalidSkip InvalidPolicy = "skip"
)

// Outcome is what became of an operation.
type Outcome string

// The outcomes. An incomplete read is Partial, with Complete false.
const (
	Completed Outcome = "completed"
	Rejected  Outcome = "rejected"
	Partial   Outcome = "partial"
	Pending   Outcome = "pending"
	Unknown   Outcome = "unknown"
)

// Effect is what is known of an operation's effect on the upstream.
type Effect string

// The effects.
const (
	EffectNone         Effect = "none"
	EffectCommitted    Effect = "committed"
	EffectSome         Effect = "some"
	EffectUndetermined Effect = "undetermined"
)

// NextAction is the one thing that helps after a receipt.
type NextAction string

// The next actions. Resume means the same operation id again: with the same
// parameters for a mutation, with the continuation for a read.
const (
	NextNone      NextAction = "none"
	NextWait      NextAction = "wait"
	NextReconcile NextAction = "reconcile"
	NextResume    NextAction = "resume"
	NextNewKey    NextAction = "new_key"
)

// Reasons, the machine-readable causes in receipts and errors. An upstream's
// own classification may add others.
const (
	ReasonInvalid             = "invalid_params"       // usage error; Parameter names which
	ReasonInvalidResult       = "invalid_result"       // the upstream's answer breaks the result schema
	ReasonUnauthorized        = "unauthorized"         // C-21
	ReasonNotFound            = "not_found"            // no such operation id for this caller
	ReasonKeyConflict         = "key_conflict"         // C-13; Conflict says in what
	ReasonPrecondition        = "precondition_failed"  // the revision demanded is not the one there is
	ReasonPreviewMismatch     = "preview_mismatch"     // the preview demanded is not of this call
	ReasonExpired             = "expired"              // C-20: only the tombstone is left
	ReasonJournal             = "journal_unavailable"  // C-10: nothing was submitted
	ReasonUnrecorded          = "unrecorded"           // the upstream answered, the journal could not take it
	ReasonOwnerLost           = "owner_lost"           // C-16
	ReasonNoAnswer            = "no_answer"            // submitted, and no answer that tells
	ReasonUndetermined        = "undetermined"         // reconcile could not tell
	ReasonNotSettled          = "not_settled"          // reconcile saw nothing, too early to conclude
	ReasonAbsent              = "absent"               // proven not to have happened; the same key may be submitted
	ReasonCancelled           = "cancelled"            // by the caller
	ReasonUpstream            = "upstream_rejected"    // a definite refusal without a reason of its own
	ReasonUpstreamError       = "upstream_error"       // a page could not be read
	ReasonAccessLost          = "access_lost"          // a page was refused to us
	ReasonMaxPages            = "max_pages"            // bounds of a read
	ReasonMaxRecords          = "max_records"          //
	ReasonMaxResult           = "max_result_bytes"     //
	ReasonDeadline            = "deadline"             //
	ReasonCursorLoop          = "cursor_loop"          // C-03
	ReasonNoEnd               = "no_end_signal"        // neither a next cursor nor the end signal
	ReasonInvalidRecord       = "invalid_record"       // C-09
	ReasonInvalidPage         = "invalid_page"         // not JSON, or without the items
	ReasonContinuation        = "continuation_invalid" // tampered with, or not ours
	ReasonContinuationExpired = "continuation_expired" //
	ReasonContinuationCaller  = "continuation_caller"  // another caller's
	ReasonContinuationParams  = "continuation_params"  // a changed filter
	ReasonContinuationVersion = "continuation_version" // another operation, or another version of it
	ReasonResolved            = "resolved"             // by a person, C-16
)
