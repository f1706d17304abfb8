package server

import (
	"net/http"

	"github.com/spillway-mcp/spillway/internal/httpmcp"
	"github.com/spillway-mcp/spillway/internal/httpmcp/sse"
	"github.com/spillway-mcp/spillway/internal/wire"
)

// HTTPSSE serves the transport of revision 2024-11-05 on a path of its own: a
// GET is a session and the stream of all that the server sends, and names the
// address to post to.
func (s *Server) HTTPSSE() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.deadline(w)
		caller, ok := s.admit(w, r)
		switch {
		case !ok:
		case s.ctx.Err() != nil:
			refuse(w, http.StatusServiceUnavailable, httpmcp.Errorf(CodeClosing, "the server is closing"))
		case r.Method == http.MethodGet:
			s.stream(w, r, caller)
		case r.Method == http.MethodPost:
			s.take2024(w, r, caller)
		default:
			w.Header()["Allow"] = []string{"GET, POST"}
			refuse(w, http.StatusMethodNotAllowed, httpmcp.Errorf(httpmcp.CodeInvalidRequest, "method not allowed"))
		}
	})
}

const sessionParam = "sessionId"

// stream is the session; its end is the session's.
func (s *Server) stream(w http.ResponseWriter, r *http.Request, caller string) {
	if !s.take(caller, oneStream) {
		busy(w, "streams", nil)
		return
	}
	defer s.give(caller, oneStream)
	if !s.take(caller, oneSession) {
		busy(w, "sessions", nil)
		return
	}
	c := s.newClient(caller, true)
	c.mu.Lock()
	x := s.newExchange(w, r, c.stream0())
	x.sse, x.atOnce, x.endless, x.listens = true, true, true, true
	x.rd = x.st.attach(1)
	c.mu.Unlock()
	x.begin(1)
	// Relative, and so right behind a proxy that changes paths too.
	if sse.Write(&x.out, sse.Head{Name: "endpoint"}, []byte("?"+sessionParam+"="+c.id)) != nil || x.out.rc.Flush() != nil {
		c.finish(true)
		return
	}
	x.run()
}

// take2024 takes a message, or a batch, whose answers go to the stream.
func (s *Server) take2024(w http.ResponseWriter, r *http.Request, caller string) {
	if !isJSON(r.Header) {
		refuse(w, http.StatusUnsupportedMediaType, httpmcp.Errorf(httpmcp.CodeInvalidRequest, "the body must be application/json"))
		return
	}
	c := s.client(r.URL.Query().Get(sessionParam), caller)
	if c == nil || !c.single {
		s.noSession(w)
		return
	}
	body, m, ok := s.message(w, r)
	if !ok {
		return
	}
	all := []*Inbound{{Caller: caller, Message: body, Scan: m, Header: r.Header}}
	if m.Kind == wire.Batch {
		all = all[:0]
		for it := wire.ElementsOf(body, wire.Span{End: len(body)}); it.Next(); {
			part := it.Value().Of(body)
			if m, err := wire.Scan(part); err == nil && m.Kind != wire.Batch {
				all = append(all, &Inbound{Caller: caller, Message: part, Scan: m, Header: r.Header})
			}
		}
	}
	for _, in := range all {
		if e := s.pass2024(c, in); e != nil {
			refuseID(w, http.StatusBadRequest, e, in.Scan.ID.Of(in.Message))
			return
		}
	}
	w.WriteHeader(http.StatusAccepted)
}

func (s *Server) pass2024(c *Client, in *Inbound) *httpmcp.Error {
	opens := false
	c.mu.Lock()
	session, st := c.session, c.outside
	c.mu.Unlock()
	if session == nil {
		if in.Scan.Kind != wire.Request || !wire.StringIs(in.Scan.Method.Of(in.Message), "initialize") {
			return httpmcp.Errorf(httpmcp.CodeInvalidRequest, "the session starts with initialize")
		}
		if e := c.open(); e != nil {
			return e
		}
		session, opens = c.session, true
	}
	ctx := c.ctx
	switch {
	case st == nil:
		return httpmcp.Errorf(CodeSession, "no such session")
	case in.Scan.Kind == wire.Request:
		if !s.take(c.caller, oneCall) {
			return httpmcp.Errorf(CodeBusy, "too many calls of this caller at once")
		}
		ctx = s.reply(c.ctx, in, st, oneCall)
		if opens {
			in.Reply.opens = c
		}
	}
	if in.Reply == nil {
		session.Receive(ctx, in) // in the order of the posts
		if id := cancels(in); id != nil {
			c.cancel(id)
		}
		return nil
	}
	go session.Receive(ctx, in)
	return nil
}
