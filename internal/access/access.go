// Package access keeps the bearer tokens of callers: their names, and hashes by
// which a token is known when it comes. A token itself is shown once, when it is
// made, and is stored nowhere.
//
// The hash is a plain SHA-256. A slow one guards passwords, which can be
// guessed; a token here is 256 bits of chance, of which no share can be tried,
// and it is checked on every request.
//
// Start with [Open]. A [Store] is the authenticator of an HTTP edge.
package access

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"
	"time"
)

// Token is what is known of a token.
type Token struct {
	Name    string    `json:"name"`
	Created time.Time `json:"created"`
	LastUse time.Time `json:"last_use,omitzero"` // to the hour
	hash    [sha256.Size]byte
}

// Principal is how a caller with this token is called in the stash and the
// ledger: "token:" and its name (RED-23). A token that is revoked and made anew
// under its name is the same caller.
func (t Token) Principal() string { return "token:" + t.Name }

// The errors that callers may branch on.
var (
	ErrExists  = errors.New("there is a token of this name")
	ErrUnknown = errors.New("there is no token of this name")
)

// prefix lets people, and the scanners of code hosts, see what a string is.
const prefix = "spillway_"

// newSecret makes the text of a token: 256 bits of chance.
func newSecret() string {
	var b [32]byte
	_, _ = rand.Read(b[:]) // never fails
	return prefix + base64.RawURLEncoding.EncodeToString(b[:])
}

func hashOf(secret string) [sha256.Size]byte { return sha256.Sum256([]byte(secret)) }

const maxName = 64

// CheckName holds a name to what can stand in a principal: up to 64 letters,
// digits, dots, dashes and underscores.
func CheckName(name string) error {
	if name == "" || len(name) > maxName {
		return fmt.Errorf("the name of a token has 1 to %d characters, got %d", maxName, len(name))
	}
	for _, c := range name {
		if !(c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.ContainsRune("._-", c)) {
			return fmt.Errorf("the name of a token is made of letters, digits, dots, dashes and underscores, got %q", c)
		}
	}
	return nil
}
