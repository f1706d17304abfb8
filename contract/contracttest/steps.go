package contracttest

import (
	"context"
	"encoding/json"

	"github.com/spillway-mcp/spillway/contract"
)

func (h *upstreamClient) members() contract.Spec {
	return contract.Spec{
		Name: OpMembers, Version: "1.0", Title: "Add members", Scope: "Adds people to one team, one by one.",
		Effects: contract.Creates, Idempotent: contract.NotIdempotent, Upstream: h.host,
		Params: json.RawMessage(`{"type":"object","properties":{"team":{"type":"string"},` +
			`"members":{"type":"array","items":{"type":"string"},"minItems":1}},` +
			`"required":["team","members"],"additionalProperties":false}`),
		Mutation: &contract.MutationSpec{Steps: []contract.Step{{
			Name: "add", Title: "Add one member", Key: contract.KeyInHeader, KeyName: "X-Ref",
			Each: func(at *contract.Invocation) ([]contract.Item, error) {
				var p struct{ Members []string }
				if err := json.Unmarshal(at.Params, &p); err != nil {
					return nil, err
				}
				var items []contract.Item
				for _, m := range p.Members {
					value, err := json.Marshal(m)
					if err != nil {
						return nil, err
					}
					items = append(items, contract.Item{ID: m, Value: value})
				}
				return items, nil
			},
			Submit: func(ctx context.Context, at *contract.Invocation) (json.RawMessage, error) {
				path, err := teamPath(at)
				if err != nil {
					return nil, err
				}
				body, err := json.Marshal(map[string]json.RawMessage{"member": at.Item.Value})
				if err != nil {
					return nil, err
				}
				return h.send(ctx, "POST", path, body, "X-Ref", at.StepKey)
			},
			Reconcile: func(ctx context.Context, at *contract.Invocation) (contract.Finding, error) {
				path, err := teamPath(at)
				if err != nil {
					return contract.Finding{}, err
				}
				return h.findOne(ctx, path+"?ref="+at.StepKey)
			},
		}}},
	}
}

func teamPath(at *contract.Invocation) (string, error) {
	var p struct{ Team string }
	err := json.Unmarshal(at.Params, &p)
	return "/teams/" + p.Team + "/members", err
}

// pair makes an item, then adds a member; where the member is refused the item
// is deleted again.
func (h *upstreamClient) pair() contract.Spec {
	item := h.create("", "").Mutation.Steps[0]
	item.Name = "item"
	item.Submit = func(ctx context.Context, at *contract.Invocation) (json.RawMessage, error) {
		var p struct {
			Name json.RawMessage `json:"name"`
		}
		if err := json.Unmarshal(at.Params, &p); err != nil {
			return nil, err
		}
		body, err := json.Marshal(p)
		if err != nil {
			return nil, err
		}
		return h.send(ctx, "POST", "/items", body, "X-Ref", at.StepKey)
	}
	item.Compensate = func(ctx context.Context, at *contract.Invocation) (json.RawMessage, error) {
		var made struct{ ID string }
		if err := json.Unmarshal(at.Results["item"], &made); err != nil {
			return nil, err
		}
		return h.send(ctx, "DELETE", "/items/"+made.ID, nil)
	}
	member := contract.Step{
		Name: "member", Key: contract.KeyInHeader, KeyName: "X-Ref",
		Submit: func(ctx context.Context, at *contract.Invocation) (json.RawMessage, error) {
			path, err := teamPath(at)
			if err != nil {
				return nil, err
			}
			var p struct {
				Member json.RawMessage `json:"member"`
			}
			if err := json.Unmarshal(at.Params, &p); err != nil {
				return nil, err
			}
			body, err := json.Marshal(p)
			if err != nil {
				return nil, err
			}
			return h.send(ctx, "POST", path, body, "X-Ref", at.StepKey)
		},
		Reconcile: func(ctx context.Context, at *contract.Invocation) (contract.Finding, error) {
			path, err := teamPath(at)
			if err != nil {
				return contract.Finding{}, err
			}
			return h.findOne(ctx, path+"?ref="+at.StepKey)
		},
	}
	return contract.Spec{
		Name: OpPair, Version: "1.0", Title: "Create an item with a member", Scope: "Makes one item and adds one member to one team.",
		Effects: contract.Creates, Idempotent: contract.NotIdempotent, Upstream: h.host,
		Params: json.RawMessage(`{"type":"object","properties":{"name":{"type":"string"},"team":{"type":"string"},"member":{"type":"string"}},` +
			`"required":["name","team","member"],"additionalProperties":false}`),
		Mutation: &contract.MutationSpec{Steps: []contract.Step{item, member}},
	}
}
