package mcpface_test

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/spillway-mcp/spillway/contract"
	"github.com/spillway-mcp/spillway/internal/jsontape"
	"github.com/spillway-mcp/spillway/internal/operation"
	"github.com/spillway-mcp/spillway/internal/operation/mcpface"
	"github.com/spillway-mcp/spillway/internal/proxy"
)

const yaml = `
operations:
  count_rows@1.0:
    title: Count rows
    scope: All rows of one table.
    effects: read
    bounds: {max_pages: 2}
    params: {type: object, additionalProperties: false, required: [table], properties: {table: {type: string}}}
    result: {type: object, required: [n], properties: {n: {type: integer}}}
    read:
      call: {http: {url: "URL/rows/{params.table}", query: {cursor: cursor}}}
      items: page.items
      next: page.next
      aggregate: {n: count}
  create_row@1.0:
    scope: One row of one table.
    effects: create
    idempotent: key
    key_retention: 24h
    params: {type: object, additionalProperties: false, required: [name], properties: {name: {type: string}}}
    result: {type: object, required: [id], properties: {id: {type: string}}}
    mutation:
      preview: {result: "{makes: params.name}"}
      steps:
        - call: {http: {method: POST, url: "URL/rows", body: {name: params.name}}}
          reconcile: {call: {http: {url: "URL/made", query: {key: key}}}, present: page.id, absent: "!page.id"}
  create_row@2.0:
    scope: One row, without a reconcile.
    effects: delete
    mutation: {steps: [{call: {http: {method: DELETE, url: "URL/rows"}}}]}
`

// upstream is a table of rows; dropped answers are not sent, though the row is made.
type upstream struct {
	mu   sync.Mutex
	made []string // names
	drop bool
}

// lose says whether answers are lost from now on.
func (u *upstream) lose(drop bool) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.drop = drop
}

func (u *upstream) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	u.mu.Lock()
	defer u.mu.Unlock()
	switch {
	case r.Method == "POST":
		u.made = append(u.made, string(body))
		if u.drop {
			panic(http.ErrAbortHandler)
		}
		io.WriteString(w, `{"id":"r1","big":9007199254740993}`)
	case r.Method == "DELETE":
		io.WriteString(w, `{}`)
	case r.URL.Path == "/made":
		if len(u.made) > 0 {
			io.WriteString(w, `{"id":"r1"}`)
		} else {
			io.WriteString(w, `{}`)
		}
	case r.URL.Path == "/rows/broken":
		w.WriteHeader(500)
	case r.URL.Query().Get("cursor") == "":
		io.WriteString(w, `{"items":[{"id":1},{"id":2}],"next":"b"}`)
	case r.URL.Query().Get("cursor") == "b":
		io.WriteString(w, `{"items":[{"id":3}],"next":"c"}`)
	default:
		io.WriteString(w, `{"items":[],"next":null}`)
	}
}

func (u *upstream) effects() int {
	u.mu.Lock()
	defer u.mu.Unlock()
	return len(u.made)
}

func open(t *testing.T) (*mcpface.Face, *contract.Client, *upstream) {
	t.Helper()
	u := &upstream{}
	f, c, _, _ := openBefore(t, serve(t, u))
	return f, c, u
}

// openOn is open, with what other processes share.
func openOn(t *testing.T) (*mcpface.Face, *contract.Client, *contract.Sealer, contract.Store) {
	t.Helper()
	return openBefore(t, serve(t, &upstream{}))
}

// serve returns the URL of an upstream.
func serve(t *testing.T, u *upstream) string {
	server := httptest.NewServer(u)
	t.Cleanup(server.Close)
	return server.URL
}

func openBefore(t *testing.T, url string) (*mcpface.Face, *contract.Client, *contract.Sealer, contract.Store) {
	t.Helper()
	set, err := operation.Parse("operations.yaml", []byte(strings.ReplaceAll(yaml, "URL", url)), operation.Options{})
	if err != nil {
		t.Fatal(err)
	}
	sealer, err := contract.NewSealer()
	if err != nil {
		t.Fatal(err)
	}
	store := contract.NewMemory()
	c, err := contract.New(contract.Options{Definitions: set.Definitions, Sealer: sealer, Store: store, Caller: "a"})
	if err != nil {
		t.Fatal(err)
	}
	f, err := mcpface.New(mcpface.Options{Client: c, Sealer: sealer, Store: store, Name: proxy.ToolName})
	if err != nil {
		t.Fatal(err)
	}
	return f, c, sealer, store
}

// answer is a result as a client reads it.
type answer struct {
	Content []struct {
		Type, Text string
	}
	Structured    json.RawMessage `json:"structuredContent"`
	IsError       bool
	ResultType    string
	RequestState  string
	InputRequests map[string]struct {
		Method string
		Params struct {
			Mode, Message   string
			RequestedSchema json.RawMessage
		}
	}
}

func call(t *testing.T, f *mcpface.Face, c mcpface.Call) (answer, contract.Receipt) {
	t.Helper()
	if c.Caller == "" {
		c.Caller = "a"
	}
	raw, fault := f.Call(t.Context(), c)
	if fault != nil {
		t.Fatalf("%+v", fault)
	}
	var a answer
	var r contract.Receipt
	if err := json.Unmarshal(raw, &a); err != nil {
		t.Fatalf("%s: %v", raw, err)
	}
	if a.Structured != nil {
		var into any = &r
		if strings.HasSuffix(c.Tool, "_prepare") && !a.IsError { // a preview, of which the tests read the id
			into = &struct{ OperationID *string }{&r.OperationID}
		}
		if err := json.Unmarshal(a.Structured, into); err != nil {
			t.Fatalf("%s: %v", raw, err)
		}
		if a.Content[0].Text != string(a.Structured) {
			t.Errorf("the text differs from the data: %s", raw)
		}
		if !a.IsError {
			validate(t, f, c, a.Structured)
		}
	}
	if strings.Contains(strings.ToLower(string(raw)), "try again") {
		t.Errorf("invites a second submission: %s", raw)
	}
	return a, r
}

// validate holds an answer to the output schema that the tool is listed with.
func validate(t *testing.T, f *mcpface.Face, c mcpface.Call, data []byte) {
	t.Helper()
	for _, e := range list(t, f, c.Modern) {
		if e.Name != c.Tool {
			continue
		}
		schema, err := jsonschema.UnmarshalJSON(bytes.NewReader(e.OutputSchema))
		if err != nil {
			t.Fatal(err)
		}
		compiler := jsonschema.NewCompiler()
		if err := compiler.AddResource("x:y", schema); err != nil {
			t.Fatal(err)
		}
		value, err := jsonschema.UnmarshalJSON(bytes.NewReader(data))
		if err != nil {
			t.Fatal(err)
		}
		if err := compiler.MustCompile("x:y").Validate(value); err != nil {
			t.Errorf("%s: %s: %v", c.Tool, data, err)
		}
		return
	}
}

type entry struct {
	Name, Title, Description string
	InputSchema              json.RawMessage
	OutputSchema             json.RawMessage
	Annotations              map[string]bool
}

func list(t *testing.T, f *mcpface.Face, modern bool) []entry {
	t.Helper()
	var all []entry
	for _, raw := range f.List(mcpface.Viewer{Modern: modern}) {
		var e entry
		if err := json.Unmarshal(raw, &e); err != nil {
			t.Fatalf("%s: %v", raw, err)
		}
		all = append(all, e)
	}
	return all
}

func TestC17_ListSaysScopeBoundsAndReplay(t *testing.T) {
	f, _, _ := open(t)
	for modern, want := range map[bool][]string{
		false: {"count_rows", "create_row_v1_prepare", "create_row_v1_commit", "create_row_prepare", "create_row_commit", "spillway_operation_status"},
		true:  {"count_rows", "create_row_v1", "create_row", "spillway_operation_status"},
	} {
		var names []string
		for _, e := range list(t, f, modern) {
			names = append(names, e.Name)
			if !proxy.LegalName(e.Name) || !f.Has(e.Name) {
				t.Errorf("name %q", e.Name)
			}
			if e.Name == "spillway_operation_status" {
				continue
			}
			for _, part := range []string{"Scope: ", "ounds", "replay: "} {
				if !strings.Contains(e.Description, part) {
					t.Errorf("%s: no %q in %q", e.Name, part, e.Description)
				}
			}
			deletes := strings.HasPrefix(e.Name, "create_row") && !strings.Contains(e.Name, "_v1")
			if unsafe := strings.Contains(e.Description, "replay: unsafe"); unsafe != deletes {
				t.Errorf("%s: %q", e.Name, e.Description)
			}
			readOnly := e.Name == "count_rows" || strings.HasSuffix(e.Name, "_prepare")
			if e.Annotations["readOnlyHint"] != readOnly || e.Annotations["destructiveHint"] != (deletes && !readOnly) ||
				e.Annotations["idempotentHint"] != strings.HasSuffix(e.Name, "_commit") {
				t.Errorf("%s: %v", e.Name, e.Annotations)
			}
			if key := "operationId"; strings.Contains(string(e.InputSchema), key) != strings.HasSuffix(e.Name, "_commit") {
				t.Errorf("%s: a key to fill in: %s", e.Name, e.InputSchema)
			}
		}
		if !slices.Equal(names, want) {
			t.Errorf("modern %t: %q", modern, names)
		}
	}
}

func TestC05_ReadGoesOnWithItsContinuation(t *testing.T) {
	f, _, _ := open(t)
	args := []byte(`{"table":"t"}`)
	a, first := call(t, f, mcpface.Call{Tool: "count_rows", Arguments: args})
	if a.IsError || first.Complete || first.Continuation == nil || string(first.Result) != `{"n":3}` {
		t.Fatalf("%s", a.Structured)
	}
	for _, with := range []string{
		`{"continuation":"` + *first.Continuation + `"}`,
		`{"table":"t","continuation":"` + *first.Continuation + `"}`,
	} {
		if a, r := call(t, f, mcpface.Call{Tool: "count_rows", Arguments: []byte(with)}); a.IsError || !r.Complete || string(r.Result) != `{"n":3}` {
			t.Errorf("%s", a.Structured)
		}
	}
	for name, c := range map[string]mcpface.Call{
		"changed filter": {Arguments: []byte(`{"table":"u","continuation":"` + *first.Continuation + `"}`)},
		"another caller": {Caller: "b", Arguments: []byte(`{"continuation":"` + *first.Continuation + `"}`)},
		"tampered":       {Arguments: []byte(`{"continuation":"c1_` + strings.Repeat("A", 80) + `"}`)},
	} {
		c.Tool = "count_rows"
		if a, r := call(t, f, c); !a.IsError || r.Effect != contract.EffectNone || r.Reason == "" {
			t.Errorf("%s: %s", name, a.Structured)
		}
	}
	if a, r := call(t, f, mcpface.Call{Tool: "count_rows", Arguments: []byte(`{"table":"broken"}`)}); a.IsError || r.Complete || r.Reason != contract.ReasonUpstreamError {
		t.Errorf("an incomplete read is an answer: %s", a.Structured)
	}
}

func TestC24_PrepareCommitReplayAndLoss(t *testing.T) {
	f, _, u := open(t)
	a, p := call(t, f, mcpface.Call{Tool: "create_row_v1_prepare", Arguments: []byte(`{"name":"n"}`)})
	if a.IsError || p.OperationID == "" || u.effects() != 0 || !strings.Contains(a.Content[0].Text, `"prediction":{"makes":"n"}`) {
		t.Fatalf("%s", a.Content[0].Text)
	}
	commit := mcpface.Call{Tool: "create_row_v1_commit", Arguments: []byte(`{"operationId":"` + p.OperationID + `"}`)}
	if a, r := call(t, f, commit); a.IsError || string(r.Result) != `{"id":"r1","big":9007199254740993}` {
		t.Fatalf("%s", a.Structured)
	}
	if a, r := call(t, f, commit); a.IsError || !r.Replayed || u.effects() != 1 {
		t.Errorf("%s", a.Structured)
	}
	t.Run("C-21 another caller", func(t *testing.T) {
		c := commit
		c.Caller = "b"
		if a, r := call(t, f, c); !a.IsError || r.Reason != contract.ReasonNotFound || r.Result != nil {
			t.Errorf("%s", a.Structured)
		}
	})
	t.Run("A04 wrong arguments", func(t *testing.T) {
		for tool, args := range map[string]string{
			"create_row_v1_prepare": `{"nme":"x"}`, "create_row_v1_commit": `{}`, "count_rows": `[]`, "create_row_v1": `{"name":5}`,
		} {
			a, r := call(t, f, mcpface.Call{Tool: tool, Arguments: []byte(args)})
			if !a.IsError || r.Reason != contract.ReasonInvalid || r.Effect != contract.EffectNone {
				t.Errorf("%s %s: %s", tool, args, a.Structured)
			}
		}
	})
	t.Run("a lost answer is unknown, and reconciled", func(t *testing.T) {
		u.lose(true)
		_, p := call(t, f, mcpface.Call{Tool: "create_row_v1_prepare", Arguments: []byte(`{"name":"lost"}`)})
		a, r := call(t, f, mcpface.Call{Tool: "create_row_v1_commit", Arguments: []byte(`{"operationId":"` + p.OperationID + `"}`)})
		if !a.IsError || r.Outcome != contract.Unknown || r.NextAction != contract.NextReconcile || r.OperationID != p.OperationID {
			t.Fatalf("%s", a.Structured)
		}
		status := mcpface.Call{Tool: "spillway_operation_status", Arguments: []byte(`{"operationId":"` + p.OperationID + `"}`)}
		if a, r := call(t, f, status); !a.IsError || r.Outcome != contract.Unknown {
			t.Errorf("%s", a.Structured)
		}
		status.Arguments = []byte(`{"operationId":"` + p.OperationID + `","reconcile":true}`)
		if a, r := call(t, f, status); a.IsError || r.Outcome != contract.Completed {
			t.Errorf("%s", a.Structured)
		}
		if u.effects() != 2 {
			t.Errorf("%d effects", u.effects())
		}
	})
}

const asks = `{"io.modelcontextprotocol/clientCapabilities":{"elicitation":{"form":{}}}}`

func TestRoundsBindPreviewApprovalAndCommit(t *testing.T) {
	f, _, u := open(t)
	first := mcpface.Call{Tool: "create_row_v1", Modern: true, Arguments: []byte(`{"name":"n"}`), Meta: []byte(asks)}
	a, _ := call(t, f, first)
	ask := a.InputRequests["approve"]
	if a.ResultType != "input_required" || ask.Method != "elicitation/create" || !strings.Contains(ask.Params.Message, "One row of one table") ||
		!strings.Contains(ask.Params.Message, "replay: safe") || u.effects() != 0 {
		t.Fatalf("%+v", a)
	}
	second := first
	second.State = a.RequestState
	for name, responses := range map[string]string{
		"no word": `{}`, "declined": `{"approve":{"action":"decline"}}`, "said no": `{"approve":{"action":"accept","content":{"approve":false}}}`,
	} {
		second.Responses = []byte(responses)
		if a, r := call(t, f, second); !a.IsError || r.Effect != contract.EffectNone || r.OperationID == "" || u.effects() != 0 {
			t.Errorf("%s: %s", name, a.Structured)
		}
	}
	second.Responses = []byte(`{"approve":{"action":"accept","content":{"approve":true}}}`)
	t.Run("M12 an approval survives a lost response", func(t *testing.T) {
		u.lose(true)
		if a, r := call(t, f, second); !a.IsError || r.Outcome != contract.Unknown {
			t.Fatalf("%s", a.Structured)
		}
		u.lose(false)
		if a, r := call(t, f, second); a.IsError || r.Outcome != contract.Completed {
			t.Errorf("%s", a.Structured)
		}
	})
	t.Run("bound to caller, arguments and operation", func(t *testing.T) {
		made := u.effects()
		for _, change := range []func(*mcpface.Call){
			func(c *mcpface.Call) { c.Caller = "b" },
			func(c *mcpface.Call) { c.Arguments = []byte(`{"name":"other"}`) },
			func(c *mcpface.Call) { c.Tool = "create_row" },
			func(c *mcpface.Call) { c.State = "AAAA" + c.State[4:] },
		} {
			c := second
			change(&c)
			if a, r := call(t, f, c); !a.IsError || r.Effect != contract.EffectNone {
				t.Errorf("%s", a.Structured)
			}
		}
		if u.effects() != made {
			t.Errorf("%d effects, %d before", u.effects(), made)
		}
	})
	t.Run("a client that can ask nobody", func(t *testing.T) {
		c := first
		c.Meta = []byte(`{"io.modelcontextprotocol/clientCapabilities":{}}`)
		a, _ := call(t, f, c)
		if a.ResultType != "input_required" || a.InputRequests == nil || len(a.InputRequests) > 0 {
			t.Fatalf("%+v", a)
		}
		c.State = a.RequestState
		if a, r := call(t, f, c); a.IsError || r.Outcome != contract.Completed {
			t.Errorf("%s", a.Structured)
		}
	})
	t.Run("an older client that calls it all the same", func(t *testing.T) {
		c := first
		c.Modern = false
		made := u.effects()
		a, r := call(t, f, c)
		if !a.IsError || a.ResultType != "" || r.Effect != contract.EffectNone || u.effects() != made ||
			r.Message != "call create_row_v1_prepare, then create_row_v1_commit with the operationId that it returns" {
			t.Errorf("%s", a.Structured)
		}
	})
	t.Run("an id in _meta", func(t *testing.T) {
		c := first
		c.Meta = []byte(`{"` + mcpface.MetaKey + `":"meta-1"}`)
		for i := range 2 {
			if a, r := call(t, f, c); a.IsError || r.OperationID != "meta-1" || r.Replayed != (i == 1) {
				t.Errorf("%s", a.Structured)
			}
		}
	})
}

func TestA01_SameBytesAsTheReceipt(t *testing.T) {
	f, c, _ := open(t)
	_, p := call(t, f, mcpface.Call{Tool: "create_row_v1_prepare", Arguments: []byte(`{"name":"n"}`)})
	commit := mcpface.Call{Tool: "create_row_v1_commit", Arguments: []byte(`{"operationId":"` + p.OperationID + `"}`)}
	call(t, f, commit)
	got, _ := call(t, f, commit)
	r, err := c.Commit(t.Context(), contract.Ref{Caller: "a", Key: p.OperationID}, contract.Call{})
	if err != nil {
		t.Fatal(err)
	}
	if canonical(t, got.Structured) != canonical(t, r.JSON()) {
		t.Errorf("%s\n%s", got.Structured, r.JSON())
	}
	marshalled, err := json.Marshal(r)
	if err != nil || canonical(t, marshalled) != canonical(t, r.JSON()) {
		t.Errorf("%s\n%s", marshalled, r.JSON())
	}
}

func canonical(t *testing.T, raw []byte) string {
	t.Helper()
	doc, err := jsontape.Parse(raw)
	if err != nil {
		t.Fatal(err)
	}
	return string(doc.Root().AppendCanonical(nil))
}
