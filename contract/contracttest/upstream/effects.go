package upstream

import (
	"encoding/json"
	"slices"
	"time"
)

// Effect is one line of the log: something that happened and stays happened.
type Effect struct {
	Seq     int             // from 1
	At      time.Time       // by the fake's clock
	Action  string          // "create", "update", "delete" or "add"
	Path    string          // of the request
	Key     string          // the Idempotency-Key or the X-Ref that came along; "" is none
	Body    json.RawMessage // of the request, compact, members sorted
	Result  json.RawMessage // as it was answered, or would have been
	Account string          // of the request's body
}

// Effects returns a copy of the log.
func (f *Fake) Effects() []Effect {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.effects)
}

// Arrival is one request as the fake saw it, whatever became of it.
type Arrival struct {
	Seq    int // from 1
	Method string
	Path   string
	Ref    string // of the query of a read
	Cursor string // of the query of a page
	Key    string // Idempotency-Key
	XRef   string // X-Ref
	Match  string // If-Match
	Body   json.RawMessage
	Gone   <-chan struct{} // closed when the client has left
}

// Mutates reports whether the request asks for an effect.
func (a Arrival) Mutates() bool { return a.Method != "GET" }

// Arrivals returns a copy of the requests in the order of their arrival.
func (f *Fake) Arrivals() []Arrival {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.arrivals)
}

// Submissions counts the arrivals that asked for an effect.
func (f *Fake) Submissions() int {
	n := 0
	for _, a := range f.Arrivals() {
		if a.Mutates() {
			n++
		}
	}
	return n
}
