package contract

import (
	"fmt"
	"slices"
	"strings"
	"sync"
)

// registry holds definitions by name, of each name the versions in order.
type registry struct {
	mu     sync.RWMutex
	byName map[string][]*Definition
}

func (r *registry) add(defs []*Definition) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, d := range defs {
		same := r.byName[d.Name()]
		i, found := slices.BinarySearchFunc(same, d.major, func(x *Definition, major int) int { return x.major - major })
		if found {
			if same[i] == d || same[i].digest == d.digest {
				continue
			}
			return &Error{Kind: ErrInvalid, Reason: ReasonInvalid, Operation: d.ID(),
				Message: fmt.Sprintf("%s is defined already; only other major versions can stand beside it", same[i].ID())}
		}
		if r.byName == nil {
			r.byName = map[string][]*Definition{}
		}
		r.byName[d.Name()] = slices.Insert(slices.Clone(same), i, d)
	}
	return nil
}

func (r *registry) all() []*Definition {
	r.mu.RLock()
	defer r.mu.RUnlock()
	var all []*Definition
	for _, same := range r.byName {
		all = append(all, same...)
	}
	slices.SortFunc(all, func(a, b *Definition) int {
		if c := strings.Compare(a.Name(), b.Name()); c != 0 {
			return c
		}
		return a.major - b.major
	})
	return all
}

func (r *registry) lookup(operation string) *Definition {
	name, version, versioned := strings.Cut(operation, "@")
	r.mu.RLock()
	defer r.mu.RUnlock()
	same := r.byName[name]
	if len(same) == 0 {
		return nil
	}
	if !versioned {
		return same[len(same)-1]
	}
	for _, d := range same {
		if version == d.Version() || version == fmt.Sprint(d.major) {
			return d
		}
	}
	return nil
}
