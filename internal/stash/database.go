package stash

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
	"time"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

const (
	databaseName  = "stash.db"
	schemaVersion = 1
	// applicationID marks the database as ours ("SpSt").
	applicationID = 0x53705374
	busyTimeout   = 5 * time.Second
)

//go:embed schema.sql
var schema string

// database is one opened file: a connection that writes and two that read.
type database struct {
	w    *sql.Conn // used by the holder of Store.writing alone
	r    *sql.DB
	wdb  *sql.DB     // w's
	file os.FileInfo // as it was when it was opened

	mu     sync.Mutex
	reads  map[string]*sql.Stmt // prepared statements by their text
	writes map[string]*sql.Stmt
}

// database returns the open database and opens it first if need be.
func (s *Store) database(ctx context.Context) (*database, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, ErrClosed
	}
	path := filepath.Join(s.dir, databaseName)
	if s.db != nil {
		// Someone may have removed the whole directory. What is then written to
		// the open file is lost to every other process, so start anew.
		if fi, err := os.Stat(path); err == nil && os.SameFile(fi, s.db.file) {
			return s.db, nil
		}
		s.db.close()
		s.db = nil
	}
	if err := s.makeDirs(); err != nil {
		return nil, err
	}
	// Make the file first, since SQLite's log and shared memory take its mode.
	// It must not be opened here once SQLite has it: closing any descriptor of
	// it would release this process's locks. O_EXCL sees to that.
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err == nil {
		err = f.Close()
	} else if errors.Is(err, os.ErrExist) {
		err = nil
	}
	if err != nil {
		return nil, fmt.Errorf("stash: %w", err)
	}
	db, err := openDatabase(ctx, path)
	if err != nil {
		return nil, fmt.Errorf("stash: %s: %w", path, err)
	}
	s.db = db
	return db, nil
}

func openDatabase(ctx context.Context, path string) (_ *database, err error) {
	p := filepath.ToSlash(path)
	if !strings.HasPrefix(p, "/") {
		p = "/" + p // a drive letter
	}
	dsn := "file://" + (&url.URL{Path: p}).EscapedPath() +
		fmt.Sprintf("?_pragma=busy_timeout(%d)&_pragma=synchronous(normal)&_pragma=journal_size_limit(8388608)", busyTimeout.Milliseconds())
	db := &database{reads: map[string]*sql.Stmt{}, writes: map[string]*sql.Stmt{}}
	defer func() {
		if err != nil {
			db.close()
		}
	}()
	if db.wdb, err = sql.Open("sqlite", dsn); err != nil {
		return nil, err
	}
	if db.r, err = sql.Open("sqlite", dsn+"&_pragma=query_only(1)"); err != nil {
		return nil, err
	}
	db.r.SetMaxOpenConns(2)
	db.r.SetMaxIdleConns(2)
	if db.w, err = db.wdb.Conn(ctx); err != nil {
		return nil, explain(err)
	}
	if err = db.w.Raw(keepLog); err != nil {
		return nil, err
	}
	if err = db.migrate(ctx); err != nil {
		return nil, err
	}
	db.file, err = os.Stat(path)
	return db, err
}

// keepLog has SQLite empty the log at the end instead of deleting it. It
// deletes by name: if the directory was removed and made anew meanwhile, that
// would be the log of someone else's database.
func keepLog(conn any) error {
	c, ok := conn.(sqlite.FileControl)
	if !ok {
		return errors.New("the driver has no file control")
	}
	_, err := c.FileControlPersistWAL("main", 1)
	return err
}

// migrate brings a new file to the current schema and refuses one that it
// cannot read.
func (db *database) migrate(ctx context.Context) error {
	version, err := db.version(ctx)
	if err != nil || version == schemaVersion {
		return err
	}
	// Changing to the log takes a lock that SQLite does not wait for, whatever
	// the busy timeout; another process may be at the same point.
	deadline := time.Now().Add(busyTimeout)
	for {
		_, err = db.w.ExecContext(ctx, "PRAGMA auto_vacuum = incremental; PRAGMA journal_mode = wal")
		if err == nil || !isBusy(err) || time.Now().After(deadline) {
			break
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(5 * time.Millisecond):
		}
	}
	if err != nil {
		return err
	}
	if _, err = db.w.ExecContext(ctx, "BEGIN IMMEDIATE"); err != nil {
		return err
	}
	if err = db.w.QueryRowContext(ctx, "PRAGMA user_version").Scan(&version); err == nil && version == 0 {
		_, err = db.w.ExecContext(ctx, fmt.Sprintf("%s; PRAGMA application_id = %d; PRAGMA user_version = %d",
			schema, applicationID, schemaVersion))
	}
	if err == nil {
		_, err = db.w.ExecContext(ctx, "COMMIT")
	}
	if err != nil {
		db.w.ExecContext(context.WithoutCancel(ctx), "ROLLBACK")
	}
	return err
}

func (db *database) version(ctx context.Context) (version int, err error) {
	var app, tables int
	err = db.w.QueryRowContext(ctx, `SELECT
		(SELECT user_version FROM pragma_user_version),
		(SELECT application_id FROM pragma_application_id),
		(SELECT count(*) FROM sqlite_schema)`).Scan(&version, &app, &tables)
	switch {
	case err != nil:
		return 0, explain(err)
	case tables > 0 && app != applicationID:
		return 0, errNotOurs
	case version > schemaVersion:
		return 0, fmt.Errorf("schema version %d was made by a newer spillway; this one reads up to %d", version, schemaVersion)
	}
	return version, nil
}

var errNotOurs = errors.New("not a stash database; name another directory or remove the file")

// explain adds what to do to SQLite's words about a file it cannot use.
func explain(err error) error {
	switch {
	case isCode(err, sqlite3.SQLITE_NOTADB):
		return errNotOurs
	case isCode(err, sqlite3.SQLITE_CORRUPT):
		return fmt.Errorf("%w; remove the directory to start anew", err)
	}
	return err
}

func (db *database) close() error {
	var errs []error
	// SQLite keeps a connection's files open for as long as it has statements,
	// and database/sql does not close those that were prepared on a Conn.
	db.mu.Lock()
	for _, m := range []map[string]*sql.Stmt{db.reads, db.writes} {
		for _, st := range m {
			errs = append(errs, st.Close())
		}
		clear(m)
	}
	db.mu.Unlock()
	if db.r != nil {
		errs = append(errs, db.r.Close())
	}
	if db.w != nil {
		errs = append(errs, db.w.Close())
	}
	if db.wdb != nil { // last, so that keepLog decides
		errs = append(errs, db.wdb.Close())
	}
	return errors.Join(errs...)
}

// read returns query prepared for reading.
func (db *database) read(ctx context.Context, query string) (*sql.Stmt, error) {
	return db.prepared(db.reads, query, func() (*sql.Stmt, error) { return db.r.PrepareContext(ctx, query) })
}

// write returns query prepared for the writing connection.
func (db *database) write(ctx context.Context, query string) (*sql.Stmt, error) {
	return db.prepared(db.writes, query, func() (*sql.Stmt, error) { return db.w.PrepareContext(ctx, query) })
}

func (db *database) prepared(m map[string]*sql.Stmt, query string, prepare func() (*sql.Stmt, error)) (*sql.Stmt, error) {
	db.mu.Lock()
	defer db.mu.Unlock()
	if st := m[query]; st != nil {
		return st, nil
	}
	st, err := prepare()
	if err == nil {
		m[query] = st
	}
	return st, err
}

func isBusy(err error) bool { return isCode(err, sqlite3.SQLITE_BUSY) }

// isCode reports whether err is SQLite's with the primary code.
func isCode(err error, code int) bool {
	var e *sqlite.Error
	return errors.As(err, &e) && e.Code()&0xff == code
}
