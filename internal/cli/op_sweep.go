package cli

import (
	"context"
	"log/slog"
	"time"
)

// sweepEvery is how often a long-running process sweeps its journal.
const sweepEvery = time.Hour

// sweep runs the retention of the journal (C-20), at once and then every hour,
// until ctx ends. Sweeping is nobody's duty in particular: processes that share
// a journal all do it, and one that fails leaves it to the next.
func (ops *operations) sweep(ctx context.Context, every time.Duration, log *slog.Logger) {
	if _, none := ops.store.(noJournal); none {
		return // which was said
	}
	for {
		swept, err := ops.client.Sweep(ctx)
		switch {
		case ctx.Err() != nil:
			return
		case err != nil:
			log.Warn("the journal could not be swept; old records stay until it can", "error", err)
		case swept.Tombstoned+swept.Removed+swept.Parcels > 0:
			log.Info("swept the journal", "tombstoned", swept.Tombstoned, "removed", swept.Removed, "parcels", swept.Parcels)
		}
		select {
		case <-time.After(every):
		case <-ctx.Done():
			return
		}
	}
}
