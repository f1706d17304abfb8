package reduce

import (
	"crypto/sha256"
	"fmt"
	"sync/atomic"

	"github.com/spillway-mcp/spillway/internal/jsontape"
)

// summing is the canonical hash of a result while it is taken beside the
// cutting: for a large result it is as much work as all the rest.
type summing struct {
	stop  atomic.Bool
	done  chan struct{}
	sum   [sha256.Size]byte
	fault any // what it panicked with
}

// sumFrom is the size in bytes from which a result is hashed beside the cutting.
const sumFrom = 64 << 10

// startSum begins to hash root, a result that the rule is likely to cut.
func startSum(root jsontape.Value) *summing {
	s := &summing{done: make(chan struct{})}
	content, structured := root.Get("content"), root.Get("structuredContent")
	go func() {
		defer close(s.done)
		defer func() { s.fault = recover() }()
		s.sum = hashResult(content, structured, &s.stop)
	}()
	return s
}

// result waits for the hash.
func (s *summing) result() [sha256.Size]byte {
	<-s.done
	if s.fault != nil {
		panic(fmt.Sprint(s.fault)) // where a fault of the reducer is caught
	}
	return s.sum
}

// end stops it, wanted or not: from then on nothing reads the document.
func (s *summing) end() {
	if s != nil {
		s.stop.Store(true)
		<-s.done
	}
}

// likelyCut reports a result of size bytes that is hashed before it is known
// that its ref is needed.
func (r *Reducer) likelyCut(env Env, size int) bool {
	if size < sumFrom || env.Expand == "" && !env.ResourceLink {
		return false
	}
	u := &r.rule
	return r.keep != nil || u.MaxRows != nil || u.Heavy || r.strip.any() || u.MaxBytes > 0 && size/2 > u.MaxBytes
}
