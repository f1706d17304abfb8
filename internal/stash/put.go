package stash

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"math"
	"os"
)

// errUnpacked says that a transaction found no object to share and that the
// original must be compressed after all.
var errUnpacked = errors.New("original is not packed")

// Put keeps original, the bytes of a CallToolResult, for e.Caller under e.Ref.
// When it returns nil the original survives kill -9; when it returns an error
// nothing of it is kept, and the result must pass whole (RED-18).
//
// The same original again (equal Canonical) is the same entry: it lives for
// another TTL, takes over Server, Tool, Keep and Rows, and keeps the bytes
// that were put first. Another original under the same ref of the same caller
// is [ErrCollision], also while the ref only answers "expired". Room is made
// by evicting the oldest entries, first of this caller if it is over its own
// quota, then of all; an original that does not fit alone is [ErrTooLarge].
func (s *Store) Put(ctx context.Context, e Entry, original []byte) error {
	switch {
	case e.Ref == "" || e.Caller == "":
		return fmt.Errorf("stash: put of ref %q for caller %q: both are needed", e.Ref, e.Caller)
	case e.Canonical == [32]byte{}:
		return fmt.Errorf("stash: put of ref %q without its canonical hash", e.Ref)
	case len(original) == 0:
		return fmt.Errorf("stash: put of ref %q without an original", e.Ref)
	case len(original) > math.MaxInt32:
		return fmt.Errorf("stash: %w: %d bytes; %d are allowed", ErrTooLarge, len(original), math.MaxInt32)
	}
	h := hash(sha256.Sum256(original))
	known, err := s.known(ctx, e, h)
	if err != nil {
		return err
	}
	var p *packed
	for {
		if !known {
			if p, err = s.pack(original); err != nil {
				return err
			}
			defer p.discard()
		}
		evicted := 0
		err = s.update(ctx, func(t *tx) error {
			evicted, err = s.put(t, &e, h, int64(len(original)), p)
			return err
		})
		switch {
		case errors.Is(err, errUnpacked) && known:
			known = false
			continue
		case err != nil:
			if p != nil && p.buf == nil && p.temp == "" { // renamed
				s.unkeep(ctx, h)
			}
			return err
		}
		if evicted > 0 {
			s.sweepSome(ctx)
		}
		return nil
	}
}

// known reports whether the original is probably kept already, so that there
// is no need to compress it.
func (s *Store) known(ctx context.Context, e Entry, h hash) (known bool, err error) {
	db, err := s.database(ctx)
	if err != nil {
		return false, err
	}
	st, err := db.read(ctx, `SELECT
		EXISTS (SELECT 1 FROM entries WHERE caller = ? AND ref = ?) OR
		EXISTS (SELECT 1 FROM objects WHERE hash = ?)`)
	if err == nil {
		err = st.QueryRowContext(ctx, e.Caller, e.Ref, h[:]).Scan(&known)
	}
	if err != nil {
		return false, fmt.Errorf("stash: %w", err)
	}
	return known, nil
}

// put is the transaction of Put. It reports how many entries it buried.
func (s *Store) put(t *tx, e *Entry, h hash, size int64, p *packed) (buried int, err error) {
	// A few expired ones each time keep the store tidy without a cleaner.
	buried, err = t.expire(4)
	if err != nil {
		return buried, err
	}
	done, err := s.refresh(t, e)
	if done || err != nil {
		return buried, err
	}
	if err := t.unbury(e); err != nil {
		return buried, err
	}

	var o object
	found, err := t.one("SELECT id, stored, data IS NULL, bad FROM objects WHERE hash = ?", []any{h[:]},
		&o.id, &o.stored, &o.file, &o.bad)
	if err != nil {
		return buried, err
	}
	if found && !s.intact(h, &o) {
		found = false
		if err := t.forget(o.id); err != nil {
			return buried, err
		}
	}
	need := int64(0)
	switch {
	case found:
		// Hold it while others' entries are evicted.
		if err := t.exec("UPDATE objects SET refs = refs + 1 WHERE id = ?", o.id); err != nil {
			return buried, err
		}
	case p == nil:
		return buried, errUnpacked
	default:
		o.stored, need = p.stored, p.stored
	}
	if limit := min(s.max, s.perOne); o.stored > limit {
		return buried, fmt.Errorf("stash: %w: %d bytes, %d as stored; the quota is %d", ErrTooLarge, size, o.stored, limit)
	}
	n, _, err := t.evictOf(e.Caller, s.perOne, o.stored, math.MaxInt)
	buried += n
	if err != nil {
		return buried, err
	}
	n, _, err = t.evict(s.max, need, math.MaxInt)
	buried += n
	if err != nil {
		return buried, err
	}
	if !found {
		if o.id, err = s.keep(t, h, size, p); err != nil {
			return buried, err
		}
	}
	err = t.exec(`INSERT INTO entries (caller, ref, canonical, object, server, tool, keep, rows, created, expires)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		e.Caller, e.Ref, e.Canonical[:], o.id, e.Server, e.Tool, e.Keep, e.Rows, t.now, s.expiry(t.now))
	if err == nil && found {
		err = t.exec("UPDATE objects SET refs = refs - 1 WHERE id = ?", o.id)
	}
	return buried, err
}

// refresh renews the caller's entry if it is there. It removes one whose
// object was lost, and reports false.
func (s *Store) refresh(t *tx, e *Entry) (done bool, err error) {
	var (
		seq       int64
		canonical []byte
		name      []byte
		o         object
	)
	found, err := t.one(`SELECT e.seq, e.canonical, o.hash, o.id, o.stored, o.data IS NULL, o.bad
		FROM entries e JOIN objects o ON o.id = e.object WHERE e.caller = ? AND e.ref = ?`, []any{e.Caller, e.Ref},
		&seq, &canonical, &name, &o.id, &o.stored, &o.file, &o.bad)
	if !found || err != nil {
		return false, err
	}
	if string(canonical) != string(e.Canonical[:]) {
		return false, fmt.Errorf("stash: ref %s: %w", e.Ref, ErrCollision)
	}
	if len(name) != len(hash{}) || !s.intact(hash(name), &o) {
		return false, t.forget(o.id)
	}
	return true, t.exec(`UPDATE entries SET seq = (SELECT max(seq) + 1 FROM entries),
		server = ?, tool = ?, keep = ?, rows = ?, expires = ? WHERE seq = ?`,
		e.Server, e.Tool, e.Keep, e.Rows, s.expiry(t.now), seq)
}

// unbury removes the tombstone of e, unless it is another original's.
func (t *tx) unbury(e *Entry) error {
	var canonical []byte
	found, err := t.one("SELECT canonical FROM tombstones WHERE caller = ? AND ref = ? AND at > ?",
		[]any{e.Caller, e.Ref, t.now - tombstoneAge.Microseconds()}, &canonical)
	if err != nil {
		return err
	}
	if found && string(canonical) != string(e.Canonical[:]) {
		return fmt.Errorf("stash: ref %s: %w", e.Ref, ErrCollision)
	}
	return t.exec("DELETE FROM tombstones WHERE caller = ? AND ref = ?", e.Caller, e.Ref)
}

// forget removes a lost object and every entry that refers to it. It leaves no
// tombstone: after a power loss a ref is unknown, not expired (RED-18).
func (t *tx) forget(object int64) error {
	return t.exec("DELETE FROM entries WHERE object = ?", object)
}

// unkeep deletes the file of a transaction that failed after it was renamed
// into place, unless the object has been kept since by someone else. Where
// that fails too GC finds the file.
func (s *Store) unkeep(ctx context.Context, h hash) {
	if _, err := os.Lstat(s.path(h)); err != nil {
		return
	}
	err := s.update(context.WithoutCancel(ctx), func(t *tx) error {
		_, err := s.removeOrphan(t, h)
		return err
	})
	if err != nil {
		s.log.Warn("stash file is left for cleaning up", "err", err)
	}
}

// sweepSome deletes the files of evicted objects. Failing is no fault of the
// Put that called it: they stay on the list.
func (s *Store) sweepSome(ctx context.Context) {
	for more := true; more; {
		err := s.update(context.WithoutCancel(ctx), func(t *tx) error {
			n, err := s.sweep(t, sweepBatch)
			more = n == sweepBatch
			return err
		})
		if err != nil {
			s.log.Warn("stash files of evicted originals are left for cleaning up", "err", err)
			return
		}
	}
}

// sweepBatch bounds how long a transaction deletes files.
const sweepBatch = 64
