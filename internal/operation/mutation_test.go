package operation

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/spillway-mcp/spillway/contract"
)

const mutations = `
operations:
  create@1.0:
    scope: One row.
    effects: create
    idempotent: key
    key_retention: 24h
    target: params.account || 'main'
    params: {type: object, required: [name], properties: {name: {type: string}, account: {type: string}}}
    mutation:
      steps:
        - call: {http: {method: POST, url: "URL/rows", body: {name: params.name, ref: key, fixed: 7, none: params.none}}}
          classify:
            - {when: "error.body.code == 'taken'", as: rejected, reason: name_taken, message: the name is taken}
            - {when: "error.status == ` + "`409`" + `", as: unknown}
          result: "page.{id: id}"
          reconcile:
            call: {http: {url: "URL/rows/{key}"}}
            present: page.id
            absent: "error.status == ` + "`404`" + `"
            result: "page.{id: id}"
  form@1.0:
    scope: One row.
    effects: create
    mutation:
      steps:
        - call: {http: {method: POST, url: "URL/form", form: {name: params.name, meta: {ref: key}}}}
          key: {in: argument, name: idem}
    params: {type: object, properties: {name: {type: string}}}
  tool@1.0:
    scope: One row.
    effects: create
    idempotent: key
    key_retention: forever
    mutation:
      steps:
        - name: first
          call: {tool: s/make, args: {a: "'x'"}}
          key: {in: argument, name: idempotency_key}
        - name: second
          call: {tool: s/tell, args: {id: step.first.id}}
          key: {in: _meta, name: example.com/key}
      result: "{made: step.first.id, told: step.second.ok}"
  items@1.0:
    scope: Rows.
    effects: create
    params: {type: object, properties: {rows: {type: array}}}
    mutation:
      steps:
        - name: add
          each: {items: params.rows, id: item.name}
          call: {http: {method: POST, url: "URL/items/{item_id}", body: item}}
  pair@1.0:
    scope: Two rows.
    effects: create
    mutation:
      steps:
        - name: one
          call: {http: {method: POST, url: "URL/one"}}
          compensate: {call: {http: {method: DELETE, url: "URL/one/{step.one.id}"}}}
        - name: two
          call: {http: {method: POST, url: "URL/two", body: {of: step.one.id}}}
  change@1.0:
    scope: One row.
    effects: update
    params: {type: object, properties: {rev: {type: string}}}
    mutation:
      precondition:
        revision: params.rev
        current: {call: {http: {url: "URL/row"}}, value: page.rev}
        enforced: true
      preview: {call: {http: {url: "URL/row"}}, result: "{from: page.rev}"}
      steps: [{call: {http: {method: PUT, url: "URL/row", headers: {If-Match: "{revision}"}, body: {v: 1}}}}]
`

func TestMutationOverHTTP(t *testing.T) {
	s := newService(t, func(r request) (int, string) { return 200, `{"id":"r1","secret":"s"}` })
	c := open(t, mutations, s.url, nil)
	r := do(t, c, "create", "k1", `{"name":"n"}`)
	if r.Outcome != contract.Completed || string(r.Result) != `{"id":"r1"}` {
		t.Fatalf("%s", r.JSON())
	}
	got := s.requests()[0]
	key := got.Header.Get("Idempotency-Key")
	if key == "" || got.Body != fmt.Sprintf(`{"name":"n","ref":%q,"fixed":7}`, key) {
		t.Errorf("asked %+v", got)
	}
	do(t, c, "form", "k2", `{"name":"a&b"}`)
	got = s.requests()[1]
	if !strings.Contains(got.Body, "idem=") || !strings.Contains(got.Body, "meta%5Bref%5D=") || !strings.Contains(got.Body, "name=a%26b") {
		t.Errorf("form %s", got.Body)
	}
}

func TestMutationOverTools(t *testing.T) {
	var asked []string
	c := open(t, mutations, "http://127.0.0.1:1", tools(func(server, tool string, args, meta []byte) (string, error) {
		asked = append(asked, fmt.Sprintf("%s/%s %s %s", server, tool, args, meta))
		if tool == "make" {
			return `{"content":[],"structuredContent":{"id":"i1"}}`, nil
		}
		return `{"content":[],"structuredContent":{"ok":true}}`, nil
	}))
	r := do(t, c, "tool", "k1", "{}")
	if r.Outcome != contract.Completed || string(r.Result) != `{"made":"i1","told":true}` {
		t.Fatalf("%s", r.JSON())
	}
	if !strings.HasPrefix(asked[0], `s/make {"a":"x","idempotency_key":"`) || !strings.HasPrefix(asked[1], `s/tell {"id":"i1"} {"example.com/key":"`) {
		t.Errorf("asked %q", asked)
	}
}

func TestM19_ClassificationByTableAndByDefault(t *testing.T) {
	for _, tt := range []struct {
		status  int
		body    string
		outcome contract.Outcome
		reason  string
	}{
		{422, `{"code":"taken"}`, contract.Rejected, "name_taken"},
		{409, `{"code":"taken"}`, contract.Rejected, "name_taken"},
		{409, `{}`, contract.Unknown, ""},
		{400, `plain`, contract.Rejected, ""},
		{401, ``, contract.Rejected, ""},
		{429, ``, contract.Rejected, ""},
		{500, ``, contract.Unknown, ""},
		{503, `{"code":"other"}`, contract.Unknown, ""},
		{302, "/elsewhere", contract.Unknown, ""},
		{0, ``, contract.Unknown, ""},
	} {
		s := newService(t, func(r request) (int, string) { return tt.status, tt.body })
		r := do(t, open(t, mutations, s.url, nil), "create", "k", `{"name":"n"}`)
		if r.Outcome != tt.outcome || tt.reason != "" && r.Reason != tt.reason {
			t.Errorf("%d %s: %s", tt.status, tt.body, r.JSON())
		}
		if n := len(s.requests()); n != 1 {
			t.Errorf("%d: submitted %d times", tt.status, n)
		}
	}
	for name, tt := range map[string]struct {
		answer  string
		err     error
		outcome contract.Outcome
	}{
		"isError":        {`{"content":[{"type":"text","text":"no"}],"isError":true}`, nil, contract.Unknown},
		"unknown tool":   {"", &CallError{Kind: "rpc", Code: "-32602"}, contract.Rejected},
		"internal error": {"", &CallError{Kind: "rpc", Code: "-32603"}, contract.Unknown},
		"not started":    {"", &CallError{Kind: "start", Err: fmt.Errorf("no such command")}, contract.Rejected},
		"hung up":        {"", fmt.Errorf("the server hung up"), contract.Unknown},
	} {
		c := open(t, mutations, "http://127.0.0.1:1", tools(func(string, string, []byte, []byte) (string, error) { return tt.answer, tt.err }))
		if r := do(t, c, "tool", "k", "{}"); r.Outcome != tt.outcome {
			t.Errorf("%s: %s", name, r.JSON())
		}
	}
}

func TestC17_ReconcileAnswersPresentOrAbsentOrNeither(t *testing.T) {
	for _, tt := range []struct {
		status  int
		body    string
		outcome contract.Outcome
		reason  string
	}{
		{200, `{"id":"r1"}`, contract.Completed, ""},
		{404, ``, contract.Rejected, contract.ReasonAbsent},
		{200, `{}`, contract.Unknown, contract.ReasonUndetermined},
		{500, ``, contract.Unknown, contract.ReasonUndetermined},
		{0, ``, contract.Unknown, contract.ReasonUndetermined},
	} {
		s := newService(t, func(r request) (int, string) {
			if r.Method == "POST" {
				return 0, ""
			}
			return tt.status, tt.body
		})
		c := open(t, mutations, s.url, nil)
		if r := do(t, c, "create", "k", `{"name":"n"}`); r.Outcome != contract.Unknown || r.NextAction != contract.NextReconcile {
			t.Fatalf("%s", r.JSON())
		}
		r, _ := c.Reconcile(t.Context(), contract.Ref{Key: "k"})
		if r.Outcome != tt.outcome || r.Reason != tt.reason {
			t.Errorf("%d %s: %s", tt.status, tt.body, r.JSON())
		}
	}
}

func TestC19_ItemsAndCompensation(t *testing.T) {
	var broken atomic.Bool
	broken.Store(true)
	s := newService(t, func(r request) (int, string) {
		switch {
		case r.Path == "/items/b" && broken.Load(), r.Path == "/two":
			return 422, ""
		case r.Path == "/one":
			return 200, `{"id":"i1"}`
		}
		return 200, "{}"
	})
	c := open(t, mutations, s.url, nil)
	params := `{"rows":[{"name":"a"},{"name":"b"},{"name":"c"}]}`
	if r := do(t, c, "items", "k", params); r.Outcome != contract.Partial {
		t.Fatalf("%s", r.JSON())
	}
	broken.Store(false)
	if r := do(t, c, "items", "k", params); r.Outcome != contract.Completed {
		t.Fatalf("%s", r.JSON())
	}
	counts := map[string]int{}
	for _, r := range s.requests() {
		counts[r.Path]++
	}
	if counts["/items/a"] != 1 || counts["/items/b"] != 2 || counts["/items/c"] != 1 {
		t.Errorf("submitted %v", counts)
	}

	r := do(t, c, "pair", "k", "{}")
	last := s.requests()[len(s.requests())-1]
	if r.Outcome == contract.Completed || last.Method != "DELETE" || last.Path != "/one/i1" {
		t.Errorf("%s after %+v", r.JSON(), last)
	}
}

func TestC22_PreconditionAndPreview(t *testing.T) {
	rev := "v1"
	s := newService(t, func(r request) (int, string) {
		if r.Method == "PUT" && r.Header.Get("If-Match") != rev {
			return 412, ""
		}
		return 200, fmt.Sprintf(`{"rev":%q}`, rev)
	})
	c := open(t, mutations, s.url, nil)
	p, err := c.Preview(t.Context(), c.Lookup("change"), contract.Call{Params: json.RawMessage(`{"rev":"v1"}`)})
	if err != nil || string(p.Prediction) != `{"from":"v1"}` || p.Revision != "v1" || p.Informational {
		t.Fatalf("%+v, %v", p, err)
	}
	if n := len(s.requests()); n != 2 {
		t.Errorf("the preview made %d requests", n)
	}
	if r := do(t, c, "change", "k1", `{"rev":"v0"}`); r.Reason != contract.ReasonPrecondition || r.ExitCode() != contract.ExitConflict {
		t.Errorf("%s", r.JSON())
	}
	_ = do(t, c, "change", "k3", `{}`)
	if last := s.requests()[len(s.requests())-1]; last.Header.Values("If-Match") != nil {
		t.Errorf("no revision demanded, and If-Match %q sent", last.Header.Values("If-Match"))
	}
	if r := do(t, c, "change", "k2", `{"rev":"v1"}`); r.Outcome != contract.Completed {
		t.Errorf("%s", r.JSON())
	}
}

// A credential that is not there is no half-made request.
func TestUnsetVariableSendsNothing(t *testing.T) {
	s := newService(t, func(request) (int, string) { return 200, "{}" })
	c := open(t, `
operations:
  a@1.0:
    scope: x
    effects: create
    mutation: {steps: [{call: {http: {method: POST, url: "URL/x", headers: {Authorization: "${UNSET}"}}}}]}
`, s.url, nil)
	r := do(t, c, "a", "k", "{}")
	if r.Outcome != contract.Rejected || len(s.requests()) > 0 || !strings.Contains(r.Message, "UNSET") {
		t.Errorf("%s", r.JSON())
	}
}

// No message of a receipt quotes what the upstream said, which may quote
// parameters; nor the URL, which holds them.
func TestMessagesHoldNoParameters(t *testing.T) {
	for _, status := range []int{0, 400, 500} {
		s := newService(t, func(r request) (int, string) { return status, "hunter2 is bad" })
		r := do(t, open(t, mutations, s.url, nil), "create", "k", `{"name":"hunter2"}`)
		if strings.Contains(r.Message+r.Hint, "hunter2") || strings.Contains(r.Message, "/rows") {
			t.Errorf("%d: %s", status, r.JSON())
		}
	}
}

// A variable that is not set is found before the claim: the id can be used once
// it is (C-11).
func TestC11_AnUnsetVariableSpendsNoID(t *testing.T) {
	effects := 0
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		effects++
		fmt.Fprint(w, `{"id":1}`)
	}))
	defer srv.Close()
	text := `operations:
  create_item@1.0:
    effects: create
    scope: makes one item
    mutation:
      steps:
        - call: {http: {method: POST, url: "URL/items", headers: {Authorization: "Bearer ${TOKEN}"}}}
`
	store := contract.NewMemory()
	call := func(lookup func(string) (string, bool)) (*contract.Receipt, error) {
		set, err := Parse("operations.yaml", []byte(strings.ReplaceAll(text, "URL", srv.URL)), Options{Lookup: lookup})
		if err != nil {
			t.Fatal(err)
		}
		c, err := contract.New(contract.Options{Definitions: set.Definitions, Store: store, Caller: "me"})
		if err != nil {
			t.Fatal(err)
		}
		return c.Do(t.Context(), c.Lookup("create_item"), contract.Call{Key: "k"})
	}
	_, err := call(func(string) (string, bool) { return "", false })
	if !errors.Is(err, contract.ErrInvalid) || !strings.Contains(err.Error(), "TOKEN is not set") || effects != 0 {
		t.Errorf("unset: %v, %d effects", err, effects)
	}
	r, err := call(func(string) (string, bool) { return "secret", true })
	if err != nil || r.Outcome != contract.Completed || effects != 1 {
		t.Errorf("set: %v %+v, %d effects", err, r, effects)
	}
}
