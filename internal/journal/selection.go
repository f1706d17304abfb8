package journal

import (
	"strings"

	"github.com/spillway-mcp/spillway/contract"
)

// selection writes a Filter as SQL; mark gives the n-th placeholder, from 1.
func selection(f contract.Filter, mark func(n int) string) (string, []any) {
	var conds []string
	var args []any
	and := func(cond string, arg any) {
		args = append(args, arg)
		conds = append(conds, cond+mark(len(args)))
	}
	if f.Caller != "" {
		and("caller = ", f.Caller)
	}
	if f.Operation != "" {
		and("operation = ", f.Operation)
	}
	if f.Key != "" {
		and("opkey = ", f.Key)
	}
	if !f.Tombstones {
		conds = append(conds, "tombstone = 0")
	}
	if len(f.States) > 0 {
		var in []string
		for _, s := range f.States {
			args = append(args, string(s))
			in = append(in, mark(len(args)))
		}
		conds = append(conds, "state IN ("+strings.Join(in, ", ")+")")
	}
	if f.After != nil {
		args = append(args, nanos(f.After.CreatedAt), f.After.IDHash)
		conds = append(conds, "(created, hash) > ("+mark(len(args)-1)+", "+mark(len(args))+")")
	}
	var b strings.Builder
	for i, c := range conds {
		if i == 0 {
			b.WriteString(" WHERE ")
		} else {
			b.WriteString(" AND ")
		}
		b.WriteString(c)
	}
	limit := f.Limit
	if limit <= 0 {
		limit = 1000
	}
	args = append(args, limit)
	b.WriteString(" ORDER BY created, hash LIMIT " + mark(len(args)))
	return b.String(), args
}
