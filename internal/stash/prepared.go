package stash

import (
	"context"
	"math"
)

// Prepared is an original that is compressed while its ref is not yet known,
// or not yet known to be needed.
type Prepared struct {
	s        *Store
	original []byte
	done     chan struct{}
	p        *packed
	err      error
}

// Prepare begins to compress original, which must not change before
// [Prepared.Discard] has returned; that must be called in the end. It returns
// at once.
func (s *Store) Prepare(original []byte) *Prepared {
	r := &Prepared{s: s, original: original, done: make(chan struct{})}
	go func() {
		defer close(r.done)
		if len(original) > 0 && len(original) <= math.MaxInt32 {
			r.p, r.err = s.pack(original)
		}
	}()
	return r
}

// Put is [Store.Put] of the original. It is called once at most.
func (r *Prepared) Put(ctx context.Context, e Entry) error {
	if err := checkPut(&e, r.original); err != nil {
		return err
	}
	<-r.done
	if r.err != nil {
		return r.err
	}
	p := r.p
	r.p = nil
	return r.s.putPacked(ctx, &e, p)
}

// Discard ends it, put or not.
func (r *Prepared) Discard() {
	<-r.done
	if r.p != nil {
		r.p.discard()
		r.p = nil
	}
}
