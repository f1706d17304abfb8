package replay

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/spillway-mcp/spillway/internal/jmespath"
	"github.com/spillway-mcp/spillway/internal/jsontape"
	"github.com/spillway-mcp/spillway/internal/record"
)

// expected is a declared check that names evidence.
type expected struct {
	name    string
	atoms   []int
	results []int // those it is about
}

// expect evaluates what is declared over the recording: what does not hold
// there cannot hold under any rules. What names values makes them evidence.
func (a *analysis) expect() {
	for _, x := range a.s.Declared.Expect {
		if x.Answer != "" {
			a.check("expect", x.Name, a.overAnswer(x.Answer))
		} else {
			a.overResults(x)
		}
	}
	for _, x := range a.s.Declared.ExpectState {
		a.check("expect_state", x.Name, a.overState(x))
	}
}

// check notes a check that is decided; why is "" where it holds.
func (a *analysis) check(kind, name, why string) {
	a.checks = append(a.checks, Check{Session: fileName(a.s.Path), Kind: kind, Name: name, OK: why == "", Why: why})
}

func (a *analysis) overResults(x record.Expect) {
	server, tool, split := strings.Cut(x.Tool, "/")
	if !split {
		server, tool = "", x.Tool
	}
	want := expected{name: x.Name}
	nth, holds := 0, false
	for i, r := range a.results {
		if r.e.Tool != tool || split && r.e.Server != server {
			continue
		}
		if nth++; x.Call != 0 && x.Call != nth {
			continue
		}
		value, err := evaluate(x.Query, payload(r.e.Result))
		if err != nil || !value.Exists() {
			continue
		}
		before := len(want.atoms)
		switch value.Kind() {
		case jsontape.True:
			holds = true
		case jsontape.False, jsontape.Null:
		default:
			want.atoms = append(want.atoms, a.values(value)...)
		}
		if len(want.atoms) > before {
			holds = true
			want.results = append(want.results, i)
		}
	}
	switch {
	case nth == 0:
		a.check("expect", x.Name, fmt.Sprintf("the session has no result of %s", x.Tool))
	case !holds:
		a.check("expect", x.Name, "it does not hold for the original results")
	case len(want.atoms) == 0:
		a.check("expect", x.Name, "")
	default:
		a.expects = append(a.expects, want)
	}
}

// values makes atoms of every string and number of a value.
func (a *analysis) values(v jsontape.Value) (ids []int) {
	switch v.Kind() {
	case jsontape.String:
		if text := strings.TrimSpace(v.Str()); digits(text) {
			ids = append(ids, a.atoms.number(text, ""))
		} else if text != "" {
			ids = append(ids, a.atoms.add(text, atom{}))
		}
	case jsontape.Number:
		ids = append(ids, a.atoms.number(string(v.Raw()), ""))
	case jsontape.Object, jsontape.Array:
		for it := v.Iter(); it.Next(); {
			ids = append(ids, a.values(it.Value())...)
		}
	}
	return ids
}

// expectChecks decides the checks that name evidence: under the rules that are
// judged, all of it has to be shown.
func (a *analysis) expectChecks(o *outcome) (all []Check) {
	for _, x := range a.expects {
		missed := 0
		for _, n := range o.needs {
			if n.by.By == "expect" && n.by.Argument == x.name && !n.sides[0].shown {
				missed++
			}
		}
		c := Check{Session: fileName(a.s.Path), Kind: "expect", Name: x.name, OK: missed == 0}
		if missed > 0 {
			c.Why = fmt.Sprintf("the rules do not show %d of its %d values", missed, len(x.atoms))
		}
		all = append(all, c)
	}
	return all
}

func (a *analysis) overAnswer(query string) string {
	if len(a.s.Declared.FinalAnswer) == 0 {
		return "the session declares no final answer"
	}
	text := []byte(strings.Join(a.s.Declared.FinalAnswer, "\n"))
	doc, err := jsontape.Parse(text)
	if err != nil {
		if doc, err = jsontape.Parse(jsontape.AppendQuote(nil, text)); err != nil {
			return "the final answer cannot be read"
		}
	}
	return truth(query, doc.Root())
}

func (a *analysis) overState(x record.ExpectState) string {
	for i := len(a.s.Events) - 1; i >= 0; i-- {
		e := &a.s.Events[i]
		if e.State != x.Name {
			continue
		}
		if e.Result == nil {
			return "the read of the state failed, or was not kept"
		}
		if x.Equals == "" {
			return truth(x.Query, payload(e.Result))
		}
		value, err := evaluate(x.Query, payload(e.Result))
		if err != nil {
			return err.Error()
		}
		want, err := jsontape.Parse([]byte(x.Equals))
		if err != nil {
			return err.Error()
		}
		if !value.Exists() || !jsontape.Equal(value, want.Root()) {
			return "the platform did not end as intended: the value is another"
		}
		return ""
	}
	return "the recording has no read of the state by this name"
}

// truth says why a query does not give something that is true; "" if it does.
func truth(query string, over jsontape.Value) string {
	e, err := jmespath.Compile(query)
	if err != nil {
		return err.Error()
	}
	found, err := e.Search(over)
	switch {
	case err != nil:
		return err.Error()
	case !found.Truthy():
		return "it does not hold"
	}
	return ""
}

// evaluate returns what a query finds; an invalid Value for nothing.
func evaluate(query string, over jsontape.Value) (jsontape.Value, error) {
	e, err := jmespath.Compile(query)
	if err != nil {
		return jsontape.Value{}, err
	}
	out, err := e.AppendJSON(nil, over)
	if err != nil {
		return jsontape.Value{}, err
	}
	doc, err := jsontape.Parse(out)
	if err != nil {
		return jsontape.Value{}, err
	}
	return doc.Root(), nil
}

// payload returns the data of a result, as rules see it (RED-02): what
// structuredContent holds, a sole wrapper looked through; else the first text,
// as its value where it is JSON.
func payload(result []byte) jsontape.Value {
	doc, err := jsontape.Parse(result)
	if err != nil {
		return jsontape.Value{}
	}
	v := doc.Root().Get("structuredContent")
	if !v.Exists() {
		for it := doc.Root().Get("content").Iter(); it.Next(); {
			if text := it.Value().Get("text"); text.Kind() == jsontape.String {
				return ofText(text)
			}
		}
		return v
	}
	if v.Kind() == jsontape.Object && v.Len() == 1 {
		for _, wrapper := range []string{"result", "content", "data"} {
			switch inner := v.Get(wrapper); inner.Kind() {
			case jsontape.Object, jsontape.Array:
				return inner
			case jsontape.String:
				return ofText(inner)
			}
		}
	}
	return v
}

func ofText(text jsontape.Value) jsontape.Value {
	src := bytes.TrimSpace([]byte(text.Str()))
	if len(src) > 0 && (src[0] == '{' || src[0] == '[') {
		if doc, err := jsontape.Parse(src); err == nil {
			return doc.Root()
		}
	}
	return text
}
