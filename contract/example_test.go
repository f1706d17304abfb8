package contract_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/spillway-mcp/spillway/contract"
)

// A count that says what it covered. The upstream's pages go no further than
// the process that counts.
func ExampleRead() {
	// An upstream of five releases in pages of two.
	upstream := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Query().Get("cursor") {
		case "":
			io.WriteString(w, `{"releases":[{"tag":"v3","draft":false,"prerelease":false},{"tag":"v3-rc","draft":false,"prerelease":true}],"next":"p2"}`)
		case "p2":
			io.WriteString(w, `{"releases":[{"tag":"v2","draft":false,"prerelease":false},{"tag":"next","draft":true,"prerelease":false}],"next":"p3"}`)
		case "p3":
			io.WriteString(w, `{"releases":[{"tag":"v1","draft":false,"prerelease":false}],"next":null}`)
		}
	}))
	defer upstream.Close()

	type Repository struct {
		Name string `json:"name"`
	}
	type Count struct {
		StableReleases int `json:"stableReleases"`
	}
	stable := contract.Read[Repository, Count]{
		Name: "count_stable_releases", Version: "1.0",
		Scope: "all releases of one repository that are neither drafts nor prereleases",
		Fetch: func(ctx context.Context, repo Repository, cursor *string) ([]byte, error) {
			u := upstream.URL + "/" + url.PathEscape(repo.Name)
			if cursor != nil {
				u += "?cursor=" + url.QueryEscape(*cursor)
			}
			return get(ctx, u)
		},
		Items: "page.releases", Next: "page.next",
		Where:      "!draft && !prerelease",
		Aggregates: []contract.Aggregate{{Name: "stableReleases", Op: contract.Count}},
		Bounds:     contract.Bounds{MaxPages: 2},
	}.MustDefine()

	client, err := contract.New(contract.Options{Caller: "example"})
	if err != nil {
		fmt.Println(err)
		return
	}
	count, receipt, err := stable.Do(context.Background(), client, Repository{"spillway"}, contract.Call{})
	fmt.Println(count.StableReleases, receipt.RecordsExamined, receipt.Complete, receipt.Reason, errors.Is(err, contract.ErrIncomplete))

	// Two pages are the limit of one call; the continuation goes on.
	count, receipt, err = stable.Do(context.Background(), client, Repository{"spillway"}, contract.Call{Continuation: *receipt.Continuation})
	fmt.Println(count.StableReleases, receipt.RecordsExamined, receipt.Complete, err)
	// Output:
	// 2 4 false max_pages true
	// 3 5 true <nil>
}

// A customer is created, and the answer is lost with the process. A second
// one, which knows the operation id, gets the customer and makes no other.
func ExampleMutation_lostResponse() {
	api := &customers{byKey: map[string]string{}, dropNext: true}
	upstream := httptest.NewServer(api)
	defer upstream.Close()

	type Customer struct {
		Email string `json:"email"`
	}
	type Created struct {
		ID string `json:"id"`
	}
	create := contract.Mutation[Customer, Created]{
		Name: "create_customer", Version: "1.0", Scope: "one customer of the configured account",
		Effects: contract.Creates, Idempotent: contract.ByKey, KeyRetention: 24 * time.Hour,
		Submit: func(ctx context.Context, at *contract.Invocation, c Customer) (Created, error) {
			body, _ := json.Marshal(c)
			req, err := http.NewRequestWithContext(ctx, "POST", upstream.URL, strings.NewReader(string(body)))
			if err != nil {
				return Created{}, err
			}
			req.Header.Set("Idempotency-Key", at.StepKey)
			resp, err := http.DefaultClient.Do(req)
			if err != nil {
				return Created{}, err // reset, timeout: the outcome is unknown
			}
			defer resp.Body.Close()
			if resp.StatusCode/100 != 2 {
				return Created{}, contract.ClassifyHTTP(resp.StatusCode)
			}
			var made Created
			return made, json.NewDecoder(resp.Body).Decode(&made)
		},
	}.MustDefine()

	// The journal; package durable opens one that outlives processes.
	journal := contract.NewMemory()
	process := func() *contract.Client {
		c, err := contract.New(contract.Options{Store: journal, Caller: "billing"})
		if err != nil {
			panic(err)
		}
		return c
	}

	key := contract.NewKey() // or let Do mint one, and read it from Call.Announce
	_, receipt, err := create.Do(context.Background(), process(), Customer{"ada@example.com"}, contract.Call{Key: key})
	fmt.Println(receipt.Outcome, receipt.Effect, receipt.NextAction, errors.Is(err, contract.ErrUnknownOutcome))

	_, receipt, err = create.Do(context.Background(), process(), Customer{"ada@example.com"}, contract.Call{Key: key})
	fmt.Println(receipt.Outcome, string(receipt.Result), err)

	// Once more: the journal answers.
	_, receipt, err = create.Do(context.Background(), process(), Customer{"ada@example.com"}, contract.Call{Key: key})
	fmt.Println(receipt.Outcome, receipt.Replayed, err)

	// Other parameters are not the same intent.
	_, receipt, err = create.Do(context.Background(), process(), Customer{"bob@example.com"}, contract.Call{Key: key})
	fmt.Println(receipt.Outcome, receipt.Conflict, errors.Is(err, contract.ErrKeyConflict))
	fmt.Println("customers:", len(api.byKey))
	// Output:
	// unknown undetermined reconcile true
	// completed {"id":"cus_1"} <nil>
	// completed true <nil>
	// rejected [params] true
	// customers: 1
}

// Two steps of which the second is refused: the receipt says which happened,
// and the same operation id goes on with what is missing.
func ExampleMutation_partial() {
	type Move struct {
		From string `json:"from"`
		To   string `json:"to"`
	}
	full := true
	move := contract.Mutation[Move, map[string]string]{
		Name: "move_file", Version: "1.0", Scope: "one file, copied and then removed at its old place", Effects: contract.Updates,
		Steps: []contract.StepOf[Move]{
			{Name: "copy", Effect: contract.Creates, Submit: func(_ context.Context, _ *contract.Invocation, m Move) (any, error) {
				return m.To, nil
			}},
			{Name: "remove", Effect: contract.Deletes, Submit: func(_ context.Context, at *contract.Invocation, m Move) (any, error) {
				if full {
					return nil, contract.Reject("locked", "the file is locked")
				}
				return m.From, nil
			}},
		},
	}.MustDefine()
	client, err := contract.New(contract.Options{Caller: "example", Definitions: []*contract.Definition{move.Definition}})
	if err != nil {
		fmt.Println(err)
		return
	}
	_, receipt, err := move.Do(context.Background(), client, Move{"a", "b"}, contract.Call{})
	fmt.Println(receipt.Outcome, receipt.Effect, receipt.NextAction, errors.Is(err, contract.ErrPartial))
	for _, s := range receipt.Steps {
		fmt.Printf("%s: %s %q\n", s.Step, s.Status, s.Reason)
	}

	full = false
	receipt, err = client.ResumeMutation(context.Background(), contract.Ref{Key: receipt.OperationID})
	fmt.Println(receipt.Outcome, string(receipt.Result), err)
	// Output:
	// partial some resume true
	// copy: completed ""
	// remove: rejected "locked"
	// completed {"copy":"b","remove":"a"} <nil>
}

func get(ctx context.Context, url string) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, "GET", url, nil)
	if err != nil {
		return nil, err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	if resp.StatusCode != 200 {
		return nil, contract.ClassifyHTTP(resp.StatusCode)
	}
	return io.ReadAll(resp.Body)
}

// customers is an endpoint that takes idempotency keys, and drops one answer
// after the commit.
type customers struct {
	mu       sync.Mutex
	byKey    map[string]string
	dropNext bool
}

func (c *customers) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	c.mu.Lock()
	defer c.mu.Unlock()
	key := r.Header.Get("Idempotency-Key")
	if c.byKey[key] == "" {
		c.byKey[key] = fmt.Sprint("cus_", len(c.byKey)+1)
	}
	if c.dropNext {
		c.dropNext = false
		panic(http.ErrAbortHandler)
	}
	fmt.Fprintf(w, `{"id":%q}`, c.byKey[key])
}
