package journal

import (
	"bytes"
	"encoding/json"
	"fmt"
	"time"

	"github.com/spillway-mcp/spillway/contract"
)

// encodeRecord writes the part of a record that only whole records carry. What
// stores select by stands in columns of its own; the lease too, since it moves
// without the rest.
func encodeRecord(r *contract.Record) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	// A replayed result has the bytes of the first.
	enc.SetEscapeHTML(false)
	if err := enc.Encode(r); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

// row is a record as a store reads it.
type row struct {
	hash     string
	lease    int64
	revision int64
	body     []byte
}

func (w *row) record() (*contract.Record, error) {
	r := &contract.Record{}
	if err := json.Unmarshal(w.body, r); err != nil {
		return nil, fmt.Errorf("journal record %s cannot be read: %w", w.hash, err)
	}
	r.IDHash, r.Revision, r.Lease = w.hash, w.revision, instant(w.lease)
	return r, nil
}

// nanos is how instants stand in columns; 0 is the zero time.
func nanos(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixNano()
}

func instant(n int64) time.Time {
	if n == 0 {
		return time.Time{}
	}
	return time.Unix(0, n).UTC()
}
