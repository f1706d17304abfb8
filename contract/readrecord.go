package contract

import (
	"errors"

	"github.com/spillway-mcp/spillway/internal/jmespath"
	"github.com/spillway-mcp/spillway/internal/jsontape"
)

// records streams a page's records through the aggregates (C-07).
func (r *reading) records(items jmespath.Result) bool {
	n, total := 0, items.Len()
	one := func(rec jsontape.Value) bool {
		n++
		if n <= r.st.Skip {
			return true
		}
		if r.budget.records == 0 {
			r.st.Skip = n - 1
			return r.stop(ReasonMaxRecords, "stopped after %d records, the limit of one call", r.def.spec.Bounds.MaxRecords)
		}
		if ok := r.record(rec, n); !ok {
			r.st.Skip = n - 1
			return false
		}
		r.budget.records--
		return true
	}
	if arr, is := items.Tape(); is {
		for it := arr.Iter(); it.Next(); {
			if !one(it.Value()) {
				return false
			}
		}
	} else {
		var doc jsontape.Doc
		for e := range items.Elements() {
			rec, is := e.Tape()
			if !is {
				if err := doc.Reset(e.AppendJSON(nil), jsontape.Limits{}); err != nil {
					return r.stop(ReasonInvalidPage, "record %d of page %d cannot be read", n+1, r.st.Pages+1)
				}
				rec = doc.Root()
			}
			if !one(rec) {
				return false
			}
		}
	}
	// Of a live collection records may have gone since; what is left of the page
	// was examined before.
	if r.st.Skip > total && r.def.spec.Read.Consistency == Snapshot {
		return r.stop(ReasonInvalidPage, "page %d has %d records; %d were examined before", r.st.Pages+1, total, r.st.Skip)
	}
	return true
}

// record takes one record in; n is its place in the page.
func (r *reading) record(rec jsontape.Value, n int) bool {
	matched, err := r.judge(rec)
	if err == errDuplicate {
		r.st.Dups++
		r.st.Examined++
		return true
	}
	if err != nil {
		bad, _ := errors.AsType[*invalidRecord](err)
		if r.def.spec.Read.Invalid == InvalidSkip {
			r.st.Skipped++
			r.st.Examined++
			return true
		}
		r.position = &Position{Page: r.st.Pages + 1, Record: n}
		if bad != nil {
			r.position.Field = bad.field
		}
		return r.stop(ReasonInvalidRecord, "record %d of page %d: %v", n, r.st.Pages+1, err)
	}
	if !matched {
		r.st.Examined++
		return true
	}
	grows := 0
	for i, p := range r.plan.aggs {
		grows += p.grows(r.st.Aggs[i], r.steps[i])
	}
	if r.st.Bytes+grows > r.def.spec.Bounds.MaxResultBytes {
		r.noContinuation = true
		r.position = &Position{Page: r.st.Pages + 1, Record: n}
		return r.stop(ReasonMaxResult, "the result would be over %d bytes with record %d of page %d", r.def.spec.Bounds.MaxResultBytes, n, r.st.Pages+1)
	}
	r.st.Examined++
	r.st.Bytes += grows
	for i, p := range r.plan.aggs {
		p.apply(r.st.Aggs[i], r.steps[i])
	}
	return true
}

var errDuplicate = errors.New("seen before")

// judge reads what a record says, into r.steps, and changes nothing but the
// set of ids.
func (r *reading) judge(rec jsontape.Value) (matched bool, err error) {
	if err := checkNeeds(r.plan.needs, rec); err != nil {
		return false, err
	}
	var id mark
	if r.plan.dedupe != nil {
		got, err := r.plan.dedupe.eval(rec)
		if err != nil {
			return false, err
		}
		if !orderedKinds.Has(got.Kind()) {
			return false, &invalidRecord{r.plan.dedupe.src, "is " + got.Kind().String() + "; an id is a string or number"}
		}
		r.ids = got.AppendJSON(r.ids[:0])
		id = markOf(r.ids)
		if _, had := r.st.ids[id]; had {
			return false, errDuplicate
		}
	}
	matched = true
	if r.plan.where != nil {
		if matched, err = r.plan.where.truth(rec); err != nil {
			return false, err
		}
	}
	if matched {
		r.steps = r.steps[:0]
		for _, p := range r.plan.aggs {
			s, err := p.read(rec)
			if err != nil {
				return false, err
			}
			r.steps = append(r.steps, s)
		}
	}
	if r.plan.dedupe != nil {
		r.st.ids[id] = struct{}{}
	}
	return matched, nil
}
