package journal

import (
	"context"
	"database/sql"
	_ "embed"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"github.com/spillway-mcp/spillway/contract"
)

// Embedded is the journal in a file of its own. A commit is on the disk before
// it returns (WAL with FULL sync); writes that wait for one another share it.
type Embedded struct {
	path   string
	file   os.FileInfo // as it was when it was opened
	read   *sql.DB
	write  *sql.DB
	conn   *sql.Conn // of write, the writer's alone
	stmts  statements
	queue  chan *request
	quit   chan struct{}
	done   chan struct{}
	close  sync.Once
	closed error

	told    int64        // the writer's: what it last wrote into clock
	commits atomic.Int64 // transactions, each of one or more writes
}

type statements struct {
	begin, commit, claim, get, update, beat *sql.Stmt
}

//go:embed schema.sql
var schemaSQL string

// busyTimeout is how long a write waits for another process's.
const busyTimeout = 5 * time.Second

// Open opens or creates the journal at path. Its directory is created with
// owner-only permissions, and so is the file.
func Open(path string) (*Embedded, error) {
	if err := ownerOnly(path); err != nil {
		return nil, err
	}
	// Changing to the log, and reading it back after a kill, take a lock that
	// SQLite does not wait for, whatever the busy timeout; another process may
	// be at the same point.
	for deadline := time.Now().Add(busyTimeout); ; time.Sleep(5 * time.Millisecond) {
		j, err := openOnce(path)
		if err == nil || !isBusy(err) || time.Now().After(deadline) {
			return j, err
		}
	}
}

func isBusy(err error) bool {
	var e *sqlite.Error
	return errors.As(err, &e) && e.Code()&0xff == sqlite3.SQLITE_BUSY
}

func openOnce(path string) (*Embedded, error) {
	fail := func(err error) (*Embedded, error) { return nil, fmt.Errorf("journal %s: %w", path, err) }
	write, err := open(path, "immediate", "journal_mode(WAL)")
	if err != nil {
		return fail(err)
	}
	write.SetMaxOpenConns(1)
	ctx := context.Background()
	conn, err := write.Conn(ctx)
	if err == nil {
		// A read-only file still answers; its claims fail.
		if _, cerr := conn.ExecContext(ctx, schemaSQL); cerr != nil && !readable(ctx, conn) {
			err = cerr
		}
	}
	if err != nil {
		_ = write.Close()
		return fail(err)
	}
	read, err := open(path, "deferred")
	if err != nil {
		_ = write.Close()
		return fail(err)
	}
	read.SetMaxOpenConns(4)
	st, err := os.Stat(path)
	if err != nil {
		_ = read.Close()
		_ = write.Close()
		return fail(err)
	}
	j := &Embedded{path: path, file: st, read: read, write: write, conn: conn, queue: make(chan *request, 256), quit: make(chan struct{}), done: make(chan struct{})}
	if err := j.prepare(ctx); err != nil {
		_ = read.Close()
		_ = write.Close()
		return fail(err)
	}
	go j.writer()
	return j, nil
}

// open prepares a handle whose connections run pragmas first. The log is set by
// the one that writes: the file remembers it.
func open(path, lock string, pragmas ...string) (*sql.DB, error) {
	q := url.Values{"_txlock": {lock}}
	q.Add("_pragma", fmt.Sprintf("busy_timeout(%d)", busyTimeout.Milliseconds()))
	for _, p := range pragmas {
		q.Add("_pragma", p)
	}
	q.Add("_pragma", "synchronous(FULL)")
	return sql.Open("sqlite", (&url.URL{Scheme: "file", Opaque: (&url.URL{Path: filepath.ToSlash(path)}).EscapedPath(), RawQuery: q.Encode()}).String())
}

func readable(ctx context.Context, conn *sql.Conn) bool {
	var n int
	return conn.QueryRowContext(ctx, `SELECT count(*) FROM sqlite_master WHERE name IN ('records', 'parcels')`).Scan(&n) == nil && n == 2
}

// ownerOnly creates the directory and the file before the database does, and
// takes the permissions of others away from a file that has them. The file is
// not opened where it exists: closing a descriptor of it would release the
// locks that another handle of this process holds.
func ownerOnly(path string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o600)
	if err == nil {
		// A crash of the machine must not take the name away from what was
		// claimed since.
		return errors.Join(f.Close(), syncDir(filepath.Dir(path)))
	}
	if !errors.Is(err, os.ErrExist) {
		return err
	}
	st, err := os.Stat(path)
	if err == nil && st.Mode().IsRegular() && st.Mode().Perm()&0o077 != 0 {
		err = os.Chmod(path, st.Mode().Perm()&^0o077)
	}
	return err
}

// inPlace reports an error where the file at the path is no longer the one
// that is open: what is written then is lost to every other process.
func (j *Embedded) inPlace() error {
	st, err := os.Stat(j.path)
	if err == nil && os.SameFile(st, j.file) {
		return nil
	}
	return fmt.Errorf("journal %s was removed or replaced while it was open", j.path)
}

const columns = `hash, lease, revision, body`

func (j *Embedded) prepare(ctx context.Context) error {
	var err error
	for _, s := range []struct {
		to   **sql.Stmt
		text string
	}{
		{&j.stmts.begin, `BEGIN IMMEDIATE`},
		{&j.stmts.commit, `COMMIT`},
		{&j.stmts.claim, `INSERT INTO records (hash, caller, operation, opkey, state, created, expires, lease, epoch, revision, tombstone, body)
			VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, 1, 0, ?) ON CONFLICT (hash) DO NOTHING`},
		{&j.stmts.get, `SELECT ` + columns + ` FROM records WHERE hash = ?`},
		{&j.stmts.update, `UPDATE records SET state = ?, expires = ?, lease = ?, epoch = ?, revision = revision + 1, body = ?
			WHERE hash = ? AND revision = ? AND tombstone = 0`},
		{&j.stmts.beat, `UPDATE records SET lease = ? WHERE hash = ? AND epoch = ? AND state = 'pending'`},
	} {
		if *s.to, err = j.conn.PrepareContext(ctx, s.text); err != nil {
			return err
		}
	}
	return nil
}

// Now implements contract.Store. The wall clock is the machine's, as the caller
// read it; the other counts from the machine's start.
func (j *Embedded) Now(ctx context.Context, local time.Time) (contract.Instant, error) {
	var told int64
	err := j.read.QueryRowContext(ctx, `SELECT told FROM clock`).Scan(&told)
	// A file of before, that can only be read, has no such table.
	if err != nil && !errors.Is(err, sql.ErrNoRows) && !strings.Contains(err.Error(), "no such table") {
		return contract.Instant{}, err
	}
	now := contract.Instant{Stamp: contract.Stamp{At: local}, Floor: instant(told)}
	now.Clock, now.Tick = bootTime()
	return now, nil
}

// Claim implements contract.Store.
func (j *Embedded) Claim(ctx context.Context, r *contract.Record) (*contract.Record, bool, error) {
	c := *r
	c.Revision, c.IDHash = 1, r.Hash()
	body, err := encodeRecord(&c)
	if err != nil {
		return nil, false, err
	}
	var had row
	claimed := false
	err = j.doAt(ctx, r.UpdatedAt, func(ctx context.Context, _ *sql.Conn) error {
		res, err := j.stmts.claim.ExecContext(ctx, c.IDHash, r.Caller, r.Operation, r.Key, r.State,
			nanos(r.CreatedAt), nanos(r.Expires), nanos(r.Lease), r.Epoch, body)
		if err != nil {
			return err
		}
		n, err := res.RowsAffected()
		if claimed = n == 1; claimed || err != nil {
			return err
		}
		return scan(j.stmts.get.QueryRowContext(ctx, c.IDHash), &had)
	})
	if err != nil {
		return nil, false, err
	}
	if claimed {
		r.Revision, r.IDHash = 1, c.IDHash
		return nil, true, nil
	}
	existing, err := had.record()
	if err == nil {
		existing.ID = r.ID
	}
	return existing, false, err
}

// Update implements contract.Store.
func (j *Embedded) Update(ctx context.Context, r *contract.Record) error {
	hash := r.Hash()
	body, err := encodeRecord(r)
	if err != nil {
		return err
	}
	verdict := error(nil)
	err = j.doAt(ctx, r.UpdatedAt, func(ctx context.Context, _ *sql.Conn) error {
		verdict = nil
		res, err := j.stmts.update.ExecContext(ctx, r.State, nanos(r.Expires), nanos(r.Lease), r.Epoch, body, hash, r.Revision)
		if err != nil {
			return err
		}
		if n, err := res.RowsAffected(); n == 1 || err != nil {
			return err
		}
		var had row
		verdict = contract.ErrStaleRecord
		if err := scan(j.stmts.get.QueryRowContext(ctx, hash), &had); err != contract.ErrNoRecord {
			return err
		}
		verdict = contract.ErrNoRecord
		return nil
	})
	if err == nil {
		err = verdict
	}
	if err == nil {
		r.Revision++
	}
	return err
}

// Heartbeat implements contract.Store.
func (j *Embedded) Heartbeat(ctx context.Context, id contract.ID, epoch int64, lease time.Time) error {
	hash, moved := id.Hash(), false
	err := j.do(ctx, func(ctx context.Context, _ *sql.Conn) error {
		res, err := j.stmts.beat.ExecContext(ctx, nanos(lease), hash, epoch)
		if err != nil {
			return err
		}
		n, err := res.RowsAffected()
		moved = n == 1
		return err
	})
	if err == nil && !moved {
		err = contract.ErrStaleRecord
	}
	return err
}

type scanner interface{ Scan(...any) error }

func scan(s scanner, w *row) error {
	err := s.Scan(&w.hash, &w.lease, &w.revision, &w.body)
	if errors.Is(err, sql.ErrNoRows) {
		return contract.ErrNoRecord
	}
	return err
}

// Get implements contract.Store.
func (j *Embedded) Get(ctx context.Context, id contract.ID) (*contract.Record, error) {
	var w row
	if err := scan(j.read.QueryRowContext(ctx, `SELECT `+columns+` FROM records WHERE hash = ?`, id.Hash()), &w); err != nil {
		return nil, err
	}
	r, err := w.record()
	if err == nil {
		r.ID = id
	}
	return r, err
}

// List implements contract.Store.
func (j *Embedded) List(ctx context.Context, f contract.Filter) ([]*contract.Record, error) {
	where, args := selection(f, func(int) string { return "?" })
	rows, err := j.read.QueryContext(ctx, `SELECT `+columns+` FROM records`+where, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var all []*contract.Record
	for rows.Next() {
		var w row
		if err := scan(rows, &w); err != nil {
			return nil, err
		}
		r, err := w.record()
		if err != nil {
			return nil, err
		}
		all = append(all, r)
	}
	return all, rows.Err()
}

// PutParcel implements contract.Store.
func (j *Embedded) PutParcel(ctx context.Context, p contract.Parcel) error {
	return j.do(ctx, func(ctx context.Context, on *sql.Conn) error {
		_, err := on.ExecContext(ctx, `INSERT INTO parcels (id, caller, expires, data) VALUES (?, ?, ?, ?)
			ON CONFLICT (id) DO UPDATE SET caller = excluded.caller, expires = excluded.expires, data = excluded.data`,
			p.ID, p.Caller, nanos(p.Expires), p.Data)
		return err
	})
}

// GetParcel implements contract.Store.
func (j *Embedded) GetParcel(ctx context.Context, id string) (contract.Parcel, error) {
	p := contract.Parcel{ID: id}
	var expires int64
	err := j.read.QueryRowContext(ctx, `SELECT caller, expires, data FROM parcels WHERE id = ?`, id).Scan(&p.Caller, &expires, &p.Data)
	if errors.Is(err, sql.ErrNoRows) {
		return contract.Parcel{}, contract.ErrNoRecord
	}
	p.Expires = instant(expires)
	return p, err
}

// sweepBatch bounds how long one sweep keeps other writers waiting.
const sweepBatch = 500

// Sweep implements contract.Store.
func (j *Embedded) Sweep(ctx context.Context, now, tombstoneUntil time.Time) (contract.Swept, error) {
	var total contract.Swept
	for {
		var n contract.Swept
		err := j.do(ctx, func(ctx context.Context, on *sql.Conn) error {
			n = contract.Swept{}
			return sweepOn(ctx, on, now, tombstoneUntil, &n)
		})
		total.Tombstoned += n.Tombstoned
		total.Removed += n.Removed
		total.Parcels += n.Parcels
		if err != nil || max(n.Tombstoned, n.Removed, n.Parcels) < sweepBatch {
			return total, err
		}
	}
}

func sweepOn(ctx context.Context, on *sql.Conn, now, until time.Time, n *contract.Swept) error {
	res, err := on.ExecContext(ctx, `DELETE FROM records WHERE hash IN
		(SELECT hash FROM records WHERE tombstone = 1 AND expires > 0 AND expires <= ? LIMIT ?)`, nanos(now), sweepBatch)
	if err != nil {
		return err
	}
	removed, _ := res.RowsAffected()
	if res, err = on.ExecContext(ctx, `DELETE FROM parcels WHERE id IN (SELECT id FROM parcels WHERE expires <= ? LIMIT ?)`, nanos(now), sweepBatch); err != nil {
		return err
	}
	parcels, _ := res.RowsAffected()
	n.Removed, n.Parcels = int(removed), int(parcels)
	rows, err := on.QueryContext(ctx, `SELECT `+columns+` FROM records WHERE tombstone = 0 AND expires > 0 AND expires <= ? LIMIT ?`, nanos(now), sweepBatch)
	if err != nil {
		return err
	}
	var due []row
	for rows.Next() {
		var w row
		if err := scan(rows, &w); err != nil {
			_ = rows.Close()
			return err
		}
		due = append(due, w)
	}
	if err := errors.Join(rows.Err(), rows.Close()); err != nil {
		return err
	}
	for i := range due {
		body, err := due[i].buried(until)
		if err != nil {
			return err
		}
		if _, err := on.ExecContext(ctx, `UPDATE records SET caller = '', opkey = '', tombstone = 1, expires = ?, revision = revision + 1, body = ? WHERE hash = ?`,
			nanos(until), body, due[i].hash); err != nil {
			return err
		}
		n.Tombstoned++
	}
	return nil
}

// buried returns the body of the record's tombstone.
func (w *row) buried(until time.Time) ([]byte, error) {
	r, err := w.record()
	if err != nil {
		return nil, err
	}
	r.Bury(until)
	return encodeRecord(r)
}

// Close ends the writer, which finishes what is queued, and closes the file.
func (j *Embedded) Close() error {
	j.close.Do(func() {
		close(j.quit)
		<-j.done
		for _, s := range []*sql.Stmt{j.stmts.begin, j.stmts.commit, j.stmts.claim, j.stmts.get, j.stmts.update, j.stmts.beat} {
			_ = s.Close()
		}
		j.closed = errors.Join(j.conn.Close(), j.write.Close(), j.read.Close())
	})
	return j.closed
}
