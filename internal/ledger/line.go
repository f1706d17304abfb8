// Package ledger keeps the account of what Spillway saved and what it cost: it
// appends one JSON line an event to a file (RED-45), and reads such files into
// statistics (RED-47). It measures nothing itself, and never sees a payload.
//
// Start with Open and Writer.Write on one side, with Stats and Report on the
// other. A nil *Writer is usable and drops every line.
package ledger

import (
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/spillway-mcp/spillway/internal/jsontape"
)

// The events of a Line.
const (
	EventCall     = "call"     // a tool's result, reduced or passed
	EventEnvelope = "envelope" // a write answered with a lean envelope
	EventVerify   = "verify"   // a write answered in full because the caller asked for it
	EventExpand   = "expand"   // a part of an original given back
	EventList     = "list"     // tools/list as we showed it
	EventError    = "error"    // a JSON-RPC error, isError, or a call that never got its answer
)

// The outcomes of a Line. Others may be written; no figure depends on them but
// that an expand with OutcomeError does not count in the expand rate.
const (
	OutcomeReduced = "reduced" // something was cut
	OutcomePassed  = "passed"  // the bytes that came
	OutcomeFailed  = "failed"  // a fault of ours; the bytes that came (fail open)
	OutcomeError   = "error"   // the upstream's or the caller's error
	OutcomeStopped = "stopped" // we ended, or the child did, before the answer
)

// The values of Line.Repeat.
const (
	RepeatEqual    = "equal"    // the same arguments as an earlier call of the session
	RepeatNarrower = "narrower" // an earlier call's arguments and more
)

// A Line is one event. Bytes are exact; what the model sees is told apart by the
// copy that a host shows: the plain figures are those of the text blocks, the
// structured ones those of structuredContent as compact JSON. They are never
// added. A result without structuredContent has 0 in both structured figures,
// and is then read as shown by its text.
//
// In is what the upstream sent, out what we sent down, with note, _spillway and
// links. An expand has only out, in both views: all of it is a cost, booked to
// the server and the tool of the original. A list has the upstream's list as in
// and ours as out; growth is a cost.
type Line struct {
	TS        time.Time `json:"ts"` // when the event ended; Write sets a zero one
	Event     string    `json:"event"`
	Server    string    `json:"server"`
	Tool      string    `json:"tool"` // "" for a list
	BytesIn   int64     `json:"bytes_in"`
	BytesOut  int64     `json:"bytes_out"`
	TokensIn  int64     `json:"tokens_in"` // of the same bytes, by Estimator
	TokensOut int64     `json:"tokens_out"`
	Estimator string    `json:"estimator"` // a name of package tokens

	StructuredIn        int64 `json:"structured_in"` // bytes
	StructuredOut       int64 `json:"structured_out"`
	StructuredTokensIn  int64 `json:"structured_tokens_in"`
	StructuredTokensOut int64 `json:"structured_tokens_out"`

	Cut      Cut    `json:"cut"`
	Overhead int64  `json:"overhead"` // bytes of BytesOut that are ours: note, _spillway, definitions
	Stash    string `json:"stash"`    // ref of the original kept or expanded; "" if none

	Outcome string  `json:"outcome"`
	Session string  `json:"session"` // the connection
	Caller  string  `json:"caller"`  // a principal's hash, never a credential
	Rule    string  `json:"rule"`    // digest of the rule applied; "" if none
	Era     string  `json:"era"`     // "legacy" or "modern"
	MS      float64 `json:"ms"`      // from the request to our answer

	Args   map[string]string `json:"args,omitempty"`   // argument name to digest, see Digester
	Repeat string            `json:"repeat,omitempty"` // RepeatEqual, RepeatNarrower or ""
	Faults []string          `json:"faults,omitempty"` // marks on the rule: short fixed words, no data
	Asked  *Asked            `json:"asked,omitempty"`  // of an expand; nil if not
	Reason string            `json:"reason,omitempty"` // of a failed expand: ReasonExpired, ReasonUnknown or ReasonRefused
}

// A Cut is what a rule removed from a result, in rows, fields and bytes.
type Cut struct {
	Rows   int64 `json:"rows"`
	Fields int64 `json:"fields"`
	Bytes  int64 `json:"bytes"`
}

const (
	maxName = 256 // bytes of one string, so that a line stays one small write
	maxMany = 64  // arguments and faults
	stamp   = "2006-01-02T15:04:05.000Z"
)

// MarshalJSON returns what AppendJSON appends.
func (l Line) MarshalJSON() ([]byte, error) { return l.AppendJSON(nil), nil }

// AppendJSON appends the line as one JSON object without a line end. The order
// of the keys is fixed, every key is there but args, repeat, faults, asked and
// reason where they are empty, and the time is UTC with milliseconds. Strings are made valid
// UTF-8 and cut at 256 bytes, args and faults at 64.
func (l *Line) AppendJSON(b []byte) []byte {
	b = append(b, `{"ts":"`...)
	b = l.TS.UTC().AppendFormat(b, stamp)
	b = text(append(b, `","event":`...), l.Event)
	b = text(append(b, `,"server":`...), l.Server)
	b = text(append(b, `,"tool":`...), l.Tool)
	b = strconv.AppendInt(append(b, `,"bytes_in":`...), l.BytesIn, 10)
	b = strconv.AppendInt(append(b, `,"bytes_out":`...), l.BytesOut, 10)
	b = strconv.AppendInt(append(b, `,"tokens_in":`...), l.TokensIn, 10)
	b = strconv.AppendInt(append(b, `,"tokens_out":`...), l.TokensOut, 10)
	b = text(append(b, `,"estimator":`...), l.Estimator)
	b = strconv.AppendInt(append(b, `,"structured_in":`...), l.StructuredIn, 10)
	b = strconv.AppendInt(append(b, `,"structured_out":`...), l.StructuredOut, 10)
	b = strconv.AppendInt(append(b, `,"structured_tokens_in":`...), l.StructuredTokensIn, 10)
	b = strconv.AppendInt(append(b, `,"structured_tokens_out":`...), l.StructuredTokensOut, 10)
	b = strconv.AppendInt(append(b, `,"cut":{"rows":`...), l.Cut.Rows, 10)
	b = strconv.AppendInt(append(b, `,"fields":`...), l.Cut.Fields, 10)
	b = strconv.AppendInt(append(b, `,"bytes":`...), l.Cut.Bytes, 10)
	b = strconv.AppendInt(append(b, `},"overhead":`...), l.Overhead, 10)
	b = text(append(b, `,"stash":`...), l.Stash)
	b = text(append(b, `,"outcome":`...), l.Outcome)
	b = text(append(b, `,"session":`...), l.Session)
	b = text(append(b, `,"caller":`...), l.Caller)
	b = text(append(b, `,"rule":`...), l.Rule)
	b = text(append(b, `,"era":`...), l.Era)
	b = milliseconds(append(b, `,"ms":`...), l.MS)
	if len(l.Args) > 0 {
		b = args(append(b, `,"args":`...), l.Args)
	}
	if l.Repeat != "" {
		b = text(append(b, `,"repeat":`...), l.Repeat)
	}
	if len(l.Faults) > 0 {
		b = append(b, `,"faults":[`...)
		for i, f := range l.Faults[:min(len(l.Faults), maxMany)] {
			if i > 0 {
				b = append(b, ',')
			}
			b = text(b, f)
		}
		b = append(b, ']')
	}
	if l.Asked != nil {
		b = l.Asked.appendJSON(append(b, `,"asked":`...))
	}
	if l.Reason != "" {
		b = text(append(b, `,"reason":`...), l.Reason)
	}
	return append(b, '}')
}

func text(b []byte, s string) []byte {
	if len(s) > maxName {
		n := maxName
		for n > 0 && !utf8.RuneStart(s[n]) {
			n--
		}
		s = s[:n] + "…"
	}
	if !utf8.ValidString(s) {
		s = strings.ToValidUTF8(s, "\uFFFD")
	}
	return jsontape.AppendQuote(b, s)
}

func milliseconds(b []byte, ms float64) []byte {
	if !(ms >= 0 && ms < 1<<53) { // NaN too
		ms = 0
	}
	return strconv.AppendFloat(b, math.Round(ms*1000)/1000, 'f', -1, 64)
}

func args(b []byte, m map[string]string) []byte {
	names := make([]string, 0, len(m))
	for name := range m {
		names = append(names, name)
	}
	slices.Sort(names)
	b = append(b, '{')
	for i, name := range names[:min(len(names), maxMany)] {
		if i > 0 {
			b = append(b, ',')
		}
		b = text(append(text(b, name), ':'), m[name])
	}
	return append(b, '}')
}
