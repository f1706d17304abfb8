package server

import "net/http"

// Server is the MCP endpoint, an http.Handler for one path.
type Server struct{}

// New makes the endpoint in front of core.
func New(core Core, opt Options) *Server { return &Server{} }

func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {}

// Close ends all sessions and streams, and refuses what comes after with 503.
// Calls that wait for an answer are given up: wait for them before.
func (s *Server) Close() {}

// Counts are figures for metrics.
type Counts struct{ Sessions, Streams, Calls int }

// Counts returns what is open at this moment.
func (s *Server) Counts() Counts { return Counts{} }

// NewHTTPServer makes a server for h with the limits on headers and idle
// connections that a public endpoint needs. Addr and TLS are the caller's.
func NewHTTPServer(h http.Handler) *http.Server { return &http.Server{Handler: h} }
