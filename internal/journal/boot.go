package journal

import (
	"crypto/sha256"
	"encoding/hex"
	"time"
)

// bootTime reads a clock that starts with the machine, goes on while it
// sleeps, and that nobody can set; its name tells one start from another. ""
// is that this system has none that we know of.
func bootTime() (name string, since time.Duration) {
	id, since, ok := boot()
	if !ok {
		return "", 0
	}
	sum := sha256.Sum256([]byte(id))
	return "boot " + hex.EncodeToString(sum[:6]), since
}
