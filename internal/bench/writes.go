package bench

import (
	"bytes"
	"fmt"

	"github.com/spillway-mcp/spillway/internal/fixture"
	"github.com/spillway-mcp/spillway/internal/jsontape"
	"github.com/spillway-mcp/spillway/internal/schema"
	"github.com/spillway-mcp/spillway/internal/tokens"
	"github.com/spillway-mcp/spillway/reduce"
)

// WriteRow is one way to answer a write, as a model reads it. Its JSON fields are promised in docs/json.md.
type WriteRow struct {
	Devices  int     `json:"devices"`
	Answer   string  `json:"answer"`  // what it is, in words
	Outcome  int     `json:"outcome"` // 1, 2 or 3 (RED-34); 0 is the echo itself
	Bytes    int     `json:"bytes"`
	Tokens   int     `json:"tokens"`
	Fraction float64 `json:"fraction"` // of the echo's tokens
}

// Parameter is what a parameter costs in the list of tools that is added to a tool.
type Parameter struct {
	Name   string `json:"name"`
	Bytes  int    `json:"bytes"`
	Tokens int    `json:"tokens"`
}

// Batches are the numbers of devices that Writes confirms at once.
var Batches = []int{60, 200, 2_000}

// Writes answers the creation of one and of many devices in every way there is. The caps and rules are the built-in
// ones: 20 kB, write: auto.
func Writes(counter tokens.Counter) ([]WriteRow, error) {
	w := writeBench{counter: counter}
	const slot = "reducer_expand"
	one := fixture.Devices(1)
	w.add(1, "full echo", 0, one[1:len(one)-1])
	w.confirm(1, "confirmed, with a token", 1, one[1:len(one)-1], slot, reduce.Rule{})
	w.confirm(1, "confirmed, no token", 2, one[1:len(one)-1], "", reduce.Rule{})
	w.confirm(1, "deleted", 1, one[1:len(one)-1], slot, reduce.Rule{Write: "delete"})
	for _, n := range Batches {
		echo := fixture.Devices(n)
		w.add(n, "full echo", 0, echo)
		w.confirm(n, "confirmed, with a token", 1, echo, slot, reduce.Rule{})
		w.confirm(n, "confirmed, with the ids", 2, echo, "", reduce.Rule{})
		if n <= 200 { // more would be over the cap
			w.confirm(n, "the same under light_key: [name]", 1, echo, slot, reduce.Rule{LightKey: []string{"name"}})
		}
		missing := bytes.Replace(echo, []byte(`{"id":"`), []byte(`{"no":"`), 1)
		w.confirm(n, "one id is missing, no slot for a token", 3, missing, "", reduce.Rule{})
	}
	return w.rows, w.err
}

// Parameters are those that a tool is given: verify on every write, the others where a rule says token_param.
func Parameters(counter tokens.Counter) []Parameter {
	var list []Parameter
	for _, p := range schema.Parameters {
		text := append(append(jsontape.AppendQuote(nil, p.Name), ':'), p.Schema...)
		list = append(list, Parameter{p.Name, len(text), counter.Count(text)})
	}
	return list
}

type writeBench struct {
	counter tokens.Counter
	rows    []WriteRow
	echo    int // tokens of the last full echo
	err     error
}

func (w *writeBench) add(n int, answer string, outcome int, text []byte) {
	row := WriteRow{Devices: n, Answer: answer, Outcome: outcome, Bytes: len(text), Tokens: w.counter.Count(text)}
	if outcome == 0 {
		w.echo = row.Tokens
	}
	row.Fraction = float64(row.Tokens) / float64(w.echo)
	w.rows = append(w.rows, row)
}

// confirm reduces a result that shows echo as its text, and adds what a model reads of it.
func (w *writeBench) confirm(n int, answer string, outcome int, echo []byte, expand string, rule reduce.Rule) {
	if w.err != nil {
		return
	}
	rule.MaxBytes = 20_000
	r, err := reduce.Compile(rule)
	if err != nil {
		w.err = err
		return
	}
	result := fixture.Result(echo, fixture.Options{NoData: true})
	o := r.Reduce(result, reduce.Env{Expand: expand, Write: true, Args: fixture.DeviceRequest(n)})
	if o.Err != nil || o.Envelope != (outcome != 3) {
		w.err = fmt.Errorf("%d devices, %s: confirmed %v: %w", n, answer, o.Envelope, o.Err)
		return
	}
	doc, err := jsontape.Parse(o.Result)
	if err != nil {
		w.err = err
		return
	}
	w.add(n, answer, outcome, []byte(doc.Root().Get("content").Index(0).Get("text").Str()))
}
