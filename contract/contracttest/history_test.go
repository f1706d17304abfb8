package contracttest

import (
	"os"
	"testing"

	"github.com/spillway-mcp/spillway/contract"
)

// TestHistoryFinds holds the histories themselves: over a journal that believes
// one machine's wall clock some of them give a key two effects (C-18).
func TestHistoryFinds(t *testing.T) {
	stores := memories()
	a := Go(func(dir string) (contract.Store, error) {
		s, err := stores(dir)
		return wallStore{s}, err
	}, true)
	for seed := uint64(16); seed < 36; seed++ {
		r, err := History(a, seed, 500)
		if err != nil {
			t.Fatal(err)
		}
		if len(r.Wrong) > 0 {
			t.Logf("seed %d: %s", seed, r.Wrong[0])
			return
		}
	}
	t.Error("none of the histories is wrong")
}

// TestHistory plays random histories over the Go client: none may give a key
// two effects.
func TestHistory(t *testing.T) {
	seeds, operations := uint64(2), 1000
	if os.Getenv("SPILLWAY_TEST_LONG") != "" {
		seeds, operations = 3, 10_000
	}
	for seed := range seeds {
		r, err := History(Go(memories(), true), seed, operations)
		if err != nil {
			t.Fatal(err)
		}
		for i, wrong := range r.Wrong {
			if i == 5 {
				break
			}
			t.Errorf("seed %d: %s", seed, wrong)
		}
		r.Wrong = nil
		t.Logf("seed %d: %+v", seed, r)
	}
}
