package ledger

import "bytes"

// merge adds what another Tally, which looked for no misses, has read. All of it
// is sums, so that it does not matter which of them read a line.
func (t *Tally) merge(o *Tally) {
	t.lines += o.lines
	t.torn += o.torn
	t.unreadable += o.unreadable
	t.unknown += o.unknown
	if len(o.first) > 0 && (len(t.first) == 0 || bytes.Compare(o.first, t.first) < 0) {
		t.first = o.first
	}
	if bytes.Compare(o.last, t.last) > 0 {
		t.last = o.last
	}
	m := merging{groups: make([]int32, o.groups+1), estimators: make([]int, len(o.estimators))}
	for i, name := range o.estimators {
		m.estimators[i] = t.estimator([]byte(name))
	}
	m.group(t.all, o.all)
	for name, s := range o.servers {
		to := t.server([]byte(name))
		m.group(to.group, s.group)
		for tool, g := range s.tools {
			m.group(t.tool(to, []byte(tool)), g)
		}
	}
	for name, s := range o.sessions {
		t.session([]byte(name)).merge(s, m.groups)
	}
}

// merging is what groups and estimators of one Tally are numbered in another.
type merging struct {
	groups     []int32
	estimators []int
}

func (m *merging) group(to, from *group) {
	to.calls += from.calls
	to.errors += from.errors
	to.reduced += from.reduced
	to.envelopes += from.envelopes
	to.verifies += from.verifies
	to.expands += from.expands
	to.failedExpands += from.failedExpands
	to.lists += from.lists
	to.overhead += from.overhead
	to.noSession += from.noSession
	m.view(&to.text, &from.text)
	m.view(&to.structured, &from.structured)
	to.faults.merge(&from.faults)
	m.groups[from.id] = to.id
}

func (m *merging) view(to, from *view) {
	to.add(amount{from.in, from.out, from.expanded, from.definitions}, amount{}, -1)
	for i, s := range from.tokens {
		to.add(amount{}, amount(s), m.estimators[i])
	}
}
