package ledger

import (
	"cmp"
	"slices"
)

// A Report is what ledger lines add up to, net of all costs. Its JSON form is a
// promise: members are added, never renamed or given another meaning, while
// Version is 1. Lists are sorted by name and never null. A fraction is of the
// bytes in (0.25 is a quarter), cut to six digits downwards, so that no saving
// is rounded up; it is null where nothing came in.
type Report struct {
	Version    int             `json:"version"`
	Lines      int64           `json:"lines"`   // all, blank ones apart
	Skipped    Skipped         `json:"skipped"` // those of Lines that no figure has
	First      string          `json:"first"`   // earliest ts; "" if there is no line
	Last       string          `json:"last"`
	Estimators []string        `json:"estimators"` // whose tokens are in the lines
	All        Account         `json:"all"`
	Servers    []ServerAccount `json:"servers"`
}

// Skipped counts the lines that could not be booked.
type Skipped struct {
	Torn         int64 `json:"torn"`          // a last line that ends within itself
	Unreadable   int64 `json:"unreadable"`    // no JSON object, or a known key of another type
	UnknownEvent int64 `json:"unknown_event"` // of a later version
}

// A ServerAccount is the account of one server: that of its tools and its lists.
type ServerAccount struct {
	Server string `json:"server"`
	Account
	Tools []ToolAccount `json:"tools"`
}

// A ToolAccount is the account of one tool.
type ToolAccount struct {
	Tool string `json:"tool"`
	Account
}

// An Account counts events, and gives the same figures in two views: as a host
// has them that shows a model the text blocks, and as one that shows
// structuredContent (and the text where there is none). The two are never added.
type Account struct {
	Calls         int64            `json:"calls"`     // errors too, expands and lists not
	Errors        int64            `json:"errors"`    // of Calls
	Reduced       int64            `json:"reduced"`   // of Calls: something was cut or stashed
	Envelopes     int64            `json:"envelopes"` // of Reduced: writes that were confirmed
	Verifies      int64            `json:"verifies"`  // of Calls: writes whose full result was asked for
	Expands       int64            `json:"expands"`
	FailedExpands int64            `json:"failed_expands"` // not in Expands
	ExpandRate    *float64         `json:"expand_rate"`    // Expands for one of Reduced, cut upwards; null without any
	Lists         int64            `json:"lists"`
	Overhead      int64            `json:"overhead"`   // bytes of notes and the like, inside bytes_out
	NoSession     int64            `json:"no_session"` // lines that name no session
	Faults        map[string]int64 `json:"faults"`     // lines a mark
	Text          View             `json:"text"`
	Structured    View             `json:"structured"`
}

// A View is an account's bytes, tokens and sessions.
type View struct {
	BytesIn          int64    `json:"bytes_in"`  // results as the upstreams sent them
	BytesOut         int64    `json:"bytes_out"` // results as we sent them, notes included
	BytesExpanded    int64    `json:"bytes_expanded"`
	BytesDefinitions int64    `json:"bytes_definitions"` // growth of tools/list
	NetSaved         int64    `json:"net_saved"`         // in less the three others
	NetFraction      *float64 `json:"net_fraction"`
	Tokens           []Tokens `json:"tokens"` // one an estimator; never added
	Sessions         Sessions `json:"sessions"`
}

// Tokens are the figures of a View in the tokens of one estimator.
type Tokens struct {
	Estimator   string `json:"estimator"`
	In          int64  `json:"in"`
	Out         int64  `json:"out"`
	Expanded    int64  `json:"expanded"`
	Definitions int64  `json:"definitions"`
	NetSaved    int64  `json:"net_saved"`
}

// Sessions says how the net saving spreads over sessions. Percentiles are by
// nearest rank: the smallest value that at least that share of the sessions does
// not exceed. Sessions into which nothing came have no fraction and are left out
// of that one; null where no session is left.
type Sessions struct {
	Count          int64    `json:"count"`
	AtALoss        int64    `json:"at_a_loss"` // net saving under 0
	MedianFraction *float64 `json:"median_fraction"`
	P90Fraction    *float64 `json:"p90_fraction"`
	MedianBytes    *int64   `json:"median_bytes"`
	P90Bytes       *int64   `json:"p90_bytes"`
}

// Report adds up what was read so far.
func (t *Tally) Report() *Report {
	shares := t.shares()
	r := &Report{
		Version:    1,
		Lines:      t.lines,
		Skipped:    Skipped{t.torn, t.unreadable, t.unknown},
		First:      string(t.first),
		Last:       string(t.last),
		Estimators: append([]string{}, t.estimators...),
		All:        t.account(t.all, shares),
		Servers:    []ServerAccount{},
	}
	slices.Sort(r.Estimators)
	for name, s := range t.servers {
		server := ServerAccount{Server: name, Account: t.account(s.group, shares), Tools: []ToolAccount{}}
		for tool, g := range s.tools {
			server.Tools = append(server.Tools, ToolAccount{tool, t.account(g, shares)})
		}
		slices.SortFunc(server.Tools, func(a, b ToolAccount) int { return cmp.Compare(a.Tool, b.Tool) })
		r.Servers = append(r.Servers, server)
	}
	slices.SortFunc(r.Servers, func(a, b ServerAccount) int { return cmp.Compare(a.Server, b.Server) })
	return r
}

func (t *Tally) account(g *group, shares [][]saved) Account {
	a := Account{
		Calls: g.calls, Errors: g.errors, Reduced: g.reduced, Envelopes: g.envelopes, Verifies: g.verifies,
		Expands: g.expands, FailedExpands: g.failedExpands, Lists: g.lists,
		Overhead: g.overhead, NoSession: g.noSession,
		Faults:     g.faults.counts(),
		Text:       t.view(&g.text),
		Structured: t.view(&g.structured),
	}
	if g.reduced > 0 {
		rate := 0 - fraction(-g.expands, g.reduced) // a cost: cut upwards; 0 - 0, for -0 is "-0" in JSON
		a.ExpandRate = &rate
	}
	nets := make([]sessionNet, len(shares[g.id]))
	for i, s := range shares[g.id] {
		nets[i] = sessionNet{s.in, s.net}
	}
	a.Text.Sessions = spread(nets)
	for i, s := range shares[g.id] {
		nets[i] = sessionNet{s.structIn, s.structNet}
	}
	a.Structured.Sessions = spread(nets)
	return a
}

func (t *Tally) view(v *view) View {
	out := View{
		BytesIn: v.in, BytesOut: v.out, BytesExpanded: v.expanded, BytesDefinitions: v.definitions,
		NetSaved: v.in - v.out - v.expanded - v.definitions,
		Tokens:   []Tokens{},
	}
	if v.in > 0 {
		f := fraction(out.NetSaved, v.in)
		out.NetFraction = &f
	}
	for i, s := range v.tokens {
		if s != (tokenSum{}) {
			out.Tokens = append(out.Tokens, Tokens{t.estimators[i], s.in, s.out, s.expanded, s.definitions, s.in - s.out - s.expanded - s.definitions})
		}
	}
	slices.SortFunc(out.Tokens, func(a, b Tokens) int { return cmp.Compare(a.Estimator, b.Estimator) })
	return out
}
