package contracttest

import (
	"os"
	"testing"
)

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
