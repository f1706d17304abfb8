package ledger

import (
	"encoding/json"
	"strconv"
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
