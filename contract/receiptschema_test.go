package contract_test

import (
	"bytes"
	"encoding/json"
	"reflect"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/spillway-mcp/spillway/contract"
)

// receiptCheck validates what want and the read tests get to see: every
// receipt of this package's tests is held to the published schema.
var receiptCheck = func() *jsonschema.Schema {
	doc := must(jsonschema.UnmarshalJSON(bytes.NewReader(contract.ReceiptSchema())))
	c := jsonschema.NewCompiler()
	if err := c.AddResource("receipt", doc); err != nil {
		panic(err)
	}
	return must(c.Compile("receipt"))
}()

func checkReceipt(t *testing.T, r *contract.Receipt) {
	t.Helper()
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(r.JSON()))
	if err != nil {
		t.Fatalf("receipt is no JSON: %v: %s", err, r.JSON())
	}
	if err := receiptCheck.Validate(v); err != nil {
		t.Errorf("receipt breaks its schema: %v\n%s", err, r.JSON())
	}
	// What comes back from another process is the same receipt and error.
	var back contract.Receipt
	if err := json.Unmarshal(r.JSON(), &back); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(back.JSON(), r.JSON()) || back.ExitCode() != r.ExitCode() || (back.Err() == nil) != (r.Err() == nil) {
		t.Errorf("receipt came back as\n%s, was\n%s", back.JSON(), r.JSON())
	}
}

func TestC24_SchemaNamesEveryMember(t *testing.T) {
	var s struct{ Properties map[string]any }
	if err := json.Unmarshal(contract.ReceiptSchema(), &s); err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, typ := range []reflect.Type{reflect.TypeFor[contract.Receipt](), reflect.TypeFor[contract.Coverage]()} {
		for i := range typ.NumField() {
			tag, _, _ := bytes.Cut([]byte(typ.Field(i).Tag.Get("json")), []byte(","))
			if len(tag) == 0 {
				continue
			}
			n++
			if _, ok := s.Properties[string(tag)]; !ok {
				t.Errorf("the schema lacks %s", tag)
			}
		}
	}
	if n != len(s.Properties) {
		t.Errorf("%d members, %d in the schema", n, len(s.Properties))
	}
}

func TestC24_ReceiptKeepsOrderAndDigits(t *testing.T) {
	r := &contract.Receipt{OperationID: "k", Operation: "x@1.0", Digest: "d", Outcome: contract.Completed, Effect: contract.EffectNone,
		NextAction: contract.NextNone, Result: json.RawMessage(`{"b":1.10,"a":9007199254740993,"t":"<&>"}`),
		Coverage: &contract.Coverage{RecordsExamined: 50, Complete: true, Pages: 5, Consistency: contract.Live}, Attempts: 5}
	const wanted = `{"operationId":"k","operation":"x@1.0","digest":"d","outcome":"completed","effect":"none","nextAction":"none",` +
		`"result":{"b":1.10,"a":9007199254740993,"t":"<&>"},"recordsExamined":50,"complete":true,"continuation":null,"pages":5,"consistency":"live","attempts":5}`
	if got := string(r.JSON()); got != wanted {
		t.Errorf("got  %s\nwant %s", got, wanted)
	}
	checkReceipt(t, r)
}

func TestSection4_OneTable(t *testing.T) {
	for _, x := range []struct {
		outcome contract.Outcome
		reason  string
		read    bool
		exit    int
		isError bool
		err     error
	}{
		{contract.Completed, "", false, 0, false, nil},
		{contract.Rejected, contract.ReasonInvalid, false, 2, true, contract.ErrInvalid},
		{contract.Rejected, "name_taken", false, 3, true, contract.ErrRejected},
		{contract.Rejected, contract.ReasonKeyConflict, false, 5, true, contract.ErrKeyConflict},
		{contract.Rejected, contract.ReasonPrecondition, false, 5, true, contract.ErrPrecondition},
		{contract.Rejected, contract.ReasonUnauthorized, false, 4, true, contract.ErrUnauthorized},
		{contract.Partial, "", false, 6, true, contract.ErrPartial},
		{contract.Unknown, contract.ReasonNoAnswer, false, 7, true, contract.ErrUnknownOutcome},
		{contract.Partial, contract.ReasonMaxPages, true, 9, false, contract.ErrIncomplete},
		{contract.Pending, "", false, 8, false, nil},
	} {
		r := &contract.Receipt{OperationID: "k", Operation: "x@1.0", Outcome: x.outcome, Reason: x.reason}
		if x.read {
			r.Coverage = &contract.Coverage{}
		}
		if r.ExitCode() != x.exit || r.IsError() != x.isError {
			t.Errorf("%s %s: exit %d, isError %v", x.outcome, x.reason, r.ExitCode(), r.IsError())
		}
		if err := r.Err(); x.err == nil && err != nil || x.err != nil {
			is(t, err, x.err)
		}
	}
}
