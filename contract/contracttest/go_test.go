package contracttest

import (
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

func TestGoOverHTTP(t *testing.T)  { Run(t, Go(memories(), false)) }
func TestGoInProcess(t *testing.T) { Run(t, Go(memories(), true)) }
