package ledger

import (
	"cmp"
	"slices"
)

// A SessionAccount is what one session saved, net of all costs, over all servers
// that it used.
type SessionAccount struct {
	Session           string   `json:"session"`
	BytesIn           int64    `json:"bytes_in"` // text
	NetSaved          int64    `json:"net_saved"`
	NetFraction       *float64 `json:"net_fraction"` // null where nothing came in
	StructuredIn      int64    `json:"structured_in"`
	StructuredSaved   int64    `json:"structured_saved"`
	StructuredPortion *float64 `json:"structured_fraction"`
}

// Sessions returns the account of each session that was read so far, the
// greatest loss first. Lines that name no session are in none.
func (t *Tally) Sessions() []SessionAccount {
	all := make([]SessionAccount, 0, len(t.sessions))
	for name, spent := range t.sessions {
		s := &spent.all
		all = append(all, SessionAccount{
			Session: name,
			BytesIn: s.in, NetSaved: s.net, NetFraction: portion(s.net, s.in),
			StructuredIn: s.structIn, StructuredSaved: s.structNet, StructuredPortion: portion(s.structNet, s.structIn),
		})
	}
	slices.SortFunc(all, func(a, b SessionAccount) int {
		return cmp.Or(cmp.Compare(a.NetSaved, b.NetSaved), cmp.Compare(a.Session, b.Session))
	})
	return all
}

// LeaveOut makes Read pass over the lines of sessions for which out is true:
// those of which something better than lines is at hand. They count as lines,
// and in no figure.
func (t *Tally) LeaveOut(out func(session string) bool) {
	t.skip = func(session []byte) bool { return out(string(session)) }
}

func portion(a, b int64) *float64 {
	if b <= 0 {
		return nil
	}
	f := fraction(a, b)
	return &f
}
