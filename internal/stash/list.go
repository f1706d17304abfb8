package stash

import (
	"context"
	"fmt"
)

// List returns the live entries of caller, or of all callers if it is "",
// the latest put first.
func (s *Store) List(ctx context.Context, caller string) ([]Entry, error) {
	db, err := s.database(ctx)
	if err != nil {
		return nil, err
	}
	where, args := "WHERE e.expires > ?", []any{micro(s.now())}
	if caller != "" {
		where, args = where+" AND e.caller = ?", append(args, caller)
	}
	rows, err := db.r.QueryContext(ctx, selectEntry+" FROM entries e JOIN objects o ON o.id = e.object "+where+" ORDER BY e.seq DESC", args...)
	if err != nil {
		return nil, fmt.Errorf("stash: %w", err)
	}
	defer rows.Close()
	var list []Entry
	for rows.Next() {
		var e Entry
		c := columns{e: &e}
		if err := rows.Scan(c.dest()...); err != nil {
			return nil, fmt.Errorf("stash: %w", err)
		}
		c.done()
		list = append(list, e)
	}
	if err := rows.Err(); err != nil {
		return nil, fmt.Errorf("stash: %w", err)
	}
	return list, nil
}

// Stats says how much is kept. Entries that expired and were not yet removed
// count, as they do against the quota.
type Stats struct {
	Entries  int   `json:"entries"`
	Objects  int   `json:"objects"` // entries of several callers may share one
	Files    int   `json:"files"`   // objects that are files
	Expired  int   `json:"expired"` // refs that answer "expired"
	Bytes    int64 `json:"bytes"`   // of the objects, uncompressed
	Stored   int64 `json:"stored"`  // of the objects, as stored
	MaxBytes int64 `json:"max_bytes"`
}

// Stats counts what the stash holds. It reads the whole index.
func (s *Store) Stats(ctx context.Context) (Stats, error) {
	st := Stats{MaxBytes: s.max}
	db, err := s.database(ctx)
	if err != nil {
		return st, err
	}
	err = db.r.QueryRowContext(ctx, `SELECT
		(SELECT count(*) FROM entries),
		(SELECT count(*) FROM objects),
		(SELECT count(*) FROM objects WHERE data IS NULL),
		(SELECT count(*) FROM tombstones WHERE at > ?),
		(SELECT coalesce(sum(size), 0) FROM objects),
		(SELECT bytes FROM state)`, micro(s.now())-tombstoneAge.Microseconds()).
		Scan(&st.Entries, &st.Objects, &st.Files, &st.Expired, &st.Bytes, &st.Stored)
	if err != nil {
		return st, fmt.Errorf("stash: %w", err)
	}
	return st, nil
}
