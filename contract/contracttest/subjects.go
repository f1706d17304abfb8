package contracttest

import (
	"bytes"
	"encoding/json"
	"slices"

	"github.com/spillway-mcp/spillway/contract"
	"github.com/spillway-mcp/spillway/contract/contracttest/upstream"
)

// subject names one effect that an operation is meant to have, by what it asks
// of the upstream.
type subject struct {
	text string
	step string // of an operation with several
	item string
}

// subjects lists what a call of an operation is meant to do, in order.
func subjects(operation string, params json.RawMessage) []subject {
	var p struct {
		Name, Account      string
		Amount             *json.Number
		ID, Value          string
		Team, Member       string
		Members            []string
		Collection, Filter string
	}
	p.Account = "main"
	if json.Unmarshal(params, &p) != nil {
		return nil
	}
	switch nameOf(operation) {
	case OpCreate, OpCustomer, OpBlind, OpSettled, OpSlow:
		body := map[string]any{"name": p.Name, "account": p.Account}
		if p.Amount != nil {
			body["amount"] = p.Amount
		}
		return []subject{{text: subjectText("create", "/items", body)}}
	case OpUpdate:
		return []subject{{text: subjectText("update", "/items/"+p.ID, map[string]any{"value": p.Value})}}
	case OpMembers:
		var all []subject
		for _, m := range p.Members {
			all = append(all, subject{subjectText("add", "/teams/"+p.Team+"/members", map[string]any{"member": m}), "add", m})
		}
		return all
	case OpPair:
		return []subject{
			{subjectText("create", "/items", map[string]any{"name": p.Name}), "item", ""},
			{subjectText("add", "/teams/"+p.Team+"/members", map[string]any{"member": p.Member}), "member", ""},
		}
	}
	return nil
}

func subjectText(action, path string, body map[string]any) string {
	raw, err := json.Marshal(body)
	if err != nil {
		panic(err) // strings and numbers
	}
	return action + " " + path + " " + string(raw)
}

func effectSubject(e upstream.Effect) string { return e.Action + " " + e.Path + " " + string(e.Body) }

func nameOf(operation string) string {
	name, _, _ := bytes.Cut([]byte(operation), []byte("@"))
	return string(name)
}

// standing is what a receipt says about one subject.
type standing struct {
	state  standingState
	result json.RawMessage
}

type standingState int

const (
	never    standingState = iota // the receipt says that it did not happen
	happened                      // that it did
	maybe                         // that it may have
)

// stands reads a subject's standing out of a receipt.
func stands(r *contract.Receipt, s subject) standing {
	if i := slices.IndexFunc(r.Steps, func(x contract.StepReport) bool { return x.Step == s.step && x.Item == s.item }); i >= 0 {
		switch x := r.Steps[i]; x.Status {
		case contract.StepCompleted:
			return standing{happened, x.Result}
		case contract.StepCompensated, contract.StepCompensationFailed, contract.StepCompensating:
			return standing{happened, x.Result}
		case contract.StepRejected, contract.StepAbsent, contract.StepWaiting:
			return standing{never, nil}
		default:
			return standing{maybe, nil}
		}
	}
	switch r.Outcome {
	case contract.Completed:
		if s.step != "" {
			return standing{happened, nil}
		}
		return standing{happened, r.Result}
	case contract.Rejected:
		return standing{never, nil}
	}
	return standing{maybe, nil}
}
