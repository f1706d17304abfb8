package server

// Held returns how many sessions and callers are remembered.
func (s *Server) Held() (sessions, callers int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.sessions), len(s.callers)
}
