package tokens

import (
	"bytes"
	_ "embed"
	"encoding/binary"
	"sync"
	"unicode/utf8"

	"github.com/klauspost/compress/zstd"
)

//go:embed data/cl100k_base.zst
var cl100kData []byte

//go:embed data/o200k_base.zst
var o200kData []byte

var (
	cl100k = newBPE("cl100k_base", cl100kData, splitCL100K)
	o200k  = newBPE("o200k_base", o200kData, splitO200K)
)

// none is the rank of what is no token.
const none = ^uint32(0)

// maxToken is the length of the longest token in bytes.
const maxToken = 128

// A vocabulary finds the rank of a token. Tokens of up to 8 bytes and of up to
// 16, which are nearly all, sit in open tables under their own bytes, so that a
// look-up is a multiplication and mostly one cache line.
type vocabulary struct {
	pairs  [1 << 16]uint32 // rank of the two bytes, little endian
	short  []shortToken
	middle []middleToken
	long   map[string]uint32
}

type shortToken struct {
	key  uint64
	rank uint32
	n    uint32 // length in bytes; 0 marks a free place
}

type middleToken struct {
	key  [2]uint64
	rank uint32
	n    uint32
}

const (
	shortBits  = 18 // 148,310 tokens in o200k_base
	middleBits = 17 // 47,701
	mix        = 0x9e3779b97f4a7c15
)

func shortHash(k uint64, n int) uint64 {
	k = (k ^ uint64(n)<<59) * mix
	return (k ^ k>>29) * mix >> (64 - shortBits)
}

func middleHash(a, b uint64) uint64 {
	k := (a ^ (b<<31 | b>>33)) * mix
	return (k ^ k>>29) * mix >> (64 - middleBits)
}

// load returns the first n of at most 8 bytes of b, little endian, zeros after.
// Where b goes on behind them, as it mostly does, that is one read.
func load(b []byte, n int) uint64 {
	if len(b) >= 8 {
		return binary.LittleEndian.Uint64(b) & (^uint64(0) >> (64 - 8*uint(n)))
	}
	var k uint64
	for i := n - 1; i >= 0; i-- {
		k = k<<8 | uint64(b[i])
	}
	return k
}

// rank returns the rank of the first n bytes of b, n at least 1, or none.
func (v *vocabulary) rank(b []byte, n int) uint32 {
	switch {
	case n <= 8:
		k := load(b, n)
		for h := shortHash(k, n); ; h = (h + 1) & (1<<shortBits - 1) {
			e := &v.short[h]
			if e.key == k && e.n == uint32(n) {
				return e.rank
			}
			if e.n == 0 {
				return none
			}
		}
	case n <= 16:
		k := [2]uint64{load(b, 8), load(b[8:], n-8)}
		for h := middleHash(k[0], k[1]); ; h = (h + 1) & (1<<middleBits - 1) {
			e := &v.middle[h]
			if e.key == k && e.n == uint32(n) {
				return e.rank
			}
			if e.n == 0 {
				return none
			}
		}
	case n > maxToken:
		return none
	}
	if r, ok := v.long[string(b[:n])]; ok {
		return r
	}
	return none
}

// mark is the byte order mark U+FEFF.
var mark = []byte("\xef\xbb\xbf")

// rankMarked is rank as gpt-tokenizer has it for bytes that may begin with a
// byte order mark: its decoder drops the mark before it looks the token up, so a
// mark never is a token, and a mark with a token behind it has that one's rank.
func (v *vocabulary) rankMarked(b []byte, n int) uint32 {
	key := b[:n]
	if bytes.HasPrefix(key, mark) && utf8.Valid(key) {
		key = key[len(mark):]
		if len(key) == 0 || bytes.HasPrefix(key, mark) {
			return none
		}
	}
	return v.rank(key, len(key))
}

func (v *vocabulary) add(token []byte, rank uint32) {
	n := len(token)
	switch {
	case bytes.HasPrefix(token, mark): // see rankMarked
	case n <= 8:
		k := load(token, n)
		h := shortHash(k, n)
		for v.short[h].n != 0 {
			h = (h + 1) & (1<<shortBits - 1)
		}
		v.short[h] = shortToken{k, rank, uint32(n)}
		if n == 2 {
			v.pairs[k] = rank
		}
	case n <= 16:
		k := [2]uint64{load(token, 8), load(token[8:], n-8)}
		h := middleHash(k[0], k[1])
		for v.middle[h].n != 0 {
			h = (h + 1) & (1<<middleBits - 1)
		}
		v.middle[h] = middleToken{k, rank, uint32(n)}
	default:
		v.long[string(token)] = rank
	}
}

// unpack reads a vocabulary as gen.go writes it. The data is embedded, so what
// is wrong with it is a fault of the build, and panics.
func unpack(name string, data []byte) *vocabulary {
	dec, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1))
	if err != nil {
		panic("tokens: " + err.Error())
	}
	defer dec.Close()
	raw, err := dec.DecodeAll(data, nil)
	if err != nil {
		panic("tokens: embedded " + name + ": " + err.Error())
	}
	v := &vocabulary{
		short:  make([]shortToken, 1<<shortBits),
		middle: make([]middleToken, 1<<middleBits),
		long:   make(map[string]uint32, 4096),
	}
	for i := range v.pairs {
		v.pairs[i] = none
	}
	for rank := uint32(0); len(raw) > 0; rank++ {
		n := 1 + int(raw[0])
		v.add(raw[1:n:n], rank)
		raw = raw[n:]
	}
	return v
}

// A bpe is a byte-pair counter.
type bpe struct {
	name  string
	split splitter
	vocab func() *vocabulary // loads once
	pool  sync.Pool          // of *scratch
}

func newBPE(name string, data []byte, split splitter) *bpe {
	b := &bpe{name: name, split: split}
	b.vocab = sync.OnceValue(func() *vocabulary { return unpack(name, data) })
	b.pool.New = func() any { return new(scratch) }
	return b
}

// Name is the vocabulary's name.
func (b *bpe) Name() string { return b.name }

// Count returns the number of tokens of text; see the package comment.
func (b *bpe) Count(text []byte) int {
	if len(text) == 0 {
		return 0
	}
	t, v := classes(), b.vocab()
	s := b.pool.Get().(*scratch)
	defer b.pool.Put(s)
	if !utf8.Valid(text) {
		s.clean = appendValid(s.clean[:0], text)
		text = s.clean
	}
	total := 0
	for i := 0; i < len(text); {
		end := b.split(t, text, i)
		total += s.count(v, text[i:], end-i)
		i = end
	}
	s.trim()
	return total
}
