package contracttest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/spillway-mcp/spillway/contract"
)

// What a world holds for its processes reaches those that do not share its
// memory over HTTP: a face that is a program takes its clock, policy, lease and
// the faults of its journal from there, in tests.

// remoteAnswer is what a process is told.
type remoteAnswer struct {
	Clock  ClockState    `json:"clock"`
	Lease  time.Duration `json:"lease,omitempty"`
	Broken string        `json:"broken,omitempty"` // the step of the journal fails with this
	Mute   bool          `json:"mute,omitempty"`
	Refuse bool          `json:"refuse,omitempty"`
}

// remoteQuestion is what a process asks: one of these, or for the clock.
type remoteQuestion struct {
	Step   string           `json:"step,omitempty"` // of the journal
	After  bool             `json:"after,omitempty"`
	Access *contract.Access `json:"access,omitempty"`
}

// Remote serves the world to processes that call [Follow]. A query as=NAME
// says which of the world's callers the process acts for, where the face has a
// name of its own for it.
func (w *World) Remote() http.Handler {
	return http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		var q remoteQuestion
		if err := json.NewDecoder(r.Body).Decode(&q); err != nil {
			http.Error(rw, err.Error(), http.StatusBadRequest)
			return
		}
		a := remoteAnswer{Lease: w.Lease, Mute: w.Journal.muted()}
		switch {
		case q.Access != nil:
			if as := r.URL.Query().Get("as"); as != "" {
				q.Access.Caller = as
			}
			a.Refuse = w.Policy.Allow(*q.Access) != nil
		case q.Step != "":
			w.Journal.tell(q.Step, !q.After)
			claim, record := w.Journal.errs()
			if err := map[string]error{"claim": claim, "update": record}[q.Step]; err != nil && !q.After {
				a.Broken = err.Error()
			}
		}
		a.Clock = w.Clock.State()
		_ = json.NewEncoder(rw).Encode(a) // a process that is gone needs no answer
	})
}

// Follow makes a client's options those of a world that another process serves
// at url. The store stays the process's own.
func Follow(url string, o *contract.Options) error {
	r := &remote{url: url, clock: &Clock{}}
	first, err := r.ask(remoteQuestion{})
	if err != nil {
		return err
	}
	if first.Lease > 0 {
		o.Lease = first.Lease
	}
	o.Now = func() time.Time {
		_, _ = r.ask(remoteQuestion{}) // a world that is gone has no later time
		return r.clock.Now()
	}
	o.Authorize = func(_ context.Context, a contract.Access) error {
		answer, err := r.ask(remoteQuestion{Access: &a})
		if err == nil && answer.Refuse {
			err = errRefused
		}
		return err
	}
	o.Store = remoteStore{timedStore{o.Store, r.clock}, r}
	return nil
}

type remote struct {
	url   string
	clock *Clock
}

func (r *remote) ask(q remoteQuestion) (a remoteAnswer, err error) {
	body, err := json.Marshal(q)
	if err != nil {
		return a, err
	}
	resp, err := http.Post(r.url, "application/json", bytes.NewReader(body))
	if err != nil {
		return a, fmt.Errorf("the world is gone: %w", err)
	}
	defer resp.Body.Close()
	if err := json.NewDecoder(resp.Body).Decode(&a); err != nil {
		return a, err
	}
	r.clock.Set(a.Clock)
	return a, nil
}

// remoteStore asks the world at each step of the journal.
type remoteStore struct {
	contract.Store
	r *remote
}

func (s remoteStore) step(name string, do func() error) error {
	a, err := s.r.ask(remoteQuestion{Step: name})
	if err != nil {
		return err
	}
	if a.Broken != "" {
		return errors.New(a.Broken)
	}
	err = do()
	if _, gone := s.r.ask(remoteQuestion{Step: name, After: true}); gone != nil {
		return gone
	}
	return err
}

func (s remoteStore) Now(ctx context.Context, local time.Time) (contract.Instant, error) {
	if _, err := s.r.ask(remoteQuestion{}); err != nil {
		return contract.Instant{}, err
	}
	return s.Store.Now(ctx, local)
}

func (s remoteStore) Claim(ctx context.Context, r *contract.Record) (existing *contract.Record, claimed bool, err error) {
	err = s.step("claim", func() error {
		var err error
		existing, claimed, err = s.Store.Claim(ctx, r)
		return err
	})
	return existing, claimed, err
}

func (s remoteStore) Update(ctx context.Context, r *contract.Record) error {
	return s.step("update", func() error { return s.Store.Update(ctx, r) })
}

func (s remoteStore) Get(ctx context.Context, id contract.ID) (r *contract.Record, err error) {
	err = s.step("get", func() error {
		var err error
		r, err = s.Store.Get(ctx, id)
		return err
	})
	return r, err
}

func (s remoteStore) Heartbeat(ctx context.Context, id contract.ID, epoch int64, lease time.Time) error {
	a, err := s.r.ask(remoteQuestion{})
	if err != nil || a.Mute {
		return err
	}
	return s.Store.Heartbeat(ctx, id, epoch, lease)
}
