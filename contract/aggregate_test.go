package contract_test

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/spillway-mcp/spillway/contract"
)

func TestC09_Q15_InvalidRecords(t *testing.T) {
	for _, x := range []struct {
		where, record, field string // field "" is readable
	}{
		{"open", `{"id":1}`, "open"},
		{"open", `{"open":null}`, "open"},
		{"open", `{"open":"yes"}`, "open"},
		{"open", `{"open":false}`, ""},
		{"!draft && !prerelease", `{"draft":false}`, "prerelease"},
		{"!draft && !prerelease", `{"draft":true}`, "prerelease"},
		{"!draft && !prerelease", `{"draft":false,"prerelease":null}`, "prerelease"},
		{"state == 'x'", `{"state":7}`, "state"},
		{"a.b > `3`", `{"a":{}}`, "a.b"},
		{"closed == `null`", `{}`, ""},
		{"state == $params.state", `{"state":"s"}`, ""},
		{"state == $params.state", `{}`, "state"},
	} {
		for _, policy := range []contract.InvalidPolicy{contract.InvalidStop, contract.InvalidSkip} {
			op := openOp(t, nil, func(r *contract.Read[filter, counted]) {
				r.Where, r.Invalid = x.where, policy
				r.Fetch = func(context.Context, filter, *string) ([]byte, error) {
					return []byte(`{"items":[` + x.record + `]}`), nil
				}
			})
			_, r, err := op.Do(ctx, newClient(t, contract.Options{}), filter{State: "s"}, contract.Call{})
			switch {
			case x.field == "":
				if err != nil || r.Skipped != 0 {
					t.Errorf("%s of %s: %s", x.where, x.record, r.JSON())
				}
			case policy == contract.InvalidStop:
				incomplete(t, r, err, contract.ReasonInvalidRecord, 0)
				if r.Position == nil || *r.Position != (contract.Position{Page: 1, Record: 1, Field: x.field}) {
					t.Errorf("%s of %s: position %+v", x.where, x.record, r.Position)
				}
			default:
				if err != nil || r.Skipped != 1 || r.RecordsExamined != 1 {
					t.Errorf("%s of %s, skipping: %s", x.where, x.record, r.JSON())
				}
			}
		}
	}
	t.Run("fields of aggregates", func(t *testing.T) {
		op := openOp(t, nil, func(r *contract.Read[filter, counted]) {
			r.Result = json.RawMessage(`{}`)
			r.Aggregates = []contract.Aggregate{{Name: "n", Op: contract.Count}, {Name: "s", Op: contract.Sum, Of: "amount"}}
			r.Fetch = func(context.Context, filter, *string) ([]byte, error) {
				return []byte(`{"items":[{"open":true,"amount":1},{"open":false},{"open":true,"amount":"2"}]}`), nil
			}
		})
		_, r, err := op.Do(ctx, newClient(t, contract.Options{}), filter{}, contract.Call{})
		incomplete(t, r, err, contract.ReasonInvalidRecord, 2)
		if string(r.Result) != `{"n":1,"s":1}` || r.Position.Record != 3 || r.Position.Field != "amount" {
			t.Errorf("%s", r.JSON())
		}
	})
}

func TestAggregatesAreExact(t *testing.T) {
	for _, x := range []struct{ records, aggregate, want string }{
		{`{"v":0.1},{"v":0.2}`, `{"op":"sum","of":"v"}`, `0.3`},
		{`{"v":1.10},{"v":2.20}`, `{"op":"sum","of":"v"}`, `3.30`},
		{`{"v":9007199254740993},{"v":0}`, `{"op":"sum","of":"v"}`, `9007199254740993`},
		{`{"v":9223372036854775807},{"v":1}`, `{"op":"sum","of":"v"}`, `9223372036854775808`},
		{`{"v":-9223372036854775807},{"v":-10}`, `{"op":"sum","of":"v"}`, `-9223372036854775817`},
		{`{"v":1e3},{"v":5E-2}`, `{"op":"sum","of":"v"}`, `1000.05`},
		{`{"v":-0.05},{"v":0.01}`, `{"op":"sum","of":"v"}`, `-0.04`},
		{``, `{"op":"sum","of":"v"}`, `0`},
		{`{"v":10},{"v":9.50},{"v":9.5}`, `{"op":"min","of":"v"}`, `9.50`},
		{`{"v":"b"},{"v":"a"}`, `{"op":"max","of":"v"}`, `"b"`},
		{``, `{"op":"max","of":"v"}`, `null`},
		{`{"k":"b"},{"k":"a"},{"k":"b"},{"k":true}`, `{"op":"count_by","by":"k"}`, `{"a":1,"b":2,"true":1}`},
		{`{"k":"b","v":1.5},{"k":"a","v":1},{"k":"b","v":2.25}`, `{"op":"group_by","by":"k","aggregates":[{"name":"s","op":"sum","of":"v"},{"name":"n","op":"count"}]}`, `{"a":{"s":1,"n":1},"b":{"s":3.75,"n":2}}`},
		{`{"v":1.0,"w":"<&>"},{"v":2}`, `{"op":"first"}`, `{"v":1.0,"w":"<&>"}`},
		{`{"v":1.0},{"v":2}`, `{"op":"project","of":"{x: v}"}`, `[{"x":1.0},{"x":2}]`},
		{`{"v":1},{"v":20},{"v":30}`, `{"op":"count","where":"v > ` + "`10`" + `"}`, `2`},
	} {
		var a contract.Aggregate
		if err := json.Unmarshal([]byte(x.aggregate), &a); err != nil {
			t.Fatal(err)
		}
		op := openOp(t, nil, func(r *contract.Read[filter, counted]) {
			r.Where, r.Result, r.Aggregates = "", json.RawMessage(`{}`), []contract.Aggregate{a}
			r.Fetch = func(context.Context, filter, *string) ([]byte, error) {
				return []byte(`{"items":[` + x.records + `]}`), nil
			}
		})
		r, err := newClient(t, contract.Options{}).Do(ctx, op.Definition, contract.Call{})
		if err != nil || string(r.Result) != x.want {
			t.Errorf("%s of %s: %s, %v; want %s", x.aggregate, x.records, r.Result, err, x.want)
		}
	}
}
