package gateway

import (
	"encoding/json"
	"fmt"
	"net/http"
	"runtime"
	"slices"
	"strings"
)

// Status is what is known of an upstream. Its JSON is that of GET /readyz.
type Status struct {
	Server string `json:"server"`
	State  string `json:"state"` // up, starting, down, on demand
	Why    string `json:"why,omitempty"`
}

// Status returns the state of each upstream, in their order.
func (g *Gateway) Status() []Status {
	var all []Status
	for _, src := range g.list() {
		s := Status{Server: src.cfg.Name, State: "on demand"}
		src.mu.Lock()
		err, t := src.down.err, src.trunks[0]
		src.mu.Unlock()
		if t != nil {
			t.mu.Lock()
			switch {
			case t.pipe != nil:
				s.State, err = "up", nil
			case t.err != nil:
				s.State, err = "down", t.err
			default:
				s.State = "starting"
			}
			t.mu.Unlock()
		}
		if err != nil {
			s.State, s.Why = "down", clip(err.Error(), 300)
		}
		all = append(all, s)
	}
	return all
}

// Observe adds what operators look at to mux: /healthz, /readyz and /metrics.
// counts returns the sessions, streams and calls that are open at the edge.
// admit, if any, says who may see the servers' names; where it returns false it
// has answered. Whether the process is there and ready is told to everybody: what
// looks after processes has no token.
func (g *Gateway) Observe(mux *http.ServeMux, counts func() (sessions, streams, calls int), admit func(http.ResponseWriter, *http.Request) bool) {
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintln(w, "ok")
	})
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, r *http.Request) {
		all := g.Status()
		said := map[string]any{"servers": all}
		if admit != nil {
			if r.Header.Get("Authorization") == "" {
				said = map[string]any{}
			} else if !admit(w, r) {
				return
			}
		}
		w.Header().Set("Content-Type", "application/json")
		if !slices.ContainsFunc(all, func(s Status) bool { return s.State == "up" || s.State == "on demand" }) {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
		_ = json.NewEncoder(w).Encode(said)
	})
	mux.HandleFunc("GET /metrics", func(w http.ResponseWriter, r *http.Request) {
		if admit != nil && !admit(w, r) {
			return
		}
		w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
		var b strings.Builder
		g.writeMetrics(&b, counts)
		_, _ = w.Write([]byte(b.String()))
	})
}

func (g *Gateway) writeMetrics(b *strings.Builder, counts func() (int, int, int)) {
	head := func(name, kind, help string) { fmt.Fprintf(b, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, kind) }
	one := func(name, kind, help string, v any) {
		head(name, kind, help)
		fmt.Fprintf(b, "%s %v\n", name, v)
	}
	sessions, streams, calls := counts()
	one("spillway_sessions", "gauge", "Legacy sessions that are open.", sessions)
	one("spillway_streams", "gauge", "Streams on which clients listen.", streams)
	one("spillway_http_calls", "gauge", "Messages of clients that are in work at the HTTP edge.", calls)
	one("spillway_requests_in_flight", "gauge", "Requests of clients without an answer.", g.metrics.inFlight.Load())
	one("spillway_sessions_opened_total", "counter", "Sessions of clients that were opened.", g.metrics.sessions.Load())
	g.metrics.write(b, head)
	head("spillway_upstream_up", "gauge", "Whether an upstream can be used: 1, or 0 while it is down.")
	for _, s := range g.Status() {
		up := 1
		if s.State == "down" || s.State == "starting" {
			up = 0
		}
		fmt.Fprintf(b, "spillway_upstream_up{server=%s} %d\n", label(s.Server), up)
	}
	one("go_goroutines", "gauge", "Goroutines.", runtime.NumGoroutine())
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	one("go_memstats_heap_inuse_bytes", "gauge", "Bytes of the heap in use.", m.HeapInuse)
	one("go_memstats_sys_bytes", "gauge", "Bytes that the process has from the system.", m.Sys)
}

// label quotes a value of a label.
func label(s string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`).Replace(s) + `"`
}
