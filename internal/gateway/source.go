package gateway

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/spillway-mcp/spillway/internal/config"
	"github.com/spillway-mcp/spillway/internal/httpmcp/client"
	"github.com/spillway-mcp/spillway/internal/proxy"
	"github.com/spillway-mcp/spillway/internal/upstream"
)

// source is one configured upstream.
type source struct {
	g      *Gateway
	cfg    config.Server
	http   *client.Upstream // nil: a child
	shared bool             // clients share one child
	gone   context.Context  // ends when the source is taken out
	remove context.CancelFunc

	mu     sync.Mutex
	trunks [2]*trunk // the shared child of each era; nil: not started
	down   outage
	known  map[string]bool // the tools of the last list, by the name that it had after renames
}

// outage is why an upstream cannot be used, and when it is tried again.
type outage struct {
	err   error
	fails int
	until time.Time
}

// The times between tries to start an upstream: doubled from the first to the
// last.
const (
	firstBackoff = 250 * time.Millisecond
	lastBackoff  = time.Minute
	healthyAfter = 10 * time.Second // that it has run: the next failure is a first one
)

func (g *Gateway) newSource(s config.Server) (*source, error) {
	src := &source{g: g, cfg: s, shared: g.opt.Shared && !s.PerSession && s.URL == ""}
	src.gone, src.remove = context.WithCancel(g.ctx)
	if s.URL != "" {
		var err error
		src.http, err = client.New(client.Options{
			Name: s.Name, URL: s.URL, Header: s.Headers, Forward: s.ForwardHeaders,
			MaxFrame: g.opt.MaxFrame, Log: g.opt.Log,
		})
		if err != nil {
			return nil, fmt.Errorf("server %s: %w", s.Name, err)
		}
	}
	return src, nil
}

// start starts a shared child, so that it is there when the first client comes.
func (s *source) start() {
	if s.shared {
		s.trunk(false)
	}
}

// trunk returns the shared child for an era, starting it where it is not there.
func (s *source) trunk(modern bool) *trunk {
	s.mu.Lock()
	defer s.mu.Unlock()
	i := 0
	if modern {
		i = 1
	}
	if s.trunks[i] == nil {
		s.trunks[i] = newTrunk(s, modern)
	}
	return s.trunks[i]
}

// startChild starts the command of a source.
func startChild(s *source) (proxy.Upstream, error) {
	child, err := upstream.Start(upstream.Command{
		Name: s.cfg.Name, Argv: s.cfg.Argv(), Env: s.cfg.Environ(os.Environ()), Dir: s.cfg.Dir, Stderr: s.g.opt.Stderr,
	})
	if err != nil {
		return nil, err
	}
	return child, nil
}

// failed notes that the upstream could not be used, and returns how long it is
// left alone.
func (s *source) failed(err error, ran time.Duration) time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	if ran > healthyAfter {
		s.down.fails = 0
	}
	wait := time.Duration(0)
	if s.down.fails > 0 {
		wait = min(firstBackoff<<min(s.down.fails-1, 20), lastBackoff)
	}
	s.down.fails++
	s.down.err, s.down.until = err, time.Now().Add(wait)
	s.g.metrics.failures.add(s.cfg.Name)
	s.g.opt.Log.Error("upstream failed", "server", s.cfg.Name, "err", whyOf(s.cfg.Name, err), "again_in", wait, "fails", s.down.fails)
	return wait
}

// works notes that the upstream has answered.
func (s *source) works() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.down.err != nil {
		s.g.opt.Log.Info("upstream is back", "server", s.cfg.Name)
		s.g.said.Delete("missing " + s.cfg.Name)
	}
	s.down.err = nil
}

// rests reports why the upstream is left alone at this moment.
func (s *source) rests() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if left := time.Until(s.down.until); s.down.err != nil && left > 0 {
		return fmt.Errorf("%w; next try in %v", s.down.err, left.Round(time.Second/10))
	}
	return nil
}

// trouble is why the upstream is down; nil if it is not known to be.
func (s *source) trouble() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.down.err
}

func (s *source) close() {
	s.remove()
	s.mu.Lock()
	trunks := s.trunks
	s.mu.Unlock()
	for _, t := range trunks {
		if t != nil {
			t.close()
		}
	}
	if s.http != nil {
		s.http.Close()
	}
}

// otherEra is the error for a client of an era that the upstream does not speak.
// Bridging the eras would begin where it is made.
type otherEra struct {
	server string
	modern bool // what the client speaks
}

func (e *otherEra) Error() string {
	if e.modern {
		return "server " + e.server + " speaks only revisions up to 2025-11-25, and the client 2026-07-28 or newer; spillway does not translate between the two"
	}
	return "server " + e.server + " speaks only 2026-07-28 or newer, and the client a revision up to 2025-11-25; spillway does not translate between the two"
}

// downFor says that a server is down and why.
func downFor(server string, err error) error {
	return &isDown{"server " + server + " is down: " + whyOf(server, err), err}
}

// whyOf is the text of an error for a place that names the server already.
func whyOf(server string, err error) string {
	why := err.Error()
	if rest, named := strings.CutPrefix(why, "server "+server); named && len(rest) > 1 && (rest[0] == ':' || rest[0] == ' ') {
		why = strings.TrimPrefix(strings.TrimPrefix(rest, ":"), " ")
	}
	return why
}

type isDown struct {
	text string
	err  error
}

func (e *isDown) Error() string { return e.text }
func (e *isDown) Unwrap() error { return e.err }

func codeOf(err error) int {
	var era *otherEra
	switch {
	case errors.As(err, &era):
		return CodeOtherEra
	case errors.Is(err, errStopped):
		return CodeStopped
	}
	return CodeUpstreamDown
}
