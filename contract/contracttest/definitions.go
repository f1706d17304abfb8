package contracttest

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"time"

	"github.com/spillway-mcp/spillway/contract"
)

// KeyRetention is how long the fake upstream keeps an Idempotency-Key.
const KeyRetention = 24 * time.Hour

// The operations of the suite. Every face has to know them; see Definitions
// and OperationsYAML.
const (
	OpCreate   = "create_item"     // not idempotent, with a reconcile
	OpCustomer = "create_customer" // by key, retention 24 h, no reconcile
	OpBlind    = "create_blind"    // not idempotent, no reconcile
	OpSettled  = "create_settled"  // as create_item; settles after an hour
	OpSlow     = "create_slow"     // as create_item; a deadline of half a second
	OpUpdate   = "update_item"     // with a revision that the upstream enforces
	OpMembers  = "add_members"     // one step with a submission per item
	OpPair     = "create_pair"     // two steps, the first with a compensation
	OpCount    = "count_records"   // a read of at most 5 pages
	OpValues   = "sum_records"     // a read of at most 25 records with sums
	OpQuick    = "count_quickly"   // a read with a deadline of half a second
	OpList     = "list_records"    // a read whose result has at most 2,000 bytes
)

// Definitions returns the suite's operations over an upstream at a URL.
func Definitions(url string, rt http.RoundTripper) ([]*contract.Definition, error) {
	h := &upstreamClient{url: url, http: &http.Client{Transport: rt}}
	_, h.host, _ = strings.Cut(url, "://")
	specs := []contract.Spec{
		h.create(OpCreate, "1.0"), h.create(OpCreate, "2.0"), h.customer(), h.blind(), h.settled(), h.slow(),
		h.update(), h.members(), h.pair(), h.count(), h.values(), h.quick(), h.list(),
	}
	var defs []*contract.Definition
	for _, s := range specs {
		d, err := contract.Define(s)
		if err != nil {
			return nil, err
		}
		defs = append(defs, d)
	}
	return defs, nil
}

var (
	itemParams = json.RawMessage(`{"type":"object","properties":{` +
		`"name":{"type":"string","minLength":1,"description":"What the item is called."},` +
		`"account":{"type":"string","default":"main","description":"The account that gets the item."},` +
		`"amount":{"type":"integer","description":"In cents."}},` +
		`"required":["name"],"additionalProperties":false}`)
	itemResult = json.RawMessage(`{"type":"object","properties":{"id":{"type":"string"}},"required":["id"]}`)
)

// account is the target of operations on items.
func account(at *contract.Invocation) (string, error) {
	var p struct {
		Account string `json:"account"`
	}
	err := json.Unmarshal(at.Params, &p)
	return p.Account, err
}

func (h *upstreamClient) create(name, version string) contract.Spec {
	return contract.Spec{
		Name: name, Version: version, Title: "Create an item", Scope: "Makes one item in one account.",
		Effects: contract.Creates, Idempotent: contract.NotIdempotent, Upstream: h.host, Target: account,
		Params: itemParams, Result: itemResult,
		Mutation: &contract.MutationSpec{
			Steps: []contract.Step{{
				Key: contract.KeyInHeader, KeyName: "X-Ref",
				Submit: func(ctx context.Context, at *contract.Invocation) (json.RawMessage, error) {
					return h.send(ctx, "POST", "/items", at.Params, "X-Ref", at.StepKey)
				},
				Reconcile: h.findItem,
			}},
			Preview: func(_ context.Context, at *contract.Invocation) (json.RawMessage, error) {
				return json.RawMessage(`{"creates":1}`), nil
			},
		},
	}
}

func (h *upstreamClient) findItem(ctx context.Context, at *contract.Invocation) (contract.Finding, error) {
	return h.findOne(ctx, "/items?ref="+at.StepKey)
}

func (h *upstreamClient) customer() contract.Spec {
	s := h.create(OpCustomer, "1.0")
	s.Title, s.Scope = "Create a customer", "Makes one customer in one account."
	s.Idempotent, s.KeyRetention = contract.ByKey, KeyRetention
	s.Mutation.Steps = []contract.Step{{
		Key: contract.KeyInHeader, KeyName: "Idempotency-Key",
		Submit: func(ctx context.Context, at *contract.Invocation) (json.RawMessage, error) {
			return h.send(ctx, "POST", "/items", at.Params, "Idempotency-Key", at.StepKey)
		},
	}}
	return s
}

func (h *upstreamClient) blind() contract.Spec {
	s := h.create(OpBlind, "1.0")
	s.Mutation.Steps[0].Reconcile = nil
	return s
}

// SettleTime is how long create_settled may still be under way upstream.
const SettleTime = time.Hour

func (h *upstreamClient) settled() contract.Spec {
	s := h.create(OpSettled, "1.0")
	s.Mutation.Settle = SettleTime
	return s
}

// SlowDeadline is the deadline of create_slow.
const SlowDeadline = 500 * time.Millisecond

func (h *upstreamClient) slow() contract.Spec {
	s := h.create(OpSlow, "1.0")
	s.Bounds.Deadline = SlowDeadline
	return s
}

func (h *upstreamClient) update() contract.Spec {
	return contract.Spec{
		Name: OpUpdate, Version: "1.0", Title: "Change an item", Scope: "Sets the value of one item.",
		Effects: contract.Updates, Upstream: h.host,
		Params: json.RawMessage(`{"type":"object","properties":{"id":{"type":"string"},"value":{"type":"string"}},` +
			`"required":["id","value"],"additionalProperties":false}`),
		Result: itemResult,
		Mutation: &contract.MutationSpec{
			Precondition: &contract.Precondition{Enforced: true, Current: h.revision},
			Steps: []contract.Step{{Submit: func(ctx context.Context, at *contract.Invocation) (json.RawMessage, error) {
				var p struct{ ID, Value string }
				if err := json.Unmarshal(at.Params, &p); err != nil {
					return nil, err
				}
				body, err := json.Marshal(map[string]string{"value": p.Value})
				if err != nil {
					return nil, err
				}
				return h.send(ctx, "PUT", "/items/"+p.ID, body, "If-Match", at.Revision)
			}}},
		},
	}
}

func (h *upstreamClient) revision(ctx context.Context, at *contract.Invocation) (string, error) {
	var p struct{ ID string }
	if err := json.Unmarshal(at.Params, &p); err != nil {
		return "", err
	}
	raw, err := h.send(ctx, "GET", "/items/"+p.ID, nil)
	if err != nil {
		return "", err
	}
	var it struct{ Revision string }
	err = json.Unmarshal(raw, &it)
	return it.Revision, err
}
