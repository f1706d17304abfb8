//go:build unix

package conformance

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"syscall"
	"testing"
	"time"

	"github.com/spillway-mcp/spillway/contract"
	"github.com/spillway-mcp/spillway/contract/contracttest"
)

// stopSelf stops this process until it is told to go on. The signal may take
// another thread than this one first; nothing may go on meanwhile.
func stopSelf() {
	_ = syscall.Kill(os.Getpid(), syscall.SIGSTOP)
	<-time.After(50 * time.Millisecond)
}

// TestC16_StoppedOwner stops the owner of a call at each of its steps, as a
// debugger or a machine that sleeps does, until others have found its
// submission absent and made it themselves, and then lets it go on: it must not
// submit any more.
func TestC16_StoppedOwner(t *testing.T) {
	eachStore(t, func(t *testing.T, s store) {
		w := newWorld(t)
		w.Lease = 300 * time.Millisecond
		q := open(t, processes{store: s}, w)
		var claims []contracttest.Claim
		// Before and after the claim, before and after the request, and before
		// the record.
		for step := 1; step <= 5; step++ {
			key := fmt.Sprint("k", step)
			call := contracttest.Call{Verb: contracttest.VerbDo, Operation: contracttest.OpSlow, Key: key, Params: json.RawMessage(fmt.Sprintf(`{"name":%q}`, key))}
			p := open(t, processes{store: s, stopAt: step}, w).(*process)
			goOn := func() { _ = p.cmd.Process.Signal(syscall.SIGCONT) } // gone already is as good
			t.Cleanup(goOn)
			done := make(chan contracttest.Answer, 1)
			go func() { done <- p.Do(t.Context(), call) }()
			stopped(t, p)
			var a contracttest.Answer
			absent, held := false, false
			for end := time.Now().Add(30 * time.Second); a.Outcome() != contract.Completed; {
				a = q.Do(t.Context(), call)
				if a.Reason() == contract.ReasonJournal {
					// It holds the lock of the file, for a sign of life, and so keeps
					// everybody from submitting.
					goOn()
					held = true
				}
				if a.Outcome() == contract.Unknown {
					a = q.Do(t.Context(), contracttest.Call{Verb: contracttest.VerbReconcile, Operation: call.Operation, Key: call.Key})
					absent = absent || a.Outcome() == contract.Rejected
				}
				if time.Now().After(end) {
					t.Fatalf("step %d: not completed: %s", step, a.Raw)
				}
			}
			t.Logf("step %d: found absent and made by another: %t; the journal was held: %t", step, absent, held)
			goOn()
			if late := <-done; late.Outcome() != contract.Completed && late.Outcome() != contract.Unknown && late.Reason() != contract.ReasonCancelled {
				t.Errorf("step %d: the stopped owner answers %s %s", step, late.Raw, late.Error)
			}
			claims = append(claims, contracttest.Claim{Caller: "alice", Operation: call.Operation, Key: key, Params: call.Params, Receipt: a.Receipt})
		}
		for _, wrong := range contracttest.Judge(w.Upstream.Effects(), claims) {
			t.Error(wrong)
		}
	})
}

// stopped waits until a process has stopped itself.
func stopped(t *testing.T, p *process) {
	t.Helper()
	for end := time.Now().Add(30 * time.Second); ; {
		raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", p.cmd.Process.Pid))
		if err != nil {
			t.Skip("this system does not tell which processes are stopped")
		}
		if _, after, _ := bytes.Cut(raw, []byte(") ")); bytes.HasPrefix(after, []byte("T")) {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("the process does not stop: %.60s", raw)
		}
	}
}
