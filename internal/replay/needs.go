package replay

import (
	"strconv"
	"strings"

	"github.com/spillway-mcp/spillway/reduce"
)

// need is one value that the session used and an earlier result held.
type need struct {
	atom    int
	text    string
	by      NeededBy
	sources []int // the results that held it, in the order in which they ended
	sides   [2]met
}

// met is what became of a need under one rule set.
type met struct {
	shown  bool
	rule   int    // the result whose rule it is booked to
	expand string // of one that is not shown: how one expand brings it back
	where  *hit
}

// needs decides which candidates are evidence: those that the model first had
// from a result. Each counts once, when it is first used.
func (a *analysis) needs() (all []need) {
	judged := map[int]bool{}
	judge := func(id int, u use, c candidate) bool {
		if id < 0 {
			return false
		}
		if judged[id] || a.known[id] < u.at {
			return true // it needs no result, and neither do its parts
		}
		sources := a.sources(id, u.at)
		if len(sources) == 0 {
			return false
		}
		judged[id] = true
		all = append(all, need{
			atom: id, text: a.atoms.set.Text(id), sources: sources,
			by: NeededBy{By: u.by, ByCall: u.call, ByTool: u.tool, Argument: c.argument},
		})
		return true
	}
	for _, u := range a.uses {
		for _, c := range u.candidates {
			if judge(c.whole, u, c) {
				continue
			}
			for _, run := range c.parts {
				for i, id := range run {
					if judge(id, u, c) && i == 0 {
						break // the whole run; its segments say no more
					}
				}
			}
		}
	}
	for _, x := range a.expects {
		for _, id := range x.atoms {
			if sources := a.among(id, x.results); len(sources) > 0 {
				all = append(all, need{
					atom: id, text: a.atoms.set.Text(id), sources: sources,
					by: NeededBy{By: "expect", Argument: x.name},
				})
			}
		}
	}
	return all
}

// sources are the results that held an atom and were there by then: what was
// answered before, which calls that were made together were not.
func (a *analysis) sources(id int, at int64) (all []int) {
	for i, r := range a.results {
		if r.e.Done <= at && r.had[id] != nil {
			all = append(all, i)
		}
	}
	return all
}

func (a *analysis) among(id int, results []int) (all []int) {
	for _, i := range results {
		if a.results[i].had[id] != nil {
			all = append(all, i)
		}
	}
	return all
}

// missing looks for each need in what the rules show, and where it is not, for
// the one expand that brings it back.
func (a *analysis) missing(o *outcome) {
	for n := range o.needs {
		need := &o.needs[n]
		for i := range a.sets() {
			m := &need.sides[i]
			for k := len(need.sources) - 1; k >= 0 && !m.shown; k-- {
				r := a.results[need.sources[k]]
				had, shows := r.had[need.atom], r.sides[i].shows[need.atom]
				// A host shows one view: it has to be in each that it was in.
				m.shown = shows != nil && shows.views&had.views == had.views
				m.rule = need.sources[k]
			}
			if m.shown {
				continue
			}
			last := need.sources[len(need.sources)-1]
			m.rule, m.where = last, a.results[last].had[need.atom]
			for k := len(need.sources) - 1; k >= 0 && m.expand == ""; k-- {
				m.expand = a.expandable(a.results[need.sources[k]], i, need.atom)
			}
		}
	}
}

// expandable says what one expand would have had to ask for to bring an atom
// back; "" if none does.
func (a *analysis) expandable(r *result, i, id int) string {
	d := &r.sides[i]
	if d.out.Ref == "" {
		return ""
	}
	reducer := d.rule.Variants[d.variant].Reducer
	where := r.had[id]
	ask := func(q reduce.ExpandRequest) bool {
		q.Ref = d.out.Ref
		answer, err := reducer.Expand(r.e.Result, q, a.opt.ExpandBudget)
		if err != nil {
			return false
		}
		s := scanner{atoms: &a.atoms, counter: free{}}
		found, _ := s.scan(answer)
		return found[id] != nil
	}
	if ask(reduce.ExpandRequest{}) {
		return "whole"
	}
	if _, below, ok := strings.Cut(where.field, "[*]."); ok && !strings.Contains(below, "[*]") && ask(reduce.ExpandRequest{Fields: []string{below}}) {
		return "fields"
	}
	if where.row > 0 && ask(reduce.ExpandRequest{Rows: strconv.Itoa(where.row)}) {
		return "rows"
	}
	if where.line > 0 && ask(reduce.ExpandRequest{Lines: strconv.Itoa(where.line)}) {
		return "lines"
	}
	return ""
}

// free counts nothing.
type free struct{}

func (free) Name() string     { return "" }
func (free) Count([]byte) int { return 0 }
