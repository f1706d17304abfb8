package stash

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
)

// tx is a write transaction: the one place where rows and files change
// together. It holds SQLite's write lock, across processes, from its start.
type tx struct {
	ctx context.Context
	db  *database
	now int64 // microseconds
}

// update runs fn in a write transaction and commits what it did if it returns
// nil. The wait for the lock ends with ctx, or after busyTimeout.
func (s *Store) update(ctx context.Context, fn func(*tx) error) error {
	select {
	case s.writing <- struct{}{}:
		defer func() { <-s.writing }()
	case <-ctx.Done():
		return ctx.Err()
	}
	db, err := s.database(ctx)
	if err != nil {
		return err
	}
	if _, err := db.w.ExecContext(ctx, "BEGIN IMMEDIATE"); err != nil {
		return fmt.Errorf("stash: %w", err)
	}
	// From here on it takes well under a millisecond: not worth a watcher on
	// ctx for each statement.
	t := &tx{ctx: context.WithoutCancel(ctx), db: db, now: micro(s.now())}
	if err = fn(t); err == nil {
		err = t.exec("COMMIT")
	}
	if err != nil {
		db.w.ExecContext(t.ctx, "ROLLBACK") // fails where SQLite has done so itself
	}
	return err
}

func (t *tx) exec(query string, args ...any) error {
	st, err := t.db.write(t.ctx, query)
	if err == nil {
		_, err = st.ExecContext(t.ctx, args...)
	}
	if err != nil {
		return fmt.Errorf("stash: %w", err)
	}
	return nil
}

// count runs query, which answers one integer.
func (t *tx) count(query string, args ...any) (n int64, err error) {
	_, err = t.one(query, args, &n)
	return n, err
}

// one scans the first row of query into dest and reports whether there was one.
func (t *tx) one(query string, args []any, dest ...any) (bool, error) {
	st, err := t.db.write(t.ctx, query)
	if err == nil {
		err = st.QueryRowContext(t.ctx, args...).Scan(dest...)
	}
	if errors.Is(err, sql.ErrNoRows) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("stash: %w", err)
	}
	return true, nil
}

// victim is an entry that is about to go.
type victim struct {
	seq       int64
	caller    string
	ref       string
	canonical []byte
	tool      string
}

const selectVictim = "SELECT seq, caller, ref, canonical, tool FROM entries "

// bury deletes the first entry that the query (selectVictim and more) finds
// and leaves a tombstone. It reports whether there was one.
func (t *tx) bury(query string, args ...any) (bool, error) {
	var v victim
	ok, err := t.one(query, args, &v.seq, &v.caller, &v.ref, &v.canonical, &v.tool)
	if !ok || err != nil {
		return false, err
	}
	if err := t.exec("DELETE FROM entries WHERE seq = ?", v.seq); err != nil {
		return false, err
	}
	err = t.exec(`INSERT INTO tombstones (caller, ref, canonical, tool, at) VALUES (?, ?, ?, ?, ?)
		ON CONFLICT (caller, ref) DO UPDATE SET canonical = excluded.canonical, tool = excluded.tool, at = excluded.at`,
		v.caller, v.ref, v.canonical, v.tool, t.now)
	if err != nil {
		return false, err
	}
	// Ids only grow, so a bound on their range bounds their number.
	return true, t.exec("DELETE FROM tombstones WHERE id <= (SELECT max(id) FROM tombstones) - ?", int64(tombstoneCap))
}

// expire buries up to n entries whose time is over, and reports how many.
func (t *tx) expire(n int) (int, error) {
	for i := range n {
		ok, err := t.bury(selectVictim+"WHERE expires <= ? ORDER BY expires LIMIT 1", t.now)
		if !ok || err != nil {
			return i, err
		}
	}
	return n, nil
}

// evict buries the oldest entries, at most n, until need more bytes fit into
// the quota of max bytes. It reports how many.
func (t *tx) evict(max, need int64, n int) (gone int, err error) {
	for ; gone < n; gone++ {
		held, err := t.count("SELECT bytes FROM state")
		if err != nil || held+need <= max {
			return gone, err
		}
		if ok, err := t.bury(selectVictim + "ORDER BY seq LIMIT 1"); !ok || err != nil {
			return gone, err
		}
	}
	return gone, nil
}

// evictOf does the same to one caller and its quota.
func (t *tx) evictOf(caller string, max, need int64, n int) (gone int, err error) {
	for ; gone < n; gone++ {
		held, err := t.count("SELECT bytes FROM callers WHERE caller = ?", caller)
		if err != nil || held+need <= max {
			return gone, err
		}
		if ok, err := t.bury(selectVictim+"WHERE caller = ? ORDER BY seq LIMIT 1", caller); !ok || err != nil {
			return gone, err
		}
	}
	return gone, nil
}

// hashes runs query, which answers hashes.
func (t *tx) hashes(query string, args ...any) (hs []hash, err error) {
	st, err := t.db.write(t.ctx, query)
	if err != nil {
		return nil, fmt.Errorf("stash: %w", err)
	}
	return scanHashes(st.QueryContext(t.ctx, args...))
}

func scanHashes(rows *sql.Rows, err error) (hs []hash, _ error) {
	if err != nil {
		return nil, fmt.Errorf("stash: %w", err)
	}
	defer rows.Close()
	for rows.Next() {
		var b sql.RawBytes
		if err := rows.Scan(&b); err != nil {
			return nil, fmt.Errorf("stash: %w", err)
		}
		if len(b) == len(hash{}) {
			hs = append(hs, hash(b))
		}
	}
	if err := rows.Err(); err != nil {
		return nil, fmt.Errorf("stash: %w", err)
	}
	return hs, nil
}
