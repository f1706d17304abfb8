package contract

import (
	"bytes"
	"encoding/json"
	"time"
)

// tombstoneLife is how long a tombstone outlives its record (C-20).
const tombstoneLife = 365 * 24 * time.Hour

// encode writes v as JSON without the escapes that only HTML asks for. v
// holds nothing that cannot be written.
func encode(v any) []byte {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return []byte("null")
	}
	return bytes.TrimRight(b.Bytes(), "\n")
}
