package stash

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
)

// errUnpacked says that there was no entry to refresh after all, so that the
// original must be compressed.
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
	if err := checkPut(&e, original); err != nil {
		return err
	}
	// The same read again is common and needs no compressing.
	again, err := s.entered(ctx, e.Caller, e.Ref)
	if err != nil {
		return err
	}
	buried := 0
	if again {
		buried, err = s.put(ctx, &e, nil)
	}
	if !again || errors.Is(err, errUnpacked) {
		var p *packed
		if p, err = s.pack(original); err != nil {
			return err
		}
		return s.putPacked(ctx, &e, p)
	}
	return s.afterPut(ctx, buried, err)
}

// putPacked enters e with the original p, and takes p over.
func (s *Store) putPacked(ctx context.Context, e *Entry, p *packed) error {
	defer p.discard()
	buried, err := s.put(ctx, e, p)
	if err != nil && p.buf == nil && p.temp == "" {
		s.unkeep(ctx, p.hash)
	}
	return s.afterPut(ctx, buried, err)
}

// afterPut cleans up in passing.
func (s *Store) afterPut(ctx context.Context, buried int, err error) error {
	if err != nil {
		return err
	}
	if buried > 0 {
		s.sweepSome(ctx)
	}
	s.tidy()
	return nil
}

func checkPut(e *Entry, original []byte) error {
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
	return nil
}

// entered reports whether the caller has an entry under ref.
func (s *Store) entered(ctx context.Context, caller, ref string) (has bool, err error) {
	db, err := s.database(ctx)
	if err != nil {
		return false, err
	}
	st, err := db.read(ctx, "SELECT EXISTS (SELECT 1 FROM entries WHERE caller = ? AND ref = ?)")
	if err == nil {
		err = st.QueryRowContext(ctx, caller, ref).Scan(&has)
	}
	if err != nil {
		return false, fmt.Errorf("stash: %w", err)
	}
	return has, nil
}

// put enters e with the original p; without p it only refreshes. It reports
// how many entries had to go.
func (s *Store) put(ctx context.Context, e *Entry, p *packed) (buried int, err error) {
	err = s.update(ctx, func(t *tx) error {
		// A few expired ones each time keep the store tidy without a cleaner.
		if buried, err = t.expire(4); err != nil {
			return err
		}
		if done, err := s.refresh(t, e); done || err != nil {
			return err
		}
		if p == nil {
			return errUnpacked
		}
		if err := t.unbury(e); err != nil {
			return err
		}
		o, err := s.shared(t, p)
		if err != nil {
			return err
		}
		n, err := s.enter(t, e, p, o)
		buried += n
		return err
	})
	return buried, err
}

// shared returns the object that p would be, if another entry has it already.
// One that was lost is removed, and its entries with it.
func (s *Store) shared(t *tx, p *packed) (*object, error) {
	var o object
	found, err := t.one("SELECT id, stored, data IS NULL, bad FROM objects WHERE hash = ?", []any{p.hash[:]},
		&o.id, &o.stored, &o.file, &o.bad)
	switch {
	case !found || err != nil:
		return nil, err
	case !s.intact(p.hash, &o):
		return nil, t.forget(o.id)
	}
	return &o, nil
}

// enter makes room for an entry and inserts it, with the object o or else a
// new one. It reports how many entries had to go.
func (s *Store) enter(t *tx, e *Entry, p *packed, o *object) (evicted int, err error) {
	stored, need := p.stored, p.stored
	if o != nil {
		// Hold it while others' entries are evicted.
		if err := t.exec("UPDATE objects SET refs = refs + 1 WHERE id = ?", o.id); err != nil {
			return 0, err
		}
		stored, need = o.stored, 0
	}
	mine, err := t.evictOf(e.Caller, s.perOne, stored, math.MaxInt)
	if err != nil {
		return 0, err
	}
	all, err := t.evict(s.max, need, math.MaxInt)
	if err != nil {
		return 0, err
	}
	var id int64
	if o != nil {
		id = o.id
	} else if id, err = s.keep(t, p); err != nil {
		return 0, err
	}
	err = t.exec(`INSERT INTO entries (caller, ref, canonical, object, server, tool, keep, rows, created, expires)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		e.Caller, e.Ref, e.Canonical[:], id, e.Server, e.Tool, e.Keep, e.Rows, t.now, s.expiry(t.now))
	if err == nil && o != nil {
		err = t.exec("UPDATE objects SET refs = refs - 1 WHERE id = ?", id)
	}
	return mine + all, err
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
