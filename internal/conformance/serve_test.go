package conformance

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"os"
	"sync"
	"time"

	"github.com/spillway-mcp/spillway/contract"
	"github.com/spillway-mcp/spillway/contract/contracttest"
)

// settings start a process.
type settings struct {
	Store  store
	Dir    string
	URL    string
	Caller string
	Lease  time.Duration
	DieAt  int // the step at which it kills itself, from 1; 0 is none
	StopAt int // the step at which it stops itself
}

// toProcess and fromProcess are the lines of the pipe.
type toProcess struct {
	ID     int                     `json:"id"`
	Call   *contracttest.Call      `json:"call,omitempty"`
	Clock  contracttest.ClockState `json:"clock,omitzero"`
	Cancel bool                    `json:"cancel,omitempty"`
	Refuse *bool                   `json:"refuse,omitempty"` // the policy's answer
}

type fromProcess struct {
	ID       int                  `json:"id"`
	Announce string               `json:"announce,omitempty"`
	Answer   *contracttest.Answer `json:"answer,omitempty"`
	Access   *contract.Access     `json:"access,omitempty"` // a question to the policy
}

// serve is the process: a Go client that makes the calls of its pipe.
func serve(raw string) error {
	var set settings
	if err := json.Unmarshal([]byte(raw), &set); err != nil {
		return err
	}
	journal, err := set.Store.open(set.Dir)
	if err != nil {
		return err
	}
	defer journal.Close()
	s := &server{calls: map[int]context.CancelFunc{}, asked: map[int]chan bool{}}
	s.out = json.NewEncoder(os.Stdout)
	s.out.SetEscapeHTML(false)
	w := &contracttest.World{URL: set.URL, Dir: set.Dir, Lease: set.Lease, Clock: &contracttest.Clock{}, Policy: &contracttest.Policy{}}
	w.Policy.Refuse(s.ask)
	d := &death{at: set.DieAt, stop: set.StopAt}
	p, err := contracttest.NewGoProcess(w, set.Caller, mortalStore{journal, d}, mortalTransport{&http.Transport{}, d})
	if err != nil {
		return err
	}
	in := json.NewDecoder(os.Stdin)
	for {
		var m toProcess
		if err := in.Decode(&m); err != nil {
			return nil // the pipe is closed: the end in peace
		}
		s.take(w, p, m)
	}
}

type server struct {
	mu    sync.Mutex
	out   *json.Encoder
	calls map[int]context.CancelFunc
	asked map[int]chan bool
	n     int
}

func (s *server) send(m fromProcess) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.out.Encode(m); err != nil {
		os.Exit(1) // nobody listens
	}
}

func (s *server) take(w *contracttest.World, p *contracttest.GoProcess, m toProcess) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case m.Cancel:
		if stop := s.calls[m.ID]; stop != nil {
			stop()
		}
	case m.Refuse != nil:
		s.asked[m.ID] <- *m.Refuse
	case m.Call != nil:
		w.Clock.Set(m.Clock)
		ctx, stop := context.WithCancel(context.Background())
		s.calls[m.ID] = stop
		call := *m.Call
		call.Announce = func(id string) { s.send(fromProcess{ID: m.ID, Announce: id}) }
		go func() {
			a := p.Do(ctx, call)
			if a.Receipt == nil && a.Preview == nil && a.Err != nil {
				if _, ok := errors.AsType[*contract.Error](a.Err); !ok {
					a.Error = a.Err.Error()
				}
			}
			s.send(fromProcess{ID: m.ID, Answer: &a})
		}()
	}
}

// ask puts a question to the world's policy.
func (s *server) ask(a contract.Access) bool {
	s.mu.Lock()
	s.n++
	n, c := s.n, make(chan bool, 1)
	s.asked[n] = c
	s.mu.Unlock()
	s.send(fromProcess{ID: n, Access: &a})
	return <-c
}
