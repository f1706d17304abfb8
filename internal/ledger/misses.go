package ledger

import (
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// From when on a rule is flagged. Below minEvidence results that it cut, chance
// says more than the rule.
const (
	minEvidence    = 5
	badExpandRate  = 0.25 // expands for one cut result
	badRepeatRate  = 0.25 // calls that ask again for one cut result
	badVerifyRate  = 0.5  // writes asked for in full, of those confirmed or so asked
	badExpiredRate = 0.05 // expands that came too late, for one cut result
	badFaultRate   = 0.5  // results that carry a fault of the rule
)

// RuleMisses is how often what one rule cut was wanted after all. Counts are of
// ledger lines; nothing is changed because of them.
type RuleMisses struct {
	Server string `json:"server"`
	Tool   string `json:"tool"`
	Rule   string `json:"rule"` // digest; "" where the line that was cut is not in the ledger

	Calls     int64 `json:"calls"`
	Reduced   int64 `json:"reduced"`
	Envelopes int64 `json:"envelopes"` // of Reduced: writes that were confirmed
	Expands   int64 `json:"expands"`   // answered
	Expired   int64 `json:"expired"`   // refused: the original was no longer kept
	Unknown   int64 `json:"unknown"`   // refused: no such ref
	Refused   int64 `json:"refused"`   // refused otherwise
	Equal     int64 `json:"equal"`     // calls after a cut with the arguments of an earlier call of the session
	Narrower  int64 `json:"narrower"`  // the same with more of them: a filter or a range
	Verified  int64 `json:"verified"`  // writes asked for in full

	ExpandRate *float64 `json:"expand_rate"` // Expands for one of Reduced; null without any
	RepeatRate *float64 `json:"repeat_rate"` // Equal and Narrower for one of Reduced
	VerifyRate *float64 `json:"verify_rate"` // Verified of Verified and Envelopes

	AskedBy     map[string]int64 `json:"asked_by"`     // expands by their way, see Asked
	AskedFields []AskedField     `json:"asked_fields"` // fields that expands asked for, most often first
	AskedOthers int64            `json:"asked_others"` // those that the note had not named
	Faults      map[string]int64 `json:"faults"`       // lines a mark
	NetSaved    int64            `json:"net_saved"`    // bytes of text, expands taken off

	Flags []string `json:"flags"` // why the rule is bad, with the evidence; empty where it is not
}

// AskedField is a field that expands asked for.
type AskedField struct {
	Field string `json:"field"`
	Times int64  `json:"times"`
}

// misses finds them while lines are read. Its memory grows with rules and with
// sessions, and is bounded in refs.
type misses struct {
	rules map[ruleKey]*ruleMisses
	// by ref, whose cut it was: the latest, and those before them.
	refs, older map[string]*ruleMisses
	// by ref, expands whose cut has not been read: lines are written beside the
	// calls, and may change places.
	waiting map[string]*ruleMisses
	cuts    map[cutKey]lastCut // of a tool in a session
	early   map[cutKey][]early // calls that ask again, whose cut has not been read
	last    map[[2]string]*ruleMisses
	names   map[string]string // one string for each name
}

type ruleKey struct{ server, tool, rule string }

type cutKey struct{ session, server, tool string }

// lastCut is the latest cut by its time: lines may change places.
type lastCut struct {
	ts   string
	rule *ruleMisses
}

// early is a call that asks again, and stands before the line of the cut that it
// came after.
type early struct{ ts, repeat string }

// maxEarly is how many of them are remembered of one tool in a session.
const maxEarly = 8

type ruleMisses struct {
	RuleMisses
	asked  map[string]int64
	faulty int64
}

// maxRefs is how many refs are remembered, twice.
const maxRefs = 1 << 17

// CountMisses makes Read look for misses; call it before.
func (t *Tally) CountMisses() {
	t.misses = &misses{
		rules: map[ruleKey]*ruleMisses{}, refs: map[string]*ruleMisses{}, cuts: map[cutKey]lastCut{},
		early: map[cutKey][]early{}, last: map[[2]string]*ruleMisses{}, waiting: map[string]*ruleMisses{}, names: map[string]string{},
	}
}

func (m *misses) name(b []byte) string {
	s, ok := m.names[string(b)]
	if !ok {
		s = string(b)
		m.names[s] = s
	}
	return s
}

func (m *misses) rule(server, tool, rule string) *ruleMisses {
	k := ruleKey{server, tool, rule}
	r := m.rules[k]
	if r == nil {
		r = newRuleMisses(server, tool, rule)
		m.rules[k] = r
	}
	return r
}

func newRuleMisses(server, tool, rule string) *ruleMisses {
	r := &ruleMisses{asked: map[string]int64{}}
	r.Server, r.Tool, r.Rule = server, tool, rule
	r.AskedBy, r.Faults = map[string]int64{}, map[string]int64{}
	return r
}

func (m *misses) add(rec *record) {
	server, tool := m.name(rec.server), m.name(rec.tool)
	switch string(rec.event) {
	case EventList:
		return
	case EventExpand:
		m.expand(rec, server, tool)
		return
	}
	at := cutKey{m.name(rec.session), server, tool}
	again := len(rec.repeat) > 0 && at.session != ""
	if r := m.cuts[at].rule; r != nil && again {
		r.again(string(rec.repeat))
		again = false
	}
	if again && len(m.early[at]) < maxEarly {
		// Once the line is read whose cut it came after, if there is one.
		defer func() { m.early[at] = append(m.early[at], early{string(rec.ts), string(rec.repeat)}) }()
	}
	r := m.rule(server, tool, m.name(rec.rule))
	r.Calls++
	faults := rec.faultNames()
	if len(faults) > 0 {
		r.faulty++
	}
	for _, f := range faults {
		if _, ok := r.Faults[f]; !ok && len(r.Faults) >= maxFaults {
			f = "others"
		}
		r.Faults[f]++
	}
	switch string(rec.event) {
	case EventError:
		return
	case EventVerify:
		r.Verified++
		return
	case EventEnvelope:
		r.Envelopes++
	}
	if !rec.cut && !rec.stash && string(rec.outcome) != OutcomeReduced {
		return
	}
	r.Reduced++
	r.NetSaved += rec.bytesIn - rec.bytesOut
	m.last[[2]string{server, tool}] = r
	if ts := string(rec.ts); ts >= m.cuts[at].ts {
		m.cuts[at] = lastCut{ts, r}
	}
	for _, e := range m.early[at] {
		if e.ts >= string(rec.ts) {
			r.again(e.repeat)
		}
	}
	delete(m.early, at)
	if rec.stash {
		if len(m.refs) >= maxRefs {
			m.refs, m.older = map[string]*ruleMisses{}, m.refs
		}
		m.refs[string(rec.ref)] = r
		if w := m.waiting[string(rec.ref)]; w != nil {
			r.take(w)
			delete(m.waiting, string(rec.ref))
		}
	}
}

// again counts a call that asks once more for what was cut.
func (r *ruleMisses) again(repeat string) {
	switch repeat {
	case RepeatEqual:
		r.Equal++
	case RepeatNarrower:
		r.Narrower++
	}
}

// take adds the expands of another.
func (r *ruleMisses) take(w *ruleMisses) {
	r.Expands += w.Expands
	r.Expired += w.Expired
	r.Unknown += w.Unknown
	r.Refused += w.Refused
	r.AskedOthers += w.AskedOthers
	r.NetSaved += w.NetSaved
	for by, n := range w.AskedBy {
		r.AskedBy[by] += n
	}
	for field, n := range w.asked {
		r.asked[field] += n
	}
}

// unread is the rule of expands whose cut is not in the ledger: the last that
// cut a result of the tool, else none.
func (m *misses) unread(server, tool string) *ruleMisses {
	if r := m.last[[2]string{server, tool}]; r != nil {
		return r
	}
	return m.rule(server, tool, "")
}

// expand books an expand to the rule that made the cut, by its ref.
func (m *misses) expand(rec *record, server, tool string) {
	r := m.refs[string(rec.ref)]
	if r == nil {
		r = m.older[string(rec.ref)]
	}
	if r == nil {
		r = m.waiting[string(rec.ref)]
	}
	switch {
	case r != nil:
	case len(rec.ref) > 0 && len(m.waiting) < maxRefs:
		r = newRuleMisses(server, tool, "")
		m.waiting[string(rec.ref)] = r
	default:
		r = m.unread(server, tool)
	}
	if string(rec.outcome) == OutcomeError {
		switch string(rec.reason) {
		case ReasonExpired:
			r.Expired++
		case ReasonUnknown:
			r.Unknown++
		default:
			r.Refused++
		}
		return
	}
	r.Expands++
	r.NetSaved -= rec.bytesOut
	a := readAsked(bytes.TrimSpace(rec.asked))
	if a == nil {
		return
	}
	r.AskedBy[clean(a.By)]++
	r.AskedOthers += int64(a.Others)
	for _, f := range a.Fields {
		if _, ok := r.asked[f]; ok || len(r.asked) < maxFaults {
			r.asked[f]++
		} else {
			r.AskedOthers++
		}
	}
}

// Misses returns what was found, the flagged rules first, then by name. It is
// empty without CountMisses.
func (t *Tally) Misses() []RuleMisses {
	all := []RuleMisses{}
	if t.misses == nil {
		return all
	}
	for _, w := range t.misses.waiting {
		t.misses.unread(w.Server, w.Tool).take(w)
	}
	clear(t.misses.waiting)
	for _, r := range t.misses.rules {
		out := r.RuleMisses
		if out.Reduced > 0 {
			out.ExpandRate = costRate(out.Expands, out.Reduced)
			out.RepeatRate = costRate(out.Equal+out.Narrower, out.Reduced)
		}
		if writes := out.Verified + out.Envelopes; writes > 0 {
			out.VerifyRate = costRate(out.Verified, writes)
		}
		out.AskedFields = []AskedField{}
		for field, n := range r.asked {
			out.AskedFields = append(out.AskedFields, AskedField{field, n})
		}
		slices.SortFunc(out.AskedFields, func(a, b AskedField) int {
			return cmp.Or(cmp.Compare(b.Times, a.Times), cmp.Compare(a.Field, b.Field))
		})
		out.AskedBy, out.Faults = maps.Clone(r.AskedBy), maps.Clone(r.Faults)
		out.Flags = r.flags(&out)
		all = append(all, out)
	}
	slices.SortFunc(all, func(a, b RuleMisses) int {
		return cmp.Or(cmp.Compare(min(len(b.Flags), 1), min(len(a.Flags), 1)),
			cmp.Compare(a.Server, b.Server), cmp.Compare(a.Tool, b.Tool), cmp.Compare(a.Rule, b.Rule))
	})
	return all
}

// costRate is a/b cut upwards: it is a cost.
func costRate(a, b int64) *float64 {
	f := 0 - fraction(-a, b)
	return &f
}

func (r *ruleMisses) flags(m *RuleMisses) []string {
	flags := []string{}
	flag := func(format string, args ...any) { flags = append(flags, fmt.Sprintf(format, args...)) }
	over := func(rate *float64, limit float64) bool { return rate != nil && *rate >= limit }
	if m.Reduced >= minEvidence {
		if over(m.ExpandRate, badExpandRate) {
			flag("%s for %s%s", count(m.Expands, "expand"), count(m.Reduced, "cut result"), m.wanted())
		}
		if over(m.RepeatRate, badRepeatRate) {
			flag("%s with equal and %s with narrower arguments after a cut, for %s", count(m.Equal, "call"), group3(m.Narrower), count(m.Reduced, "cut result"))
		}
		if float64(m.Expired) >= badExpiredRate*float64(m.Reduced) && m.Expired > 0 {
			flag("%s came after the original had expired, for %s", count(m.Expired, "expand"), count(m.Reduced, "cut result"))
		}
		if m.NetSaved < 0 {
			flag("a loss of %s: notes and expands took more than was cut", count(-m.NetSaved, "byte"))
		}
	}
	if writes := m.Verified + m.Envelopes; writes >= minEvidence && over(m.VerifyRate, badVerifyRate) {
		flag("%s of %s asked for in full", group3(m.Verified), count(writes, "write"))
	}
	if m.Calls >= minEvidence && float64(r.faulty) >= badFaultRate*float64(m.Calls) {
		flag("%s of %s carry a fault of the rule", group3(r.faulty), count(m.Calls, "result"))
	}
	return flags
}

// wanted names the fields that expands asked for.
func (m *RuleMisses) wanted() string {
	if len(m.AskedFields) == 0 {
		return ""
	}
	var names []string
	for i, f := range m.AskedFields {
		if i == 5 {
			names = append(names, "…")
			break
		}
		names = append(names, fmt.Sprintf("%s (%d)", clean(f.Field), f.Times))
	}
	return "; asked for: " + strings.Join(names, ", ")
}
