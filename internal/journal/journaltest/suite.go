// Package journaltest is the suite that every contract.Store passes.
package journaltest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/spillway-mcp/spillway/contract"
)

// Open returns two handles of one new, empty journal, as two processes have
// them. They may be the same where a journal is of one process. The suite does
// not close them.
type Open func(t *testing.T) (a, b contract.Store)

var (
	ctx   = context.Background()
	start = time.Date(2026, 11, 30, 12, 0, 0, 123456789, time.UTC)
)

// Run runs the suite.
func Run(t *testing.T, open Open) {
	t.Run("C10 a claim is one conditional insert", func(t *testing.T) { claim(t, open) })
	t.Run("C12 of concurrent claims one wins", func(t *testing.T) { race(t, open) })
	t.Run("C15 a record comes back as it was", func(t *testing.T) { roundTrip(t, open) })
	t.Run("C16 an update of what has changed is stale", func(t *testing.T) { update(t, open) })
	t.Run("C16 a lease moves without the record", func(t *testing.T) { heartbeat(t, open) })
	t.Run("C18 the time", func(t *testing.T) { present(t, open) })
	t.Run("C20 sweep", func(t *testing.T) { sweep(t, open) })
	t.Run("C20 sweep of many", func(t *testing.T) { sweepAll(t, open) })
	t.Run("C21 identities do not mix", func(t *testing.T) { identities(t, open) })
	t.Run("list", func(t *testing.T) { list(t, open) })
	t.Run("parcels", func(t *testing.T) { parcels(t, open) })
	t.Run("a cancelled context writes nothing", func(t *testing.T) { cancelled(t, open) })
}

func record(key string) *contract.Record {
	return &contract.Record{
		ID: contract.ID{Caller: "alice", Operation: "create", Key: key}, Version: "1.2", Digest: "d", Target: "acct_1",
		Fingerprint: "f", ParamsHash: "p", Precondition: "c", Params: []byte{0, 1, 0xff},
		State: contract.StatePending, Epoch: 1, Owner: "o", Lease: start.Add(30 * time.Second),
		CreatedAt: start, UpdatedAt: start, SubmittedAt: start,
		Steps: []contract.StepRecord{{Step: "submit", Status: contract.StepSubmitted, First: start}},
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func claimed(t *testing.T, s contract.Store, r *contract.Record) {
	t.Helper()
	_, ok, err := s.Claim(ctx, r)
	must(t, err)
	if !ok {
		t.Fatalf("%v is there already", r.ID)
	}
}

func claim(t *testing.T, open Open) {
	a, b := open(t)
	r := record("k")
	claimed(t, a, r)
	if r.Revision != 1 || r.IDHash != r.Hash() {
		t.Errorf("revision %d, hash %q after the claim", r.Revision, r.IDHash)
	}
	other := record("k")
	other.Owner, other.ParamsHash = "another", "other"
	had, ok, err := b.Claim(ctx, other)
	must(t, err)
	if ok || had.Owner != "o" || had.ParamsHash != "p" || had.ID != r.ID {
		t.Errorf("a second claim: %v, %+v", ok, had)
	}
	if _, err := b.Get(ctx, contract.ID{Caller: "alice", Operation: "create", Key: "other"}); !errors.Is(err, contract.ErrNoRecord) {
		t.Errorf("a record that is not there: %v", err)
	}
}

func race(t *testing.T, open Open) {
	a, b := open(t)
	var wg sync.WaitGroup
	var mu sync.Mutex
	const keys, callers = 8, 16
	won := map[string][]string{}
	for i := range callers {
		wg.Go(func() {
			s := a
			if i%2 == 1 {
				s = b
			}
			for k := range keys {
				r := record(fmt.Sprint("k", (k+i)%keys))
				r.Owner = fmt.Sprint("owner", i)
				had, ok, err := s.Claim(ctx, r)
				mu.Lock()
				switch {
				case err != nil:
					t.Error(err)
				case ok:
					won[r.Key] = append(won[r.Key], r.Owner)
				case had == nil || had.Key != r.Key:
					t.Errorf("lost %s to %+v", r.Key, had)
				}
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	if len(won) != keys {
		t.Errorf("%d keys won of %d", len(won), keys)
	}
	for k, owners := range won {
		got, err := a.Get(ctx, contract.ID{Caller: "alice", Operation: "create", Key: k})
		must(t, err)
		if len(owners) != 1 || got.Owner != owners[0] {
			t.Errorf("%s was won by %v, and is of %s", k, owners, got.Owner)
		}
	}
}

func roundTrip(t *testing.T, open Open) {
	a, b := open(t)
	r := record("k")
	claimed(t, a, r)
	r.State, r.Reason, r.Message = contract.StatePartial, "why", "what <happened> & when"
	r.Result = json.RawMessage(`{"b":9007199254740993,"a":1.10,"html":"<&>","uni":"ü\u0000\ud800"}`)
	r.CompletedAt, r.UnknownAt, r.Expires = start.Add(time.Second), start.Add(2*time.Second), start.Add(time.Hour)
	r.Attempts = 3
	r.Steps = append(r.Steps, contract.StepRecord{Step: "two", Item: "x", Status: contract.StepRejected, Result: json.RawMessage(`1.0`), Reason: "r", Message: "m", Attempts: 2})
	r.Notes = []contract.Note{{At: start, Who: "carol", Did: "resolved absent", Why: "asked"}}
	must(t, a.Update(ctx, r))
	got, err := b.Get(ctx, r.ID)
	must(t, err)
	if !reflect.DeepEqual(got, r) {
		t.Errorf("got  %+v\nwant %+v", got, r)
	}
	listed, err := b.List(ctx, contract.Filter{})
	must(t, err)
	if len(listed) != 1 || !reflect.DeepEqual(listed[0], r) {
		t.Errorf("listed %+v", listed)
	}
	_, ok, err := b.Claim(ctx, record("k"))
	must(t, err)
	if ok {
		t.Error("claimed again")
	}
}

func update(t *testing.T, open Open) {
	a, b := open(t)
	r := record("k")
	if err := a.Update(ctx, r); !errors.Is(err, contract.ErrNoRecord) {
		t.Errorf("update of what is not there: %v", err)
	}
	claimed(t, a, r)
	mine, err := b.Get(ctx, r.ID)
	must(t, err)
	r.State = contract.StateUnknown
	must(t, a.Update(ctx, r))
	if r.Revision != 2 {
		t.Errorf("revision %d", r.Revision)
	}
	mine.State = contract.StateCompleted
	if err := b.Update(ctx, mine); !errors.Is(err, contract.ErrStaleRecord) || mine.Revision != 1 {
		t.Errorf("stale update: %v, revision %d", err, mine.Revision)
	}
	got, err := b.Get(ctx, r.ID)
	must(t, err)
	if got.State != contract.StateUnknown || got.Revision != 2 {
		t.Errorf("%+v", got)
	}
	// Of many who take the record over, one does.
	var wg sync.WaitGroup
	var mu sync.Mutex
	wins := 0
	for i := range 16 {
		wg.Go(func() {
			s := a
			if i%2 == 1 {
				s = b
			}
			x, err := s.Get(ctx, r.ID)
			if err == nil && x.Revision == 2 {
				x.Epoch++
				err = s.Update(ctx, x)
			} else if err == nil {
				err = contract.ErrStaleRecord
			}
			mu.Lock()
			defer mu.Unlock()
			if err == nil {
				wins++
			} else if !errors.Is(err, contract.ErrStaleRecord) {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if wins != 1 {
		t.Errorf("%d took it over", wins)
	}
}

func heartbeat(t *testing.T, open Open) {
	a, b := open(t)
	r := record("k")
	if err := a.Heartbeat(ctx, r.ID, 1, start); !errors.Is(err, contract.ErrStaleRecord) {
		t.Errorf("heartbeat of what is not there: %v", err)
	}
	claimed(t, a, r)
	later := start.Add(time.Minute)
	must(t, a.Heartbeat(ctx, r.ID, 1, later))
	got, err := b.Get(ctx, r.ID)
	must(t, err)
	if !got.Lease.Equal(later) || got.Revision != 1 {
		t.Errorf("lease %s, revision %d", got.Lease, got.Revision)
	}
	if err := b.Heartbeat(ctx, r.ID, 2, later); !errors.Is(err, contract.ErrStaleRecord) {
		t.Errorf("heartbeat of another epoch: %v", err)
	}
	got.State = contract.StateUnknown
	must(t, b.Update(ctx, got))
	if err := a.Heartbeat(ctx, r.ID, 1, later); !errors.Is(err, contract.ErrStaleRecord) {
		t.Errorf("heartbeat of one given up: %v", err)
	}
}

// present: the time is at hand, one clock of it never goes back, and every
// handle knows the latest time that any was told.
func present(t *testing.T, open Open) {
	a, b := open(t)
	first, err := a.Now(ctx, time.Now())
	must(t, err)
	if off := time.Since(first.At); off < -time.Minute || off > time.Minute {
		t.Errorf("the time is %s", first.At)
	}
	if first.Clock == "" && runtime.GOOS == "linux" {
		t.Error("no clock but the wall's")
	}
	told := start.Add(1000 * time.Hour)
	r := record("k")
	r.CreatedAt, r.UpdatedAt = told, told
	claimed(t, a, r)
	earlier := record("earlier")
	claimed(t, b, earlier)
	for _, s := range []contract.Store{a, b} {
		now, err := s.Now(ctx, time.Now().Add(-24*time.Hour).Round(0))
		must(t, err)
		if now.Clock != "" && (now.Clock != first.Clock || now.Tick < first.Tick) {
			t.Errorf("the clock went from %s %s to %s %s", first.Clock, first.Tick, now.Clock, now.Tick)
		}
		if d := told.Sub(now.Floor); d > time.Second || d < 0 {
			t.Errorf("it was told of %s, and knows of %s", told, now.Floor)
		}
	}
}

func sweep(t *testing.T, open Open) {
	a, b := open(t)
	for key, state := range map[string]contract.State{
		"pending": contract.StatePending, "unknown": contract.StateUnknown, "done": contract.StateCompleted, "fresh": contract.StateCompleted,
	} {
		r := record(key)
		claimed(t, a, r)
		r.State = state
		switch key {
		case "done":
			r.Expires, r.Result = start.Add(time.Hour), json.RawMessage(`{"secret":1}`)
		case "fresh":
			r.Expires = start.Add(3 * time.Hour)
		}
		must(t, a.Update(ctx, r))
	}
	now, until := start.Add(2*time.Hour), start.Add(1000*time.Hour)
	n, err := b.Sweep(ctx, now, until)
	must(t, err)
	if n != (contract.Swept{Tombstoned: 1}) {
		t.Errorf("swept %+v", n)
	}
	id := contract.ID{Caller: "alice", Operation: "create", Key: "done"}
	got, err := a.Get(ctx, id)
	must(t, err)
	if !got.Tombstone || got.Fingerprint != "f" || got.State != contract.StateCompleted || got.Result != nil || got.Params != nil || got.ID != id {
		t.Errorf("tombstone %+v", got)
	}
	had, ok, err := a.Claim(ctx, record("done"))
	must(t, err)
	if ok || !had.Tombstone {
		t.Error("a tombstone was claimed")
	}
	if err := a.Update(ctx, got); !errors.Is(err, contract.ErrStaleRecord) {
		t.Errorf("update of a tombstone: %v", err)
	}
	all, err := a.List(ctx, contract.Filter{})
	must(t, err)
	dead, err := a.List(ctx, contract.Filter{Tombstones: true})
	must(t, err)
	if len(all) != 3 || len(dead) != 4 {
		t.Errorf("%d listed, %d with tombstones", len(all), len(dead))
	}
	for _, r := range dead {
		if r.Tombstone && (r.Caller != "" || r.Key != "" || r.IDHash != id.Hash()) {
			t.Errorf("tombstone listed as %+v", r)
		}
	}
	n, err = b.Sweep(ctx, until, until.Add(time.Hour))
	must(t, err)
	if n != (contract.Swept{Tombstoned: 1, Removed: 1}) {
		t.Errorf("swept %+v", n)
	}
	for _, key := range []string{"pending", "unknown"} {
		if r, err := a.Get(ctx, contract.ID{Caller: "alice", Operation: "create", Key: key}); err != nil || r.Tombstone {
			t.Errorf("%s was swept: %v", key, err)
		}
	}
}

// sweepAll: a sweep comes to its end also where there is more than one commit
// may hold up.
func sweepAll(t *testing.T, open Open) {
	a, b := open(t)
	const n = 1100
	var wg sync.WaitGroup
	for w := range 20 {
		wg.Go(func() {
			for i := w; i < n; i += 20 {
				r := record(fmt.Sprint("k", i))
				r.State, r.Expires = contract.StateCompleted, start.Add(time.Hour)
				if _, ok, err := a.Claim(ctx, r); err != nil || !ok {
					t.Error(ok, err)
				}
				if err := a.PutParcel(ctx, contract.Parcel{ID: r.Key, Caller: "alice", Data: []byte("x"), Expires: start.Add(time.Hour)}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	year := start.Add(8760 * time.Hour)
	got, err := b.Sweep(ctx, start.Add(time.Hour), year)
	must(t, err)
	if got != (contract.Swept{Tombstoned: n, Parcels: n}) {
		t.Errorf("swept %+v", got)
	}
	got, err = b.Sweep(ctx, year, year)
	must(t, err)
	if got != (contract.Swept{Removed: n}) {
		t.Errorf("swept %+v", got)
	}
}

func identities(t *testing.T, open Open) {
	a, b := open(t)
	for _, id := range []contract.ID{
		{Caller: "alice", Operation: "create", Key: "k"}, {Caller: "bob", Operation: "create", Key: "k"},
		{Caller: "alice", Operation: "update", Key: "k"}, {Caller: "alicecreate", Operation: "", Key: "k"},
		{Caller: "", Operation: "alicecreate", Key: "k"}, {Caller: "alice", Operation: "createk", Key: ""},
	} {
		r := record("")
		r.ID = id
		claimed(t, a, r)
		got, err := b.Get(ctx, id)
		must(t, err)
		if got.ID != id {
			t.Errorf("got %v for %v", got.ID, id)
		}
	}
}

func list(t *testing.T, open Open) {
	a, b := open(t)
	for i := range 5 {
		r := record(fmt.Sprint("k", i))
		r.CreatedAt = start.Add(time.Duration(i) * time.Second)
		if i == 3 {
			r.Caller = "bob"
		}
		if i == 4 {
			r.Operation = "update"
		}
		claimed(t, a, r)
		if i == 1 {
			r.State = contract.StateUnknown
			must(t, a.Update(ctx, r))
		}
	}
	for _, x := range []struct {
		f    contract.Filter
		want string
	}{
		{contract.Filter{}, "[k0 k1 k2 k3 k4]"},
		{contract.Filter{Limit: 2}, "[k0 k1]"},
		{contract.Filter{Caller: "bob"}, "[k3]"},
		{contract.Filter{Operation: "update"}, "[k4]"},
		{contract.Filter{Key: "k2"}, "[k2]"},
		{contract.Filter{States: []contract.State{contract.StateUnknown, contract.StateCompleted}}, "[k1]"},
		{contract.Filter{Caller: "alice", States: []contract.State{contract.StatePending}, Limit: 2}, "[k0 k2]"},
		{contract.Filter{Caller: "nobody"}, "[]"},
	} {
		got, err := b.List(ctx, x.f)
		must(t, err)
		keys := []string{}
		for _, r := range got {
			keys = append(keys, r.Key)
		}
		if fmt.Sprint(keys) != x.want {
			t.Errorf("%+v: %v, want %s", x.f, keys, x.want)
		}
		if len(got) == 5 {
			rest, err := b.List(ctx, contract.Filter{After: got[2]})
			must(t, err)
			if len(rest) != 2 || rest[0].Key != "k3" {
				t.Errorf("after the third: %d", len(rest))
			}
		}
	}
}

func parcels(t *testing.T, open Open) {
	a, b := open(t)
	p := contract.Parcel{ID: "p", Caller: "alice", Data: []byte{0, 0xff, 1}, Expires: start.Add(time.Hour)}
	must(t, a.PutParcel(ctx, p))
	got, err := b.GetParcel(ctx, "p")
	must(t, err)
	if !reflect.DeepEqual(got, p) {
		t.Errorf("got %+v", got)
	}
	p.Data = []byte("new")
	must(t, b.PutParcel(ctx, p))
	if got, err := a.GetParcel(ctx, "p"); err != nil || string(got.Data) != "new" {
		t.Errorf("replaced: %+v, %v", got, err)
	}
	if _, err := a.GetParcel(ctx, "q"); !errors.Is(err, contract.ErrNoRecord) {
		t.Errorf("not there: %v", err)
	}
	n, err := a.Sweep(ctx, start.Add(time.Hour), start.Add(2*time.Hour))
	must(t, err)
	if n.Parcels != 1 {
		t.Errorf("swept %+v", n)
	}
	if _, err := b.GetParcel(ctx, "p"); !errors.Is(err, contract.ErrNoRecord) {
		t.Errorf("expired: %v", err)
	}
}

func cancelled(t *testing.T, open Open) {
	a, _ := open(t)
	over, cancel := context.WithCancel(ctx)
	cancel()
	r := record("k")
	_, ok, err := a.Claim(over, r)
	_, gerr := a.Get(ctx, r.ID)
	if ok != (gerr == nil) || err == nil && !ok {
		t.Errorf("claim says %v, %v; the journal %v", ok, err, gerr)
	}
}
