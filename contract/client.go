package contract

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
)

// Options set up a Client.
type Options struct {
	// Store is the journal. Nil is a memory of this process alone: fit for
	// reads, tests and examples; a mutation's key does not outlive it.
	Store Store
	// Sealer seals continuations, previews and journaled parameters. Nil makes
	// a key of this process alone; processes that share a Store share a Sealer.
	Sealer *Sealer
	// Caller is the identity of calls that name none: a stable principal,
	// never a credential.
	Caller string
	// Authorize is asked on every invocation, replay, status query and
	// continuation (C-21), and before every page. Any error refuses. Nil
	// allows everything to every caller's own.
	Authorize func(context.Context, Access) error
	// Now is this process's clock, time.Now by default: of continuations and
	// previews, and of what is journaled where the Store has no better one.
	Now func() time.Time
	// Lease is how long an owner is taken to be alive after it was last heard
	// of; 30 s by default.
	Lease time.Duration
	// ContinuationTTL is the life of continuations, previews and prepared
	// calls; 24 h by default.
	ContinuationTTL time.Duration
	// Evidence keeps a page of a read that asked for it and returns its ref (C-08).
	Evidence func(ctx context.Context, caller, operation string, page []byte) (ref string, err error)
	// Log gets ids, names and outcomes, never parameter values.
	Log *slog.Logger
	// NewKey mints operation keys; UUIDv7 by default.
	NewKey func() string
	// Owner names this process in the journal; random by default.
	Owner string
	// Definitions are registered, for the methods that take only an id.
	Definitions []*Definition
}

// Action is what a caller wants to do, as Authorize sees it.
type Action string

// The actions.
const (
	ActionDo        Action = "do"        // a first call or a replay: they cannot be told apart before
	ActionContinue  Action = "continue"  // a read's continuation
	ActionPage      Action = "page"      // the next page of a read under way
	ActionPreview   Action = "preview"   //
	ActionGet       Action = "get"       // a status query
	ActionReconcile Action = "reconcile" //
	ActionResolve   Action = "resolve"   //
)

// Access is one question to Options.Authorize.
type Access struct {
	Action    Action
	Caller    string
	Operation string // name@major.minor; of a status query the name
	Effects   Effects
	Key       string
	Target    string          // "" where it is not known yet
	Params    json.RawMessage // nil where they are not known
}

// Call is one invocation.
type Call struct {
	Caller string // "" is Options.Caller
	// Key is the operation key, of 1 to 255 printable ASCII characters. ""
	// mints one before anything is submitted; see Announce. Repeat a key to ask
	// again for the same operation.
	Key    string
	Params json.RawMessage // an object; nil is {}
	// Revision demands that the target still has this revision (M10).
	Revision string
	// Preview is a Preview.Token that the call must agree with (C-22).
	Preview string
	// Continuation resumes a read (C-05).
	Continuation string
	// Evidence keeps the pages of a read (C-08).
	Evidence bool
	// Wait is how long to wait for another one's result where the operation is
	// pending (C-12).
	Wait time.Duration
	// Announce is told the operation id before anything is submitted (A03).
	Announce func(operationID string)
	// Claimed is told once a claim of this call is durable, and before anything
	// is submitted: from there on Get knows the operation.
	Claimed func()
	// Progress is told after each page of a read.
	Progress func(Progress)
}

// Progress is how far a read has come.
type Progress struct {
	OperationID     string
	Pages           int
	RecordsExamined int
}

// Ref names an operation that was called. Operation, a name with or without a
// version, may be "" where the key alone is enough.
type Ref struct {
	Caller    string // "" is Options.Caller
	Operation string
	Key       string
}

// Resolution is what a person found out about an unknown outcome.
type Resolution struct {
	Completed bool            // else it is known not to have happened
	Result    json.RawMessage // of the operation, where Completed and known
	Who, Why  string          // both needed; journaled
}

// Client runs operations. It is safe for concurrent use.
type Client struct {
	opt    Options
	reg    registry
	claims atomic.Int64 // tells this client's claims from one another
}

// New returns a Client. It holds nothing that needs closing; the Store does.
func New(opt Options) (*Client, error) {
	if opt.Store == nil {
		opt.Store = NewMemory()
	}
	if opt.Sealer == nil {
		s, err := NewSealer()
		if err != nil {
			return nil, err
		}
		opt.Sealer = s
	}
	if opt.Now == nil {
		opt.Now = time.Now
	}
	if opt.Lease <= 0 {
		opt.Lease = 30 * time.Second
	}
	if opt.ContinuationTTL <= 0 {
		opt.ContinuationTTL = 24 * time.Hour
	}
	if opt.Log == nil {
		opt.Log = slog.New(slog.DiscardHandler)
	}
	if opt.NewKey == nil {
		opt.NewKey = NewKey
	}
	if opt.Owner == "" {
		opt.Owner = uuid.NewString()
	}
	c := &Client{opt: opt}
	return c, c.Register(opt.Definitions...)
}

// NewKey mints an operation key: a UUIDv7, which sorts by time.
func NewKey() string {
	id, err := uuid.NewV7()
	if err != nil {
		panic(fmt.Sprintf("contract: no randomness: %v", err)) // crypto/rand does not fail
	}
	return id.String()
}

// Register makes definitions known to the methods that take only an id, and to
// Lookup. Two definitions of one name must differ in their major version.
func (c *Client) Register(defs ...*Definition) error { return c.reg.add(defs) }

// Definitions returns the registered definitions, by name and version.
func (c *Client) Definitions() []*Definition { return c.reg.all() }

// Lookup finds a registered definition by "name", the highest version, or by
// "name@major" or "name@major.minor". Nil if there is none.
func (c *Client) Lookup(operation string) *Definition { return c.reg.lookup(operation) }

// Do invokes an operation. It returns a receipt in every case, and with it an
// *Error unless the outcome is Completed or Pending: see section 4 of the
// package comment. A mutation under a key that was used before is replayed,
// resumed where it is partial, or refused (C-13, C-15, C-19).
func (c *Client) Do(ctx context.Context, def *Definition, call Call) (*Receipt, error) {
	return c.do(ctx, def, call)
}

// Get returns the receipt of a mutation as it stands; it submits nothing.
func (c *Client) Get(ctx context.Context, ref Ref) (*Receipt, error) {
	return c.get(ctx, ref)
}

// Reconcile asks the upstream, by the reads that the definition declares,
// whether an unknown operation happened, and records the answer (C-16, C-17).
// Where it proves that nothing happened the receipt says Rejected with
// ReasonAbsent, and the same key may be submitted again.
func (c *Client) Reconcile(ctx context.Context, ref Ref) (*Receipt, error) {
	return c.reconcile(ctx, ref)
}

// Resolve records what a person found out about an unknown outcome (C-16).
func (c *Client) Resolve(ctx context.Context, ref Ref, res Resolution) (*Receipt, error) {
	return c.resolve(ctx, ref, res)
}

// Resume goes on with a read, from its continuation alone: the continuation
// holds the parameters. With Call.Params they must be the same.
func (c *Client) Resume(ctx context.Context, call Call) (*Receipt, error) {
	return c.resumeRead(ctx, call)
}

// ResumeMutation goes on with a mutation that is partial or absent, or unknown
// at an upstream that still holds our key (C-16), with the journaled parameters;
// of any other state it returns the receipt as Do does.
func (c *Client) ResumeMutation(ctx context.Context, ref Ref) (*Receipt, error) {
	return c.resumeMutation(ctx, ref)
}

// Preview runs the checks of a call without claiming or submitting anything
// (C-22). It fails exactly where the call would, as far as can be told now.
func (c *Client) Preview(ctx context.Context, def *Definition, call Call) (*Preview, error) {
	return c.preview(ctx, def, call)
}

// Prepare is Preview, and keeps the call under its operation id, sealed, so
// that Commit needs nothing else. It claims nothing.
func (c *Client) Prepare(ctx context.Context, def *Definition, call Call) (*Preview, error) {
	return c.prepare(ctx, def, call)
}

// Commit does what was prepared under an operation id: with that preview's
// parameters and revision. Repeated, it replays.
func (c *Client) Commit(ctx context.Context, ref Ref, call Call) (*Receipt, error) {
	return c.commit(ctx, ref, call)
}

// Records lists the caller's journal, newest last.
func (c *Client) Records(ctx context.Context, caller string, f Filter) ([]*Record, error) {
	return c.records(ctx, caller, f)
}

// Sweep runs the retention of the journal (C-20).
func (c *Client) Sweep(ctx context.Context) (Swept, error) {
	now, err := c.instant(ctx)
	if err != nil {
		return Swept{}, err
	}
	return c.opt.Store.Sweep(ctx, now.At, now.At.Add(tombstoneLife))
}

func (c *Client) now() time.Time { return c.opt.Now().Round(0).UTC() }
