package contract

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"

	"github.com/spillway-mcp/spillway/internal/jmespath"
	"github.com/spillway-mcp/spillway/internal/jsontape"
)

// aggPlan is a compiled Aggregate.
type aggPlan struct {
	name          string
	op            AggregateOp
	of, by, where *expression
	nested        []*aggPlan
	// What every record must have for where, and what those that pass it must
	// have for the rest.
	before, after []need
}

// aggState is what an aggregate holds between two records, and what a
// continuation carries: JSON of it is sealed.
type aggState struct {
	N    int64                  `json:"n,omitempty"`
	Sum  string                 `json:"sum,omitempty"` // only in a continuation
	Best json.RawMessage        `json:"best,omitempty"`
	Rows []json.RawMessage      `json:"rows,omitempty"`
	By   map[string]*groupState `json:"by,omitempty"`

	sum decimal
}

// groupState is one group, under the JSON text of its key.
type groupState struct {
	N   int64       `json:"n,omitempty"`
	All []*aggState `json:"all,omitempty"`
}

var (
	sumKinds     = jmespath.KindsNumber
	orderedKinds = jmespath.KindsNumber | jmespath.KindsString
	keyKinds     = jmespath.KindsNumber | jmespath.KindsString | jmespath.KindsBool
)

// invalidRecord says why a record cannot be read (C-09).
type invalidRecord struct {
	field string
	msg   string
}

func (e *invalidRecord) Error() string {
	if e.field == "" {
		return e.msg
	}
	return e.field + " " + e.msg
}

// step is what one record does to one aggregate, checked but not yet applied:
// a record that one aggregate cannot read must leave all of them as they were.
type step struct {
	skip   bool
	number decimal
	text   json.RawMessage
	key    string
	nested []step
}

func (p *aggPlan) read(rec jsontape.Value) (step, error) {
	var s step
	if err := checkNeeds(p.before, rec); err != nil {
		return s, err
	}
	if p.where != nil {
		ok, err := p.where.truth(rec)
		if err != nil || !ok {
			return step{skip: true}, err
		}
	}
	if err := checkNeeds(p.after, rec); err != nil {
		return s, err
	}
	if p.by != nil {
		k, err := p.by.eval(rec)
		if err != nil {
			return s, err
		}
		if !keyKinds.Has(k.Kind()) {
			return s, &invalidRecord{p.by.src, "is " + k.Kind().String() + "; a string, number or boolean is wanted"}
		}
		s.key = string(groupKey(k))
	}
	switch p.op {
	case Sum, Min, Max:
		v, err := p.of.eval(rec)
		if err != nil {
			return s, err
		}
		wanted := orderedKinds
		if p.op == Sum {
			wanted = sumKinds
		}
		if !wanted.Has(v.Kind()) {
			return s, &invalidRecord{p.of.src, "is " + v.Kind().String() + "; a number is wanted"}
		}
		s.text = v.AppendJSON(nil)
		if p.op == Sum {
			if s.number, err = parseDecimal(s.text); err != nil {
				return s, &invalidRecord{p.of.src, err.Error()}
			}
		}
	case First, Project:
		if p.of == nil {
			s.text = rec.AppendCompact(nil)
			break
		}
		v, err := p.of.eval(rec)
		if err != nil {
			return s, err
		}
		s.text = v.AppendJSON(nil)
	case GroupBy:
		s.nested = make([]step, len(p.nested))
		for i, n := range p.nested {
			var err error
			if s.nested[i], err = n.read(rec); err != nil {
				return s, err
			}
		}
	}
	return s, nil
}

// groupKey is the text of a group's member name.
func groupKey(k jmespath.Result) []byte {
	if k.Kind() == jsontape.String {
		return []byte(k.Text())
	}
	return k.AppendJSON(nil)
}

// grows returns by how many bytes apply will let the result grow.
func (p *aggPlan) grows(st *aggState, s step) int {
	if s.skip {
		return 0
	}
	switch p.op {
	case First:
		if st.Best == nil {
			return len(s.text)
		}
	case Project:
		return len(s.text) + 1
	case CountBy, GroupBy:
		g, grows := st.By[s.key], 0
		if g == nil {
			g = &groupState{All: newStates(p.nested)}
			grows = len(s.key) + 24
		}
		for i, n := range p.nested {
			grows += n.grows(g.All[i], s.nested[i])
		}
		return grows
	}
	return 0
}

// apply takes one record in.
func (p *aggPlan) apply(st *aggState, s step) {
	if s.skip {
		return
	}
	switch p.op {
	case Count:
		st.N++
	case Sum:
		st.sum.add(s.number)
		st.N++
	case Min, Max:
		if st.Best == nil || (compareText(s.text, st.Best) < 0) == (p.op == Min) && compareText(s.text, st.Best) != 0 {
			st.Best = s.text
		}
	case First:
		if st.Best == nil {
			st.Best = s.text
		}
	case Project:
		st.Rows = append(st.Rows, s.text)
	case CountBy, GroupBy:
		g := st.By[s.key]
		if g == nil {
			if st.By == nil {
				st.By = map[string]*groupState{}
			}
			g = &groupState{All: newStates(p.nested)}
			st.By[s.key] = g
		}
		g.N++
		for i, n := range p.nested {
			n.apply(g.All[i], s.nested[i])
		}
	}
}

// compareText orders JSON scalars: numbers by value before strings by code
// points.
func compareText(a, b json.RawMessage) int {
	an, bn := a[0] != '"', b[0] != '"'
	switch {
	case an && bn:
		return jsontape.CompareNumbers(a, b)
	case an:
		return -1
	case bn:
		return 1
	}
	var x, y string
	_ = json.Unmarshal(a, &x)
	_ = json.Unmarshal(b, &y)
	switch {
	case x < y:
		return -1
	case x > y:
		return 1
	}
	return 0
}

func newStates(plans []*aggPlan) []*aggState {
	all := make([]*aggState, len(plans))
	for i := range all {
		all[i] = &aggState{}
	}
	return all
}

func appendStates(dst []byte, plans []*aggPlan, states []*aggState) []byte {
	if len(plans) == 1 && plans[0].name == "" {
		return plans[0].append(dst, states[0])
	}
	dst = append(dst, '{')
	for i, p := range plans {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = jsontape.AppendQuote(dst, p.name)
		dst = append(dst, ':')
		dst = p.append(dst, states[i])
	}
	return append(dst, '}')
}

func (p *aggPlan) append(dst []byte, st *aggState) []byte {
	switch p.op {
	case Count:
		return strconv.AppendInt(dst, st.N, 10)
	case Sum:
		return append(dst, st.sum.String()...)
	case Min, Max, First:
		if st.Best == nil {
			return append(dst, "null"...)
		}
		return append(dst, st.Best...)
	case Project:
		dst = append(dst, '[')
		for i, r := range st.Rows {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = append(dst, r...)
		}
		return append(dst, ']')
	}
	keys := make([]string, 0, len(st.By))
	for k := range st.By {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	dst = append(dst, '{')
	for i, k := range keys {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = jsontape.AppendQuote(dst, k)
		dst = append(dst, ':')
		if p.op == CountBy {
			dst = strconv.AppendInt(dst, st.By[k].N, 10)
		} else {
			dst = appendStates(dst, p.nested, st.By[k].All)
		}
	}
	return append(dst, '}')
}

// pack and unpack move the sums in and out of their text for a continuation.
func packStates(states []*aggState) {
	for _, st := range states {
		st.Sum = st.sum.String()
		for _, g := range st.By {
			packStates(g.All)
		}
	}
}

func unpackStates(plans []*aggPlan, states []*aggState) error {
	if len(plans) != len(states) {
		return fmt.Errorf("state of %d aggregates for %d", len(states), len(plans))
	}
	for i, st := range states {
		if st == nil {
			return fmt.Errorf("no state of aggregate %d", i)
		}
		var err error
		if st.Sum != "" {
			if st.sum, err = parseDecimal([]byte(st.Sum)); err != nil {
				return err
			}
		}
		for _, g := range st.By {
			if err := unpackStates(plans[i].nested, g.All); err != nil {
				return err
			}
		}
	}
	return nil
}
