package proxy

import (
	"errors"

	"github.com/spillway-mcp/spillway/internal/ledger"
	"github.com/spillway-mcp/spillway/internal/stash"
	"github.com/spillway-mcp/spillway/reduce"
)

// askedOf is what the ledger keeps of an expand's arguments: the way that it took,
// and those fields that a note had named as dropped (RED-45).
func askedOf(q *reduce.ExpandRequest, r *reduce.Reducer, original []byte) *ledger.Asked {
	note := ""
	if r != nil && len(q.Fields) > 0 {
		note = r.Reduce(original, reduce.Env{Expand: expandName}).Note
	}
	return ledger.AskedOf(ledger.Request{
		Fields: q.Fields, Query: q.Query != "", Rows: q.Rows != "", Lines: q.Lines != "", Block: q.Block != nil, Offset: q.Offset > 0,
	}, note)
}

// reasonOf says why an expand failed.
func reasonOf(err error) string {
	var gone *stash.ExpiredError
	switch {
	case errors.As(err, &gone):
		return ledger.ReasonExpired
	case errors.Is(err, stash.ErrUnknown):
		return ledger.ReasonUnknown
	}
	return ledger.ReasonRefused
}
