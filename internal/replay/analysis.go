package replay

import (
	"bytes"
	"cmp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/spillway-mcp/spillway/internal/jsontape"
	"github.com/spillway-mcp/spillway/internal/record"
	"github.com/spillway-mcp/spillway/internal/rules"
	"github.com/spillway-mcp/spillway/reduce"
)

// never is the time of what comes behind every call: the answer.
const never = int64(1)<<62 - 1

// analysis is one session at work.
type analysis struct {
	s       *record.Session
	opt     *Options
	slots   chan struct{}
	atoms   atoms
	results []*result // in the order of the recording
	uses    []use     // in the order in which they were made
	known   []int64   // by atom: when the model first had it without any result
	checks  []Check
	expects []expected
}

// result is one answer that the model was shown, and what the rules make of it.
type result struct {
	e      *record.Event
	call   int // which call of the session, from 1
	args   jsontape.Value
	before sizes
	had    hits
	sides  [2]side // under Rules and Against
	differ bool
	failed bool // an error: passes whole, and is no result
}

// side is a result under one rule set.
type side struct {
	rule    *rules.Tool
	variant int // -1: none applies
	out     reduce.Outcome
	after   sizes
	shows   hits
}

// use is a call whose arguments may need evidence; the answer is the last.
type use struct {
	at         int64
	call       int
	tool       string
	by         string
	candidates []candidate
}

// outcome is what an analysis came to.
type outcome struct {
	s       *record.Session
	results []*result
	needs   []need
	checks  []Check
}

func newAnalysis(s *record.Session, opt *Options, slots chan struct{}) *analysis {
	return &analysis{s: s, opt: opt, slots: slots}
}

func (a *analysis) sets() []*rules.Set {
	if a.opt.Against == nil {
		return []*rules.Set{a.opt.Rules}
	}
	return []*rules.Set{a.opt.Rules, a.opt.Against}
}

func (a *analysis) run() *outcome {
	a.prepare()
	var scanners sync.Pool
	each(cap(a.slots), len(a.results), func(i int) {
		a.slots <- struct{}{}
		defer func() { <-a.slots }()
		s, _ := scanners.Get().(*scanner)
		if s == nil {
			s = &scanner{atoms: &a.atoms, counter: a.opt.Counter}
		}
		a.results[i].work(s, a.sets())
		scanners.Put(s)
	})
	o := &outcome{s: a.s, results: a.results, checks: a.checks}
	o.needs = a.needs()
	a.missing(o)
	o.checks = append(o.checks, a.expectChecks(o)...)
	for _, r := range a.results { // what takes memory is not needed any more
		for i := range r.sides {
			r.sides[i].out.Result, r.sides[i].shows = nil, nil
		}
		r.had = nil
	}
	return o
}

// prepare collects what the session used, so that results can be looked through
// for it.
func (a *analysis) prepare() {
	a.gather()
	a.answer()
	a.expect()
	a.prior()
}

// gather takes the calls and their results out of the recording.
func (a *analysis) gather() {
	call := 0
	for i := range a.s.Events {
		e := &a.s.Events[i]
		switch e.Kind {
		case record.KindCall, record.KindOperation:
		default:
			continue
		}
		if e.State != "" {
			continue // read by whoever made the recording
		}
		call++
		var args jsontape.Value
		if doc, err := jsontape.Parse(e.Args); err == nil {
			args = doc.Root()
			a.uses = append(a.uses, use{at: e.At, call: call, tool: e.Tool, by: "argument", candidates: a.atoms.arguments(args)})
		}
		if e.Result == nil {
			continue
		}
		failed := e.Outcome == record.Error || e.Kind == record.KindOperation
		a.results = append(a.results, &result{e: e, call: call, args: args, failed: failed})
	}
	slices.SortStableFunc(a.uses, func(x, y use) int { return cmp.Compare(x.at, y.at) })
}

// answer makes the last use of what the session came to.
func (a *analysis) answer() {
	u := use{at: never, by: "answer"}
	d := &a.s.Declared
	for i, text := range d.FinalAnswer {
		name := ""
		if d.Listed {
			name = strconv.Itoa(i + 1)
			c := a.atoms.string(text, "")
			if c.whole >= 0 {
				a.atoms.list[c.whole].plain = false // a person has said that it matters
			}
			c.argument = name
			u.candidates = append(u.candidates, c)
			continue
		}
		if doc, err := jsontape.Parse([]byte(text)); err == nil && doc.Root().IsContainer() {
			u.candidates = append(u.candidates, a.atoms.arguments(doc.Root())...)
			continue
		}
		u.candidates = append(u.candidates, a.atoms.prose(text)...)
	}
	if len(u.candidates) > 0 {
		a.uses = append(a.uses, u)
	}
}

// prior notes what the model had without any result: the words of its task, what
// the definitions of tools name, and the arguments that it had used before.
func (a *analysis) prior() {
	a.known = make([]int64, len(a.atoms.list))
	for i := range a.known {
		a.known[i] = never
	}
	scan := func(text []byte, at int64) {
		a.atoms.set.Scan(text, func(id, _ int) { a.known[id] = min(a.known[id], at) })
	}
	scan([]byte(a.s.Declared.Task), -1)
	for i := range a.s.Events {
		if e := &a.s.Events[i]; e.Kind == record.KindList {
			a.named(e.Result)
		}
	}
	for _, u := range a.uses {
		for _, c := range u.candidates {
			scan([]byte(c.text), u.at)
			if c.whole >= 0 {
				a.known[c.whole] = min(a.known[c.whole], u.at)
			}
		}
	}
}

// named notes the values that the input schemas of listed tools allow.
func (a *analysis) named(tools []byte) {
	doc, err := jsontape.Parse(tools)
	if err != nil {
		return
	}
	var walk func(v jsontape.Value)
	walk = func(v jsontape.Value) {
		switch v.Kind() {
		case jsontape.String:
			if id, ok := a.atoms.set.ID(v.StrBytes(nil)); ok {
				a.known[id] = -1
			}
		case jsontape.Object, jsontape.Array:
			for it := v.Iter(); it.Next(); {
				walk(it.Value())
			}
		}
	}
	for it := doc.Root().Iter(); it.Next(); {
		walk(it.Value().Get("inputSchema"))
		if id, ok := a.atoms.set.ID([]byte(it.Value().Get("name").Str())); ok {
			a.known[id] = -1
		}
	}
}

// work runs one result through the rule sets.
func (r *result) work(s *scanner, sets []*rules.Set) {
	r.had, r.before = s.original(r.e.Result)
	names := s.names
	for i, set := range sets {
		d := &r.sides[i]
		d.variant, d.after, d.shows = -1, r.before, r.had
		d.out = reduce.Outcome{Result: r.e.Result}
		if r.failed {
			continue
		}
		d.rule = set.For(r.e.Server, r.e.Tool)
		v := d.rule.Pick(r.args)
		if v == nil {
			continue
		}
		for j := range d.rule.Variants {
			if v == &d.rule.Variants[j] {
				d.variant = j
			}
		}
		d.out = v.Reducer.Reduce(r.e.Result, envOf(r.e, v))
		if d.out.Changed {
			d.shows, d.after = s.shown(d.out.Result, names)
		}
	}
	if len(sets) == 2 {
		r.differ = !bytes.Equal(r.sides[0].out.Result, r.sides[1].out.Result)
	}
}

// envOf is what a result was made for: of the recorded client, under the rule
// that it goes through now.
func envOf(e *record.Event, v *rules.Variant) reduce.Env {
	env := reduce.Env{
		Schema: e.Env.Schema, UI: e.Env.UI, ResourceLink: e.Env.Link,
		Write: e.Env.Write, Args: e.Args, Verify: e.Env.Verify,
	}
	if e.Env.Expand {
		env.Expand = rules.ExpandName
		env.TokenParam = v.Reducer.Rule().TokenParam
	}
	return env
}

// fileName is a session's name in reports: without folders, which differ from
// machine to machine.
func fileName(path string) string {
	if i := strings.LastIndexAny(path, `/\`); i >= 0 {
		return path[i+1:]
	}
	return path
}
