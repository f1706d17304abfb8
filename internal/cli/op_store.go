package cli

import (
	"context"
	"time"

	"github.com/spillway-mcp/spillway/contract"
	"github.com/spillway-mcp/spillway/internal/config"
	"github.com/spillway-mcp/spillway/internal/journal"
)

// openJournal opens the journal of a configuration, and the key that seals.
func openJournal(j config.Journal) (contract.Store, *contract.Sealer, error) {
	store, err := journalStore(j)
	if err != nil {
		return nil, nil, err
	}
	sealer, err := journalSealer(j)
	if err != nil {
		store.Close()
		return nil, nil, err
	}
	return store, sealer, nil
}

// journalTimeout is how long a database may take to answer at the start.
const journalTimeout = 10 * time.Second

func journalStore(j config.Journal) (contract.Store, error) {
	if j.URL == "" {
		return journal.Open(j.Path)
	}
	ctx, cancel := context.WithTimeout(context.Background(), journalTimeout)
	defer cancel()
	return journal.OpenPostgres(ctx, j.URL)
}

// journalSealer is the key of the configuration, else the one in the file
// beside the journal (C-05).
func journalSealer(j config.Journal) (*contract.Sealer, error) {
	if j.Key != nil {
		return contract.SealerFromKey(j.Key)
	}
	return journal.Sealer(j.Path + ".key")
}

// noJournal stands for a journal that cannot be opened: it refuses everything.
type noJournal struct{ err error }

func (n noJournal) Now(context.Context, time.Time) (contract.Instant, error) {
	return contract.Instant{}, n.err
}
func (n noJournal) Claim(context.Context, *contract.Record) (*contract.Record, bool, error) {
	return nil, false, n.err
}
func (n noJournal) Update(context.Context, *contract.Record) error { return n.err }
func (n noJournal) Heartbeat(context.Context, contract.ID, int64, time.Time) error {
	return n.err
}
func (n noJournal) Get(context.Context, contract.ID) (*contract.Record, error) { return nil, n.err }
func (n noJournal) List(context.Context, contract.Filter) ([]*contract.Record, error) {
	return nil, n.err
}
func (n noJournal) Sweep(context.Context, time.Time, time.Time) (contract.Swept, error) {
	return contract.Swept{}, n.err
}
func (n noJournal) PutParcel(context.Context, contract.Parcel) error { return n.err }
func (n noJournal) GetParcel(context.Context, string) (contract.Parcel, error) {
	return contract.Parcel{}, n.err
}
func (n noJournal) Close() error { return nil }
