package contract_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/spillway-mcp/spillway/contract"
)

// All that is wrong with the parameters is told at once: each by its name, with
// what was given and what is allowed, and no text that may be a secret.
func TestA04_AllFaultsAtOnce(t *testing.T) {
	def, err := contract.Define(contract.Spec{
		Name: "order", Version: "1.0", Scope: "One order.", Effects: contract.Creates,
		Params: json.RawMessage(`{"type":"object","additionalProperties":false,"required":["name","to"],"properties":{
			"name":{"type":"string","minLength":3,"maxLength":5},
			"to":{"type":"object","required":["city"],"properties":{"city":{"type":"string"},"zip":{"type":"string","pattern":"^[0-9]{5}$"}}},
			"count":{"type":"integer","minimum":1,"maximum":10},
			"price":{"type":"number","exclusiveMinimum":0,"multipleOf":0.5},
			"plan":{"enum":["free","paid"]},
			"kind":{"const":"x"},
			"mail":{"type":"string"},
			"rows":{"type":"array","maxItems":2,"uniqueItems":true,"items":{"type":"object","required":["id"],"properties":{"id":{"type":"integer"}}}},
			"when":{"anyOf":[{"type":"integer"},{"type":"string","minLength":3}]}}}`),
		Mutation: &contract.MutationSpec{Steps: []contract.Step{{Submit: func(context.Context, *contract.Invocation) (json.RawMessage, error) { return nil, nil }}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	c := newClient(t, contract.Options{}, def)
	for _, x := range []struct {
		params, parameter string
		tells             []string
	}{
		{`{}`, "/name", []string{"name: missing, string wanted", "to: missing, object wanted"}},
		{`{"nam":"x","to":{"zip":"secret"},"name":"Maximilian"}`, "/nam", []string{
			"nam: not a parameter, it takes name, to, count",
			"to/city: missing, string wanted",
			"to/zip: 6 characters given, text that matches ^[0-9]{5}$ wanted",
			"name: 10 characters given, at most 5 wanted",
		}},
		{`{"name":"A","to":{"city":"x"},"count":12,"price":-0.25,"plan":"gold","kind":1,"mail":7}`, "/count", []string{
			"name: 1 character given, 3 or more wanted",
			"count: 12 given, at most 10 wanted",
			"price: -0.25 given, more than 0 wanted", "price: -0.25 given, a multiple of 0.5 wanted",
			`plan: "gold" given, one of "free", "paid" wanted`,
			`kind: 1 given, "x" wanted`,
			"mail: number given, string wanted",
		}},
		{`{"name":"Ada","to":{"city":"x"},"rows":[{},{},{"id":"a"}],"when":"x"}`, "/rows", []string{
			"rows: 3 items given, at most 2 wanted", "rows: the items 1 and 2 are equal",
			"rows/0/id: missing, integer wanted", "rows/2/id: string given, integer wanted",
			"when: fits none of the forms it can have (string given, integer wanted; or 1 character given, 3 or more wanted)",
		}},
	} {
		r, err := c.Do(t.Context(), def, contract.Call{Params: json.RawMessage(x.params)})
		want(t, r, err, contract.Rejected, contract.EffectNone, contract.NextNone)
		if r.Parameter != x.parameter {
			t.Errorf("%s: parameter %s, want %s", x.params, r.Parameter, x.parameter)
		}
		for _, tell := range x.tells {
			if !strings.Contains(r.Message, tell) {
				t.Errorf("%s: the message does not tell %q:\n%s", x.params, tell, r.Message)
			}
		}
		if strings.Contains(r.Message, "secret") || strings.Contains(r.Message, "Maximilian") {
			t.Errorf("the message tells what was given: %s", r.Message)
		}
	}
	var many strings.Builder
	many.WriteString(`{"name":"Ada","to":{"city":"x"}`)
	for i := range 40 {
		many.WriteString(`,"x` + string(rune('A'+i%26)) + string(rune('a'+i/26)) + `":1`)
	}
	if r, _ := c.Do(t.Context(), def, contract.Call{Params: json.RawMessage(many.String() + "}")}); !strings.HasSuffix(r.Message, "; and 20 more") {
		t.Errorf("40 faults: %s", r.Message)
	}
}
