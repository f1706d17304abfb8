package conformance

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/spillway-mcp/spillway/contract"
	"github.com/spillway-mcp/spillway/contract/contracttest"
	"github.com/spillway-mcp/spillway/contract/contracttest/upstream"
)

// killed are the operations whose every step is a place to die.
var killed = []struct {
	operation string
	params    string
}{
	{contracttest.OpCreate, `{"name":"n"}`},
	{contracttest.OpCustomer, `{"name":"n"}`},
	{contracttest.OpMembers, `{"team":"t","members":["a","b","c"]}`},
	{contracttest.OpPair, `{"name":"n","team":"t","member":"m"}`},
}

// recover asks again from another process until the operation is completed,
// as a caller would: it calls under the same key, and reconciles what is
// unknown. It never resolves anything by hand.
func recoverFrom(t *testing.T, w *contracttest.World, p contracttest.Process, call contracttest.Call) contracttest.Answer {
	t.Helper()
	w.Clock.Jump(time.Hour) // past the lease of whoever died
	for range 20 {
		a := p.Do(t.Context(), call)
		switch a.Outcome() {
		case contract.Completed:
			return a
		case contract.Unknown:
			p.Do(t.Context(), contracttest.Call{Verb: contracttest.VerbReconcile, Operation: call.Operation, Key: call.Key})
		case contract.Rejected, contract.Partial:
		default:
			t.Fatalf("%s: %s %s %s", call.Operation, a.Raw, a.Text, a.Error)
		}
	}
	t.Fatalf("%s does not recover", call.Operation)
	return contracttest.Answer{}
}

// judged fails where the log does not fit the one key of a world.
func judged(t *testing.T, w *contracttest.World, call contracttest.Call, a contracttest.Answer, effects int) {
	t.Helper()
	log := w.Upstream.Effects()
	for _, wrong := range contracttest.Judge(log, []contracttest.Claim{{
		Caller: "alice", Operation: call.Operation, Key: call.Key, Params: call.Params, Receipt: a.Receipt,
	}}) {
		t.Error(wrong)
	}
	if len(log) != effects {
		t.Errorf("want %d effects, have %v", effects, log)
	}
}

func newWorld(t *testing.T) *contracttest.World {
	t.Helper()
	w, err := contracttest.NewWorld()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.Close)
	return w
}

func open(t *testing.T, a contracttest.Adapter, w *contracttest.World) contracttest.Process {
	t.Helper()
	p, err := a.Open(w, "alice")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	return p
}

// TestKillAtEveryStep kills the process of a mutation with SIGKILL at its
// first step, at its second, and so on until it gets to the end, and recovers
// from another process each time (M04, M05).
func TestKillAtEveryStep(t *testing.T) {
	eachStore(t, func(t *testing.T, s store) {
		for _, k := range killed {
			t.Run(k.operation, func(t *testing.T) {
				call := contracttest.Call{Verb: contracttest.VerbDo, Operation: k.operation, Key: "k1", Params: json.RawMessage(k.params)}
				effects := map[string]int{contracttest.OpMembers: 3, contracttest.OpPair: 2}[k.operation]
				deaths := 0
				for step := 1; ; step++ {
					w := newWorld(t)
					a := open(t, processes{store: s, dieAt: step}, w).Do(t.Context(), call)
					if !a.Died {
						judged(t, w, call, a, max(effects, 1))
						break
					}
					deaths++
					judged(t, w, call, recoverFrom(t, w, open(t, processes{store: s}, w), call), max(effects, 1))
					if t.Failed() {
						t.Fatalf("killed at step %d", step)
					}
				}
				if deaths < 6 {
					t.Errorf("only %d steps to die at", deaths)
				}
				t.Logf("%d places to die", deaths)
			})
		}
	})
}

// TestKillTheRecovery kills the first process half way, and then each
// process that recovers, one step later each time.
func TestKillTheRecovery(t *testing.T) {
	eachStore(t, func(t *testing.T, s store) {
		for _, k := range killed {
			t.Run(k.operation, func(t *testing.T) {
				call := contracttest.Call{Verb: contracttest.VerbDo, Operation: k.operation, Key: "k1", Params: json.RawMessage(k.params)}
				effects := map[string]int{contracttest.OpMembers: 3, contracttest.OpPair: 2}[k.operation]
				w := newWorld(t)
				for step := 4; step > 0; step-- {
					p := open(t, processes{store: s, dieAt: step}, w)
					p.Do(t.Context(), call)
					p.Do(t.Context(), contracttest.Call{Verb: contracttest.VerbReconcile, Operation: call.Operation, Key: call.Key})
					w.Clock.Jump(time.Hour)
				}
				judged(t, w, call, recoverFrom(t, w, open(t, processes{store: s}, w), call), max(effects, 1))
			})
		}
	})
}

// TestKillAtRandom kills at moments that no hook names: in the middle of a
// commit, of a request, of the start.
func TestKillAtRandom(t *testing.T) {
	rounds := 15
	if long() {
		rounds = 300
	}
	eachStore(t, func(t *testing.T, s store) {
		rng := rand.New(rand.NewPCG(5, 5))
		w := newWorld(t)
		var claims []contracttest.Claim
		died := 0
		for i := range rounds {
			k := killed[i%len(killed)]
			params := fmt.Sprintf(`{"name":"n%d"}`, i)
			switch k.operation {
			case contracttest.OpMembers:
				params = fmt.Sprintf(`{"team":"t%d","members":["a","b","c"]}`, i)
			case contracttest.OpPair:
				params = fmt.Sprintf(`{"name":"n%d","team":"t%d","member":"m"}`, i, i)
			}
			call := contracttest.Call{Verb: contracttest.VerbDo, Operation: k.operation, Key: fmt.Sprint("k", i), Params: json.RawMessage(params)}
			p := open(t, processes{store: s}, w)
			p.Do(t.Context(), contracttest.Call{Verb: contracttest.VerbGet, Operation: k.operation, Key: "none"}) // it is up
			kill := time.AfterFunc(time.Duration(rng.IntN(12_000))*time.Microsecond, p.Kill)
			if p.Do(context.Background(), call).Died {
				died++
			}
			kill.Stop()
			a := recoverFrom(t, w, open(t, processes{store: s}, w), call)
			claims = append(claims, contracttest.Claim{Caller: "alice", Operation: call.Operation, Key: call.Key, Params: call.Params, Receipt: a.Receipt})
		}
		for _, wrong := range contracttest.Judge(w.Upstream.Effects(), claims) {
			t.Error(wrong)
		}
		t.Logf("%d of %d died on the way", died, rounds)
	})
}

// TestKillWhileUndoing refuses the second of two steps, so that the first is
// undone, and kills at each step of that (C-19).
func TestKillWhileUndoing(t *testing.T) {
	eachStore(t, func(t *testing.T, s store) {
		call := contracttest.Call{Verb: contracttest.VerbDo, Operation: contracttest.OpPair, Key: "k1",
			Params: json.RawMessage(`{"name":"n","team":"t","member":"m"}`)}
		deaths := 0
		for step := 1; ; step++ {
			w := newWorld(t)
			w.Upstream.Script(upstream.Fault{On: func(a upstream.Arrival) bool { return a.Path == "/teams/t/members" && a.Mutates() }, Times: -1, Refuse: 422})
			a := open(t, processes{store: s, dieAt: step}, w).Do(t.Context(), call)
			died := a.Died
			if died {
				deaths++
				w.Clock.Jump(time.Hour)
				p := open(t, processes{store: s}, w)
				for range 5 {
					if a = p.Do(t.Context(), call); a.Outcome() == contract.Unknown {
						a = p.Do(t.Context(), contracttest.Call{Verb: contracttest.VerbReconcile, Operation: call.Operation, Key: call.Key})
					}
				}
			}
			var made, undone int
			for _, e := range w.Upstream.Effects() {
				if e.Action == "delete" {
					undone++
				} else {
					made++
				}
			}
			if made > 1 || undone > made {
				t.Errorf("made %d times, undone %d times", made, undone)
			}
			for _, wrong := range contracttest.Judge(w.Upstream.Effects(), []contracttest.Claim{{
				Caller: "alice", Operation: call.Operation, Key: call.Key, Params: call.Params, Receipt: a.Receipt,
			}}) {
				t.Error(wrong)
			}
			if a.Outcome() != contract.Partial {
				t.Errorf("want partial: %s %s", a.Raw, a.Text)
			} else if s := a.Receipt.Steps[0].Status; s == contract.StepCompensated != (undone == 1) {
				t.Errorf("the step is %s, and the upstream undid %d: %s", s, undone, a.Raw)
			}
			if t.Failed() {
				t.Fatalf("killed at step %d", step)
			}
			if !died {
				break
			}
		}
		t.Logf("%d places to die", deaths)
	})
}
