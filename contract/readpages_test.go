package contract_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spillway-mcp/spillway/contract"
)

// shelf is an upstream of numbered pages of three records. Each answer takes a
// while that differs from page to page.
type shelf struct {
	pages int
	fail  int // this page fails; 0 is none

	mu       sync.Mutex
	rng      *rand.Rand
	fetched  []int
	now, top int // requests under way
}

func (s *shelf) fetch(ctx context.Context, _ struct{}, cursor *string) ([]byte, error) {
	page := 1
	if cursor != nil {
		page, _ = strconv.Atoi(*cursor)
	}
	s.mu.Lock()
	s.fetched = append(s.fetched, page)
	s.now++
	s.top = max(s.top, s.now)
	wait := time.Duration(1+s.rng.IntN(1000)) * time.Millisecond
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.now--
	}()
	select {
	case <-time.After(wait):
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if page == s.fail || page > s.pages {
		return nil, errors.New("no such page")
	}
	var rows []string
	for i := range 3 {
		rows = append(rows, fmt.Sprintf(`{"id":%d}`, 3*page+i))
	}
	return fmt.Appendf(nil, `{"rows":[%s],"last":%t}`, strings.Join(rows, ","), page == s.pages), nil
}

func (s *shelf) op(t *testing.T, concurrency, maxPages int) *contract.Op[struct{}, []int] {
	t.Helper()
	op, err := contract.Read[struct{}, []int]{
		Name: "list", Version: "1.0", Scope: "all rows", Fetch: s.fetch, Items: "page.rows", End: "page.last", Dedupe: "id",
		Aggregates: []contract.Aggregate{{Op: contract.Project, Of: "id"}}, Concurrency: concurrency,
		Bounds: contract.Bounds{MaxPages: maxPages, Deadline: time.Hour},
	}.Define()
	if err != nil {
		t.Fatal(err)
	}
	return op
}

// read reads a shelf to its end in calls of at most maxPages pages, and
// returns what was said each time, without ids and the continuation.
func (s *shelf) read(t *testing.T, concurrency, maxPages int) []string {
	t.Helper()
	op := s.op(t, concurrency, maxPages)
	c := newClient(t, contract.Options{}, op.Definition)
	var said []string
	for call := (contract.Call{Key: "k"}); ; {
		s.fetched = nil
		_, r, _ := op.Do(ctx, c, struct{}{}, call)
		if n := len(s.fetched); n > maxPages {
			t.Errorf("%d side by side: fetched %d pages, at most %d are allowed: %v", concurrency, n, maxPages, s.fetched)
		}
		next := r.Continuation
		r.Continuation, r.Digest = nil, ""
		said = append(said, string(r.JSON()))
		if next == nil || len(said) > 50 || s.fail > 0 {
			return said
		}
		call.Continuation = *next
	}
}

// TestC07_PagesSideBySide: what is said does not depend on how many pages are
// fetched at once, nor on which of them answers first; no call fetches more
// pages than it may.
func TestC07_PagesSideBySide(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 7))
	for range 60 {
		count, maxPages, fail := 1+rng.IntN(40), 1+rng.IntN(50), 0
		if rng.IntN(3) == 0 {
			fail = 1 + rng.IntN(count)
		}
		var want []string
		for _, concurrency := range []int{1, 2, 5, 16} {
			synctest.Test(t, func(t *testing.T) {
				s := &shelf{pages: count, fail: fail, rng: rand.New(rand.NewPCG(rng.Uint64(), 1))}
				got := s.read(t, concurrency, maxPages)
				if concurrency == 1 {
					want = got
				}
				if fmt.Sprint(got) != fmt.Sprint(want) {
					t.Errorf("%d pages, %d a call, page %d fails, %d side by side:\n%s\nwant\n%s", count, maxPages, fail, concurrency, got, want)
				}
				if s.top > concurrency {
					t.Errorf("%d requests at once, %d are allowed", s.top, concurrency)
				}
			})
		}
	}
}

// TestC07_SideBySideIsUsed: a long read has as many requests under way as it
// may, and asks for few pages that are not there.
func TestC07_SideBySideIsUsed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &shelf{pages: 30, rng: rand.New(rand.NewPCG(1, 1))}
		s.read(t, 8, 100)
		if s.top != 8 {
			t.Errorf("at most %d requests at once, of 8", s.top)
		}
		if n := len(s.fetched); n > 37 {
			t.Errorf("%d pages fetched of 30", n)
		}
		s = &shelf{pages: 1, rng: rand.New(rand.NewPCG(1, 1))}
		if s.read(t, 8, 100); len(s.fetched) != 1 {
			t.Errorf("fetched %v of a single page", s.fetched)
		}
	})
}

// TestC07_SideBySideEnds: nothing is under way when the call has answered.
func TestC07_SideBySideEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &shelf{pages: 100, rng: rand.New(rand.NewPCG(1, 1))}
		op := s.op(t, 8, 100)
		cut, cancel := context.WithTimeout(ctx, 3*time.Second)
		defer cancel()
		_, r, _ := op.Do(cut, newClient(t, contract.Options{}), struct{}{}, contract.Call{})
		if r.Complete || r.Reason != contract.ReasonDeadline && r.Reason != contract.ReasonCancelled {
			t.Errorf("cut off: %s", r.JSON())
		}
		if s.now != 0 {
			t.Errorf("%d requests are left", s.now)
		}
		if !bytes.Equal(r.Result, fmt.Appendf(nil, "%s", ids(r.Pages))) {
			t.Errorf("after %d pages: %s", r.Pages, r.Result)
		}
	})
}

// ids are those of the first pages of a shelf.
func ids(pages int) string {
	var all []string
	for i := range 3 * pages {
		all = append(all, strconv.Itoa(3+i))
	}
	return "[" + strings.Join(all, ",") + "]"
}

func TestC07_SideBySideNeedsNumbers(t *testing.T) {
	fetch := func(context.Context, struct{}, *string) ([]byte, error) { return nil, nil }
	for want, r := range map[string]contract.Read[struct{}, int]{
		"only numbered pages": {Next: "page.next", Concurrency: 2},
		"want 1 to 16":        {End: "page.last", Concurrency: 17},
	} {
		r.Name, r.Version, r.Scope, r.Fetch = "n", "1.0", "x", fetch
		r.Aggregates = []contract.Aggregate{{Op: contract.Count}}
		if _, err := r.Define(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}
