package contract_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spillway-mcp/spillway/contract"
)

func complete(t *testing.T, r *contract.Receipt, err error, examined, pages int, result string) {
	t.Helper()
	want(t, r, err, contract.Completed, contract.EffectNone, contract.NextNone)
	if !r.Complete || r.RecordsExamined != examined || r.Pages != pages || r.Continuation != nil || string(r.Result) != result {
		t.Errorf("receipt %s, want %d records of %d pages, %s", r.JSON(), examined, pages, result)
	}
}

func incomplete(t *testing.T, r *contract.Receipt, err error, reason string, examined int) {
	t.Helper()
	checkReceipt(t, r)
	if r.Outcome != contract.Partial || r.Complete || r.Reason != reason || r.RecordsExamined != examined || r.ExitCode() != contract.ExitIncomplete {
		t.Errorf("receipt %s, want %s after %d records", r.JSON(), reason, examined)
	}
	is(t, err, contract.ErrIncomplete)
	if (r.Continuation != nil) != (r.NextAction == contract.NextResume) {
		t.Errorf("next action %s, continuation %v", r.NextAction, r.Continuation)
	}
}

func TestC01_Q01_Q02_Q05_CompleteReads(t *testing.T) {
	c := newClient(t, contract.Options{})
	p := &pager{pages: [][]record{nil}}
	v, r, err := openOp(t, p, nil).Do(ctx, c, filter{}, contract.Call{})
	complete(t, r, err, 0, 1, `{"open":0}`)
	if v.Open != 0 {
		t.Errorf("%+v", v)
	}
	p = pagesOf(10, mixed(25)...)
	v, r, err = openOp(t, p, nil).Do(ctx, c, filter{}, contract.Call{})
	complete(t, r, err, 25, 3, `{"open":13}`)
	if v.Open != 13 || r.Attempts != 3 {
		t.Errorf("%+v, %s", v, r.JSON())
	}
	p = &pager{pages: [][]record{mixed(2), nil, nil, mixed(1)}}
	_, r, err = openOp(t, p, nil).Do(ctx, c, filter{}, contract.Call{})
	complete(t, r, err, 3, 4, `{"open":2}`)
}

func TestC01_EndSignals(t *testing.T) {
	body := func(pages ...string) func(context.Context, filter, *string) ([]byte, error) {
		n := 0
		return func(context.Context, filter, *string) ([]byte, error) {
			n++
			return []byte(pages[n-1]), nil
		}
	}
	for _, x := range []struct {
		name   string
		change func(*contract.Read[filter, counted])
		pages  []string
		reason string // "" is complete
	}{
		{"an empty string is a cursor", nil, []string{`{"items":[],"next":""}`, `{"items":[]}`}, ""},
		{"an empty string ends where declared", func(r *contract.Read[filter, counted]) { r.EmptyCursorEnds = true }, []string{`{"items":[],"next":""}`}, ""},
		{"null ends", nil, []string{`{"items":[],"next":null}`}, ""},
		{"a number is a cursor", nil, []string{`{"items":[],"next":2}`, `{"items":[],"next":null}`}, ""},
		{"the declared signal", func(r *contract.Read[filter, counted]) { r.End = "page.last" }, []string{`{"items":[],"next":"a","last":false}`, `{"items":[],"next":"b","last":true}`}, ""},
		{"no signal and no cursor", func(r *contract.Read[filter, counted]) { r.End = "page.last" }, []string{`{"items":[]}`}, contract.ReasonNoEnd},
		{"numbered pages", func(r *contract.Read[filter, counted]) { r.Next, r.End = "", "!page.more" }, []string{`{"items":[],"more":true}`, `{"items":[],"more":false}`}, ""},
		{"no JSON", nil, []string{`<html>`}, contract.ReasonInvalidPage},
		{"no records", nil, []string{`{"error":"x"}`}, contract.ReasonInvalidPage},
		{"a cursor that is none", nil, []string{`{"items":[],"next":{}}`}, contract.ReasonInvalidPage},
	} {
		op := openOp(t, &pager{}, func(r *contract.Read[filter, counted]) {
			r.Fetch = body(x.pages...)
			if x.change != nil {
				x.change(r)
			}
		})
		_, r, err := op.Do(ctx, newClient(t, contract.Options{}), filter{}, contract.Call{})
		if x.reason == "" && (err != nil || !r.Complete || r.Pages != len(x.pages)) || x.reason != "" && r.Reason != x.reason {
			t.Errorf("%s: %s", x.name, r.JSON())
		}
	}
	_, err := contract.Read[filter, counted]{Name: "x", Version: "1.0", Scope: "x",
		Fetch:      func(context.Context, filter, *string) ([]byte, error) { return nil, nil },
		Aggregates: []contract.Aggregate{{Op: contract.Count}}}.Define()
	if err == nil || !strings.Contains(err.Error(), "end signal") {
		t.Errorf("numbered pages without an end signal: %v", err)
	}
}

func TestC02_Q03_Q04_Q08_Limits(t *testing.T) {
	c := newClient(t, contract.Options{})
	pages := func(n int) func(*contract.Read[filter, counted]) {
		return func(r *contract.Read[filter, counted]) { r.Bounds.MaxPages = n }
	}
	records := func(n int) func(*contract.Read[filter, counted]) {
		return func(r *contract.Read[filter, counted]) { r.Bounds.MaxRecords = n }
	}
	_, r, err := openOp(t, pagesOf(10, mixed(30)...), pages(3)).Do(ctx, c, filter{}, contract.Call{})
	complete(t, r, err, 30, 3, `{"open":15}`)
	_, r, err = openOp(t, pagesOf(10, mixed(31)...), pages(3)).Do(ctx, c, filter{}, contract.Call{})
	incomplete(t, r, err, contract.ReasonMaxPages, 30)
	_, r, err = openOp(t, pagesOf(10, mixed(30)...), records(30)).Do(ctx, c, filter{}, contract.Call{})
	complete(t, r, err, 30, 3, `{"open":15}`)
	_, r, err = openOp(t, pagesOf(10, mixed(31)...), records(25)).Do(ctx, c, filter{}, contract.Call{})
	incomplete(t, r, err, contract.ReasonMaxRecords, 25)

	synctest.Test(t, func(t *testing.T) {
		slow := pagesOf(10, mixed(30)...)
		op := openOp(t, slow, func(r *contract.Read[filter, counted]) {
			r.Bounds.Deadline = 10 * time.Millisecond
			fetch := r.Fetch
			r.Fetch = func(ctx context.Context, f filter, cursor *string) ([]byte, error) {
				if cursor != nil && *cursor == "2" && slow.fetches < 3 {
					slow.fetches++
					<-ctx.Done()
					return nil, ctx.Err()
				}
				return fetch(ctx, f, cursor)
			}
		})
		_, r, err = op.Do(ctx, c, filter{}, contract.Call{})
		incomplete(t, r, err, contract.ReasonDeadline, 20)
		_, r, err = op.Do(ctx, c, filter{}, contract.Call{Continuation: *r.Continuation})
		complete(t, r, err, 30, 3, `{"open":15}`)
	})

	op := openOp(t, pagesOf(10, mixed(30)...), func(r *contract.Read[filter, counted]) {
		r.Bounds.MaxResultBytes = 20
		r.Result = json.RawMessage(`{}`)
		r.Aggregates = []contract.Aggregate{{Name: "all", Op: contract.Project, Of: "id"}}
	})
	_, r, err = op.Do(ctx, c, filter{}, contract.Call{})
	if r.Reason != contract.ReasonMaxResult || r.Continuation != nil {
		t.Errorf("%v %s", err, r.JSON())
	}
}

func TestC06_ResumeGivesTheSameTotal(t *testing.T) {
	all := func(r *contract.Read[filter, counted]) {
		r.Result = json.RawMessage(`{"type":"object"}`)
		r.Dedupe = "id"
		r.Aggregates = []contract.Aggregate{
			{Name: "open", Op: contract.Count}, {Name: "sum", Op: contract.Sum, Of: "amount"},
			{Name: "min", Op: contract.Min, Of: "amount"}, {Name: "max", Op: contract.Max, Of: "amount"},
			{Name: "first", Op: contract.First, Of: "id"}, {Name: "ids", Op: contract.Project, Of: "id"},
			{Name: "by", Op: contract.CountBy, By: "open"},
			{Name: "groups", Op: contract.GroupBy, By: "open", Aggregates: []contract.Aggregate{{Name: "s", Op: contract.Sum, Of: "amount"}}},
		}
	}
	data := mixed(37)
	_, whole, err := openOp(t, pagesOf(5, data...), all).Do(ctx, newClient(t, contract.Options{}), filter{}, contract.Call{})
	if err != nil {
		t.Fatal(err)
	}
	store := contract.NewMemory()
	sealer, _ := contract.NewSealer()
	for _, limit := range []int{1, 3, 5, 7, 36} {
		op := openOp(t, pagesOf(5, data...), func(r *contract.Read[filter, counted]) {
			all(r)
			r.Bounds.MaxRecords = limit
		})
		call, calls := contract.Call{}, 0
		for {
			// Each call is of another process (Q09).
			c := newClient(t, contract.Options{Store: store, Sealer: sealer}, op.Definition)
			var r *contract.Receipt
			var err error
			if call.Continuation != "" && calls%2 == 0 {
				r, err = c.Resume(ctx, contract.Call{Continuation: call.Continuation})
			} else {
				_, r, err = op.Do(ctx, c, filter{}, call)
			}
			if calls++; err == nil {
				if string(r.Result) != string(whole.Result) || r.RecordsExamined != 37 {
					t.Errorf("limit %d: %s\nwant %s", limit, r.JSON(), whole.JSON())
				}
				break
			}
			incomplete(t, r, err, contract.ReasonMaxRecords, calls*limit)
			call.Continuation = *r.Continuation
		}
	}
}

func TestC03_Q06_CursorLoop(t *testing.T) {
	for name, next := range map[string]func(n int) string{
		"the same cursor twice":  func(int) string { return "a" },
		"back to an earlier one": func(n int) string { return string(rune('a' + n%3)) },
	} {
		n := 0
		op := openOp(t, nil, func(r *contract.Read[filter, counted]) {
			r.Fetch = func(context.Context, filter, *string) ([]byte, error) {
				n++
				return fmt.Appendf(nil, `{"items":[{"open":true,"n":%d}],"next":%q}`, n, next(n)), nil
			}
		})
		_, r, err := op.Do(ctx, newClient(t, contract.Options{}), filter{}, contract.Call{})
		if r.Reason != contract.ReasonCursorLoop || n > 5 || r.Continuation != nil {
			t.Errorf("%s: %v %s", name, err, r.JSON())
		}
	}
	t.Run("the same page under new cursors", func(t *testing.T) {
		op := openOp(t, nil, func(r *contract.Read[filter, counted]) {
			r.Next, r.End = "", "page.last"
			r.Fetch = func(context.Context, filter, *string) ([]byte, error) {
				return []byte(`{"items":[{"open":true}],"last":false}`), nil
			}
		})
		_, r, err := op.Do(ctx, newClient(t, contract.Options{}), filter{}, contract.Call{})
		incomplete(t, r, err, contract.ReasonCursorLoop, 1)
	})
}

func TestC04_Q07_DuplicatesCountOnce(t *testing.T) {
	data := append(mixed(10), mixed(4)...)
	op := openOp(t, pagesOf(5, data...), func(r *contract.Read[filter, counted]) { r.Dedupe = "id" })
	_, r, err := op.Do(ctx, newClient(t, contract.Options{}), filter{}, contract.Call{})
	complete(t, r, err, 14, 3, `{"open":5}`)
	if r.Duplicates != 4 {
		t.Errorf("%d duplicates", r.Duplicates)
	}
}

func TestC05_Q10_Q11_Continuations(t *testing.T) {
	clk := newClock()
	limited := func(r *contract.Read[filter, counted]) { r.Bounds.MaxPages = 1 }
	op := openOp(t, pagesOf(10, mixed(30)...), limited)
	sealer, _ := contract.NewSealer()
	c := newClient(t, contract.Options{Now: clk.now, Sealer: sealer}, op.Definition)
	_, r, _ := op.Do(ctx, c, filter{State: "a"}, contract.Call{})
	token := *r.Continuation
	if strings.Contains(token, "alice") || strings.Contains(token, "open_count") {
		t.Error("the continuation can be read")
	}
	next := openOp(t, pagesOf(10, mixed(30)...), func(r *contract.Read[filter, counted]) { limited(r); r.Version = "1.1" })
	tampered := []byte(token)
	tampered[len(tampered)/2] ^= 1
	check := func(name string, op *contract.Op[filter, counted], state string, call contract.Call, reason string) *contract.Receipt {
		t.Helper()
		_, r, err := op.Do(ctx, c, filter{State: state}, call)
		if r.Reason != reason || r.Outcome != contract.Rejected || r.Effect != contract.EffectNone || r.Result != nil {
			t.Errorf("%s: %s, want %s", name, r.JSON(), reason)
		}
		is(t, err, contract.ErrContinuation, contract.ErrRejected)
		return r
	}
	check("changed filter", op, "b", contract.Call{Continuation: token}, contract.ReasonContinuationParams)
	check("foreign", op, "a", contract.Call{Caller: "bob", Continuation: token}, contract.ReasonContinuationCaller)
	check("tampered", op, "a", contract.Call{Continuation: string(tampered)}, contract.ReasonContinuation)
	check("garbage", op, "a", contract.Call{Continuation: "c1_x"}, contract.ReasonContinuation)
	check("another version", next, "a", contract.Call{Continuation: token}, contract.ReasonContinuationVersion)
	_, ok, err := op.Do(ctx, c, filter{State: "a"}, contract.Call{Continuation: token})
	incomplete(t, ok, err, contract.ReasonMaxPages, 20)
	if ok.OperationID != r.OperationID {
		t.Errorf("the id changed from %s to %s", r.OperationID, ok.OperationID)
	}
	if r, _ := c.Resume(ctx, contract.Call{Caller: "bob", Continuation: token}); r.Reason != contract.ReasonContinuationCaller {
		t.Errorf("resume by another: %s", r.JSON())
	}
	clk.move(24 * time.Hour)
	said := check("expired", op, "a", contract.Call{Continuation: token}, contract.ReasonContinuationExpired)
	for _, s := range []string{"open_count@1.0", "10 records", `{"state":"a"}`} {
		if !strings.Contains(said.Message, s) {
			t.Errorf("an expired continuation does not say %q: %s", s, said.Message)
		}
	}
	// Another's expired one says nothing.
	if r := check("expired and foreign", op, "a", contract.Call{Caller: "bob", Continuation: token}, contract.ReasonContinuationCaller); strings.Contains(r.Message, "open_count") {
		t.Errorf("told another caller: %s", r.Message)
	}
}

func TestC02_Q12_Q14_ErrorsMidway(t *testing.T) {
	p := pagesOf(10, mixed(30)...)
	broken := true
	p.fault = func(_ int, cursor string) error {
		if cursor == "2" && broken {
			return contract.ClassifyHTTP(503)
		}
		return nil
	}
	c := newClient(t, contract.Options{})
	op := openOp(t, p, nil)
	_, r, err := op.Do(ctx, c, filter{}, contract.Call{})
	incomplete(t, r, err, contract.ReasonUpstreamError, 20)
	broken = false
	_, r, err = op.Do(ctx, c, filter{}, contract.Call{Continuation: *r.Continuation})
	complete(t, r, err, 30, 3, `{"open":15}`)

	p.fault = func(_ int, cursor string) error {
		if cursor == "1" {
			return contract.ClassifyHTTP(403)
		}
		return nil
	}
	_, r, err = op.Do(ctx, c, filter{}, contract.Call{})
	incomplete(t, r, err, contract.ReasonAccessLost, 10)

	p.fault = nil
	n := 0
	guarded := newClient(t, contract.Options{Authorize: func(_ context.Context, a contract.Access) error {
		if a.Action == contract.ActionPage {
			n++
		}
		if n > 2 {
			return errors.New("revoked")
		}
		return nil
	}})
	_, r, err = op.Do(ctx, guarded, filter{}, contract.Call{})
	incomplete(t, r, err, contract.ReasonAccessLost, 20)
	_, r, err = op.Do(ctx, guarded, filter{}, contract.Call{Continuation: *r.Continuation})
	want(t, r, err, contract.Rejected, contract.EffectNone, contract.NextNone)
	is(t, err, contract.ErrUnauthorized) // a continuation grants nothing
}

func TestRetryOfAPage(t *testing.T) {
	p := pagesOf(10, mixed(20)...)
	p.fault = func(fetch int, _ string) error {
		if fetch == 2 || fetch == 3 {
			return contract.ClassifyHTTP(502)
		}
		return nil
	}
	op := openOp(t, p, func(r *contract.Read[filter, counted]) { r.Retry = contract.Retry{Max: 2, On: []string{"5xx"}} })
	_, r, err := op.Do(ctx, newClient(t, contract.Options{}), filter{}, contract.Call{})
	complete(t, r, err, 20, 2, `{"open":10}`)
	if r.Attempts != 4 {
		t.Errorf("%d attempts", r.Attempts)
	}
}

func TestC07_MemoryGrowsWithAPage(t *testing.T) {
	page := func(n int) []byte {
		b := []byte(`{"items":[`)
		for i := range 100 {
			if i > 0 {
				b = append(b, ',')
			}
			b = fmt.Appendf(b, `{"id":%d,"open":true,"text":%q}`, n*100+i, strings.Repeat("x", 900))
		}
		return fmt.Appendf(b, `],"next":%d}`, n+1)
	}
	heap := func() uint64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	const pages = 2000 // 200 MB of them
	n := 0
	var early, late uint64
	op := openOp(t, nil, func(r *contract.Read[filter, counted]) {
		r.Bounds = contract.Bounds{MaxPages: pages + 1, MaxRecords: 1 << 30}
		r.Fetch = func(context.Context, filter, *string) ([]byte, error) {
			switch n++; n {
			case 20:
				early = heap()
			case pages:
				late = heap()
				return []byte(`{"items":[]}`), nil
			}
			return page(n), nil
		}
	})
	v, r, err := op.Do(ctx, newClient(t, contract.Options{}), filter{}, contract.Call{})
	if err != nil || v.Open != (pages-1)*100 {
		t.Fatalf("%v %s", err, r.JSON())
	}
	if grown := int64(late) - int64(early); grown > 1<<20 {
		t.Errorf("the heap grew by %d bytes over %d pages of 100 kB", grown, pages)
	}
}

func TestC08_Evidence(t *testing.T) {
	var kept []string
	c := newClient(t, contract.Options{Evidence: func(_ context.Context, caller, operation string, page []byte) (string, error) {
		kept = append(kept, string(page))
		return fmt.Sprintf("r_%s_%d", caller, len(kept)), nil
	}})
	_, r, err := openOp(t, pagesOf(1, mixed(2)...), nil).Do(ctx, c, filter{}, contract.Call{Evidence: true})
	complete(t, r, err, 2, 2, `{"open":1}`)
	if fmt.Sprint(r.Evidence) != "[r_alice_1 r_alice_2]" || !strings.Contains(kept[0], `"id":1`) {
		t.Errorf("evidence %v of %v", r.Evidence, kept)
	}
}

func TestQ13_WritesWhilePagingAreSaid(t *testing.T) {
	op := openOp(t, pagesOf(10, mixed(5)...), nil)
	_, r, _ := op.Do(ctx, newClient(t, contract.Options{}), filter{}, contract.Call{})
	if r.Consistency != contract.Live {
		t.Errorf("consistency %s", r.Consistency)
	}
	op = openOp(t, pagesOf(10, mixed(5)...), func(r *contract.Read[filter, counted]) { r.Consistency = contract.Snapshot })
	_, r, _ = op.Do(ctx, newClient(t, contract.Options{}), filter{}, contract.Call{})
	if r.Consistency != contract.Snapshot {
		t.Errorf("consistency %s", r.Consistency)
	}
}

func TestQ13_RecordsGoneBeforeAResume(t *testing.T) {
	for _, consistency := range []contract.Consistency{contract.Live, contract.Snapshot} {
		p := pagesOf(10, mixed(20)...)
		op := openOp(t, p, func(r *contract.Read[filter, counted]) {
			r.Bounds.MaxRecords, r.Consistency = 8, consistency
		})
		c := newClient(t, contract.Options{})
		_, r, err := op.Do(ctx, c, filter{}, contract.Call{})
		incomplete(t, r, err, contract.ReasonMaxRecords, 8)
		p.pages[0] = p.pages[0][:5]
		_, r, err = op.Do(ctx, c, filter{}, contract.Call{Continuation: *r.Continuation})
		if consistency == contract.Live {
			incomplete(t, r, err, contract.ReasonMaxRecords, 16)
		} else {
			incomplete(t, r, err, contract.ReasonInvalidPage, 8)
		}
	}
}
