// Package contract runs task-level operations from one versioned definition:
// bounded reads that say what they covered, and mutations that can be
// recovered under one key. The Go API, the CLI and the MCP face of an
// operation all preserve its definition, its outcomes and its recovery.
//
// Two functions come first: Define of a [Read] or a [Mutation] makes an
// operation, and [Op.Do] invokes it through a [Client]:
//
//	var stable = contract.Read[Repo, Stable]{...}.MustDefine()
//
//	client, err := contract.New(contract.Options{Caller: "billing"})
//	value, receipt, err := stable.Do(ctx, client, Repo{"x"}, contract.Call{})
//
// # Reads
//
// A read fetches pages one after another and streams their records through
// aggregates; memory grows with a page. It is complete only when the
// upstream's own end signal was seen: a short page is not the end, and neither
// is an empty one. Whatever stops it earlier gives [ErrIncomplete] and a receipt
// that says why, after how many records, and, where that can be honoured, a
// continuation, with which Call.Continuation or [Client.Resume] goes on, in any
// process that shares the [Sealer] (and the [Store], if there is much state).
//
// # Mutations
//
// A mutation is identified by its caller, its name and an operation key, which
// is minted before anything is submitted and stands in every receipt and error
// as the operation id. The key is claimed in the journal, durably, before the
// first submission; the outcome is recorded after it. So a caller that lost
// the answer, or its whole process, asks again under the same key:
//
//	completed  replayed: the recorded result, nothing is submitted
//	rejected   replayed: nothing happened, and a new intent needs a new key
//	pending    another call is under way; Call.Wait waits for its result
//	unknown    it may have happened: see below
//	partial    only what is known not to have happened is submitted
//
// An unknown outcome is never submitted again by itself. There are three ways
// out: the upstream takes our key (Idempotent: ByKey, within KeyRetention), so
// that the same key may be submitted again; a declared Reconcile finds out
// ([Client.Reconcile]), where absence counts only from the declared Settle time
// after the outcome became unknown; or a person resolves it ([Client.Resolve]).
//
// The same key with other parameters, another target or another major version
// is a conflict and has no effect. Two keys are two intents, also with equal
// parameters.
//
// # Outcomes
//
// [Client.Do] returns a receipt in every case. One table stands behind all
// faces:
//
//	outcome             error                             exit  MCP
//	completed           nil                               0     result
//	usage error         ErrInvalid                        2     isError, names the parameter
//	rejected            ErrRejected; Error.Reason         3     isError
//	key conflict        ErrKeyConflict (and ErrRejected)  5     isError
//	precondition        ErrPrecondition (likewise)        5     isError
//	unauthorized        ErrUnauthorized                   4     isError
//	partial             ErrPartial                        6     isError, the steps listed
//	unknown             ErrUnknownOutcome                 7     isError, nextAction reconcile
//	incomplete read     ErrIncomplete                     9     result, complete false
//	pending             nil                               8     result
//
// [Receipt.ExitCode], [Receipt.IsError] and [Receipt.Err] are that table;
// [ReceiptSchema] is the receipt's JSON Schema.
//
// # Keys and callers
//
// A key or a token grants nothing: Options.Authorize is asked on every
// invocation, replay, status query and continuation. Upstreams see a key that
// is derived from the operation's identity ([StepKey]), one for each step and
// item, since two callers may use the same operation key.
//
// # Where things are kept
//
// Without Options.Store the journal is a [Memory] and dies with the process.
// Package durable opens one that does not: embedded, for several processes of
// one machine, or in PostgreSQL, for a fleet. Parameters rest in the journal
// only while they are needed, sealed by the [Sealer]; logs hold ids, names and
// outcomes alone.
package contract
