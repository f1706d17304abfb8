package contracttest

import (
	"slices"
	"sync"
	"testing"

	"github.com/spillway-mcp/spillway/contract"
)

// memories gives every process of a world the same Memory.
func memories() func(dir string) (contract.Store, error) {
	var mu sync.Mutex
	byDir := map[string]*contract.Memory{}
	return func(dir string) (contract.Store, error) {
		mu.Lock()
		defer mu.Unlock()
		if byDir[dir] == nil {
			byDir[dir] = contract.NewMemory()
		}
		return byDir[dir], nil
	}
}

func TestGoOverHTTP(t *testing.T) { Run(t, Go(memories(), false)) }

// TestEveryCase runs each case within the process: there are no others, and
// none is skipped.
func TestEveryCase(t *testing.T) {
	cases := Cases()
	for _, id := range []string{
		"M01", "M02", "M03", "M04", "M05", "M06", "M07", "M08", "M09", "M10", "M11", "M12", "M13", "M14", "M15", "M16", "M17", "M18", "M19", "M20", "M21", "M22", "M23", "M24",
		"Q01", "Q02", "Q03", "Q04", "Q05", "Q06", "Q07", "Q08", "Q09", "Q10", "Q11", "Q12", "Q13", "Q14", "Q15",
		"A01", "A02", "A03", "A04", "A05",
		"K08", "K50", "K51", "K52",
	} {
		i := slices.IndexFunc(cases, func(c Case) bool { return c.ID == id })
		if i < 0 {
			t.Errorf("there is no case %s", id)
			continue
		}
		t.Run(id, func(t *testing.T) {
			r := cases[i].Check(Go(memories(), true))
			if r.Skipped != "" {
				t.Error(r.Skipped)
			}
			for _, f := range r.Failures {
				t.Error(f)
			}
		})
		cases = slices.Delete(cases, i, i+1)
	}
	for _, c := range cases {
		t.Errorf("the case %s is not in the list", c.ID)
	}
}
