// Package stash keeps the originals of cut results, by caller and ref, so that
// one call gets them back: an index and small originals in SQLite, large ones
// as compressed files beside it.
//
// It owns durability, quotas, expiry and who may read what (RED-22 to RED-24).
// It does not know what an original means: refs and canonical hashes are
// computed by the caller.
//
// What a Put promises. When Put has returned nil the original survives
// kill -9 of this process, since SQLite's log and the object file are then in
// the kernel's hands. Nothing is flushed to the disk for it, so a power loss
// may cost the newest originals; Get then answers [ErrUnknown]. What Get
// returns is always checked against the SHA-256 taken at Put.
//
// Several processes may use one directory at once. Every decision about a file
// (put it in place, find it there, delete it) is made while holding SQLite's
// write lock, so no process can delete a file that another one has just
// counted on.
//
// Access. On Unix the directory is made with mode 0700 and every file in it
// with 0600. On Windows modes do not exist: files inherit the access list of
// the directory, which under %LOCALAPPDATA% admits only its user,
// administrators and the system.
package stash

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"os"
	"path/filepath"
	"sync"
	"time"
)

// Defaults of [Options].
const (
	DefaultTTL      = 24 * time.Hour
	DefaultMaxBytes = 2 << 30
)

const (
	// fileThreshold is the compressed size in bytes above which an object is a
	// file of its own. The compressed size counts, not the original's, because
	// it is what would be written twice (log, then database); measured, a
	// compressible 1 MB original is no slower as a row than as a file, and it
	// leaves no file to create, find and delete.
	fileThreshold = 256_000
	// tombstoneAge is how long an expired or evicted ref still answers
	// "expired" to its owner, and tombstoneCap how many such refs are kept.
	tombstoneAge = 30 * 24 * time.Hour
	tombstoneCap = 100_000
	// tidyEvery is how often a process that puts cleans up in passing, so that
	// what killed processes left does not wait for someone to ask.
	tidyEvery = time.Hour
	// tempAge is the age at which a temporary file is taken for the leaving of
	// a process that died.
	tempAge = time.Hour
)

// Options are the limits of a store. The zero value means the defaults.
type Options struct {
	TTL               time.Duration    // life of an entry since its last Put; 0 means DefaultTTL
	MaxBytes          int64            // all objects as stored (compressed), each counted once; 0 means DefaultMaxBytes
	MaxBytesPerCaller int64            // the objects one caller refers to, as stored; 0 means MaxBytes
	Now               func() time.Time // the clock; nil means time.Now
	Log               *slog.Logger     // damage that a caller sees only as an unknown ref; nil discards
}

// Entry describes one kept original. Put takes Ref, Caller, Server, Tool,
// Keep, Rows and Canonical from its caller and sets the rest.
type Entry struct {
	Ref       string // "r_" and 12 hex digits
	Caller    string // stable principal, never a credential (RED-23)
	Server    string
	Tool      string
	Keep      string   // the rule's keep expression at the latest cut, for expand
	Rows      string   // the rule's rows expression at the latest cut, for expand
	Canonical [32]byte // SHA-256 of the canonical form of which Ref is the beginning (RED-22)

	Bytes   int64 // of the original
	Stored  int64 // as stored, compressed
	Created time.Time
	Expires time.Time
}

var (
	// ErrUnknown answers a ref that this caller does not own: never kept,
	// another caller's, forgotten, or lost with the power (RED-23).
	ErrUnknown = errors.New("unknown ref")
	// ErrCollision says that the caller already has another original under
	// this ref; the second one passes uncut (RED-22).
	ErrCollision = errors.New("another original has this ref")
	// ErrTooLarge says that an original does not fit the quota even alone.
	ErrTooLarge = errors.New("original is larger than the stash may hold")
	// ErrClosed answers every call after Close.
	ErrClosed = errors.New("stash is closed")
)

// ExpiredError answers the owner of a ref that expired or was evicted
// (RED-23).
type ExpiredError struct {
	Ref  string
	Tool string // whose result it was
}

func (e *ExpiredError) Error() string {
	return fmt.Sprintf("ref %s of %s expired", e.Ref, e.Tool)
}

// CorruptError says that the kept bytes of a ref are not those that were put.
// They are never returned. A later Put of the same original replaces them.
type CorruptError struct {
	Ref string
	Err error // what was wrong
}

func (e *CorruptError) Error() string {
	return fmt.Sprintf("stash: ref %s is corrupt: %v", e.Ref, e.Err)
}

func (e *CorruptError) Unwrap() error { return e.Err }

// Store is an open stash. Its methods may be called concurrently.
type Store struct {
	dir    string
	ttl    time.Duration
	max    int64
	perOne int64
	now    func() time.Time
	log    *slog.Logger

	writing    chan struct{} // holds one token: one writer at a time in this process
	background sync.WaitGroup
	stop       context.CancelFunc // ends what runs in the background
	stopped    context.Context
	tidyEvery  time.Duration // 0 in tests that count what is cleaned up

	mu     sync.Mutex // guards what follows
	db     *database
	closed bool
	tidied time.Time // when the last cleaning was begun
}

// Open makes dir if need be and returns a store on it. The database is opened
// in the background, so that Open costs a few system calls; what goes wrong
// there is logged, and returned by [Store.Ready] and every other method, each
// of which tries again.
func Open(dir string, o Options) (*Store, error) {
	if o.TTL < 0 || o.MaxBytes < 0 || o.MaxBytesPerCaller < 0 {
		return nil, fmt.Errorf("stash: ttl %v, max_bytes %d, max_bytes_per_caller %d: negative ones are not allowed",
			o.TTL, o.MaxBytes, o.MaxBytesPerCaller)
	}
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, fmt.Errorf("stash: %w", err)
	}
	s := &Store{
		dir:     dir,
		ttl:     o.TTL,
		max:     o.MaxBytes,
		perOne:  o.MaxBytesPerCaller,
		now:     o.Now,
		log:     o.Log,
		writing: make(chan struct{}, 1),

		tidyEvery: tidyEvery,
	}
	if s.ttl == 0 {
		s.ttl = DefaultTTL
	}
	if s.max == 0 {
		s.max = DefaultMaxBytes
	}
	if s.perOne == 0 || s.perOne > s.max {
		s.perOne = s.max
	}
	if s.now == nil {
		s.now = time.Now
	}
	if s.log == nil {
		s.log = slog.New(slog.DiscardHandler)
	}
	if err := s.makeDirs(); err != nil {
		return nil, err
	}
	s.stopped, s.stop = context.WithCancel(context.Background())
	s.background.Go(func() {
		if err := s.Ready(s.stopped); err != nil && s.stopped.Err() == nil {
			s.log.Warn("stash cannot be opened; results are passed whole", "dir", dir, "err", err)
		}
	})
	return s, nil
}

// Ready waits until the database is open and returns why it cannot be:
// for instance one that a newer version made.
func (s *Store) Ready(ctx context.Context) error {
	_, err := s.database(ctx)
	return err
}

// Close ends the store once the write that is under way, if any, is done.
func (s *Store) Close() error {
	s.stop()
	s.writing <- struct{}{}
	defer func() { <-s.writing }()
	s.mu.Lock()
	db := s.db
	s.db, s.closed = nil, true
	s.mu.Unlock()
	s.background.Wait()
	if db == nil {
		return nil
	}
	return db.close()
}

// makeDirs makes the directories, for the owner only (RED-24).
func (s *Store) makeDirs() error {
	if err := os.MkdirAll(s.dir, 0o700); err != nil {
		return fmt.Errorf("stash: %w", err)
	}
	if err := ownerOnly(s.dir); err != nil {
		return fmt.Errorf("stash: %w", err)
	}
	if err := os.Mkdir(s.objects(), 0o700); err != nil && !errors.Is(err, os.ErrExist) {
		return fmt.Errorf("stash: %w", err)
	}
	return nil
}

func (s *Store) objects() string { return filepath.Join(s.dir, "objects") }

// micro is a time as the database keeps it.
func micro(t time.Time) int64 { return t.UnixMicro() }

// expiry is now + ttl, held within what a database integer can say.
func (s *Store) expiry(now int64) int64 {
	if d := s.ttl.Microseconds(); d < math.MaxInt64-now {
		return now + d
	}
	return math.MaxInt64
}
