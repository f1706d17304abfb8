// Package sse reads and writes streams of server-sent events, of which MCP uses
// the message data, ids, event names and retry times. It knows nothing of HTTP.
package sse

import (
	"fmt"
	"time"
)

// DefaultLimit is the longest data of one event that a [Reader] returns unless
// told otherwise: 64 MiB.
const DefaultLimit = 64 << 20

// An Event is what stood between two blank lines: the fields that were there,
// without comments and unknown fields. One that has no data is returned too,
// because its id and retry time count.
type Event struct {
	Name    string // "" where none is given, which stands for message
	Data    []byte // of the data lines, joined by newlines; belongs to the caller
	HasData bool
	ID      string // the last id that the stream gave, in this event or before
	Retry   time.Duration
	// HasRetry tells a retry time of 0 from none.
	HasRetry bool
}

// TooLargeError reports an event whose data is over the limit. It was read to
// its end and dropped without being kept; the next call of [Reader.Next] goes on
// behind it.
type TooLargeError struct {
	Size  int64
	Limit int
}

func (e *TooLargeError) Error() string {
	return fmt.Sprintf("message of %d bytes is over the limit of %d", e.Size, e.Limit)
}
