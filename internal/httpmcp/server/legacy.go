package server

import (
	"context"
	"net/http"
	"strings"

	"github.com/spillway-mcp/spillway/internal/httpmcp"
	"github.com/spillway-mcp/spillway/internal/wire"
)

func (p *post) legacy() {
	if !p.s.legacyRevision(p.w, p.r) {
		return
	}
	id := p.r.Header.Get(httpmcp.HeaderSession)
	if id == "" {
		p.initialize()
		return
	}
	c := p.s.client(id, p.caller)
	if c == nil {
		p.s.noSession(p.w)
		return
	}
	if p.m.Kind != wire.Batch {
		p.calls(c, false, p.inbound(p.m, p.body))
		return
	}
	if revision := c.Revision(); !httpmcp.Batches(revision) {
		refuse(p.w, http.StatusBadRequest, httpmcp.Errorf(httpmcp.CodeInvalidRequest, "revision %s has no batches", revision))
		return
	}
	var all []*Inbound
	for it := wire.ElementsOf(p.body, wire.Span{End: len(p.body)}); it.Next(); {
		part := it.Value().Of(p.body)
		m, err := wire.Scan(part)
		if err != nil || m.Kind == wire.Batch {
			refuse(p.w, http.StatusBadRequest, httpmcp.Errorf(httpmcp.CodeInvalidRequest, "message %d of the batch is none", len(all)))
			return
		}
		all = append(all, p.inbound(m, part))
	}
	p.calls(c, true, all...)
}

func (s *Server) noSession(w http.ResponseWriter) {
	refuse(w, http.StatusNotFound, httpmcp.Errorf(CodeSession, "no such session"))
}

// legacyRevision checks the revision that the header names, if it names one.
func (s *Server) legacyRevision(w http.ResponseWriter, r *http.Request) bool {
	revision := r.Header.Get(httpmcp.HeaderRevision)
	if revision == "" || httpmcp.Legacy(revision) {
		return true
	}
	refuse(w, http.StatusBadRequest, httpmcp.Errorf(httpmcp.CodeInvalidRequest, "unsupported %s %.40q; supported are %s",
		httpmcp.HeaderRevision, revision, strings.Join(httpmcp.LegacyRevisions(), ", ")))
	return false
}

// initialize opens a session with the message that must be its first.
func (p *post) initialize() {
	id := p.m.ID.Of(p.body)
	if p.m.Kind != wire.Request || !wire.StringIs(p.m.Method.Of(p.body), "initialize") {
		refuseID(p.w, http.StatusBadRequest, httpmcp.Errorf(httpmcp.CodeInvalidRequest, "the header %s is missing, and only initialize goes without", httpmcp.HeaderSession), id)
		return
	}
	if !p.s.take(p.caller, oneSession) {
		busy(p.w, "sessions", id)
		return
	}
	c := p.s.newClient(p.caller, false)
	if e := c.open(); e != nil {
		refuseID(p.w, http.StatusOK, e, id)
		return
	}
	p.opens = true
	if !p.calls(c, false, p.inbound(p.m, p.body)) {
		c.finish(true)
	}
}

// calls hands messages to their session and writes what the requests among them
// are answered. It reports whether the session took them.
func (p *post) calls(c *Client, batch bool, all ...*Inbound) bool {
	requests := 0
	for _, in := range all {
		if in.Scan.Kind == wire.Request {
			requests++
		}
	}
	if requests == 0 {
		p.notify(c.ctx, c.session.Receive, all...)
		for _, in := range all {
			if id := cancels(in); id != nil {
				c.cancel(id)
			}
		}
		return true
	}
	if !p.s.take(p.caller, Counts{Calls: requests}) {
		busy(p.w, "calls", p.m.ID.Of(p.body))
		return false
	}
	st := newStream(&c.mu, c)
	c.mu.Lock()
	if c.closed {
		c.mu.Unlock()
		p.s.give(p.caller, Counts{Calls: requests})
		p.s.noSession(p.w)
		return false
	}
	c.register(st)
	c.mu.Unlock()
	contexts := make([]context.Context, len(all))
	for i, in := range all {
		contexts[i] = c.ctx
		if in.Scan.Kind == wire.Request {
			contexts[i] = p.s.reply(c.ctx, in, st, oneCall)
		}
	}
	x := p.exchange(st)
	x.batch = batch
	if p.opens {
		all[0].Reply.opens, x.opens = c, true
	}
	if len(all) == 1 {
		x.receive(contexts[0], all[0], c.session.Receive)
		return true
	}
	x.receiveBeside(func() {
		for i, in := range all[1:] {
			go c.session.Receive(contexts[i+1], in)
		}
		c.session.Receive(contexts[0], all[0])
	})
	return true
}
