package proxy

import (
	"errors"
	"strings"

	"github.com/spillway-mcp/spillway/internal/ledger"
	"github.com/spillway-mcp/spillway/internal/stash"
	"github.com/spillway-mcp/spillway/reduce"
)

// askedOf is what the ledger keeps of an expand's arguments: the way that it took,
// and those fields that a note had named as dropped (RED-45).
func askedOf(q *reduce.ExpandRequest, r *reduce.Reducer, original []byte) *ledger.Asked {
	a := &ledger.Asked{By: askedBy(q)}
	if len(q.Fields) == 0 {
		return a
	}
	note := ""
	if r != nil {
		note = r.Reduce(original, reduce.Env{Expand: expandName}).Note
	}
	for _, f := range q.Fields {
		name, _, _ := strings.Cut(f, ".")
		if fieldName(name) && namedDropped(note, name) {
			a.Fields = append(a.Fields, name)
		} else {
			a.Others++
		}
	}
	return a
}

func askedBy(q *reduce.ExpandRequest) string {
	switch {
	case len(q.Fields) > 0:
		return ledger.AskedFields
	case q.Query != "":
		return ledger.AskedQuery
	case q.Rows != "":
		return ledger.AskedRows
	case q.Lines != "":
		return ledger.AskedLines
	case q.Block != nil:
		return ledger.AskedBlock
	case q.Offset > 0:
		return ledger.AskedOffset
	}
	return ledger.AskedWhole
}

// fieldName reports whether a name reads as that of a field. Where a payload is
// a map of data by data, its keys are addresses or titles and stay out.
func fieldName(s string) bool {
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c == '_':
		case i > 0 && (c >= '0' && c <= '9' || c == '-'):
		default:
			return false
		}
	}
	return len(s) > 0 && len(s) <= 40
}

// namedDropped reports whether the note's list of dropped fields has the name.
func namedDropped(note, name string) bool {
	for line := range strings.Lines(note) {
		_, list, _ := strings.Cut(line, " Dropped: ")
		for part := range strings.FieldsFuncSeq(list, func(r rune) bool { return r == ' ' || r == ',' || r == '.' || r == '\n' }) {
			if part == name {
				return true
			}
		}
	}
	return false
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
