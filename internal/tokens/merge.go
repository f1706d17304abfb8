package tokens

import "bytes"

const (
	// smallPiece is the length in bytes up to which a piece is merged by looking
	// through all its pairs for the best, which is faster than a heap.
	smallPiece = 64
	// cachedPiece is the length up to which the count of a piece is remembered.
	cachedPiece = 24
	cacheBits   = 12
	// keepScratch is the size in elements above which a buffer is given back to
	// the collector rather than kept for the next text.
	keepScratch = 1 << 20
)

// A scratch holds what one Count needs beside the text. Not for concurrent use.
type scratch struct {
	clean []byte // the text with U+FFFD for what is not UTF-8
	nodes []node
	heap  []uint64
	// cache remembers pieces that are not one token: names of fields and the
	// like come again and again. One place a hash, the newest stays.
	cache [1 << cacheBits]cached
}

type cached struct {
	key   [3]uint64
	n     uint16 // length; 0 marks a free place
	count uint16
}

func (s *scratch) trim() {
	if cap(s.clean) > keepScratch {
		s.clean = nil
	}
	if cap(s.nodes) > keepScratch {
		s.nodes = nil
	}
	if cap(s.heap) > keepScratch {
		s.heap = nil
	}
}

// count returns the tokens of the piece of n bytes at the start of b. The bytes
// behind the piece are not looked at, but let load read words.
func (s *scratch) count(v *vocabulary, b []byte, n int) int {
	if v.rank(b, n) != none {
		return 1
	}
	if n > cachedPiece {
		return s.merge(v, b, n)
	}
	var k [3]uint64
	k[0] = load(b, min(n, 8))
	if n > 8 {
		k[1] = load(b[8:], min(n-8, 8))
	}
	if n > 16 {
		k[2] = load(b[16:], n-16)
	}
	h := (k[0] ^ k[1]*3 ^ k[2]*5) * mix
	e := &s.cache[(h^h>>29)*mix>>(64-cacheBits)]
	if e.n == uint16(n) && e.key == k {
		return int(e.count)
	}
	count := s.merge(v, b, n)
	*e = cached{k, uint16(n), uint16(count)}
	return count
}

func (s *scratch) merge(v *vocabulary, b []byte, n int) int {
	if bytes.IndexByte(b[:n], mark[0]) >= 0 && bytes.Contains(b[:n], mark) {
		return s.mergeLong(b[:n], v.rankMarked)
	}
	if n <= smallPiece {
		return mergeSmall(v, b, n)
	}
	return s.mergeLong(b[:n], v.rank)
}

// mergeSmall joins, again and again, the pair of neighbours with the lowest
// rank, the leftmost of equals, and returns how many parts are left.
func mergeSmall(v *vocabulary, b []byte, n int) int {
	var ranks [smallPiece + 1]uint32  // of the pair that begins with part i
	var starts [smallPiece + 2]uint16 // of part i; starts[parts] is n
	for i := range n - 1 {
		ranks[i] = v.pairs[uint16(b[i])|uint16(b[i+1])<<8]
		starts[i] = uint16(i)
	}
	starts[n-1], starts[n] = uint16(n-1), uint16(n)
	parts := n
	for parts > 1 {
		best, at := none, 0
		for i, r := range ranks[:parts-1] {
			if r < best {
				best, at = r, i
			}
		}
		if best == none {
			break
		}
		copy(ranks[at:parts-1], ranks[at+1:parts])
		copy(starts[at+1:parts], starts[at+2:parts+1])
		parts--
		if at+1 < parts {
			ranks[at] = v.rank(b[starts[at]:], int(starts[at+2]-starts[at]))
		}
		if at > 0 {
			ranks[at-1] = v.rank(b[starts[at-1]:], int(starts[at+1]-starts[at-1]))
		}
	}
	return parts
}

// A node is a part of a long piece: it begins at the node's index and ends where
// next begins.
type node struct {
	prev, next int32
	rank       uint32 // of this part joined with the next; none if no token
}

// mergeLong does what mergeSmall does, with a heap of pairs: n log n for a piece
// of n bytes, whatever stands in it.
func (s *scratch) mergeLong(piece []byte, rank func([]byte, int) uint32) int {
	n := len(piece)
	if cap(s.nodes) < n+1 {
		s.nodes = make([]node, n+1+n/4)
	}
	nodes := s.nodes[:n+1]
	heap := pairHeap(s.heap[:0])
	for i := range n {
		nodes[i] = node{int32(i) - 1, int32(i) + 1, none}
		if i+2 <= n {
			if r := rank(piece[i:], 2); r != none {
				nodes[i].rank = r
				heap = append(heap, uint64(r)<<32|uint64(i))
			}
		}
	}
	nodes[n] = node{int32(n) - 1, -1, none}
	heap.order()
	parts := n
	again := func(i int32) {
		r := none
		if j := nodes[i].next; int(j) < n {
			r = rank(piece[i:], int(nodes[j].next-i))
		}
		nodes[i].rank = r
		if r != none {
			heap.push(uint64(r)<<32 | uint64(i))
		}
	}
	for len(heap) > 0 {
		top := heap.pop()
		i := int32(top & (1<<32 - 1))
		if nodes[i].rank != uint32(top>>32) {
			continue // the pair has been joined, or joined into another, since
		}
		j := nodes[i].next
		k := nodes[j].next
		nodes[j].rank = none
		nodes[i].next = k
		nodes[k].prev = i
		parts--
		again(i)
		if p := nodes[i].prev; p >= 0 {
			again(p)
		}
	}
	s.heap = heap[:0]
	return parts
}
