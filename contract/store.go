package contract

import (
	"context"
	"encoding/json"
	"errors"
	"time"
)

// What a Store reports, with errors.Is. Any other error means that the
// journal is unavailable.
var (
	ErrNoRecord = errors.New("no such record")
	// ErrStaleRecord means that another process changed the record since.
	ErrStaleRecord = errors.New("record changed since it was read")
)

// Store is the journal: it keeps one Record for each operation key. All stores
// pass one suite. Methods may be called by many goroutines, and the same
// journal may be open in many processes.
type Store interface {
	// Now is the present. local is the caller's own clock, which a journal
	// without a better one takes for Instant.At. Waiting and expiry are decided
	// by what it returns, never by one process's wall clock alone (C-16, C-18).
	Now(ctx context.Context, local time.Time) (Instant, error)
	// Claim inserts r if there is no record of its identity, in one conditional
	// insert that is durable before Claim returns (C-10). Otherwise it returns
	// the record there is, and false. r.Revision is 1 after a claim.
	Claim(ctx context.Context, r *Record) (existing *Record, claimed bool, err error)
	// Update replaces the record if its revision is still r.Revision, which it
	// then raises by one; durable before it returns. Else ErrStaleRecord.
	Update(ctx context.Context, r *Record) error
	// Heartbeat moves the lease of a pending record of this epoch; of another
	// it returns ErrStaleRecord. It changes no revision and need not be durable.
	Heartbeat(ctx context.Context, id ID, epoch int64, lease time.Time) error
	// Get returns a copy of the record; ErrNoRecord where there is none.
	Get(ctx context.Context, id ID) (*Record, error)
	// List returns records in the order of their creation, then of their hash.
	List(ctx context.Context, f Filter) ([]*Record, error)
	// Sweep turns records whose Expires has come into tombstones that live
	// until tombstoneUntil, and removes tombstones and parcels whose time has
	// come. Records that are pending or unknown have no Expires and stay (C-20).
	Sweep(ctx context.Context, now, tombstoneUntil time.Time) (Swept, error)

	// PutParcel keeps a sealed piece of state under its id, replacing one of
	// the same id; GetParcel returns it, or ErrNoRecord.
	PutParcel(ctx context.Context, p Parcel) error
	GetParcel(ctx context.Context, id string) (Parcel, error)

	Close() error
}

// ID is the identity of a mutation (section 3): caller, operation name without
// its version, and operation key.
type ID struct {
	Caller, Operation, Key string
}

// State is a record's state in the journal.
type State string

// The states. StateAbsent is a record of something proven not to have
// happened, which may be submitted again under its key; its receipts say
// Rejected.
const (
	StatePending   State = "pending"
	StateUnknown   State = "unknown"
	StateCompleted State = "completed"
	StateRejected  State = "rejected"
	StatePartial   State = "partial"
	StateAbsent    State = "absent"
)

// Record is what the journal keeps of an operation key. Times are UTC.
type Record struct {
	ID
	IDHash  string // ID.Hash, set by the store
	Version string // major.minor of the definition at the claim
	Digest  string // of the definition
	Target  string
	// ParamsHash and Precondition are the parts of Fingerprint, kept to tell
	// what a conflict is about (C-13). All are hex SHA-256.
	Fingerprint  string
	ParamsHash   string
	Precondition string
	Params       []byte // sealed; nil once the record is terminal

	State    State
	Epoch    int64 // raised by each claim to submit
	Revision int64 // raised by each Update
	Owner    string
	Lease    time.Time // until then the owner may be alive; tells liveness only
	// Stamp is when the owner claimed the record, last began a submission, or
	// gave its last word. A step under way ends within Deadline of it.
	Stamp    Stamp         `json:",omitzero"`
	Deadline time.Duration `json:",omitempty"`
	// Lost says that the owner vanished without a word.
	Lost bool `json:",omitempty"`

	CreatedAt   time.Time
	UpdatedAt   time.Time
	SubmittedAt time.Time // first submission that the key's retention counts from
	UnknownAt   time.Time // since when the outcome is known to be unknown; zero otherwise
	CompletedAt time.Time // first completion
	Expires     time.Time // zero is never

	Steps    []StepRecord
	Result   json.RawMessage `json:",omitempty"`
	Reason   string
	Message  string
	Attempts int
	Notes    []Note

	// Tombstone: only the identity's hash, fingerprint and outcome are left.
	// Caller and Key are "" in what List returns of one; IDHash stays.
	Tombstone bool
}

// StepRecord is the journal's part of a Record for one step or item.
type StepRecord struct {
	Step     string          `json:"step"`
	Item     string          `json:"item,omitempty"`
	Status   StepStatus      `json:"status"`
	Result   json.RawMessage `json:"result,omitempty"`
	Reason   string          `json:"reason,omitempty"`
	Message  string          `json:"message,omitempty"`
	Attempts int             `json:"attempts,omitempty"`
	First    time.Time       `json:"first,omitzero"`  // first submission
	Clock    string          `json:"clock,omitempty"` // and Tick: of First, as in a Stamp
	Tick     time.Duration   `json:"tick,omitempty"`
}

// Filter selects records. Zero members select all.
type Filter struct {
	Caller, Operation, Key string
	States                 []State
	Tombstones             bool // list those too
	Limit                  int  // 0 is 1,000
	After                  *Record
}

// Swept counts what a Sweep did.
type Swept struct {
	Tombstoned, Removed, Parcels int
}

// Parcel is sealed state that a short identifier stands for: a prepared call,
// or the rest of a long continuation.
type Parcel struct {
	ID      string
	Caller  string
	Data    []byte
	Expires time.Time
}
