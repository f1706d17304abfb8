package report

import (
	"strings"

	"github.com/spillway-mcp/spillway/internal/ledger"
	"github.com/spillway-mcp/spillway/internal/record"
	"github.com/spillway-mcp/spillway/reduce"
)

// askedOf says how a recorded expand asked, as the live ledger does: with the
// names that the note of the cut had named.
func askedOf(s *record.Session, e *record.Event) *ledger.Asked {
	q, err := reduce.ParseExpandRequest(e.Args)
	if err != nil {
		return &ledger.Asked{By: ledger.AskedWhole}
	}
	note := ""
	for i := range s.Events {
		if c := &s.Events[i]; c.Kind == record.KindCall && c.Ref == e.Ref && c.Note != "" {
			note = c.Note
		}
	}
	return ledger.AskedOf(ledger.Request{
		Fields: q.Fields, Query: q.Query != "", Rows: q.Rows != "", Lines: q.Lines != "", Block: q.Block != nil, Offset: q.Offset > 0,
	}, strings.TrimSpace(note))
}
