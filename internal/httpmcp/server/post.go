package server

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/spillway-mcp/spillway/internal/httpmcp"
	"github.com/spillway-mcp/spillway/internal/wire"
)

// post takes a message, or in the oldest revisions a batch of them.
func (s *Server) post(w http.ResponseWriter, r *http.Request, caller string) {
	if !isJSON(r.Header) {
		refuse(w, http.StatusUnsupportedMediaType, httpmcp.Errorf(httpmcp.CodeInvalidRequest, "the body must be application/json"))
		return
	}
	acceptsJSON, acceptsStream := accepts(r.Header)
	if !acceptsJSON && !acceptsStream {
		refuse(w, http.StatusNotAcceptable, httpmcp.Errorf(httpmcp.CodeInvalidRequest, "the client must accept application/json and text/event-stream"))
		return
	}
	body, m, ok := s.message(w, r)
	if !ok {
		return
	}
	p := post{s: s, w: w, r: r, caller: caller, body: body, m: m, json: acceptsJSON, sse: acceptsStream}
	revision, modern, e := era(r.Header, body, m)
	switch {
	case e != nil && m.Kind != wire.Batch:
		refuseID(w, http.StatusBadRequest, e, m.ID.Of(body))
	case e != nil:
		refuse(w, http.StatusBadRequest, e)
	case modern:
		p.modern(revision)
	default:
		p.legacy()
	}
}

// message reads the body of a POST.
func (s *Server) message(w http.ResponseWriter, r *http.Request) ([]byte, wire.Message, bool) {
	body, err := s.body(w, r)
	if err != nil {
		status := http.StatusBadRequest
		if errors.Is(err, errTooLarge) {
			status = http.StatusRequestEntityTooLarge
			err = httpmcp.Errorf(httpmcp.CodeInvalidRequest, "the body is over the limit of %d bytes", s.opt.MaxBody)
		}
		w.Header()["Connection"] = closeConn
		refuse(w, status, httpmcp.Errorf(httpmcp.CodeInvalidRequest, "%v", err))
		return nil, wire.Message{}, false
	}
	m, err := wire.Scan(body)
	if err != nil {
		code := httpmcp.CodeParse
		if json.Valid(body) {
			code = httpmcp.CodeInvalidRequest
		}
		refuse(w, http.StatusBadRequest, httpmcp.Errorf(code, "%v", err))
		return nil, m, false
	}
	return body, m, true
}

// isJSON also keeps out what a foreign page can send without being asked for it.
func isJSON(h http.Header) bool {
	kind, _, _ := strings.Cut(h.Get("Content-Type"), ";")
	return kind == "application/json" || strings.EqualFold(strings.TrimSpace(kind), "application/json")
}

// accepts reads what the client takes. None said is both.
func accepts(h http.Header) (json, stream bool) {
	lines := h["Accept"]
	if len(lines) == 0 {
		return true, true
	}
	for _, line := range lines {
		for part := range strings.SplitSeq(line, ",") {
			kind, _, _ := strings.Cut(part, ";")
			switch strings.ToLower(strings.TrimSpace(kind)) {
			case "application/json":
				json = true
			case "text/event-stream":
				stream = true
			case "*/*":
				json, stream = true, true
			case "application/*":
				json = true
			case "text/*":
				stream = true
			}
		}
	}
	return json, stream
}

// post is one POST whose body has been read.
type post struct {
	s         *Server
	w         http.ResponseWriter
	r         *http.Request
	caller    string
	body      []byte
	m         wire.Message
	json, sse bool
	opens     bool // it is the initialize of a new session
}

func (p *post) inbound(m wire.Message, body []byte) *Inbound {
	return &Inbound{Caller: p.caller, Message: body, Scan: m, Header: p.r.Header}
}

func (p *post) modern(revision string) {
	if p.m.Kind != wire.Request && p.m.Kind != wire.Notification {
		refuse(p.w, http.StatusBadRequest, httpmcp.Errorf(httpmcp.CodeInvalidRequest, "a body of revision %s is one request or notification", revision))
		return
	}
	in := p.inbound(p.m, p.body)
	in.Revision = revision
	if p.m.Kind == wire.Notification {
		p.notify(p.r.Context(), p.s.core.Serve, in)
		return
	}
	holds := oneCall
	listens := wire.StringIs(p.m.Method.Of(p.body), "subscriptions/listen")
	if listens {
		holds = oneStream
	}
	id := p.m.ID.Of(p.body)
	if !p.s.take(p.caller, holds) {
		busy(p.w, "calls", id)
		return
	}
	st := newStream(new(sync.Mutex), nil)
	st.forced = listens
	ctx := p.s.reply(p.r.Context(), in, st, holds)
	x := p.exchange(st)
	x.listens = listens
	x.receive(ctx, in, p.s.core.Serve)
}

func (p *post) exchange(st *stream) *exchange {
	x := p.s.newExchange(p.w, p.r, st)
	x.json, x.sse = p.json, p.sse
	return x
}

// reply makes the reply of a request whose answer goes to st, and the context of
// its call.
func (s *Server) reply(base context.Context, in *Inbound, st *stream, holds Counts) context.Context {
	ctx, cancel := context.WithCancelCause(base)
	r := &Reply{s: s, st: st, caller: in.Caller, id: in.Scan.ID.Of(in.Message), cancel: cancel, holds: holds}
	in.Reply = r
	st.mu.Lock()
	defer st.mu.Unlock()
	st.open++
	st.replies = append(st.replies, r)
	r.timer = time.AfterFunc(min(s.opt.StreamAfter, s.opt.CallTime), r.late)
	return ctx
}

// notify hands over what has no answer.
func (p *post) notify(ctx context.Context, receive func(context.Context, *Inbound), all ...*Inbound) {
	holds := Counts{Calls: len(all)}
	if !p.s.take(p.caller, holds) {
		busy(p.w, "calls", nil)
		return
	}
	defer p.s.give(p.caller, holds)
	for _, in := range all {
		receive(ctx, in)
	}
	p.w.WriteHeader(http.StatusAccepted)
}

// cancels returns the id of the request that a message cancels, nil if it does
// not.
func cancels(in *Inbound) []byte {
	if in.Scan.Kind != wire.Notification || !wire.StringIs(in.Scan.Method.Of(in.Message), "notifications/cancelled") {
		return nil
	}
	return wire.Member(in.Message, in.Scan.Params, "requestId").Of(in.Message)
}
