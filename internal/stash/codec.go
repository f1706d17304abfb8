package stash

import (
	"errors"
	"fmt"
	"math"
	"sync"

	"github.com/klauspost/compress/s2"
)

// Originals are kept in S2 blocks: the model waits for the write, and an
// original is seldom read. Beside zstd's fastest level S2 takes a third of the
// time and half as much space again on a search result of 10 MB
// (docs/performance.md). Blocks have no checksum of their own; SHA-256 over the
// original is checked on every read.

// buffers holds *[]byte for compressed bytes; the very large are not kept.
var buffers = sync.Pool{New: func() any { return new([]byte) }}

const maxPooled = 16 << 20

func putBuffer(b *[]byte) {
	if cap(*b) <= maxPooled {
		buffers.Put(b)
	}
}

// compress writes src's compressed form into a pooled buffer.
func compress(src []byte) *[]byte {
	b := buffers.Get().(*[]byte)
	*b = s2.Encode((*b)[:cap(*b)], src)
	return b
}

// decompress returns the size bytes that src holds.
func decompress(src []byte, size int64) ([]byte, error) {
	if size < 0 || size > math.MaxInt32 {
		return nil, fmt.Errorf("size %d is impossible", size)
	}
	// The length stands in the block too: a damaged one must not make us
	// allocate what it says.
	if n, err := s2.DecodedLen(src); err != nil || int64(n) != size {
		return nil, errors.New("length differs")
	}
	return s2.Decode(make([]byte, size), src)
}
