package upstream

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"
)

// Fake is the service. It is safe for concurrent use.
type Fake struct {
	// KeyRetention is how long an Idempotency-Key is kept; 0 is for ever. Set
	// it before use.
	KeyRetention time.Duration

	now func() time.Time

	mu          sync.Mutex
	effects     []Effect
	arrivals    []Arrival
	faults      []*Fault
	items       map[string]*item
	order       []string // of items
	members     []member
	kept        map[string]kept // by Idempotency-Key
	collections map[string]*Collection
}

type item struct {
	doc      map[string]json.RawMessage
	revision int
	ref      string
}

type member struct{ team, ref, member string }

type kept struct {
	at    time.Time
	body  string
	reply reply
}

// reply is what goes back; broken means that nothing does.
type reply struct {
	status int
	body   []byte
	broken bool
	reset  bool
}

// New returns a Fake with an empty log, with time.Now as its clock where now
// is nil.
func New(now func() time.Time) *Fake {
	if now == nil {
		now = time.Now
	}
	return &Fake{now: now, items: map[string]*item{}, kept: map[string]kept{}, collections: map[string]*Collection{}}
}

// handle serves one request through whatever fault it meets.
func (f *Fake) handle(a Arrival) reply {
	f.mu.Lock()
	a.Seq = len(f.arrivals) + 1
	f.arrivals = append(f.arrivals, a)
	fault := f.take(a)
	f.mu.Unlock()
	if fault == nil {
		return f.serve(a)
	}
	if fault.Before != nil {
		fault.Before(a)
	}
	if fault.Refuse != 0 {
		return fault.answer(fault.Refuse)
	}
	if fault.LoseRequest {
		return reply{broken: true, reset: fault.Reset}
	}
	if fault.Later != nil {
		go func() {
			<-fault.Later
			f.serve(a)
			if fault.After != nil {
				fault.After(a)
			}
		}()
		return reply{broken: true, reset: fault.Reset}
	}
	r := f.serve(a)
	if fault.Twice {
		r = f.serve(a)
	}
	if fault.After != nil {
		fault.After(a)
	}
	if fault.LoseAnswer {
		return reply{broken: true, reset: fault.Reset}
	}
	if fault.Answer != 0 {
		return fault.answer(fault.Answer)
	}
	return r
}

func (x *Fault) answer(status int) reply {
	if x.Body != "" {
		return reply{status: status, body: []byte(x.Body)}
	}
	return problem(status, "scripted")
}

// serve does what is asked, once: the lock makes each request one transaction.
func (f *Fake) serve(a Arrival) reply {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !a.Mutates() {
		return f.read(a)
	}
	if a.Key == "" {
		return f.mutate(a)
	}
	body := a.Method + " " + a.Path + " " + string(a.Body)
	if k, ok := f.kept[a.Key]; ok && (f.KeyRetention == 0 || f.now().Sub(k.at) < f.KeyRetention) {
		if k.body != body {
			return problem(http.StatusUnprocessableEntity, "the key was used with other parameters")
		}
		return k.reply
	}
	r := f.mutate(a)
	if r.status < 300 {
		f.kept[a.Key] = kept{f.now(), body, r}
	}
	return r
}

func (f *Fake) mutate(a Arrival) reply {
	parts := strings.Split(strings.Trim(a.Path, "/"), "/")
	switch {
	case a.Method == "POST" && len(parts) == 1 && parts[0] == "items":
		return f.create(a)
	case a.Method == "POST" && len(parts) == 3 && parts[0] == "teams" && parts[2] == "members":
		return f.add(a, parts[1])
	case a.Method == "PUT" && len(parts) == 2 && parts[0] == "items":
		return f.update(a, parts[1])
	case a.Method == "DELETE" && len(parts) == 2 && parts[0] == "items":
		return f.remove(a, parts[1])
	}
	return problem(http.StatusNotFound, "no such endpoint")
}

func (f *Fake) read(a Arrival) reply {
	parts := strings.Split(strings.Trim(a.Path, "/"), "/")
	switch {
	case len(parts) == 1 && parts[0] == "items":
		return f.find(a)
	case len(parts) == 2 && parts[0] == "items":
		it := f.items[parts[1]]
		if it == nil {
			return problem(http.StatusNotFound, "no such item")
		}
		return reply{status: http.StatusOK, body: it.json(parts[1])}
	case len(parts) == 3 && parts[0] == "teams" && parts[2] == "members":
		return f.findMembers(a, parts[1])
	case len(parts) == 2 && parts[0] == "records":
		return f.page(a, parts[1])
	}
	return problem(http.StatusNotFound, "no such endpoint")
}

func problem(status int, text string) reply {
	return reply{status: status, body: fmt.Appendf(nil, `{"error":%q}`, text)}
}
