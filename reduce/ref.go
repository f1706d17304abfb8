package reduce

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"sync/atomic"

	"github.com/spillway-mcp/spillway/internal/jsontape"
)

// RefPrefix starts every ref; twelve hexadecimal digits follow.
const RefPrefix = "r_"

const refDigits = 12

// Ref returns the ref of a result, the JSON of a CallToolResult, and the
// SHA-256 that it is the start of: over the canonical form of its content and
// structuredContent, _meta left out, since ids of tasks and traces differ from
// run to run (RED-22).
func Ref(result []byte) (ref string, canonical [32]byte, err error) {
	d, err := jsontape.Parse(result)
	if err != nil {
		return "", canonical, fmt.Errorf("the result has no ref: %w", err)
	}
	root := d.Root()
	canonical = hashResult(root.Get("content"), root.Get("structuredContent"), nil)
	return refOf(canonical), canonical, nil
}

// hashResult hashes {"content":…,"structuredContent":…} in canonical form,
// absent members left out. Once stop is set (it may be nil) it ends soon, with
// some hash.
func hashResult(content, structured jsontape.Value, stop *atomic.Bool) [sha256.Size]byte {
	h := sha256.New()
	sep := "{"
	if content.Exists() {
		h.Write([]byte(`{"content":`))
		content.HashCanonicalUntil(h, stop)
		sep = ","
	}
	if structured.Exists() {
		h.Write([]byte(sep + `"structuredContent":`))
		structured.HashCanonicalUntil(h, stop)
		sep = ","
	}
	if sep == "{" {
		h.Write([]byte("{"))
	}
	h.Write([]byte("}"))
	return [sha256.Size]byte(h.Sum(nil))
}

func refOf(canonical [sha256.Size]byte) string {
	var b [len(RefPrefix) + refDigits]byte
	copy(b[:], RefPrefix)
	hex.Encode(b[len(RefPrefix):], canonical[:refDigits/2])
	return string(b[:])
}

// IsRef reports whether s has the form of a ref.
func IsRef(s string) bool {
	if len(s) != len(RefPrefix)+refDigits || s[:len(RefPrefix)] != RefPrefix {
		return false
	}
	for _, c := range []byte(s[len(RefPrefix):]) {
		if (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return false
		}
	}
	return true
}
