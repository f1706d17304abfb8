package conformance

import (
	"net/http/httptest"
	"sync"

	"github.com/spillway-mcp/spillway/contract/contracttest"
)

// worldEnv is where a command finds the world that it plays in: its clock, its
// policy, and the faults of its journal.
const worldEnv = "SPILLWAY_CONFORMANCE_WORLD"

// worlds are served for as long as the tests run: a process may outlive a case.
var worlds sync.Map

// servedAt returns the address at which commands find a world.
func servedAt(w *contracttest.World) string {
	start := sync.OnceValue(func() string { return httptest.NewServer(w.Remote()).URL })
	url, _ := worlds.LoadOrStore(w, start)
	return url.(func() string)()
}
