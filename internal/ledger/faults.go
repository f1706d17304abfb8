package ledger

import (
	"maps"
	"slices"
)

// maxFaults bounds the distinct faults that are counted by name.
const maxFaults = 64

// faultCounts counts faults by name, in bounded memory and the same in whatever
// order they come: the maxFaults names that are first in the alphabet each, and
// all others together.
type faultCounts struct {
	names  map[string]int64
	others int64
}

func (f *faultCounts) add(name string, n int64) {
	if f.names == nil {
		f.names = make(map[string]int64)
	}
	if _, ok := f.names[name]; !ok && len(f.names) >= maxFaults {
		// One that has to go is behind maxFaults others, and never comes back.
		last := slices.Max(slices.Collect(maps.Keys(f.names)))
		if name > last {
			f.others += n
			return
		}
		f.others += f.names[last]
		delete(f.names, last)
	}
	f.names[name] += n
}

func (f *faultCounts) merge(from *faultCounts) {
	f.others += from.others
	for name, n := range from.names {
		f.add(name, n)
	}
}

// counts returns them by name, those that have none as "others".
func (f *faultCounts) counts() map[string]int64 {
	all := make(map[string]int64, len(f.names))
	maps.Copy(all, f.names)
	if f.others > 0 {
		all["others"] += f.others
	}
	return all
}
