package contract

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
)

// Sealer seals what leaves our hands or rests in the journal: AES-256-GCM
// under one key. A token of another purpose, or of another Sealer, does not
// open.
type Sealer struct {
	aead cipher.AEAD
}

// SealKeySize is the length of a key in bytes.
const SealKeySize = 32

// NewSealer makes a Sealer with a random key, which dies with the process.
func NewSealer() (*Sealer, error) {
	key := make([]byte, SealKeySize)
	if _, err := rand.Read(key); err != nil {
		return nil, err
	}
	return SealerFromKey(key)
}

// SealerFromKey makes a Sealer of a secret of SealKeySize bytes or more.
func SealerFromKey(key []byte) (*Sealer, error) {
	if len(key) < SealKeySize {
		return nil, fmt.Errorf("seal key of %d bytes; want %d or more", len(key), SealKeySize)
	}
	sum := sha256.Sum256(append([]byte("spillway seal v1\x00"), key...))
	block, err := aes.NewCipher(sum[:])
	if err != nil {
		return nil, err
	}
	aead, err := cipher.NewGCM(block)
	if err != nil {
		return nil, err
	}
	return &Sealer{aead}, nil
}

var errSeal = errors.New("not sealed by this key for this purpose, or changed since")

// Seal encrypts data for one purpose, which Open must name again.
func (s *Sealer) Seal(purpose string, data []byte) []byte {
	nonce := make([]byte, s.aead.NonceSize(), s.aead.NonceSize()+len(data)+s.aead.Overhead())
	_, _ = rand.Read(nonce) // never fails
	return s.aead.Seal(nonce, nonce, data, []byte(purpose))
}

// Open decrypts what Seal made for the purpose.
func (s *Sealer) Open(purpose string, sealed []byte) ([]byte, error) {
	n := s.aead.NonceSize()
	if len(sealed) < n {
		return nil, errSeal
	}
	data, err := s.aead.Open(nil, sealed[:n], sealed[n:], []byte(purpose))
	if err != nil {
		return nil, errSeal
	}
	return data, nil
}
