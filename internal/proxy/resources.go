package proxy

import (
	"context"
	"errors"
	"strings"

	"github.com/spillway-mcp/spillway/internal/jsontape"
	"github.com/spillway-mcp/spillway/internal/stash"
	"github.com/spillway-mcp/spillway/internal/wire"
	"github.com/spillway-mcp/spillway/reduce"
)

// readResource answers a read of one of our own URIs, under the ownership of the
// stash (RED-20, RED-23). It reports whether the URI was ours.
func (s *session) readResource(c *call, body []byte, m wire.Message) bool {
	uri := wire.Text(wire.Member(body, m.Params, "uri").Of(body))
	ref, ours := strings.CutPrefix(uri, reduce.URIPrefix)
	if !ours || s.opt.Stash == nil {
		return false
	}
	s.workers.Go(func() {
		text, err := s.stashed(ref)
		if err != nil {
			s.fail(c.id, codeInvalidParams, "%s: %v", uri, err)
			return
		}
		b := jsontape.AppendQuote([]byte(`{"contents":[{"uri":`), uri)
		b = append(b, `,"mimeType":"application/json","text":`...)
		b = append(jsontape.AppendQuote(b, text), `}]`...)
		s.answer(c, s.cacheable(c, append(b, '}')))
	})
	return true
}

// codeInvalidParams is JSON-RPC's code, which modern MCP gives an unknown
// resource; legacy clients take it as well.
const codeInvalidParams = -32602

// stashed returns what was kept under ref, whole where the expand budget holds
// it, else the first part with the way to the next.
func (s *session) stashed(ref string) (string, error) {
	_, original, err := s.opt.Stash.Get(context.Background(), s.opt.Caller, ref)
	switch {
	case errors.Is(err, stash.ErrUnknown):
		return "", errors.New("unknown ref")
	case err != nil:
		return "", err
	case len(original) <= s.opt.ExpandBudget:
		return string(original), nil
	}
	part, err := (*reduce.Reducer)(nil).Expand(original, reduce.ExpandRequest{Ref: ref}, s.opt.ExpandBudget)
	return string(part), err
}

// listResources answers for a server that has no resources, where we declared
// the capability for our own (RED-20): an empty list, since refs are not to be
// browsed. It reports whether it did.
func (s *session) listResources(c *call, resources bool) bool {
	s.mu.Lock()
	ours := s.profile.resources
	s.mu.Unlock()
	if !ours {
		return false
	}
	result := `{"resourceTemplates":[]}`
	if resources {
		result = `{"resources":[]}`
	}
	s.answer(c, s.cacheable(c, []byte(result)))
	return true
}

// cacheable adds what a modern list or read must say: valid for no time, and
// for this caller only.
func (s *session) cacheable(c *call, result []byte) []byte {
	if !c.modern {
		return result
	}
	result = result[:len(result)-1]
	return append(result, `,"ttlMs":0,"cacheScope":"private"}`...)
}

func quoted(s string) string { return string(jsontape.AppendQuote(nil, clip([]byte(s), 100))) }
