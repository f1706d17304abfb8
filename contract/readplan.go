package contract

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spillway-mcp/spillway/internal/jmespath"
	"github.com/spillway-mcp/spillway/internal/jsontape"
)

// readPlan is a ReadSpec with its expressions compiled. Those over a record
// that use $params are compiled again for each call, with the parameters in
// their place.
type readPlan struct {
	items, next, end *jmespath.Expr
	where, dedupe    *expression
	aggs             []*aggPlan
	needs            []need
	spec             *ReadSpec
}

// expression runs over one record.
type expression struct {
	src  string
	expr *jmespath.Expr
}

// need is a field that every record must have (C-09).
type need struct {
	path  []string
	kinds jmespath.Kinds
}

func (e *expression) eval(rec jsontape.Value) (jmespath.Result, error) {
	got, err := e.expr.Search(rec)
	if err != nil {
		return got, &invalidRecord{"", fmt.Sprintf("%s: %v", e.src, err)}
	}
	return got, nil
}

// truth evaluates a filter, which must be a boolean: a null is a field that
// is not there, not a no (C-09).
func (e *expression) truth(rec jsontape.Value) (bool, error) {
	got, err := e.eval(rec)
	if err != nil {
		return false, err
	}
	switch got.Kind() {
	case jsontape.True:
		return true, nil
	case jsontape.False:
		return false, nil
	}
	return false, &invalidRecord{"", fmt.Sprintf("%s is %s; true or false is wanted", e.src, got.Kind())}
}

// checkNeeds finds a field of rec that is missing or of another type.
func checkNeeds(needs []need, rec jsontape.Value) error {
	for i := range needs {
		n := &needs[i]
		v := rec.Lookup(n.path...)
		switch {
		case !v.Exists() && n.kinds&absent == 0:
			return &invalidRecord{strings.Join(n.path, "."), "is missing"}
		case !n.kinds.Has(v.Kind()):
			return &invalidRecord{strings.Join(n.path, "."), "is " + v.Kind().String() + ", which the operation does not expect"}
		}
	}
	return nil
}

// absent in a need's kinds lets the field be missing.
var absent = jmespath.KindsOf(jsontape.Invalid)

func usesParams(src string) bool { return strings.Contains(src, "$params") }

// compilePlan compiles with the parameters bound; nil params are for the check
// at the definition.
func (d *Definition) compilePlan(params []byte) (*readPlan, error) {
	if params == nil {
		params = []byte("{}")
	}
	// In JSON a backtick stands in strings alone, and never behind a backslash
	// of its own.
	prefix := "let $params = `" + strings.ReplaceAll(string(params), "`", `\u0060`) + "` in ("
	s := d.spec.Read
	p := &readPlan{spec: s}
	var fail error
	compile := func(field, src string) *jmespath.Expr {
		if src == "" || fail != nil {
			return nil
		}
		full, shift := src, 0
		if usesParams(src) {
			full, shift = prefix+src+")", len(prefix)
		}
		e, err := jmespath.Compile(full)
		if err == nil {
			return e
		}
		de := &DefinitionError{Operation: d.spec.Name, Field: field, Msg: err.Error()}
		if se, ok := errors.AsType[*jmespath.SyntaxError](err); ok {
			de.Offset, de.Msg = max(0, min(len(src), se.Offset-shift)), se.Msg
		}
		fail = de
		return nil
	}
	over := func(field, src string, kinds jmespath.Kinds, needs *[]need) *expression {
		e := compile(field, src)
		if e == nil {
			return nil
		}
		for _, r := range e.Reads(kinds) {
			if _, declared := s.Fields[strings.Join(r.Path, ".")]; !declared {
				addNeed(needs, r.Path, r.Kinds)
			}
		}
		return &expression{src, e}
	}
	p.items = compile("Read.Items", s.Items)
	p.next = compile("Read.Next", s.Next)
	p.end = compile("Read.End", s.End)
	p.where = over("Read.Where", s.Where, jmespath.KindsBool, &p.needs)
	p.dedupe = over("Read.Dedupe", s.Dedupe, orderedKinds, &p.needs)
	var build func(field string, list []Aggregate) []*aggPlan
	build = func(field string, list []Aggregate) []*aggPlan {
		var all []*aggPlan
		for i, a := range list {
			at := fmt.Sprintf("%s[%d]", field, i)
			q := &aggPlan{name: a.Name, op: a.Op}
			q.where = over(at+".Where", a.Where, jmespath.KindsBool, &q.before)
			var kinds jmespath.Kinds
			switch a.Op {
			case Sum:
				kinds = sumKinds
			case Min, Max:
				kinds = orderedKinds
			}
			q.of = over(at+".Of", a.Of, kinds, &q.after)
			q.by = over(at+".By", a.By, keyKinds, &q.after)
			if a.Op == GroupBy {
				q.nested = build(at+".Aggregates", a.Aggregates)
			}
			all = append(all, q)
		}
		return all
	}
	p.aggs = build("Read.Aggregates", s.Aggregates)
	for field, types := range s.Fields {
		kinds, err := kindsNamed(types)
		if err != nil && fail == nil {
			fail = &DefinitionError{Operation: d.spec.Name, Field: "Read.Fields", Msg: fmt.Sprintf("%s: %v", field, err)}
		}
		p.needs = append(p.needs, need{strings.Split(field, "."), kinds})
	}
	slices.SortFunc(p.needs, func(a, b need) int { return slices.Compare(a.path, b.path) })
	return p, fail
}

func addNeed(needs *[]need, path []string, kinds jmespath.Kinds) {
	for i := range *needs {
		n := &(*needs)[i]
		if !slices.Equal(n.path, path) {
			continue
		}
		if n.kinds == 0 {
			n.kinds = kinds
		} else if both := n.kinds & kinds; both != 0 {
			n.kinds = both
		}
		return
	}
	*needs = append(*needs, need{path, kinds})
}

func kindsNamed(types string) (jmespath.Kinds, error) {
	var all jmespath.Kinds
	for _, t := range strings.Split(types, "|") {
		switch strings.TrimSpace(t) {
		case "string":
			all |= jmespath.KindsString
		case "number":
			all |= jmespath.KindsNumber
		case "boolean":
			all |= jmespath.KindsBool
		case "array":
			all |= jmespath.KindsArray
		case "object":
			all |= jmespath.KindsObject
		case "null":
			all |= jmespath.KindsOf(jsontape.Null)
		case "absent":
			all |= absent
		default:
			return 0, fmt.Errorf("%q is no type: string, number, boolean, array, object, null or absent", t)
		}
	}
	return all, nil
}

func (d *Definition) checkRead() error {
	copied := *d.spec.Read
	d.spec.Read = &copied
	s := d.spec.Read
	setDefault(&s.Items, "page")
	setDefault(&s.Invalid, InvalidStop)
	setDefault(&s.Consistency, Live)
	if s.Fetch == nil {
		return d.fault("Read.Fetch", "missing")
	}
	if s.Invalid != InvalidStop && s.Invalid != InvalidSkip {
		return d.fault("Read.Invalid", "%q; want stop or skip", s.Invalid)
	}
	if s.Consistency != Live && s.Consistency != Snapshot {
		return d.fault("Read.Consistency", "%q; want snapshot or live", s.Consistency)
	}
	if s.Next == "" && s.End == "" {
		return d.fault("Read.End", "missing: numbered pages need an end signal, for a short or empty page is not the end (C-01)")
	}
	if s.Concurrency < 0 || s.Concurrency > MaxConcurrency {
		return d.fault("Read.Concurrency", "%d; want 1 to %d", s.Concurrency, MaxConcurrency)
	}
	if s.Concurrency > 1 && s.Next != "" {
		return d.fault("Read.Concurrency", "%d, but the next cursor stands on the page before: only numbered pages, without next, can be fetched side by side", s.Concurrency)
	}
	if len(s.Aggregates) == 0 {
		return d.fault("Read.Aggregates", "none; want at least one of count, sum, min, max, count_by, group_by, first, project")
	}
	if err := d.checkAggregates("Read.Aggregates", s.Aggregates); err != nil {
		return err
	}
	plan, err := d.compilePlan(nil)
	d.read = plan
	return err
}

func (d *Definition) checkAggregates(field string, list []Aggregate) error {
	names := map[string]bool{}
	for i, a := range list {
		at := fmt.Sprintf("%s[%d]", field, i)
		if a.Name == "" && len(list) > 1 {
			return d.fault(at+".Name", "missing; only a single aggregate needs none")
		}
		if names[a.Name] {
			return d.fault(at+".Name", "%q is there twice", a.Name)
		}
		names[a.Name] = true
		of, by, nested := false, false, false
		switch a.Op {
		case Count:
		case Sum, Min, Max:
			of = true
		case CountBy:
			by = true
		case GroupBy:
			by, nested = true, true
		case First, Project:
			of = a.Of != ""
		default:
			return d.fault(at+".Op", "%q; want count, sum, min, max, count_by, group_by, first or project", a.Op)
		}
		if of != (a.Of != "") {
			return d.fault(at+".Of", "%s", wanted(of))
		}
		if by != (a.By != "") {
			return d.fault(at+".By", "%s", wanted(by))
		}
		if nested != (len(a.Aggregates) > 0) {
			return d.fault(at+".Aggregates", "%s", wanted(nested))
		}
		if err := d.checkAggregates(at+".Aggregates", a.Aggregates); err != nil {
			return err
		}
	}
	return nil
}

func wanted(is bool) string {
	if is {
		return "missing"
	}
	return "not for this op"
}

// usesParams reports whether the plan depends on the parameters.
func (d *Definition) planUsesParams() bool {
	s := d.spec.Read
	var in func([]Aggregate) bool
	in = func(list []Aggregate) bool {
		return slices.ContainsFunc(list, func(a Aggregate) bool {
			return usesParams(a.Of) || usesParams(a.By) || usesParams(a.Where) || in(a.Aggregates)
		})
	}
	return usesParams(s.Where) || usesParams(s.Dedupe) || in(s.Aggregates)
}
