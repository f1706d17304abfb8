package conformance

import (
	"context"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"sync"
	"testing"

	"github.com/spillway-mcp/spillway/contract"
	"github.com/spillway-mcp/spillway/contract/contracttest"
)

// processes is the adapter of the Go client in processes of their own.
type processes struct {
	store  store
	dieAt  int
	stopAt int
}

func (a processes) Name() string {
	return "Go in its own process, over the " + a.store.Kind + " journal"
}

func (a processes) Lacks(f contracttest.Feature) string {
	if f == contracttest.HasJournal {
		return "the hooks into the journal do not reach another process; TestJournalFaults breaks a real one"
	}
	return ""
}

// process is one of them, at the near end of the pipe.
type process struct {
	w     *contracttest.World
	cmd   *exec.Cmd
	stdin io.WriteCloser
	ended chan struct{} // closed when the process is gone

	mu    sync.Mutex
	n     int
	calls map[int]pendingCall
}

type pendingCall struct {
	answer   chan contracttest.Answer
	announce func(string)
}

func (a processes) Open(w *contracttest.World, caller string) (contracttest.Process, error) {
	raw, err := json.Marshal(settings{Store: a.store, Dir: w.Dir, URL: w.URL, Caller: caller, Lease: w.Lease, DieAt: a.dieAt, StopAt: a.stopAt})
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), processEnv+"="+string(raw))
	cmd.Stderr = os.Stderr
	p := &process{w: w, cmd: cmd, calls: map[int]pendingCall{}, ended: make(chan struct{})}
	if p.stdin, err = cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	go p.listen(out)
	return p, nil
}

func (p *process) listen(out io.Reader) {
	in := json.NewDecoder(out)
	for {
		var m fromProcess
		if err := in.Decode(&m); err != nil {
			break
		}
		p.mu.Lock()
		call := p.calls[m.ID]
		p.mu.Unlock()
		switch {
		case m.Access != nil:
			refuse := p.w.Policy.Allow(*m.Access) != nil
			p.send(toProcess{ID: m.ID, Refuse: &refuse})
		case m.Answer != nil:
			call.answer <- *m.Answer
		case call.announce != nil:
			call.announce(m.Announce)
		}
	}
	_ = p.cmd.Wait() // killed, as often as not
	close(p.ended)
}

func (p *process) send(m toProcess) {
	p.mu.Lock()
	defer p.mu.Unlock()
	e := json.NewEncoder(p.stdin)
	e.SetEscapeHTML(false)
	_ = e.Encode(m) // a process that is gone says so at the other pipe
}

// Do implements contracttest.Process.
func (p *process) Do(ctx context.Context, call contracttest.Call) contracttest.Answer {
	c := pendingCall{make(chan contracttest.Answer, 1), call.Announce}
	p.mu.Lock()
	p.n++
	id := p.n
	p.calls[id] = c
	p.mu.Unlock()
	p.send(toProcess{ID: id, Call: &call, Clock: p.w.Clock.State()})
	left := ctx.Done()
	for {
		select {
		case a := <-c.answer:
			if a.Receipt != nil {
				a.Err = a.Receipt.Err()
			}
			return a
		case <-left:
			p.send(toProcess{ID: id, Cancel: true})
			left = nil
		case <-p.ended:
			select {
			case a := <-c.answer: // it came before the end
				return a
			default:
				return contracttest.Answer{Exit: -1, Died: true}
			}
		}
	}
}

// Kill implements contracttest.Process.
func (p *process) Kill() {
	_ = p.cmd.Process.Kill() // gone already is as good
	<-p.ended
}

// Close implements contracttest.Process.
func (p *process) Close() {
	_ = p.stdin.Close()
	<-p.ended
}

func TestGo(t *testing.T) {
	eachStore(t, func(t *testing.T, s store) { contracttest.Run(t, contracttest.Go(s.open, false)) })
}

func TestGoProcesses(t *testing.T) {
	eachStore(t, func(t *testing.T, s store) { contracttest.Run(t, processes{store: s}) })
}

// TestHistory plays random histories over the durable journals.
func TestHistory(t *testing.T) {
	eachStore(t, func(t *testing.T, s store) {
		operations := 10_000
		if !long() { // with the calls that settle all keys, over 10,000 on a database
			operations = map[string]int{"embedded": 200, "postgres": 6000}[s.Kind]
		}
		r, err := contracttest.History(contracttest.Go(s.open, true), 1, operations)
		if err != nil {
			t.Fatal(err)
		}
		for _, wrong := range r.Wrong {
			t.Error(wrong)
		}
		if r.Outcomes[contract.Completed] == 0 {
			t.Error("no key was completed")
		}
		r.Wrong = nil
		t.Logf("%+v", r)
	})
}
