package replay

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/spillway-mcp/spillway/internal/fixture"
	"github.com/spillway-mcp/spillway/internal/jsontape"
	"github.com/spillway-mcp/spillway/internal/record"
	"github.com/spillway-mcp/spillway/internal/rules"
	"github.com/spillway-mcp/spillway/internal/tokens"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// made is a session made by a test: each call runs after the one before.
type made struct {
	record.Session
	at int64
}

func newSession(name string) *made {
	s := &made{}
	s.Path = name
	s.Header = record.Header{Version: 1, Server: "s"}
	return s
}

func (s *made) call(tool, args string, result []byte) *made {
	s.at += 10
	s.Events = append(s.Events, record.Event{
		Kind: record.KindCall, At: s.at, Done: s.at + 5, Server: "s", Tool: tool, Args: json.RawMessage(args),
		Env: record.Env{Expand: true}, Outcome: record.Passed, Result: result,
	})
	return s
}

func text(s string) []byte { return fixture.TextResult(s) }

func parse(t testing.TB, src string) *rules.Set {
	t.Helper()
	set, err := rules.Parse("rules.yaml", []byte(src))
	if err != nil {
		t.Fatal(err)
	}
	return set
}

func replayed(t *testing.T, src string, sessions ...*made) *Report {
	t.Helper()
	var all []*record.Session
	for _, s := range sessions {
		all = append(all, &s.Session)
	}
	r, err := Sessions(t.Context(), all, Options{Rules: parse(t, src), Values: true})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

const padding = "0123456789 0123456789 0123456789 0123456789 0123456789 0123456789 0123456789 0123456789 0123456789 0123456789 0123456789"

// rowsOf is a list whose rows have much that nobody needs.
func rowsOf(rows ...string) []byte {
	for i := range rows {
		rows[i] = "{" + rows[i] + `,"pad":"` + strings.Repeat(padding, 3) + `"}`
	}
	return text(`{"items":[` + strings.Join(rows, ",") + `]}`)
}

// What counts as evidence, and what does not: each session lists something and
// uses it. The rule keeps only the name, so what is needed is missed.
func TestWhatCountsAsEvidence(t *testing.T) {
	const keepName = "s: {list: {keep: 'items[*].{name: name}'}}"
	for name, x := range map[string]struct {
		row, args string
		missed    []string // values that are missed
		shown     int
	}{
		"an id":                        {`"name":"x","sha":"a1b2c3d4"`, `{"sha":"a1b2c3d4"}`, []string{"a1b2c3d4"}, 0},
		"a name that is shown":         {`"name":"quarterly"`, `{"q":"quarterly"}`, nil, 1},
		"digits of a long number":      {`"name":"x","n":9007199254740993`, `{"n":9007199254740993}`, []string{"9007199254740993"}, 0},
		"a number as text":             {`"name":"x","n":12345678`, `{"n":"12345678"}`, []string{"12345678"}, 0},
		"1.50 is 1.5":                  {`"name":"x","n":1999.50`, `{"n":1999.5}`, []string{"1999.5"}, 0},
		"another number":               {`"name":"x","n":12345678`, `{"n":1234567}`, nil, 0},
		"a short number by its name":   {`"name":"x","number":42`, `{"issue_number":42}`, []string{"42"}, 0},
		"a short number, another name": {`"name":"x","stars":42`, `{"issue_number":42}`, nil, 0},
		"a page is no evidence":        {`"name":"x","page":2`, `{"page":2}`, nil, 0},
		"a path":                       {`"name":"x","path":"src/main.go"`, `{"path":"src/main.go"}`, []string{"src/main.go"}, 0},
		"a path below a folder":        {`"name":"x","path":"src/main.go"`, `{"path":"/home/me/src/main.go"}`, []string{"main.go"}, 0},
		"a table in a query":           {`"name":"x","table":"orders"`, `{"sql":"SELECT total FROM orders WHERE 1=1"}`, []string{"orders"}, 0},
		"words of a query":             {`"name":"x","body":"where and from come orders"`, `{"sql":"SELECT total FROM orders"}`, nil, 0},
		"an id in a query":             {`"name":"x","order":"ord_8812"`, `{"sql":"select * from o where id='ord_8812'"}`, []string{"ord_8812"}, 0},
		"within a longer text":         {`"name":"x","body":"see PROJ-4711 for more"`, `{"key":"PROJ-4711"}`, []string{"PROJ-4711"}, 0},
		"half of an identifier":        {`"name":"x","body":"see PROJ-47112"`, `{"key":"PROJ-4711"}`, nil, 0},
		"a plain word within a text":   {`"name":"x","body":"the report is open"`, `{"state":"report"}`, nil, 0},
		"a list of ids":                {`"name":"x","id":"id-11111"`, `{"ids":["id-11111","id-22222"]}`, []string{"id-11111"}, 0},
		"nested arguments":             {`"name":"x","id":"id-11111"`, `{"filter":{"id":"id-11111"}}`, []string{"id-11111"}, 0},
		"true is no evidence":          {`"name":"x","ok":true`, `{"ok":true}`, nil, 0},
		"a cursor":                     {`"name":"x","after":"Y3Vyc29yOnYyOpK5"`, `{"after":"Y3Vyc29yOnYyOpK5"}`, []string{"Y3Vyc29yOnYyOpK5"}, 0},
		"a value with escapes":         {`"name":"x","path":"caf\u00e9/men\u00fc.txt"`, `{"path":"café/menü.txt"}`, []string{"café/menü.txt"}, 0},
		"the name of a member":         {`"name":"x","by_user":{"jane.doe":3}`, `{"user":"jane.doe"}`, []string{"jane.doe"}, 0},
		"from nowhere":                 {`"name":"x"`, `{"q":"something else"}`, nil, 0},
	} {
		s := newSession("x").call("list", `{}`, rowsOf(x.row, `"name":"other"`, `"name":"third"`)).call("get", x.args, text("done"))
		side := replayed(t, keepName, s).Rules
		var missed []string
		for _, m := range side.Missed {
			missed = append(missed, m.Value)
		}
		if !slices.Equal(missed, x.missed) || side.Evidence.Shown != x.shown {
			t.Errorf("%s: missed %q and %d shown, want %q and %d", name, missed, side.Evidence.Shown, x.missed, x.shown)
		}
	}
}

// A rule that gives a field another name shows it all the same.
func TestRenamedFieldIsShown(t *testing.T) {
	s := newSession("x").call("list", `{}`, rowsOf(`"number":42,"stars":7`, `"number":43,"stars":42`)).call("get", `{"issue_number":42}`, text("done"))
	for rule, shown := range map[string]int{"items[*].{n: number}": 1, "items[*].{stars: stars}": 0, "items[*].{number: number}": 1} {
		if e := replayed(t, "s: {list: {keep: '"+rule+"'}}", s).Rules.Evidence; e.Needed != 1 || e.Shown != shown {
			t.Errorf("%s: %+v", rule, e)
		}
	}
}

// A value that the model had before any result needs none: from its task, from
// the schemas of the tools, from its own arguments.
func TestWhatTheModelKnewIsNoEvidence(t *testing.T) {
	list := rowsOf(`"name":"x","sha":"a1b2c3d4"`, `"name":"y"`, `"name":"z"`)
	const keep = "s: {list: {keep: 'items[*].{name: name}'}}"
	asked := newSession("asked").call("list", `{}`, list).call("get", `{"sha":"a1b2c3d4"}`, text("done"))
	asked.Declared.Task = "What is in a1b2c3d4?"
	used := newSession("used").call("get", `{"sha":"a1b2c3d4"}`, text("none")).call("list", `{}`, list).call("get", `{"sha":"a1b2c3d4"}`, text("done"))
	listed := newSession("listed")
	listed.Events = append(listed.Events, record.Event{Kind: record.KindList, Result: json.RawMessage(`[{"name":"get","inputSchema":{"properties":{"sha":{"enum":["a1b2c3d4"]}}}}]`)})
	listed.call("list", `{}`, list).call("get", `{"sha":"a1b2c3d4"}`, text("done"))
	before := newSession("before").call("list", `{}`, list).call("get", `{"sha":"a1b2c3d4"}`, text("done"))
	before.Events[1].At = before.Events[0].At // asked before the list had come
	for _, s := range []*made{asked, used, listed, before} {
		if e := replayed(t, keep, s).Rules.Evidence; e.Needed != 0 {
			t.Errorf("%s: %+v", s.Path, e)
		}
	}
	// Each value counts once.
	twice := newSession("twice").call("list", `{}`, list).call("get", `{"sha":"a1b2c3d4"}`, text("done")).call("get", `{"sha":"a1b2c3d4"}`, text("done"))
	if e := replayed(t, keep, twice).Rules.Evidence; e.Needed != 1 {
		t.Errorf("used twice: %+v", e)
	}
}

// What one expand would have had to ask for.
func TestOneExpand(t *testing.T) {
	many := func(n int, row func(i int) string) []byte {
		var rows []string
		for i := range n {
			rows = append(rows, row(i))
		}
		return text(`{"items":[` + strings.Join(rows, ",") + `]}`)
	}
	wide := func(size int) func(i int) string {
		return func(i int) string {
			return fmt.Sprintf(`{"name":"n%d","sha":"sha-%d","pad":"%s"}`, i, i*7+100, strings.Repeat("y", size))
		}
	}
	for name, x := range map[string]struct {
		result []byte
		rule   string
		want   string
		sha    string
		noTool bool
	}{
		"it fits whole":    {many(20, wide(100)), "{keep: 'items[*].{name: name}'}", "whole", "sha-107", false},
		"by its field":     {many(300, wide(300)), "{keep: 'items[*].{name: name}', max_rows: 5}", "fields", "sha-1850", false},
		"by its row":       {many(3, wide(30_000)), "{keep: 'items[*].{name: name, sha: sha}', max_rows: 1}", "fields", "sha-114", false},
		"without the tool": {many(20, wide(100)), "{keep: 'items[*].{name: name}'}", "", "sha-107", true},
		"by its line":      {text(strings.Repeat("a line of a log that says nothing at all\n", 2000) + "sha-107 stands here\n" + strings.Repeat("more of it, and more\n", 2000)), "{max_bytes: 2k}", "lines", "sha-107", false},
	} {
		s := newSession("x").call("list", `{}`, x.result).call("get", `{"sha":"`+x.sha+`"}`, text("done"))
		for i := range s.Events {
			s.Events[i].Env.Expand = !x.noTool
		}
		side := replayed(t, "s: {list: "+x.rule+"}", s).Rules
		if len(side.Missed) != 1 {
			t.Errorf("%s: %+v", name, side.Evidence)
			continue
		}
		if got := side.Missed[0].Expand; got != x.want {
			t.Errorf("%s: %q, want %q", name, got, x.want)
		}
	}
}

// A host shows one view: what is only left in the other is not shown.
func TestBothViewsHaveToShowIt(t *testing.T) {
	both := []byte(`{"content":[{"type":"text","text":"sha a1b2c3d4"}],"structuredContent":{"sha":"a1b2c3d4","pad":"` + strings.Repeat(padding, 9) + `"}}`)
	s := newSession("x").call("list", `{}`, both).call("get", `{"sha":"a1b2c3d4"}`, text("done"))
	side := replayed(t, "s: {list: {keep: '{pad: `1`}'}}", s).Rules
	if side.Evidence.Needed != 1 || side.Evidence.Shown != 0 {
		t.Errorf("%+v", side.Evidence)
	}
}

func TestDeclaredChecks(t *testing.T) {
	s := newSession("x").call("list", `{}`, rowsOf(`"name":"ann","sha":"a1b2c3d4"`, `"name":"bob"`, `"name":"eve"`)).
		call("graph", `{}`, text(`{"entities":[{"name":"x"}]}`))
	s.Events[1].State = "graph"
	var err error
	s.Declared, err = record.ParseDeclared("x", []byte(`final_answer: "It was ann, in a1b2c3d4."
expect:
  - {name: who, tool: list, query: "items[*].name"}
  - {name: which, tool: s/list, query: "items[0].sha"}
  - {name: three, tool: list, query: "length(items) == `+"`3`"+`"}
  - {name: wrong, tool: list, query: "items[?name == 'zoe']"}
  - {name: absent, tool: nothing, query: "a"}
  - {name: said, answer: "contains(@, 'ann')"}
  - {name: unsaid, answer: "contains(@, 'zoe')"}
expect_state:
  - {name: graph, query: "entities[0].name", equals: x}
  - {name: graph, query: "entities[1]"}
  - {name: other, query: "a"}
`))
	if err != nil {
		t.Fatal(err)
	}
	side := replayed(t, "s: {list: {keep: 'items[*].{name: name}'}}", s).Rules
	ok := 0
	for _, c := range side.Checks {
		if c.OK != (c.Why == "") {
			t.Errorf("%+v", c)
		}
		if c.OK {
			ok++
		}
		if want := slices.Contains([]string{"who", "three", "said"}, c.Name); c.Kind == "expect" && c.OK != want {
			t.Errorf("%+v, want %v", c, want)
		}
	}
	if len(side.Checks) != 10 || ok != 4 {
		t.Errorf("%d checks, %d hold: %+v", len(side.Checks), ok, side.Checks)
	}
	// The reads of the state were not shown to the model.
	if side.All.Results != 1 {
		t.Errorf("%d results", side.All.Results)
	}
}

// What a person lists is evidence wherever it stands; a word of a call is not.
func TestListedAnswerIsFoundWithinTexts(t *testing.T) {
	list := func() []byte { return rowsOf(`"name":"x","about":"lives in Oslo now"`, `"name":"y"`, `"name":"z"`) }
	s := newSession("x").call("list", `{}`, list())
	s.Declared.FinalAnswer, s.Declared.Listed = []string{"Oslo"}, true
	called := newSession("y").call("list", `{}`, list()).call("get", `{"city":"Oslo"}`, text("done"))
	for s, needed := range map[*made]int{s: 1, called: 0} {
		if e := replayed(t, "s: {list: {keep: 'items[*].{name: name}'}}", s).Rules.Evidence; e.Needed != needed || e.Shown != 0 {
			t.Errorf("%s: %+v", s.Path, e)
		}
	}
}

// The page that people read, and the report that programs read.
func TestReport(t *testing.T) {
	search := fixture.Result(fixture.CodeSearch(30), fixture.Options{})
	a := newSession("sessions/a.jsonl.zst").call("search", `{"q":"x"}`, search).
		call("list", `{"owner":"o"}`, rowsOf(`"name":"one","number":17,"sha":"a1b2c3d4e5"`, `"name":"two","number":18,"sha":"ffeeddccbb"`)).
		call("get", `{"number":17,"sha":"a1b2c3d4e5"}`, text("by jane@example.com"))
	b := newSession("sessions/b.jsonl.zst").call("list", `{"owner":"p"}`, rowsOf(`"name":"three","number":1001`, `"name":"four","number":1002`, `"name":"five","number":1003`)).
		call("fail", `{}`, []byte(`{"content":[{"type":"text","text":"no"}],"isError":true}`))
	b.Events[1].Outcome = record.Error
	b.Declared.FinalAnswer = []string{"`three` is 1,001; by `four`"}
	sessions := []*record.Session{&a.Session, &b.Session}
	counter, err := tokens.ByName("cl100k_base")
	if err != nil {
		t.Fatal(err)
	}
	opt := Options{
		Rules: parse(t, `default: {max_bytes: 20k}
s:
  list: [{when: "owner == 'p'", keep: "items[*].{name: name}"}, {keep: "items[*].{name: name, number: number}"}]
  search: {keep: "items[*].{path: path}", max_rows: 5}
  nothing: {max_rows: 1}
`),
		Against: parse(t, `s: {list: {keep: "items[*].{name: name, number: number, sha: sha}"}}`),
		Counter: counter,
	}
	var reports []string
	for _, workers := range []int{1, 2, 7} {
		opt.Workers = workers
		r, err := Sessions(t.Context(), sessions, opt)
		if err != nil {
			t.Fatal(err)
		}
		var page strings.Builder
		if err := r.WriteText(&page); err != nil {
			t.Fatal(err)
		}
		data, err := json.MarshalIndent(r, "", "  ")
		if err != nil {
			t.Fatal(err)
		}
		reports = append(reports, page.String()+"\n"+string(data)+"\n")
	}
	if reports[0] != reports[1] || reports[0] != reports[2] {
		t.Error("the report depends on the number of workers")
	}
	path := filepath.Join("testdata", "report.txt")
	if *update {
		if err := os.WriteFile(path, []byte(reports[0]), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	if want, err := os.ReadFile(path); err != nil || string(want) != reports[0] {
		t.Errorf("%s differs; look at it and write it with -update:\n%s", path, reports[0])
	}
}

// The same rules, run live and replayed, make the same bytes of a result.
func TestReplayMakesWhatWasShown(t *testing.T) {
	set := parse(t, "s: {list: {keep: 'items[*].{name: name}', max_rows: 2}}")
	s := newSession("x").call("list", `{}`, rowsOf(`"name":"a"`, `"name":"b"`, `"name":"c"`))
	v := set.For("s", "list").Pick(jsontape.Value{})
	out := v.Reducer.Reduce(s.Events[0].Result, envOf(&s.Events[0], v))
	s.Events[0].Shown, s.Events[0].Outcome = out.Result, record.Reduced
	a := newAnalysis(&s.Session, &Options{Rules: set, Counter: free{}, ExpandBudget: 1}, make(chan struct{}, 1))
	a.prepare()
	work := scanner{atoms: &a.atoms, counter: free{}}
	a.results[0].work(&work, a.sets())
	if string(a.results[0].sides[0].out.Result) != string(s.Events[0].Shown) {
		t.Errorf("%s, want %s", a.results[0].sides[0].out.Result, s.Events[0].Shown)
	}
}
