// Package durable opens journals that outlive the process: what a program
// outside of this module gives to contract.Options. It owns nothing but the
// way in.
package durable

import (
	"context"

	"github.com/spillway-mcp/spillway/contract"
	"github.com/spillway-mcp/spillway/internal/journal"
)

// Open opens or creates the embedded journal at path, and the key beside it
// (path + ".key"). Several processes of one machine may share it; a commit is
// on the disk before it returns. Files are readable by their owner alone.
func Open(path string) (contract.Store, *contract.Sealer, error) {
	sealer, err := journal.Sealer(path + ".key")
	if err != nil {
		return nil, nil, err
	}
	store, err := journal.Open(path)
	if err != nil {
		return nil, nil, err
	}
	return store, sealer, nil
}

// OpenPostgres opens the journal of a fleet in a PostgreSQL database, given as
// a URL or as libpq's key=value pairs. Processes that share it share a seal
// key too, of contract.SealKeySize bytes or more, which the caller provides.
func OpenPostgres(ctx context.Context, dsn string, sealKey []byte) (contract.Store, *contract.Sealer, error) {
	sealer, err := contract.SealerFromKey(sealKey)
	if err != nil {
		return nil, nil, err
	}
	store, err := journal.OpenPostgres(ctx, dsn)
	if err != nil {
		return nil, nil, err
	}
	return store, sealer, nil
}
