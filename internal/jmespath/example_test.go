package jmespath_test

import (
	"fmt"

	"github.com/spillway-mcp/spillway/internal/jmespath"
	"github.com/spillway-mcp/spillway/internal/jsontape"
)

func ExampleExpr_AppendJSON() {
	doc, err := jsontape.Parse([]byte(`{"items": [
		{"id": 9007199254740993, "repository": {"full_name": "a\/b"}, "score": 1.0},
		{"id": 2, "repository": {"full_name": "c/d"}, "score": 2}]}`))
	if err != nil {
		fmt.Println(err)
		return
	}
	e, err := jmespath.Compile("items[*].{id: id, repo: repository.full_name, score: score}")
	if err != nil {
		fmt.Println(err)
		return
	}
	out, err := e.AppendJSON(nil, doc.Root())
	fmt.Println(string(out), err)
	// Output: [{"id":9007199254740993,"repo":"a\/b","score":1.0},{"id":2,"repo":"c/d","score":2}] <nil>
}

func ExampleCompile_error() {
	_, err := jmespath.Compile("items[?lenght(name) > `3`].name")
	fmt.Println(err)
	// Output: at byte 7: unknown function lenght(); did you mean length()?
}

func ExampleExpr_Shape() {
	e, err := jmespath.Compile("items[*].{repo: repository.full_name, n: length(topics)}")
	if err != nil {
		fmt.Println(err)
		return
	}
	s := e.Shape()
	fmt.Println(s.Base, s.Aligned, s.Projected)
	for _, f := range s.Fields {
		fmt.Println(f.Name, f.Path)
	}
	// Output:
	// items true true
	// repo [repository full_name]
	// n []
}
