package proxy

import (
	"github.com/spillway-mcp/spillway/internal/wire"
)

// kind is what the answer to a request of the client is looked at for.
type kind uint8

const (
	other kind = iota // forwarded as it came
)

// workers bounds the results that are being reduced at once.
const workers = 4

// call is a request of the client that has no answer yet.
type call struct {
	kind   kind
	key    wire.IDKey
	id     []byte // as the client wrote it
	seq    uint64
	method string
}
