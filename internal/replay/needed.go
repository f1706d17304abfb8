package replay

import (
	"github.com/spillway-mcp/spillway/internal/record"
	"github.com/spillway-mcp/spillway/internal/rules"
	"github.com/spillway-mcp/spillway/internal/tokens"
)

// Needed counts, for one tool, the fields of its results that later calls or the
// declared answers of the sessions use, by their paths as items[*].sha.
func Needed(sessions []*record.Session, server, tool string) map[string]int {
	counts := map[string]int{}
	counter, err := tokens.ByName("bytes/4")
	if err != nil {
		return counts
	}
	opt := &Options{Rules: rules.Default(), Counter: counter}
	for _, s := range sessions {
		a := newAnalysis(s, opt, make(chan struct{}, 1))
		a.prepare()
		work := scanner{atoms: &a.atoms, counter: free{}}
		for _, r := range a.results {
			r.had, _ = work.original(r.e.Result)
		}
		for _, n := range a.needs() {
			for _, i := range n.sources {
				if e := a.results[i].e; e.Server == server && e.Tool == tool {
					counts[a.results[i].had[n.atom].field]++
				}
			}
		}
	}
	return counts
}
