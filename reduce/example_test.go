package reduce_test

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/spillway-mcp/spillway/reduce"
)

// contacts is what a tool of your server answers: a hundred rows of which the
// model needs two fields.
func contacts() []byte {
	var rows []string
	for i := range 100 {
		rows = append(rows, fmt.Sprintf(`{"id":%d,"name":"Contact %d","notes":%q}`, 9007199254740993+i, i+1, strings.Repeat("long ", 40)))
	}
	payload := `{"total":100,"contacts":[` + strings.Join(rows, ",") + `]}`
	text, _ := json.Marshal(payload)
	return []byte(`{"content":[{"type":"text","text":` + string(text) + `}],"structuredContent":` + payload + `}`)
}

func Example() {
	rows := 2
	r, err := reduce.Compile(reduce.Rule{
		Keep:     "contacts[*].{id: id, name: name}",
		MaxRows:  &rows,
		MaxBytes: 20_000,
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	out := r.Reduce(contacts(), reduce.Env{})
	fmt.Println(out.Note)
	var result struct {
		StructuredContent json.RawMessage `json:"structuredContent"`
	}
	if err := json.Unmarshal(out.Result, &result); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(string(result.StructuredContent))
	// Output:
	// Showing 2 of 100 rows, fields id and name (25,518 bytes in full). Dropped: notes.
	// {"_spillway":"Showing 2 of 100 rows, fields id and name (25,518 bytes in full). Dropped: notes.","total":100,"rows":[{"id":9007199254740993,"name":"Contact 1"},{"id":9007199254740994,"name":"Contact 2"}]}
}

// A server that lists a tool to get the rest back names it in Env, keeps the
// original under the ref before it answers, and serves the tool with Expand.
func ExampleReducer_Expand() {
	rows := 2
	r, err := reduce.Compile(reduce.Rule{Keep: "contacts[*].{id: id, name: name}", MaxRows: &rows})
	if err != nil {
		fmt.Println(err)
		return
	}
	kept := make(map[string][]byte)
	original := contacts()
	out := r.Reduce(original, reduce.Env{Expand: "more"})
	if out.Ref != "" {
		kept[out.Ref] = original
	}

	q, err := reduce.ParseExpandRequest([]byte(`{"ref":"` + out.Ref + `","rows":"3-4","fields":["name"]}`))
	if err != nil {
		fmt.Println(err)
		return
	}
	answer, err := r.Expand(kept[q.Ref], q, 0)
	if err != nil {
		fmt.Println(err)
		return
	}
	var result struct {
		Content []struct{ Text string }
	}
	if err := json.Unmarshal(answer, &result); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(result.Content[0].Text)
	// Output:
	// {"rows":[{"name":"Contact 3"},{"name":"Contact 4"}],"shown":"3-4 of 100","done":true}
}

// A bad argument gets an error that a model can act on.
func ExampleParseExpandRequest() {
	_, err := reduce.ParseExpandRequest([]byte(`{"ref":"r_9f2c41d08a3b","page":2}`))
	fmt.Println(err)
	// Output:
	// page: is no argument of this tool; allowed are ref, rows, fields, query, lines, block and offset
}

// A rule that cannot work says which key is wrong, and where.
func ExampleCompile() {
	_, err := reduce.Compile(reduce.Rule{Keep: "contacts[*].{id: id, name}"})
	fmt.Println(err)
	// Output:
	// keep: at byte 25: expected ':' after 'name', found '}'
}
