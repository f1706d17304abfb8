package contracttest

import (
	"slices"

	"github.com/spillway-mcp/spillway/contract"
)

// reconcilable are the operations whose upstream can always tell.
var reconcilable = []string{OpCreate, OpSettled, OpSlow, OpMembers}

// forget takes a key out of the final count: its record is past retention.
func (s *scene) forget(caller, operation, key string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.gone[claimID{caller, operation, key}] = true
}

// finish heals the world, asks a fresh process for each key as it stands,
// reconciles what is unknown, and judges all of it by the log.
func (s *scene) finish() {
	s.Upstream.Heal()
	s.Policy.Refuse(nil)
	s.Journal.Break(nil, nil)
	s.Journal.Watch(nil)
	fresh := map[string]*proc{}
	var claims []Claim
	for _, id := range s.order {
		if fresh[id.caller] == nil {
			fresh[id.caller] = s.open(id.caller)
		}
		p, c := fresh[id.caller], s.claims[id]
		if s.gone[id] {
			claims = append(claims, Claim{Caller: c.Caller, Operation: c.Operation, Key: c.Key, Params: c.Params})
			continue
		}
		a := p.get(id.operation, id.key)
		final := a.Receipt
		switch {
		case final == nil:
			s.failf("%v: no receipt at the end", *c)
			continue
		case final.Reason == contract.ReasonNotFound:
			if c.Receipt != nil && !speaksOfCall(c.Receipt) {
				s.failf("%v: answered %s, and at the end it is not found", *c, c.Receipt.Outcome)
			}
			final = &contract.Receipt{Outcome: contract.Rejected}
		case final.Outcome == contract.Unknown && s.has(HasReconcile) && slices.Contains(reconcilable, id.operation):
			if a = p.reconcile(id.operation, id.key); a.Outcome() == contract.Unknown && a.Reason() != contract.ReasonNotSettled {
				s.failf("%v: unknown after a reconcile that the upstream can answer: %s", *c, a.Raw)
			}
			final = a.Receipt
		}
		claims = append(claims, Claim{Caller: c.Caller, Operation: c.Operation, Key: c.Key, Params: c.Params, Receipt: final})
	}
	for _, wrong := range Judge(s.Upstream.Effects(), claims) {
		s.failf("%s", wrong)
	}
}
