package proxy

import (
	"reflect"
	"strings"
	"testing"

	"github.com/spillway-mcp/spillway/internal/ledger"
	"github.com/spillway-mcp/spillway/reduce"
)

// Names that a note named are in the ledger; what a model wrote of its own is not.
func TestRED45_AskedKeepsNoArgument(t *testing.T) {
	r, err := reduce.Compile(reduce.Rule{Keep: "items[*].{id: id}"})
	if err != nil {
		t.Fatal(err)
	}
	rows := strings.Repeat(`{"id":1,"sha":"0123456789abcdef0123456789abcdef","ada@example.com":"y"},`, 20)
	original := []byte(`{"content":[],"structuredContent":{"items":[` + rows + `{"id":2,"sha":"z"}]}}`)
	for _, test := range []struct {
		q    reduce.ExpandRequest
		want ledger.Asked
	}{
		{reduce.ExpandRequest{Fields: []string{"sha", "secret-of-mine", "sha.deep", "ada@example.com"}}, ledger.Asked{By: "fields", Fields: []string{"sha", "sha"}, Others: 2}},
		{reduce.ExpandRequest{Query: "items[?sha=='x']"}, ledger.Asked{By: "query"}},
		{reduce.ExpandRequest{Rows: "3-9"}, ledger.Asked{By: "rows"}},
		{reduce.ExpandRequest{}, ledger.Asked{By: "whole"}},
	} {
		if got := askedOf(&test.q, r, original); !reflect.DeepEqual(*got, test.want) {
			t.Errorf("%+v: got %+v, want %+v", test.q, *got, test.want)
		}
	}
}
