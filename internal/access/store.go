package access

import (
	"crypto/subtle"
	"fmt"
	"io/fs"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spillway-mcp/spillway/internal/httpmcp"
)

// Store is a file of tokens. It is safe for concurrent use, also by several
// processes.
type Store struct {
	path string
	log  *slog.Logger
	now  func() time.Time

	mu      sync.RWMutex
	tokens  []Token // by name
	seen    fs.FileInfo
	checked time.Time // when the file was looked at last
	broken  string    // what was said of a file that cannot be read

	uses uses
}

// checkEvery is how long a change of the file may go unnoticed.
const checkEvery = time.Second

// Open reads the file at path, which others than its owner must not be able to
// read. One that is not there is empty.
func Open(path string) (*Store, error) {
	s := &Store{path: path, log: slog.New(slog.DiscardHandler), now: time.Now}
	tokens, info, err := load(path)
	if err != nil {
		return nil, err
	}
	s.tokens, s.seen, s.checked = tokens, info, s.now()
	return s, nil
}

// SetLog has changes of the file that cannot be read reported to log. Call it
// before the store is used.
func (s *Store) SetLog(log *slog.Logger) { s.log = log }

// Add makes a token and returns its text, which cannot be had again. The errors
// are [ErrExists], that of [CheckName], and those of the file system.
func (s *Store) Add(name string) (secret string, err error) {
	if err := CheckName(name); err != nil {
		return "", err
	}
	secret = newSecret()
	err = s.change(func(tokens []Token) ([]Token, error) {
		i, found := find(tokens, name)
		if found {
			return nil, fmt.Errorf("%w: %s; revoke it to make it anew", ErrExists, name)
		}
		return slices.Insert(tokens, i, Token{Name: name, Created: s.now().UTC().Truncate(time.Second), hash: hashOf(secret)}), nil
	})
	if err != nil {
		return "", err
	}
	return secret, nil
}

// Revoke removes a token. Processes that serve notice within a second. The error
// is [ErrUnknown] or one of the file system.
func (s *Store) Revoke(name string) error {
	return s.change(func(tokens []Token) ([]Token, error) {
		i, found := find(tokens, name)
		if !found {
			return nil, fmt.Errorf("%w: %s", ErrUnknown, name)
		}
		return slices.Delete(tokens, i, i+1), nil
	})
}

func find(tokens []Token, name string) (int, bool) {
	return slices.BinarySearchFunc(tokens, name, func(t Token, name string) int { return strings.Compare(t.Name, name) })
}

// change rewrites the file, with other processes kept out.
func (s *Store) change(f func([]Token) ([]Token, error)) error {
	if err := os.MkdirAll(filepath.Dir(s.path), 0o700); err != nil {
		return err
	}
	unlock, err := lock(s.path)
	if err != nil {
		return err
	}
	defer unlock()
	tokens, _, err := load(s.path)
	if err != nil {
		return err
	}
	if tokens, err = f(tokens); err != nil {
		return err
	}
	if err := replace(s.path, format(tokens)); err != nil {
		return err
	}
	return s.reload()
}

// List returns the tokens by name.
func (s *Store) List() ([]Token, error) {
	if err := s.reload(); err != nil {
		return nil, err
	}
	s.mu.RLock()
	tokens := slices.Clone(s.tokens)
	s.mu.RUnlock()
	used := loadUses(s.path)
	for i, t := range tokens {
		if last := used[t.Name]; last.After(t.Created) {
			tokens[i].LastUse = last
		}
	}
	return tokens, nil
}

func (s *Store) reload() error {
	tokens, info, err := load(s.path)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tokens, s.seen, s.broken = tokens, info, ""
	return nil
}

// refresh looks whether the file has changed, once a second. One that cannot be
// read is reported once, and what was read last stays in force.
func (s *Store) refresh() {
	now := s.now()
	s.mu.RLock()
	fresh, seen := now.Sub(s.checked) < checkEvery, s.seen
	s.mu.RUnlock()
	if fresh {
		return
	}
	s.mu.Lock()
	s.checked = now
	s.mu.Unlock()
	info, err := os.Stat(s.path)
	if err == nil && seen != nil && os.SameFile(info, seen) && info.ModTime().Equal(seen.ModTime()) && info.Size() == seen.Size() && info.Mode() == seen.Mode() {
		return
	}
	if err := s.reload(); err != nil {
		s.mu.Lock()
		repeated := s.broken == err.Error()
		s.broken = err.Error()
		s.mu.Unlock()
		if !repeated {
			s.log.Error("tokens not reloaded, the last good ones stay in force", "err", err)
		}
	}
}

const challenge = `Bearer realm="spillway"`

// Authenticate returns the principal whose bearer token a request carries. It
// notices within a second when the file has changed. The error is a
// *[httpmcp.Denied], which holds nothing of what was sent.
func (s *Store) Authenticate(r *http.Request) (caller string, err error) {
	s.refresh()
	sent := r.Header["Authorization"]
	if len(sent) != 1 {
		return "", &httpmcp.Denied{Status: http.StatusUnauthorized, Challenge: challenge, Reason: "a bearer token is needed"}
	}
	scheme, secret, _ := strings.Cut(sent[0], " ")
	if !strings.EqualFold(scheme, "Bearer") {
		return "", &httpmcp.Denied{Status: http.StatusUnauthorized, Challenge: challenge, Reason: "a bearer token is needed"}
	}
	if t, ok := s.lookup(strings.TrimSpace(secret)); ok {
		s.note(t.Name)
		return t.Principal(), nil
	}
	return "", &httpmcp.Denied{Status: http.StatusUnauthorized, Challenge: challenge + `, error="invalid_token"`, Reason: "the bearer token is not known"}
}

// lookup compares with all tokens, so that the time tells nothing of them.
func (s *Store) lookup(secret string) (Token, bool) {
	hash := hashOf(secret)
	s.mu.RLock()
	defer s.mu.RUnlock()
	at := -1
	for i := range s.tokens {
		at = subtle.ConstantTimeSelect(subtle.ConstantTimeCompare(s.tokens[i].hash[:], hash[:]), i, at)
	}
	if at < 0 {
		return Token{}, false
	}
	return s.tokens[at], true
}
