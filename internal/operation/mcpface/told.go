package mcpface

import (
	"context"
	"time"

	"github.com/spillway-mcp/spillway/contract"
)

// In 2025-11-25 a task that has ended stays as it ended: one that failed, and
// one that was cancelled. An operation does not: a reconcile settles what was
// unknown. So the end that a client was told is kept beside the journal's
// record, and the result is what the record says now.

const (
	purposeTold = "task status v1 "
	toldLife    = 30 * 24 * time.Hour // where the record does not say for how long
)

func toldID(ref contract.Ref) string {
	return "task_" + contract.ID(ref).Hash()
}

// told returns the end of a task that its client was told; "" is none.
func (f *Face) told(ctx context.Context, ref contract.Ref) string {
	id := toldID(ref)
	p, err := f.opt.Store.GetParcel(ctx, id)
	if err != nil {
		return ""
	}
	raw, err := f.opt.Sealer.Open(purposeTold+id, p.Data)
	if err != nil {
		return ""
	}
	return string(raw)
}

// tell keeps the end of a task that its client is about to be told. A
// completed operation stays so by itself.
func (f *Face) tell(ctx context.Context, ref contract.Ref, s *standing) {
	if s.stuck == "" && s.status(false) == failed {
		f.stick(ctx, ref, failed, s.expires)
	}
}

// forget lets a task begin anew: its operation id was called again.
func (f *Face) forget(ctx context.Context, ref contract.Ref, s *standing) {
	if s.stuck != "" {
		f.stick(ctx, ref, "", time.Time{})
	}
}

// stick keeps a status. One that cannot be kept is told all the same: what the
// operation's receipt says does not depend on it.
func (f *Face) stick(ctx context.Context, ref contract.Ref, status string, until time.Time) {
	if until.IsZero() {
		until = time.Now().Add(toldLife)
	}
	id := toldID(ref)
	_ = f.opt.Store.PutParcel(context.WithoutCancel(ctx), contract.Parcel{
		ID: id, Caller: ref.Caller, Data: f.opt.Sealer.Seal(purposeTold+id, []byte(status)), Expires: until,
	})
}
