package reduce

import (
	"strings"
	"testing"
)

// TestRED16_EveryLossIsTold holds projections that keep as many scalars as
// they were given, and yet not the same ones.
func TestRED16_EveryLossIsTold(t *testing.T) {
	for _, c := range []struct {
		name, payload, keep string
		told                bool
	}{
		{"a field twice, another gone", `{"items":[{"id":1,"name":"one"},{"id":2,"name":"two"}]}`, "items[*].[id,id]", true},
		{"a nested field twice", `{"owner":{"login":"ada","id":77}}`, "{a: owner.login, b: owner.login}", true},
		{"a literal for a field", `{"a":1,"b":2}`, "`{\"x\":3,\"y\":4}`", true},
		{"a length for its array", `{"items":["hello"]}`, "length(items)", true},
		{"names without values", `{"people":{"ada":1}}`, "keys(people)", true},
		{"values without names", `{"people":{"ada":{"age":1},"bob":{"age":2}}}`, "people.*.{age: age}", true},
		{"a null row", `{"items":[{"name":null},{"name":"x"}]}`, "items[*].name", true},
		{"rows run together", `{"orders":[{"lines":[1,2]},{"lines":[3]}]}`, "orders[*].lines[]", true},
		{"a total of its own", `{"total":5000,"items":[1,2]}`, "{total: length(items), items: items}", true},
		{"a duplicate key", `{"a":1,"a":2}`, "{a: a, b: a}", true},
		{"everything", `{"items":[{"id":1,"name":"one"},{"id":2,"name":"two"}]}`, "items[*].{name: name, id: id}", false},
		{"everything, sorted", `{"items":[{"id":2},{"id":1}],"next":null}`, "sort_by(items, &id)", false},
		{"everything, and more", `{"a":1}`, "{a: a, b: a, c: `3`}", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			r, err := Compile(Rule{Keep: c.keep})
			if err != nil {
				t.Fatal(err)
			}
			o := r.Reduce([]byte(`{"content":[],"structuredContent":`+c.payload+`}`), Env{Expand: "reducer_expand", Schema: true})
			if !o.Changed {
				t.Fatalf("the projection was not applied: %v", o.Faults)
			}
			if told := strings.HasPrefix(o.Note, "Showing "); told != c.told || told != (o.Ref != "") {
				t.Errorf("note %q, ref %q, want a note: %v\n%s", o.Note, o.Ref, c.told, o.Result)
			}
		})
	}
}
