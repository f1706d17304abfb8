package stash

import (
	"errors"
	"fmt"
	"math"
	"runtime"
	"sync"

	"github.com/klauspost/compress/zstd"
)

// The fastest level: an original is written once and seldom read, and the
// model waits for the write.
var encoder = sync.OnceValue(func() *zstd.Encoder {
	e, err := zstd.NewWriter(nil,
		zstd.WithEncoderLevel(zstd.SpeedFastest),
		zstd.WithEncoderConcurrency(min(runtime.GOMAXPROCS(0), 4)),
		zstd.WithEncoderCRC(false)) // we check SHA-256
	if err != nil {
		panic(err) // the options are constants
	}
	return e
})

var decoder = sync.OnceValue(func() *zstd.Decoder {
	d, err := zstd.NewReader(nil,
		zstd.WithDecoderConcurrency(min(runtime.GOMAXPROCS(0), 4)),
		zstd.WithDecodeAllCapLimit(true)) // a damaged object cannot grow beyond its size
	if err != nil {
		panic(err)
	}
	return d
})

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
	*b = encoder().EncodeAll(src, (*b)[:0])
	return b
}

// decompress returns the size bytes that src holds.
func decompress(src []byte, size int64) ([]byte, error) {
	if size < 0 || size > math.MaxInt32 {
		return nil, fmt.Errorf("size %d is impossible", size)
	}
	out, err := decoder().DecodeAll(src, make([]byte, 0, size))
	if err != nil {
		return nil, err
	}
	if int64(len(out)) != size {
		return nil, errors.New("length differs")
	}
	return out, nil
}
