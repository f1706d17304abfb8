package conformance

import (
	"context"
	"net/http"
	"os"
	"sync/atomic"

	"github.com/spillway-mcp/spillway/contract"
)

// death kills its own process at a step, as kill -9 does. Steps are the
// moments before and after each commit of the journal and each request that
// asks the upstream for an effect.
type death struct {
	at   int
	stop int // the step at which it only stops, until it is told to go on
	step atomic.Int64
}

func (d *death) tick() {
	n := int(d.step.Add(1))
	if n == d.stop {
		stopSelf()
	}
	if d.at == 0 || n != d.at {
		return
	}
	p, err := os.FindProcess(os.Getpid())
	if err == nil {
		err = p.Kill()
	}
	if err != nil {
		os.Exit(3)
	}
	select {} // the signal is on its way
}

type mortalStore struct {
	contract.Store
	d *death
}

func (s mortalStore) Claim(ctx context.Context, r *contract.Record) (*contract.Record, bool, error) {
	s.d.tick()
	defer s.d.tick()
	return s.Store.Claim(ctx, r)
}

func (s mortalStore) Update(ctx context.Context, r *contract.Record) error {
	s.d.tick()
	defer s.d.tick()
	return s.Store.Update(ctx, r)
}

type mortalTransport struct {
	http.RoundTripper
	d *death
}

func (t mortalTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Method != http.MethodGet {
		t.d.tick()
		defer t.d.tick()
	}
	return t.RoundTripper.RoundTrip(r)
}
