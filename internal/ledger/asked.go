package ledger

import (
	"encoding/json"
	"strconv"
	"strings"
)

// Asked says what an expand asked for, without saying what with (RED-45): the
// way it took, and of the fields those that the note of the cut had named
// itself. A path, a query or a range of rows is an argument's value and is not
// here.
type Asked struct {
	By     string   `json:"by"`     // AskedWhole, AskedFields and so on
	Fields []string `json:"fields"` // asked for, and named by the note
	Others int      `json:"others"` // fields asked for that the note did not name
}

// The ways of an expand, in Asked.By. Of several the first one counts.
const (
	AskedFields = "fields"
	AskedQuery  = "query"
	AskedRows   = "rows"
	AskedLines  = "lines"
	AskedBlock  = "block"
	AskedOffset = "offset" // goes on with what an expand before it began
	AskedWhole  = "whole"
)

// The reasons why an expand failed, in Line.Reason.
const (
	ReasonExpired = "expired" // the original was kept, and no longer is
	ReasonUnknown = "unknown" // no such ref, of this caller
	ReasonRefused = "refused" // the request was wrong, or the stash failed
)

// Request is how an expand asks.
type Request struct {
	Fields                            []string
	Query, Rows, Lines, Block, Offset bool
}

// AskedOf returns what may be kept of a request. The note is that of the cut;
// "" where it is not known, and then no name is kept.
func AskedOf(q Request, note string) *Asked {
	a := &Asked{By: q.by()}
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

func (q *Request) by() string {
	switch {
	case len(q.Fields) > 0:
		return AskedFields
	case q.Query:
		return AskedQuery
	case q.Rows:
		return AskedRows
	case q.Lines:
		return AskedLines
	case q.Block:
		return AskedBlock
	case q.Offset:
		return AskedOffset
	}
	return AskedWhole
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

func (a *Asked) appendJSON(b []byte) []byte {
	b = text(append(b, `{"by":`...), a.By)
	b = append(b, `,"fields":[`...)
	for i, f := range a.Fields[:min(len(a.Fields), maxMany)] {
		if i > 0 {
			b = append(b, ',')
		}
		b = text(b, f)
	}
	b = append(b, `],"others":`...)
	return append(strconv.AppendInt(b, int64(a.Others), 10), '}')
}

// readAsked reads what appendJSON wrote; nil where that is not what it is.
func readAsked(raw []byte) *Asked {
	if len(raw) == 0 {
		return nil
	}
	a := new(Asked)
	if json.Unmarshal(raw, a) != nil {
		return nil
	}
	return a
}
