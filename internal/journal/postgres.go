package journal

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/spillway-mcp/spillway/contract"
)

// Postgres is the journal of a fleet. Every statement is a serialisable
// transaction of its own, committed synchronously.
type Postgres struct {
	pool *pgxpool.Pool
}

//go:embed postgres.sql
var postgresSQL string

// schemaLock is the advisory lock under which processes create the tables.
const schemaLock = 0x5370696c6c6a // "Spillj"

// sweepLock is held by the one that sweeps.
const sweepLock = schemaLock + 1

// OpenPostgres connects to a database and creates what is missing there. The
// DSN is a URL or key=value pairs as libpq has them; pool_max_conns in it
// bounds the connections.
func OpenPostgres(ctx context.Context, dsn string) (*Postgres, error) {
	cfg, err := pgxpool.ParseConfig(dsn)
	if err != nil {
		return nil, errors.New("journal: the PostgreSQL DSN cannot be read") // its error may quote the password
	}
	set := cfg.ConnConfig.RuntimeParams
	set["default_transaction_isolation"] = "serializable"
	set["synchronous_commit"] = "on"
	pool, err := pgxpool.NewWithConfig(ctx, cfg)
	if err != nil {
		return nil, fmt.Errorf("journal: %w", err)
	}
	p := &Postgres{pool}
	if err := p.create(ctx); err != nil {
		pool.Close()
		return nil, fmt.Errorf("journal: %w", err)
	}
	return p, nil
}

func (p *Postgres) create(ctx context.Context) error {
	// Read committed: serialisable transactions that meet at the catalogue
	// fail instead of waiting for the lock.
	tx, err := p.pool.BeginTx(ctx, pgx.TxOptions{IsoLevel: pgx.ReadCommitted})
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback(context.WithoutCancel(ctx)) }()
	if _, err := tx.Exec(ctx, `SELECT pg_advisory_xact_lock($1)`, int64(schemaLock)); err != nil {
		return err
	}
	if _, err := tx.Exec(ctx, postgresSQL); err != nil {
		return err
	}
	return tx.Commit(ctx)
}

// serialized runs f again where the database asks for it: it took two
// transactions for one order and undid one.
func serialized(ctx context.Context, f func() error) error {
	for try := 1; ; try++ {
		err := f()
		pe, ok := errors.AsType[*pgconn.PgError](err)
		if !ok || pe.Code != "40001" && pe.Code != "40P01" || try == 20 {
			return err
		}
		select {
		case <-time.After(time.Duration(try) * time.Millisecond):
		case <-ctx.Done():
			return err
		}
	}
}

// Now implements contract.Store: the time is the database's, for all who share
// it. It is asked for outside of the serialisable order, in which claims would
// wait for one another on account of it.
func (p *Postgres) Now(ctx context.Context, _ time.Time) (contract.Instant, error) {
	var now contract.Instant
	err := p.pool.AcquireFunc(ctx, func(c *pgxpool.Conn) error {
		all, err := c.Conn().PgConn().Exec(ctx, `BEGIN ISOLATION LEVEL READ COMMITTED READ ONLY;
			SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint, (SELECT coalesce(max(created), 0) FROM spillway_records);
			COMMIT`).ReadAll()
		if err != nil {
			return err
		}
		if len(all) != 3 || len(all[1].Rows) != 1 {
			return errors.New("the database does not tell the time")
		}
		micros, err := strconv.ParseInt(string(all[1].Rows[0][0]), 10, 64)
		if err != nil {
			return err
		}
		latest, err := strconv.ParseInt(string(all[1].Rows[0][1]), 10, 64)
		if err != nil {
			return err
		}
		now.At, now.Floor = time.UnixMicro(micros).UTC(), instant(latest)
		now.Clock, now.Tick = "database", time.Duration(micros)*time.Microsecond
		return nil
	})
	return now, err
}

// Claim implements contract.Store.
func (p *Postgres) Claim(ctx context.Context, r *contract.Record) (*contract.Record, bool, error) {
	c := *r
	c.Revision, c.IDHash = 1, r.Hash()
	body, err := encodeRecord(&c)
	if err != nil {
		return nil, false, err
	}
	claimed := false
	err = serialized(ctx, func() error {
		tag, err := p.pool.Exec(ctx, `INSERT INTO spillway_records (hash, caller, operation, opkey, state, created, expires, lease, epoch, revision, tombstone, body)
			VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, 1, 0, $10) ON CONFLICT (hash) DO NOTHING`,
			c.IDHash, r.Caller, r.Operation, r.Key, string(r.State), nanos(r.CreatedAt), nanos(r.Expires), nanos(r.Lease), r.Epoch, body)
		claimed = err == nil && tag.RowsAffected() == 1
		return err
	})
	if err != nil {
		return nil, false, err
	}
	if claimed {
		r.Revision, r.IDHash = 1, c.IDHash
		return nil, true, nil
	}
	existing, err := p.Get(ctx, r.ID)
	return existing, false, err
}

// Update implements contract.Store.
func (p *Postgres) Update(ctx context.Context, r *contract.Record) error {
	hash := r.Hash()
	body, err := encodeRecord(r)
	if err != nil {
		return err
	}
	var n int64
	err = serialized(ctx, func() error {
		tag, err := p.pool.Exec(ctx, `UPDATE spillway_records SET state = $1, expires = $2, lease = $3, epoch = $4, revision = revision + 1, body = $5
			WHERE hash = $6 AND revision = $7 AND tombstone = 0`,
			string(r.State), nanos(r.Expires), nanos(r.Lease), r.Epoch, body, hash, r.Revision)
		n = tag.RowsAffected()
		return err
	})
	switch {
	case err != nil:
		return err
	case n == 1:
		r.Revision++
		return nil
	}
	if _, err := p.Get(ctx, r.ID); err != nil {
		return err
	}
	return contract.ErrStaleRecord
}

// Heartbeat implements contract.Store.
func (p *Postgres) Heartbeat(ctx context.Context, id contract.ID, epoch int64, lease time.Time) error {
	var n int64
	err := serialized(ctx, func() error {
		tag, err := p.pool.Exec(ctx, `UPDATE spillway_records SET lease = $1 WHERE hash = $2 AND epoch = $3 AND state = 'pending'`,
			nanos(lease), id.Hash(), epoch)
		n = tag.RowsAffected()
		return err
	})
	if err == nil && n == 0 {
		err = contract.ErrStaleRecord
	}
	return err
}

// Get implements contract.Store.
func (p *Postgres) Get(ctx context.Context, id contract.ID) (*contract.Record, error) {
	var w row
	err := serialized(ctx, func() error {
		return scan(noRows{p.pool.QueryRow(ctx, `SELECT `+columns+` FROM spillway_records WHERE hash = $1`, id.Hash())}, &w)
	})
	if err != nil {
		return nil, err
	}
	r, err := w.record()
	if err == nil {
		r.ID = id
	}
	return r, err
}

// noRows gives pgx's word for an empty answer our own.
type noRows struct{ scanner }

func (n noRows) Scan(to ...any) error {
	err := n.scanner.Scan(to...)
	if errors.Is(err, pgx.ErrNoRows) {
		return contract.ErrNoRecord
	}
	return err
}

// List implements contract.Store.
func (p *Postgres) List(ctx context.Context, f contract.Filter) ([]*contract.Record, error) {
	where, args := selection(f, func(n int) string { return "$" + strconv.Itoa(n) })
	var all []*contract.Record
	err := serialized(ctx, func() error {
		all = nil
		rows, err := p.pool.Query(ctx, `SELECT `+columns+` FROM spillway_records`+where, args...)
		if err != nil {
			return err
		}
		defer rows.Close()
		for rows.Next() {
			var w row
			if err := scan(rows, &w); err != nil {
				return err
			}
			r, err := w.record()
			if err != nil {
				return err
			}
			all = append(all, r)
		}
		return rows.Err()
	})
	return all, err
}

// PutParcel implements contract.Store.
func (p *Postgres) PutParcel(ctx context.Context, c contract.Parcel) error {
	return serialized(ctx, func() error {
		_, err := p.pool.Exec(ctx, `INSERT INTO spillway_parcels (id, caller, expires, data) VALUES ($1, $2, $3, $4)
			ON CONFLICT (id) DO UPDATE SET caller = excluded.caller, expires = excluded.expires, data = excluded.data`,
			c.ID, c.Caller, nanos(c.Expires), c.Data)
		return err
	})
}

// GetParcel implements contract.Store.
func (p *Postgres) GetParcel(ctx context.Context, id string) (contract.Parcel, error) {
	c := contract.Parcel{ID: id}
	var expires int64
	err := serialized(ctx, func() error {
		return noRows{p.pool.QueryRow(ctx, `SELECT caller, expires, data FROM spillway_parcels WHERE id = $1`, id)}.Scan(&c.Caller, &expires, &c.Data)
	})
	if err != nil {
		return contract.Parcel{}, err
	}
	c.Expires = instant(expires)
	return c, nil
}

// Sweep implements contract.Store.
func (p *Postgres) Sweep(ctx context.Context, now, tombstoneUntil time.Time) (contract.Swept, error) {
	var total contract.Swept
	for {
		var n contract.Swept
		err := serialized(ctx, func() error {
			n = contract.Swept{}
			return pgx.BeginFunc(ctx, p.pool, func(tx pgx.Tx) error { return p.sweep(ctx, tx, now, tombstoneUntil, &n) })
		})
		if err != nil {
			return total, err
		}
		total.Tombstoned += n.Tombstoned
		total.Removed += n.Removed
		total.Parcels += n.Parcels
		if max(n.Tombstoned, n.Removed, n.Parcels) < sweepBatch {
			return total, nil
		}
	}
}

func (p *Postgres) sweep(ctx context.Context, tx pgx.Tx, now, until time.Time, n *contract.Swept) error {
	// One sweeps at a time: whole batches of two would be undone.
	var mine bool
	if err := tx.QueryRow(ctx, `SELECT pg_try_advisory_xact_lock($1)`, int64(sweepLock)).Scan(&mine); err != nil || !mine {
		return err
	}
	tag, err := tx.Exec(ctx, `DELETE FROM spillway_records WHERE hash IN
		(SELECT hash FROM spillway_records WHERE tombstone = 1 AND expires > 0 AND expires <= $1 LIMIT $2)`, nanos(now), sweepBatch)
	if err != nil {
		return err
	}
	n.Removed = int(tag.RowsAffected())
	if tag, err = tx.Exec(ctx, `DELETE FROM spillway_parcels WHERE id IN (SELECT id FROM spillway_parcels WHERE expires <= $1 LIMIT $2)`, nanos(now), sweepBatch); err != nil {
		return err
	}
	n.Parcels = int(tag.RowsAffected())
	rows, err := tx.Query(ctx, `SELECT `+columns+` FROM spillway_records WHERE tombstone = 0 AND expires > 0 AND expires <= $1 LIMIT $2`, nanos(now), sweepBatch)
	if err != nil {
		return err
	}
	due, err := pgx.CollectRows(rows, func(r pgx.CollectableRow) (row, error) {
		var w row
		return w, r.Scan(&w.hash, &w.lease, &w.revision, &w.body)
	})
	if err != nil {
		return err
	}
	for i := range due {
		body, err := due[i].buried(until)
		if err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, `UPDATE spillway_records SET caller = '', opkey = '', tombstone = 1, expires = $1, revision = revision + 1, body = $2 WHERE hash = $3`,
			nanos(until), body, due[i].hash); err != nil {
			return err
		}
		n.Tombstoned++
	}
	return nil
}

// Close closes the connections.
func (p *Postgres) Close() error {
	p.pool.Close()
	return nil
}
