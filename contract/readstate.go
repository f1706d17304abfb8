package contract

import (
	"crypto/sha256"
	"errors"
	"fmt"
)

// readState is how far a read has come; a continuation carries it.
type readState struct {
	Cursor   *string     `json:"cursor,omitempty"`
	Skip     int         `json:"skip,omitempty"` // records of the page at Cursor that were examined
	Pages    int         `json:"pages"`
	Fetches  int         `json:"fetches"`
	Examined int         `json:"examined"`
	Skipped  int         `json:"skipped,omitempty"`
	Dups     int         `json:"dups,omitempty"`
	Aggs     []*aggState `json:"aggs"`
	Bytes    int         `json:"bytes,omitempty"` // of the result, about
	Cursors  []mark      `json:"cursors,omitempty"`
	Bodies   []mark      `json:"bodies,omitempty"` // of pages with records
	IDs      []mark      `json:"ids,omitempty"`
	Evidence []string    `json:"evidence,omitempty"`

	cursors, bodies, ids map[mark]struct{}
}

// mark is a hash short enough to keep for each page or record, long enough
// that no two meet.
type mark [16]byte

func markOf(b []byte) mark {
	h := sha256.Sum256(b)
	return mark(h[:16])
}

// MarshalText writes a mark in hex.
func (m mark) MarshalText() ([]byte, error) { return fmt.Appendf(nil, "%x", m[:]), nil }

// UnmarshalText reads what MarshalText wrote.
func (m *mark) UnmarshalText(b []byte) error {
	var raw []byte
	if _, err := fmt.Sscanf(string(b), "%x", &raw); err != nil || len(raw) != len(m) {
		return errors.New("not a mark")
	}
	copy(m[:], raw)
	return nil
}

func setOf(list []mark) map[mark]struct{} {
	set := make(map[mark]struct{}, len(list))
	for _, m := range list {
		set[m] = struct{}{}
	}
	return set
}

func listOf(set map[mark]struct{}) []mark {
	list := make([]mark, 0, len(set))
	for m := range set {
		list = append(list, m)
	}
	return list
}
