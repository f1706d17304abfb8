package server

// usage is what one caller has open.
type usage Counts

// one is a step of one kind of thing.
var (
	oneSession = Counts{Sessions: 1}
	oneStream  = Counts{Streams: 1}
	oneCall    = Counts{Calls: 1}
)

// take counts n more things of a caller, and reports whether it may have them.
func (s *Server) take(caller string, n Counts) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	u := s.callers[caller]
	if u == nil {
		u = new(usage)
	}
	after := usage{u.Sessions + n.Sessions, u.Streams + n.Streams, u.Calls + n.Calls}
	if n.Sessions > 0 && after.Sessions > s.opt.MaxSessions ||
		n.Streams > 0 && after.Streams > s.opt.MaxStreams ||
		n.Calls > 0 && after.Calls > s.opt.MaxCalls {
		return false
	}
	*u = after
	s.callers[caller] = u
	s.total = Counts{s.total.Sessions + n.Sessions, s.total.Streams + n.Streams, s.total.Calls + n.Calls}
	return true
}

// give takes back what take counted.
func (s *Server) give(caller string, n Counts) {
	s.mu.Lock()
	defer s.mu.Unlock()
	u := s.callers[caller]
	u.Sessions -= n.Sessions
	u.Streams -= n.Streams
	u.Calls -= n.Calls
	if *u == (usage{}) {
		delete(s.callers, caller)
	}
	s.total = Counts{s.total.Sessions - n.Sessions, s.total.Streams - n.Streams, s.total.Calls - n.Calls}
}
