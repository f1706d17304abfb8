package contract_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/spillway-mcp/spillway/contract"
)

// clock is a hand that only the test moves.
type clock struct {
	mu sync.Mutex
	t  time.Time
}

func newClock() *clock { return &clock{t: time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)} }

func (c *clock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.t
}

func (c *clock) move(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.t = c.t.Add(d)
}

// effect is one line of the fake upstream's append-only log.
type effect struct{ key, name string }

// upstream is a customer service that can lose its answers.
type upstream struct {
	mu       sync.Mutex
	log      []effect
	byKey    map[string]string
	takesKey bool
	revision int
	// fault is asked at each submission, by its number from 1: what it returns
	// is the caller's answer. commits says whether the effect takes place.
	fault func(n int) (commits bool, err error)
	calls int
	hold  chan struct{} // closed to let submissions go on; nil does not hold
}

var errReset = errors.New("connection reset")

func (u *upstream) create(ctx context.Context, key, name string) (string, error) {
	u.mu.Lock()
	u.calls++
	n, hold := u.calls, u.hold
	u.mu.Unlock()
	if hold != nil {
		<-hold
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	commits, err := true, error(nil)
	if u.fault != nil {
		commits, err = u.fault(n)
	}
	if commits {
		if id, had := u.byKey[key]; had && u.takesKey {
			return id, err
		}
		u.log = append(u.log, effect{key, name})
		if u.byKey == nil {
			u.byKey = map[string]string{}
		}
		u.byKey[key] = "cus_" + strconv.Itoa(len(u.log))
		u.revision++
	}
	return u.byKey[key], err
}

func (u *upstream) find(name string) (string, bool) {
	u.mu.Lock()
	defer u.mu.Unlock()
	for i, e := range u.log {
		if e.name == name {
			return "cus_" + strconv.Itoa(i+1), true
		}
	}
	return "", false
}

func (u *upstream) effects() int {
	u.mu.Lock()
	defer u.mu.Unlock()
	return len(u.log)
}

type customer struct {
	Name    string `json:"name"`
	Account string `json:"account,omitempty"`
}

type created struct {
	ID string `json:"id"`
}

// customerOp is a one-step mutation over u; change adapts it.
func customerOp(t testing.TB, u *upstream, change func(*contract.Mutation[customer, created])) *contract.Op[customer, created] {
	t.Helper()
	m := contract.Mutation[customer, created]{
		Name: "create_customer", Version: "1.0", Scope: "one customer of the test account", Effects: contract.Creates,
		Target: func(c customer) string { return "acct_" + c.Account },
		Submit: func(ctx context.Context, at *contract.Invocation, c customer) (created, error) {
			id, err := u.create(ctx, at.StepKey, c.Name)
			return created{id}, err
		},
		Settle: time.Minute,
	}
	if change != nil {
		change(&m)
	}
	op, err := m.Define()
	if err != nil {
		t.Fatal(err)
	}
	return op
}

func withReconcile(u *upstream) func(*contract.Mutation[customer, created]) {
	return func(m *contract.Mutation[customer, created]) {
		m.Reconcile = func(_ context.Context, _ *contract.Invocation, c customer) (contract.FindingState, created, error) {
			if id, ok := u.find(c.Name); ok {
				return contract.Present, created{id}, nil
			}
			return contract.Absent, created{}, nil
		}
	}
}

func withKey(m *contract.Mutation[customer, created]) {
	m.Idempotent, m.KeyRetention = contract.ByKey, 24*time.Hour
}

func newClient(t testing.TB, opt contract.Options, defs ...*contract.Definition) *contract.Client {
	t.Helper()
	if opt.Caller == "" {
		opt.Caller = "alice"
	}
	opt.Definitions = defs
	c, err := contract.New(opt)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// want checks a receipt's main members and that its error agrees.
func want(t *testing.T, r *contract.Receipt, err error, outcome contract.Outcome, effect contract.Effect, next contract.NextAction) {
	t.Helper()
	if r == nil {
		t.Fatalf("no receipt; error %v", err)
	}
	checkReceipt(t, r)
	if r.Outcome != outcome || r.Effect != effect || r.NextAction != next {
		t.Errorf("receipt is %s, %s, %s (%s: %s), want %s, %s, %s", r.Outcome, r.Effect, r.NextAction, r.Reason, r.Message, outcome, effect, next)
	}
	if (err == nil) != (outcome == contract.Completed || outcome == contract.Pending) {
		t.Errorf("outcome %s with error %v", outcome, err)
	}
	if e, ok := errors.AsType[*contract.Error](err); ok && e.OperationID != r.OperationID {
		t.Errorf("error is of %q, receipt of %q (C-24)", e.OperationID, r.OperationID)
	}
}

func is(t *testing.T, err error, kinds ...error) {
	t.Helper()
	for _, k := range kinds {
		if !errors.Is(err, k) {
			t.Errorf("error %v is not %v", err, k)
		}
	}
}

// records makes page data.
type record map[string]any

// pager serves records in pages with cursors "1", "2", ...
type pager struct {
	pages   [][]record
	fetches int
	fault   func(fetch int, cursor string) error
}

func pagesOf(size int, records ...record) *pager {
	p := &pager{}
	for len(records) > size {
		p.pages = append(p.pages, records[:size])
		records = records[size:]
	}
	p.pages = append(p.pages, records)
	return p
}

func (p *pager) fetch(cursor *string) ([]byte, error) {
	p.fetches++
	at, c := 0, ""
	if cursor != nil {
		c = *cursor
		at, _ = strconv.Atoi(c)
	}
	if p.fault != nil {
		if err := p.fault(p.fetches, c); err != nil {
			return nil, err
		}
	}
	page := map[string]any{"items": p.pages[at]}
	if p.pages[at] == nil {
		page["items"] = []record{}
	}
	if at+1 < len(p.pages) {
		page["next"] = strconv.Itoa(at + 1)
	}
	return json.Marshal(page)
}

type filter struct {
	State string `json:"state,omitempty"`
}

type counted struct {
	Open int `json:"open"`
}

// openOp counts open records over p.
func openOp(t testing.TB, p *pager, change func(*contract.Read[filter, counted])) *contract.Op[filter, counted] {
	t.Helper()
	r := contract.Read[filter, counted]{
		Name: "open_count", Version: "1.0", Scope: "records of the test",
		Fetch: func(_ context.Context, _ filter, cursor *string) ([]byte, error) { return p.fetch(cursor) },
		Items: "page.items", Next: "page.next", Where: "open",
		Aggregates: []contract.Aggregate{{Name: "open", Op: contract.Count}},
	}
	if change != nil {
		change(&r)
	}
	op, err := r.Define()
	if err != nil {
		t.Fatal(err)
	}
	return op
}

// mixed makes n records, every second open, with ids from 1.
func mixed(n int) []record {
	var all []record
	for i := range n {
		all = append(all, record{"id": i + 1, "open": i%2 == 0, "amount": json.Number(fmt.Sprintf("%d.10", i))})
	}
	return all
}
