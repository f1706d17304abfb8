package ledger

import (
	"maps"
	"sync"
)

// Repeats tells whether a call asks again for what an earlier call of the same
// session asked (RED-45). It remembers the digests of the last calls, not their
// arguments, and in bounded memory. The zero value is ready, for one session;
// it is safe for concurrent use.
type Repeats struct {
	mu   sync.Mutex
	last [remembered]seen
	n    int
}

const remembered = 128

type seen struct {
	tool string
	args map[string]string
}

// Observe notes a call and returns RepeatEqual where an earlier call of the tool
// had the same arguments, RepeatNarrower where it had some of them and none
// other (this call adds a filter or a range), else "". The map must not change
// afterwards.
func (r *Repeats) Observe(tool string, args map[string]string) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	verdict := ""
	for _, s := range r.last[:min(r.n, remembered)] {
		if s.tool != tool {
			continue
		}
		if maps.Equal(s.args, args) {
			verdict = RepeatEqual
			break
		}
		if within(s.args, args) {
			verdict = RepeatNarrower
		}
	}
	if verdict != RepeatEqual {
		r.last[r.n%remembered] = seen{tool, args}
		r.n++
	}
	return verdict
}

// within reports whether every entry of a is in b, and b has more. A call
// without arguments is not taken for a wider form of every other.
func within(a, b map[string]string) bool {
	if len(a) == 0 || len(a) >= len(b) {
		return false
	}
	for name, digest := range a {
		if b[name] != digest {
			return false
		}
	}
	return true
}
