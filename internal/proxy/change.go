package proxy

import (
	"bytes"
	"slices"
)

// watchRules tells the client, once a change, that its list of tools is old.
// The rules of its last list stay in force until it lists again (RED-51).
func (s *session) watchRules(done <-chan struct{}) {
	last := ""
	if set := s.opt.rules(); set != nil {
		last = set.Digest()
	}
	for {
		select {
		case <-done:
			return
		case _, ok := <-s.opt.RulesChanged:
			if !ok {
				return
			}
			set := s.opt.rules()
			if set == nil || set.Digest() == last {
				continue
			}
			last = set.Digest()
			s.opt.Log.Debug("rules changed", "digest", last) // the watcher has said so
			s.toolsChanged()
		}
	}
}

// watchOperations tells the client of changed operations as watchRules does of
// changed rules. Whoever sends the value has found that the tools are others.
func (s *session) watchOperations(done <-chan struct{}) {
	for {
		select {
		case <-done:
			return
		case _, ok := <-s.opt.OperationsChanged:
			if !ok {
				return
			}
			s.toolsChanged()
		}
	}
}

// toolsChanged sends notifications/tools/list_changed: to a legacy client that
// has a list, and on every modern subscription that asked for it.
func (s *session) toolsChanged() {
	s.mu.Lock()
	plain := s.profile.legacy && s.tools.tools != nil
	var subs []*call
	for _, c := range s.pending {
		if c.kind == listen && c.listChange && !c.cancelled {
			subs = append(subs, c)
		}
	}
	s.mu.Unlock()
	if plain {
		s.toClient([]byte(`{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`))
	}
	slices.SortFunc(subs, func(a, b *call) int { return bytes.Compare(a.id, b.id) })
	for _, c := range subs {
		s.toClient([]byte(`{"jsonrpc":"2.0","method":"notifications/tools/list_changed","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":`),
			c.id, []byte(`}}}`))
	}
}
