package contract

import (
	"context"
	"encoding/json"
	"time"
)

// Spec is an operation before Define has checked it: plain data and the
// functions that reach the upstream. Go code usually writes a Read or a
// Mutation instead, which make one; declarative definitions fill it directly.
//
// Expressions are JMESPath over the root {params, page, key}; see ReadSpec for
// those that run over one record.
type Spec struct {
	Name    string // letters, digits, _ and -, at most 64
	Version string // "major.minor"
	Title   string // for people; optional
	Scope   string // what the operation covers, in words, shown to the caller

	Effects      Effects
	Idempotent   Idempotency   // "" is NotIdempotent for a mutation, Natural for a read
	KeyRetention time.Duration // of the upstream, with ByKey; 0 is unstated, so the key never protects a later submission (C-18)

	Params json.RawMessage // JSON Schema of an object; nil allows no parameter
	Result json.RawMessage // JSON Schema; nil is anything

	Bounds Bounds
	Retry  Retry

	// Upstream names what is called, for people ("github", "api.example.com").
	// It is the target where Target is nil.
	Upstream string
	// Target names the account or resource that the operation acts on. It is
	// kept in the journal: a retry with another one is a conflict (C-13).
	Target func(*Invocation) (string, error)

	Read     *ReadSpec     // of an operation with Effects Reads
	Mutation *MutationSpec // of every other

	// Source is the JSON that this was made from, where there is such: it goes
	// into the digest, so that a change of an expression or a URL shows.
	Source json.RawMessage
}

// Bounds limit one call. Zero means the default.
type Bounds struct {
	MaxPages       int           // of one call; 100
	MaxRecords     int           // examined in one call; 100,000
	MaxResultBytes int           // 1 MiB
	Deadline       time.Duration // of one call, waits included; 1 min
}

// Retry is for attempts inside one call; each carries the same key and is
// counted in the receipt. The zero Retry makes none. A failure is tried again
// only if its class is listed in On, and one whose outcome is unknown only if
// the step is Natural or ByKey.
type Retry struct {
	Max     int           // attempts after the first
	Backoff time.Duration // before the second attempt, doubled after each; at most 30 s
	On      []string      // Failure.Code values: "429", "5xx", "timeout", "reset", ...
}

// ReadSpec is the reading part of a Spec.
//
// Items, Next and End run over the root {"params": ..., "page": ..., "key":
// ...}. Where, Dedupe and the expressions of Aggregates run over one record,
// with the parameters bound as $params.
type ReadSpec struct {
	// Fetch gets one page, as JSON. Invocation.Cursor is nil for the first.
	// An error that is a *Failure with Denied set means that access was lost.
	Fetch func(context.Context, *Invocation) ([]byte, error)

	Items string // the records, an array; "" is "page"
	// Next is the next page's cursor, a string or number; null or absent is
	// none. "" means that pages are numbered: the cursor is "2", "3", ...
	Next string
	// End is true on the last page. "" means that the end is where Next is
	// null or absent; with numbered pages it must be given (C-01).
	End string
	// EmptyCursorEnds says that the upstream ends with "" as its cursor.
	EmptyCursorEnds bool

	Where      string // records to aggregate; "" is all of them
	Aggregates []Aggregate
	Dedupe     string // a record's id, counted once (C-04); "" is none
	Invalid    InvalidPolicy
	// Fields demands types ("string", "number", "boolean", "array", "object",
	// with "|null" and "|absent" for what is allowed besides) of a record's
	// fields by dotted path, in place of what follows from the expressions.
	Fields      map[string]string
	Consistency Consistency // "" is Live

	// Concurrency is how many numbered pages are fetched side by side, at most
	// MaxConcurrency; 0 is 1. Fetch is then called by several goroutines. Up to
	// one less than this many pages past the last may be asked for, whose
	// answers, errors too, are dropped and not counted. Memory holds as many
	// pages.
	Concurrency int
}

// MaxConcurrency bounds ReadSpec.Concurrency.
const MaxConcurrency = 16

// AggregateOp is what an Aggregate makes of the records.
type AggregateOp string

// The aggregates. Numbers are exact decimals, and their digits are kept.
const (
	Count   AggregateOp = "count"    // how many
	Sum     AggregateOp = "sum"      // of Of, a number; 0 of none
	Min     AggregateOp = "min"      // of Of, numbers or strings; null of none
	Max     AggregateOp = "max"      // as Min
	CountBy AggregateOp = "count_by" // an object: how many for each value of By
	GroupBy AggregateOp = "group_by" // an object: for each value of By an object of Aggregates
	First   AggregateOp = "first"    // the first Of, or the first record; null of none
	Project AggregateOp = "project"  // an array of all Of, or of all records
)

// Aggregate is one member of a read's result. A single Aggregate without a
// name is the whole result.
type Aggregate struct {
	Name       string      `json:"name,omitempty"`
	Op         AggregateOp `json:"op"`
	Of         string      `json:"of,omitempty"`    // JMESPath over the record
	By         string      `json:"by,omitempty"`    // JMESPath over the record: a string, number or boolean
	Where      string      `json:"where,omitempty"` // a filter of its own, after the read's
	Aggregates []Aggregate `json:"aggregates,omitempty"`
}

// MutationSpec is the writing part of a Spec.
type MutationSpec struct {
	Steps        []Step
	Precondition *Precondition
	// Preview predicts the effect without having one. It runs after
	// validation, authorization and the precondition's check.
	Preview func(context.Context, *Invocation) (json.RawMessage, error)
	// Settle is how long after an outcome became unknown the upstream may
	// still be working on it: before, a reconcile that sees nothing proves
	// nothing (C-16).
	Settle time.Duration
	// Retention of terminal records before only a tombstone is left; 30 days.
	Retention time.Duration
	// Result makes the operation's result of Invocation.Results. Nil: the
	// result of the only step, or an object of each step's.
	Result func(*Invocation) (json.RawMessage, error)
}

// Step is one submission to the upstream, or with Each one per item.
type Step struct {
	Name       string // needed where there is more than one
	Title      string
	Effect     Effects       // "" is the operation's
	Idempotent Idempotency   // "" is the operation's
	Retention  time.Duration // of the key at this step's upstream; 0 is the operation's
	Key        KeyPlacement
	KeyName    string // of the argument, header or _meta member

	// Each gives the items to submit one by one, each with its own record and
	// key (C-19). Their ids must be distinct and the same on every call.
	Each func(*Invocation) ([]Item, error)

	// Submit has the effect. Invocation.StepKey is the key to send along. Its
	// error is taken as a *Failure if it is one, else goes through Classify,
	// else leaves the outcome unknown.
	Submit   func(context.Context, *Invocation) (json.RawMessage, error)
	Classify func(error) *Failure

	// Reconcile is a read that finds out whether the step happened (C-17).
	Reconcile func(context.Context, *Invocation) (Finding, error)
	// Compensate undoes a completed step after a later one was rejected. It
	// runs only where declared, once, and is journaled (C-19).
	Compensate func(context.Context, *Invocation) (json.RawMessage, error)
}

// Item is one of a step's items.
type Item struct {
	ID    string
	Value json.RawMessage
}

// FindingState is a reconcile's answer.
type FindingState string

// The answers.
const (
	Present      FindingState = "present"
	Absent       FindingState = "absent"
	Undetermined FindingState = "undetermined"
)

// Finding is what a reconcile found. Result is the step's result where it is
// Present.
type Finding struct {
	State  FindingState
	Result json.RawMessage
}

// Precondition is a revision that the caller has seen and demands. It is
// checked after the claim, so a stale one binds the key (M10), and never again
// on a replay (C-15).
type Precondition struct {
	// Demand takes the demanded revision from the parameters; "" demands none.
	// Nil leaves Call.Revision alone to demand one.
	Demand func(*Invocation) (string, error)
	// Current reads the revision there is.
	Current func(context.Context, *Invocation) (string, error)
	// Enforced says that the upstream itself refuses a stale
	// Invocation.Revision at the commit. Otherwise a change between the check
	// and the submission goes unseen, and previews say they are informational.
	Enforced bool
	// Text describes the precondition in words or as an expression.
	Text string
}

// Invocation is what a definition's functions get to see of one call. They
// must not change it.
type Invocation struct {
	Operation string // name@major.minor
	Caller    string
	Key       string          // the operation key, which is the receipt's operationId
	Params    json.RawMessage // canonical, validated, defaults filled in
	Target    string
	Revision  string // demanded; "" is none

	Step    string // of a mutation's functions
	StepKey string // what travels to the upstream; see StepKey
	Item    *Item  // of a step with Each
	Attempt int    // counted from 1
	// Results of the steps completed before, by name: of a step with Each an
	// object by item id.
	Results map[string]json.RawMessage

	Cursor *string // of a read: nil asks for the first page
	Page   int     // of a read: how many pages were fetched before, resumed ones included
}
