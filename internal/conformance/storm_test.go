package conformance

import (
	"encoding/json"
	"fmt"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/spillway-mcp/spillway/contract"
	"github.com/spillway-mcp/spillway/contract/contracttest"
)

// TestConnectionsDrop takes the connections to the database away again and
// again while two processes make calls, as a restart of it does, in the middle
// of claims and records: no key has two effects, and all are settled after it.
func TestConnectionsDrop(t *testing.T) {
	dsn := os.Getenv(postgresEnv)
	if dsn == "" {
		t.Skipf("%s is not set to the key=value DSN of a PostgreSQL that tests may write to", postgresEnv)
	}
	name := fmt.Sprint("spillway_storm_", os.Getpid())
	s := store{Kind: "postgres", DSN: dsn + " application_name=" + name}
	w := newWorld(t)
	a := contracttest.Go(s.open, true)
	procs := []contracttest.Process{open(t, a, w), open(t, a, w)}

	over, drops := make(chan struct{}), 0
	var storm, workers sync.WaitGroup
	storm.Go(func() {
		for {
			select {
			case <-over:
				return
			case <-time.After(20 * time.Millisecond):
			}
			if err := (store{DSN: dsn}).admin("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = '" + name + "'"); err != nil {
				t.Error(err)
				return
			}
			drops++
		}
	})
	const callers, each = 4, 25
	var calls []contracttest.Call
	for i := range callers * each {
		calls = append(calls, contracttest.Call{Verb: contracttest.VerbDo, Operation: contracttest.OpCreate, Key: fmt.Sprint("k", i),
			Params: json.RawMessage(fmt.Sprintf(`{"name":"n%d"}`, i))})
	}
	var mu sync.Mutex
	said := map[string]int{}
	for n := range callers {
		workers.Go(func() {
			for i := n; i < len(calls); i += callers {
				for range 3 {
					got := procs[i%2].Do(t.Context(), calls[i])
					mu.Lock()
					said[fmt.Sprint(got.Outcome(), " ", got.Reason())]++
					mu.Unlock()
					if got.Outcome() == contract.Completed {
						break
					}
				}
			}
		})
	}
	workers.Wait()
	close(over)
	storm.Wait()
	var claims []contracttest.Claim
	p := open(t, a, w)
	for _, call := range calls {
		got := recoverFrom(t, w, p, call)
		claims = append(claims, contracttest.Claim{Caller: "alice", Operation: call.Operation, Key: call.Key, Params: call.Params, Receipt: got.Receipt})
	}
	for _, wrong := range contracttest.Judge(w.Upstream.Effects(), claims) {
		t.Error(wrong)
	}
	t.Logf("the connections were taken away %d times; %v", drops, said)
}
