package stash

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// GCReport says what a cleaning removed.
type GCReport struct {
	Expired    int   `json:"expired"`    // entries whose time was over
	Evicted    int   `json:"evicted"`    // entries over a quota
	Lost       int   `json:"lost"`       // objects whose file is missing or torn
	Orphans    int   `json:"orphans"`    // files that no object claims
	Temps      int   `json:"temps"`      // temporary files that a dead process left
	Tombstones int   `json:"tombstones"` // refs that are now unknown
	Freed      int64 `json:"freed"`      // bytes as stored, of the objects removed
}

// gcBatch is how many things one transaction removes, so that other writers
// get their turn.
const gcBatch = 64

// GC removes what is no longer to be kept, in small transactions, and gives
// the database's free pages back. It may run at any time, in any process,
// beside everything else. On an error the report covers what was done.
func (s *Store) GC(ctx context.Context) (r GCReport, err error) {
	before, err := s.Stats(ctx)
	if err != nil {
		return r, err
	}
	for _, step := range []func(context.Context, *GCReport) error{
		s.gcEntries, s.gcQuota, s.gcCallers, s.gcLost, s.gcTombstones, s.gcDoomed, s.gcFiles, s.vacuum,
	} {
		if err = step(ctx, &r); err != nil {
			break
		}
	}
	if after, e := s.Stats(ctx); e == nil {
		r.Freed = max(0, before.Stored-after.Stored)
	}
	return r, err
}

// tidy starts a cleaning in the background if the last one was long ago.
func (s *Store) tidy() {
	now := s.now()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed || s.tidyEvery == 0 || now.Sub(s.tidied) < s.tidyEvery {
		return
	}
	s.tidied = now
	s.background.Go(func() {
		if _, err := s.GC(s.stopped); err != nil && s.stopped.Err() == nil {
			s.log.Warn("stash cannot be cleaned up", "err", err)
		}
	})
}

// batches runs fn in transactions of its own until it reports that it did less
// than a batch.
func (s *Store) batches(ctx context.Context, total *int, fn func(*tx) (int, error)) error {
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		n := 0
		err := s.update(ctx, func(t *tx) (err error) {
			n, err = fn(t)
			return err
		})
		if err != nil {
			return err
		}
		*total += n
		if n < gcBatch {
			return nil
		}
	}
}

func (s *Store) gcEntries(ctx context.Context, r *GCReport) error {
	return s.batches(ctx, &r.Expired, func(t *tx) (int, error) { return t.expire(gcBatch) })
}

func (s *Store) gcQuota(ctx context.Context, r *GCReport) error {
	return s.batches(ctx, &r.Evicted, func(t *tx) (int, error) { return t.evict(s.max, 0, gcBatch) })
}

// gcCallers holds every caller to its quota, which may have been lowered.
func (s *Store) gcCallers(ctx context.Context, r *GCReport) error {
	return s.batches(ctx, &r.Evicted, func(t *tx) (int, error) {
		var caller string
		n := 0
		for n < gcBatch {
			over, err := t.one("SELECT caller FROM callers WHERE bytes > ? LIMIT 1", []any{s.perOne}, &caller)
			if !over || err != nil {
				return n, err
			}
			m, err := t.evictOf(caller, s.perOne, 0, gcBatch-n)
			n += m
			if err != nil || m == 0 {
				return n, err
			}
		}
		return n, nil
	})
}

// gcLost drops the objects whose file a power loss took.
func (s *Store) gcLost(ctx context.Context, r *GCReport) error {
	db, err := s.database(ctx)
	if err != nil {
		return err
	}
	rows, err := db.r.QueryContext(ctx, "SELECT hash, stored FROM objects WHERE data IS NULL")
	if err != nil {
		return fmt.Errorf("stash: %w", err)
	}
	defer rows.Close()
	var lost []hash
	for rows.Next() {
		var (
			name []byte
			o    = object{file: true}
		)
		if err := rows.Scan(&name, &o.stored); err != nil {
			return fmt.Errorf("stash: %w", err)
		}
		if len(name) == len(hash{}) && !s.intact(hash(name), &o) {
			lost = append(lost, hash(name))
		}
	}
	if err := rows.Err(); err != nil {
		return fmt.Errorf("stash: %w", err)
	}
	for _, h := range lost {
		err := s.update(ctx, func(t *tx) error {
			var o object
			found, err := t.one("SELECT id, stored, data IS NULL, bad FROM objects WHERE hash = ?", []any{h[:]},
				&o.id, &o.stored, &o.file, &o.bad)
			o.bad = false // damaged is not lost: its owner is to be told
			if !found || err != nil || s.intact(h, &o) {
				return err
			}
			r.Lost++
			return t.forget(o.id)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func (s *Store) gcTombstones(ctx context.Context, r *GCReport) error {
	return s.batches(ctx, &r.Tombstones, func(t *tx) (int, error) {
		n, err := t.count("SELECT count(*) FROM (SELECT 1 FROM tombstones WHERE at <= ? LIMIT ?)",
			t.now-tombstoneAge.Microseconds(), gcBatch)
		if n == 0 || err != nil {
			return 0, err
		}
		return int(n), t.exec("DELETE FROM tombstones WHERE id IN (SELECT id FROM tombstones WHERE at <= ? LIMIT ?)",
			t.now-tombstoneAge.Microseconds(), gcBatch)
	})
}

func (s *Store) gcDoomed(ctx context.Context, _ *GCReport) error {
	var n int
	return s.batches(ctx, &n, func(t *tx) (int, error) { return s.sweep(t, gcBatch) })
}

// gcFiles removes files that nobody claims: left by a process that was killed
// between putting a file in place and committing, or while writing it.
func (s *Store) gcFiles(ctx context.Context, r *GCReport) error {
	d, err := os.Open(s.objects())
	if err != nil {
		return fmt.Errorf("stash: %w", err)
	}
	defer d.Close()
	for {
		names, err := d.Readdirnames(gcBatch)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("stash: %w", err)
		}
		var orphans []hash
		for _, name := range names {
			h, isObject := hashOfFile(name)
			switch {
			case isObject:
				claimed, err := s.claimed(ctx, h)
				if err != nil {
					return err
				}
				if !claimed {
					orphans = append(orphans, h)
				}
			case strings.HasPrefix(name, tempPrefix):
				if s.removeTemp(filepath.Join(s.objects(), name)) {
					r.Temps++
				}
			}
		}
		if len(orphans) == 0 {
			continue
		}
		// Look again under the lock: a Put may have claimed one since.
		err = s.update(ctx, func(t *tx) error {
			for _, h := range orphans {
				removed, err := s.removeOrphan(t, h)
				if err != nil {
					return err
				}
				if removed {
					r.Orphans++
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
}

func (s *Store) claimed(ctx context.Context, h hash) (claimed bool, err error) {
	db, err := s.database(ctx)
	if err != nil {
		return false, err
	}
	st, err := db.read(ctx, "SELECT EXISTS (SELECT 1 FROM objects WHERE hash = ? AND data IS NULL)")
	if err == nil {
		err = st.QueryRowContext(ctx, h[:]).Scan(&claimed)
	}
	if err != nil {
		return false, fmt.Errorf("stash: %w", err)
	}
	return claimed, nil
}

// removeTemp deletes a temporary file that is too old to be anyone's.
func (s *Store) removeTemp(path string) bool {
	fi, err := os.Lstat(path)
	return err == nil && s.now().Sub(fi.ModTime()) > tempAge && os.Remove(path) == nil
}

// removeOrphan deletes the file h if no object claims it.
func (s *Store) removeOrphan(t *tx, h hash) (removed bool, err error) {
	n, err := t.count("SELECT count(*) FROM objects WHERE hash = ? AND data IS NULL", h[:])
	if err != nil || n > 0 {
		return false, err
	}
	err = os.Remove(s.path(h))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return false, fmt.Errorf("stash: %w", err)
	}
	return err == nil, t.exec("DELETE FROM doomed WHERE hash = ?", h[:])
}

// vacuum gives free pages back, a megabyte or so at a time, and leaves a few
// for the next Put.
func (s *Store) vacuum(ctx context.Context, _ *GCReport) error {
	const step, spare = 256, 1024 // pages of 4096 bytes
	for more := true; more; {
		if err := ctx.Err(); err != nil {
			return err
		}
		err := s.update(ctx, func(t *tx) error {
			free, err := t.count("PRAGMA freelist_count")
			if err != nil || free <= spare {
				more = false
				return err
			}
			if err := t.drain(fmt.Sprintf("PRAGMA incremental_vacuum(%d)", step)); err != nil {
				return err
			}
			after, err := t.count("PRAGMA freelist_count")
			more = after < free
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// drain runs a statement that works while its rows are read.
func (t *tx) drain(query string) error {
	st, err := t.db.write(t.ctx, query)
	if err != nil {
		return fmt.Errorf("stash: %w", err)
	}
	rows, err := st.QueryContext(t.ctx)
	if err != nil {
		return fmt.Errorf("stash: %w", err)
	}
	defer rows.Close()
	for rows.Next() {
	}
	if err := rows.Err(); err != nil {
		return fmt.Errorf("stash: %w", err)
	}
	return nil
}
