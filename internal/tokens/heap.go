package tokens

// A pairHeap is a heap of pairs, rank in the upper and place in the lower 32
// bits, so that the smallest is the leftmost of the lowest rank. It has four
// children a node, which halves the depth and keeps them in one cache line.
type pairHeap []uint64

// order makes a heap of any slice.
func (h pairHeap) order() {
	for i := (len(h) - 2) / 4; i >= 0; i-- {
		h.down(i)
	}
}

func (h *pairHeap) push(x uint64) {
	*h = append(*h, x)
	a := *h
	i := len(a) - 1
	for i > 0 {
		p := (i - 1) / 4
		if a[p] <= x {
			break
		}
		a[i] = a[p]
		i = p
	}
	a[i] = x
}

// pop takes the smallest; the heap has one.
func (h *pairHeap) pop() uint64 {
	a := *h
	top, last := a[0], len(a)-1
	a[0] = a[last]
	*h = a[:last]
	if last > 0 {
		a[:last].down(0)
	}
	return top
}

func (h pairHeap) down(i int) {
	x := h[i]
	for {
		c := 4*i + 1
		if c >= len(h) {
			break
		}
		least := c
		for k := c + 1; k < min(c+4, len(h)); k++ {
			if h[k] < h[least] {
				least = k
			}
		}
		if h[least] >= x {
			break
		}
		h[i] = h[least]
		i = least
	}
	h[i] = x
}
