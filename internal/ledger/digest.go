package ledger

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"io"

	"github.com/spillway-mcp/spillway/internal/jsontape"
)

// NewKey returns a random key for ArgDigests. A process makes one and keeps it
// in memory only: digests can be compared within its lines, and tell nothing
// about a value to who reads the file.
func NewKey() []byte {
	key := make([]byte, sha256.Size)
	rand.Read(key) // never fails
	return key
}

// ArgDigests returns a keyed digest for each argument of a tools/call: 16 hex
// digits of HMAC-SHA256 over the name and the value's canonical form, in which
// neither key order nor white space counts. Arguments that are not a JSON object
// give nil. Of duplicate names the last one counts.
func ArgDigests(key, arguments []byte) map[string]string {
	doc, err := jsontape.Parse(arguments)
	if err != nil || doc.Root().Kind() != jsontape.Object {
		return nil
	}
	digests := make(map[string]string, min(doc.Root().Len(), maxMany))
	mac := hmac.New(sha256.New, key)
	var sum [sha256.Size]byte
	for it := doc.Root().Iter(); it.Next(); {
		name := it.Key().Str()
		if _, again := digests[name]; len(digests) == maxMany && !again {
			continue
		}
		mac.Reset()
		io.WriteString(mac, name)
		mac.Write([]byte{0})
		it.Value().HashCanonical(mac)
		digests[name] = hex.EncodeToString(mac.Sum(sum[:0])[:8])
	}
	return digests
}
