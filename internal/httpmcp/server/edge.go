package server

import (
	"context"
	"log/slog"
	"math"
	"net/http"
	"sync"
	"time"

	"github.com/spillway-mcp/spillway/internal/httpmcp"
)

// Server is the MCP endpoint, an http.Handler for one path.
type Server struct {
	core    Core
	opt     Options
	hosts   map[string]bool
	origins map[string]bool
	ctx     context.Context // ends with Close
	end     context.CancelCauseFunc

	mu       sync.Mutex
	closed   bool
	sessions map[string]*Client
	callers  map[string]*usage
	total    Counts
	sweeper  *time.Timer // nil while there is no session
}

// New makes the endpoint in front of core.
func New(core Core, opt Options) *Server {
	opt.defaults()
	s := &Server{
		core: core, opt: opt,
		hosts: names(opt.Hosts), origins: names(opt.Origins),
		sessions: map[string]*Client{}, callers: map[string]*usage{},
	}
	s.ctx, s.end = context.WithCancelCause(context.Background())
	return s
}

func (o *Options) defaults() {
	for _, n := range []struct {
		limit *int
		value int
	}{
		{&o.MaxBody, 64 << 20}, {&o.MaxCalls, 256}, {&o.MaxStreams, 1024}, {&o.MaxSessions, 10_000},
		{&o.MaxReplay, 1 << 20}, {&o.MaxQueue, 8 << 20},
	} {
		if *n.limit == 0 {
			*n.limit = n.value
		} else if *n.limit < 0 {
			*n.limit = math.MaxInt
		}
	}
	for _, d := range []struct {
		limit *time.Duration
		value time.Duration
	}{
		{&o.CallTime, time.Hour}, {&o.CancelTime, 5 * time.Second}, {&o.IdleSession, time.Hour}, {&o.ReadTime, 15 * time.Second},
		{&o.WriteTime, 30 * time.Second}, {&o.KeepAlive, 15 * time.Second}, {&o.StreamAfter, 10 * time.Second},
	} {
		if *d.limit == 0 {
			*d.limit = d.value
		} else if *d.limit < 0 {
			*d.limit = forever
		}
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
}

// forever is longer than any process runs, and leaves room for sums.
const forever = 100 * 365 * 24 * time.Hour

// ServeHTTP serves one request of the endpoint.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.deadline(w)
	caller, ok := s.admit(w, r)
	if !ok {
		return
	}
	if s.ctx.Err() != nil {
		refuse(w, http.StatusServiceUnavailable, httpmcp.Errorf(CodeClosing, "the server is closing"))
		return
	}
	switch r.Method {
	case http.MethodPost:
		s.post(w, r, caller)
	case http.MethodGet:
		s.get(w, r, caller)
	case http.MethodDelete:
		s.delete(w, r, caller)
	default:
		notAllowed(w)
	}
}

// Close ends all sessions and streams, and refuses what comes after with 503.
// Calls that wait for an answer are given up: wait for them before.
func (s *Server) Close() {
	s.mu.Lock()
	s.closed = true
	if s.sweeper != nil {
		s.sweeper.Stop()
	}
	var all []*Client
	for _, c := range s.sessions {
		all = append(all, c)
	}
	s.mu.Unlock()
	s.end(ErrClosed)
	for _, c := range all {
		c.finish(true)
	}
}

// Counts are figures for metrics.
type Counts struct{ Sessions, Streams, Calls int }

// Counts returns what is open at this moment.
func (s *Server) Counts() Counts {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.total
}

// NewHTTPServer makes a server for h with the limits on headers and idle
// connections that a public endpoint needs. Addr and TLS are the caller's.
func NewHTTPServer(h http.Handler) *http.Server {
	return &http.Server{
		Handler:           h,
		ReadHeaderTimeout: 10 * time.Second,
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    64 << 10,
	}
}
