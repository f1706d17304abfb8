package server

import (
	"net/http"

	"github.com/spillway-mcp/spillway/internal/httpmcp"
)

// legacyClient finds the session of a GET or DELETE, which the modern era does
// not have.
func (s *Server) legacyClient(w http.ResponseWriter, r *http.Request, caller string) *Client {
	id := r.Header.Get(httpmcp.HeaderSession)
	if id == "" || newer(r.Header.Get(httpmcp.HeaderRevision)) {
		notAllowed(w)
		return nil
	}
	if !s.legacyRevision(w, r) {
		return nil
	}
	c := s.client(id, caller)
	if c == nil || c.single {
		s.noSession(w)
		return nil
	}
	return c
}

// get opens the stream of what belongs to no call, or resumes the one that the
// last event came on.
func (s *Server) get(w http.ResponseWriter, r *http.Request, caller string) {
	c := s.legacyClient(w, r, caller)
	if c == nil {
		return
	}
	if _, stream := accepts(r.Header); !stream {
		refuse(w, http.StatusNotAcceptable, httpmcp.Errorf(httpmcp.CodeInvalidRequest, "the client must accept text/event-stream"))
		return
	}
	var num, last uint64
	if id := r.Header.Get(httpmcp.HeaderLastID); id != "" {
		var ok bool
		if num, last, ok = parseID(id); !ok {
			refuse(w, http.StatusBadRequest, httpmcp.Errorf(httpmcp.CodeInvalidRequest, "the header %s is no id of an event of this session", httpmcp.HeaderLastID))
			return
		}
		last++ // the first event to have again
	}
	if !s.take(caller, oneStream) {
		busy(w, "streams", nil)
		return
	}
	defer s.give(caller, oneStream)
	x := s.newExchange(w, r, nil)
	x.sse, x.atOnce, x.endless, x.listens = true, true, num == 0, num == 0
	c.mu.Lock()
	if num == 0 && !c.closed {
		x.st = c.stream0()
	} else {
		x.st = c.streams[num]
	}
	if x.st != nil {
		x.rd = x.st.attach(last)
	}
	c.mu.Unlock()
	if x.st == nil {
		refuse(w, http.StatusBadRequest, httpmcp.Errorf(httpmcp.CodeInvalidRequest, "the events after the one that %s names are not kept any more", httpmcp.HeaderLastID))
		return
	}
	x.run()
}

// delete ends a session.
func (s *Server) delete(w http.ResponseWriter, r *http.Request, caller string) {
	if c := s.legacyClient(w, r, caller); c != nil {
		c.finish(true)
		w.WriteHeader(http.StatusNoContent)
	}
}
