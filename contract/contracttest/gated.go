package contracttest

import (
	"context"
	"net/http"
	"time"

	"github.com/spillway-mcp/spillway/contract"
)

// gatedStore fails once its process is dead, and where the world breaks the
// journal. It tells the world's journal each step.
type gatedStore struct {
	contract.Store
	gate  *gate
	fault *JournalFault
}

// step runs one call of the store: died before it, it does nothing; died
// while it ran, its answer is lost.
func (s gatedStore) step(name string, broken error, do func() error) error {
	s.fault.tell(name, true)
	if s.gate.dead() {
		return errDead
	}
	if broken != nil {
		return broken
	}
	err := do()
	s.fault.tell(name, false)
	if s.gate.dead() {
		return errDead
	}
	return err
}

func (s gatedStore) Now(ctx context.Context, local time.Time) (contract.Instant, error) {
	if s.gate.dead() {
		return contract.Instant{}, errDead
	}
	return s.Store.Now(ctx, local)
}

func (s gatedStore) Claim(ctx context.Context, r *contract.Record) (existing *contract.Record, claimed bool, err error) {
	broken, _ := s.fault.errs()
	err = s.step("claim", broken, func() error {
		var err error
		existing, claimed, err = s.Store.Claim(ctx, r)
		return err
	})
	return existing, claimed, err
}

func (s gatedStore) Update(ctx context.Context, r *contract.Record) error {
	_, broken := s.fault.errs()
	return s.step("update", broken, func() error { return s.Store.Update(ctx, r) })
}

func (s gatedStore) Heartbeat(ctx context.Context, id contract.ID, epoch int64, lease time.Time) error {
	if s.gate.dead() {
		return errDead
	}
	if s.fault.muted() {
		return nil
	}
	return s.Store.Heartbeat(ctx, id, epoch, lease)
}

func (s gatedStore) Get(ctx context.Context, id contract.ID) (r *contract.Record, err error) {
	err = s.step("get", nil, func() error {
		var err error
		r, err = s.Store.Get(ctx, id)
		return err
	})
	return r, err
}

// gatedTransport sends nothing once its process is dead.
type gatedTransport struct {
	http.RoundTripper
	gate *gate
}

func (t gatedTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	if t.gate.dead() {
		return nil, errDead
	}
	resp, err := t.RoundTripper.RoundTrip(r)
	if err == nil && t.gate.dead() {
		_ = resp.Body.Close()
		return nil, errDead
	}
	return resp, err
}
