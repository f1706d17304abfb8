package stash

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"time"
)

// Get returns the caller's entry and its original, the very bytes that were
// put (RED-22). The answer is [ErrUnknown] for a ref that is not the caller's,
// *[ExpiredError] for one that was, and *[CorruptError] if the kept bytes are
// damaged.
func (s *Store) Get(ctx context.Context, caller, ref string) (Entry, []byte, error) {
	db, err := s.database(ctx)
	if err != nil {
		return Entry{}, nil, err
	}
	// An eviction may take the file away after the row was read; the second
	// look then sees that the row is gone as well.
	for range 2 {
		var l looked
		if l, err = s.look(ctx, db, caller, ref); err != nil {
			return Entry{}, nil, err
		}
		if l.file {
			l.original, err = s.readFile(l)
		}
		switch {
		case errors.Is(err, errLost):
			continue
		case err != nil:
			return Entry{}, nil, err
		case l.damage == nil && sha256.Sum256(l.original) != l.hash:
			l.damage = errors.New("SHA-256 differs")
		}
		if l.damage != nil {
			s.mark(ctx, l.hash)
			return Entry{}, nil, &CorruptError{Ref: ref, Err: l.damage}
		}
		return l.entry, l.original, nil
	}
	s.log.Warn("stash file is missing or torn, as after a power loss; its ref is unknown now", "ref", ref)
	return Entry{}, nil, ErrUnknown
}

// looked is what a look at the database found.
type looked struct {
	entry    Entry
	hash     hash
	file     bool
	original []byte // unless file
	damage   error
}

const selectEntry = `SELECT e.ref, e.caller, e.server, e.tool, e.keep, e.rows, e.canonical, o.size, o.stored, e.created, e.expires`

// columns are the destinations of selectEntry.
type columns struct {
	e                *Entry
	canonical        sql.RawBytes
	created, expires int64
}

func (c *columns) dest(more ...any) []any {
	e := c.e
	return append([]any{&e.Ref, &e.Caller, &e.Server, &e.Tool, &e.Keep, &e.Rows, &c.canonical,
		&e.Bytes, &e.Stored, &c.created, &c.expires}, more...)
}

func (c *columns) done() {
	copy(c.e.Canonical[:], c.canonical)
	c.e.Created = time.UnixMicro(c.created)
	c.e.Expires = time.UnixMicro(c.expires)
}

// look reads the entry and, if its object is a row, the original.
func (s *Store) look(ctx context.Context, db *database, caller, ref string) (l looked, err error) {
	st, err := db.read(ctx, selectEntry+`, o.hash, o.bad, o.data
		FROM entries e JOIN objects o ON o.id = e.object WHERE e.caller = ? AND e.ref = ?`)
	if err != nil {
		return l, fmt.Errorf("stash: %w", err)
	}
	rows, err := st.QueryContext(ctx, caller, ref)
	if err != nil {
		return l, fmt.Errorf("stash: %w", err)
	}
	defer rows.Close()
	if !rows.Next() {
		if err := rows.Err(); err != nil {
			return l, fmt.Errorf("stash: %w", err)
		}
		rows.Close()
		return l, s.bury(ctx, db, caller, ref)
	}
	var (
		c          = columns{e: &l.entry}
		name, data sql.RawBytes // no copy: the driver's own
		bad        bool
	)
	if err := rows.Scan(c.dest(&name, &bad, &data)...); err != nil {
		return l, fmt.Errorf("stash: %w", err)
	}
	c.done()
	if micro(s.now()) >= c.expires {
		return l, &ExpiredError{Ref: ref, Tool: l.entry.Tool}
	}
	copy(l.hash[:], name)
	l.file = data == nil
	switch {
	case bad:
		l.file, l.damage = false, errors.New("found damaged before")
	case !l.file:
		l.original, l.damage = decompress(data, l.entry.Bytes)
	}
	return l, nil
}

// bury answers for a ref without an entry: expired or unknown.
func (s *Store) bury(ctx context.Context, db *database, caller, ref string) error {
	st, err := db.read(ctx, "SELECT tool FROM tombstones WHERE caller = ? AND ref = ? AND at > ?")
	if err != nil {
		return fmt.Errorf("stash: %w", err)
	}
	var tool string
	err = st.QueryRowContext(ctx, caller, ref, micro(s.now())-tombstoneAge.Microseconds()).Scan(&tool)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return ErrUnknown
	case err != nil:
		return fmt.Errorf("stash: %w", err)
	}
	return &ExpiredError{Ref: ref, Tool: tool}
}

// errLost says that a file is missing or has another length than it was given.
var errLost = errors.New("file is missing or torn")

// readFile reads and decompresses l's file. Damage is a CorruptError.
func (s *Store) readFile(l looked) ([]byte, error) {
	f, err := os.Open(s.path(l.hash))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, errLost
	}
	if err != nil {
		return nil, fmt.Errorf("stash: ref %s: %w", l.entry.Ref, err)
	}
	defer f.Close()
	fi, err := f.Stat()
	if err != nil {
		return nil, fmt.Errorf("stash: ref %s: %w", l.entry.Ref, err)
	}
	if !fi.Mode().IsRegular() || fi.Size() != l.entry.Stored {
		return nil, errLost
	}
	b := buffers.Get().(*[]byte)
	defer putBuffer(b)
	if int64(cap(*b)) < fi.Size() {
		*b = make([]byte, fi.Size())
	}
	*b = (*b)[:fi.Size()]
	if _, err := io.ReadFull(f, *b); err != nil {
		return nil, fmt.Errorf("stash: ref %s: %w", l.entry.Ref, err)
	}
	original, err := decompress(*b, l.entry.Bytes)
	if err != nil {
		return nil, &CorruptError{Ref: l.entry.Ref, Err: err}
	}
	return original, nil
}

// mark notes that an object is damaged, so that the next Put of it writes it
// anew instead of counting on it.
func (s *Store) mark(ctx context.Context, h hash) {
	err := s.update(ctx, func(t *tx) error { return t.exec("UPDATE objects SET bad = 1 WHERE hash = ? AND bad = 0", h[:]) })
	if err != nil {
		s.log.Warn("stash object is damaged and cannot be marked so", "err", err)
	}
}

// Has reports whether ref was issued to caller: it is kept, or it expired or
// was evicted in the last 30 days. If the stash cannot be read it was not.
func (s *Store) Has(ctx context.Context, caller, ref string) bool {
	has, err := s.has(ctx, caller, ref)
	if err != nil {
		s.log.Warn("stash cannot be read", "err", err)
	}
	return has
}

func (s *Store) has(ctx context.Context, caller, ref string) (has bool, err error) {
	db, err := s.database(ctx)
	if err != nil {
		return false, err
	}
	st, err := db.read(ctx, `SELECT
		EXISTS (SELECT 1 FROM entries WHERE caller = ?1 AND ref = ?2) OR
		EXISTS (SELECT 1 FROM tombstones WHERE caller = ?1 AND ref = ?2 AND at > ?3)`)
	if err == nil {
		err = st.QueryRowContext(ctx, caller, ref, micro(s.now())-tombstoneAge.Microseconds()).Scan(&has)
	}
	return has, err
}
