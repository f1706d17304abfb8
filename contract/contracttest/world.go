package contracttest

import (
	"errors"
	"os"
	"sync"
	"time"

	"github.com/spillway-mcp/spillway/contract"
	"github.com/spillway-mcp/spillway/contract/contracttest/upstream"
)

// World is what one case plays in.
type World struct {
	Upstream *upstream.Fake
	URL      string // of the upstream, over loopback HTTP
	Dir      string // empty at first: for the journal and the key of seals
	Clock    *Clock
	Policy   *Policy
	Journal  *JournalFault
	Lease    time.Duration // 0 is the face's default

	stop func()
}

// NewWorld makes an empty world; Close removes it.
func NewWorld() (*World, error) {
	dir, err := os.MkdirTemp("", "contracttest")
	if err != nil {
		return nil, err
	}
	w := &World{Dir: dir, Clock: &Clock{}, Policy: &Policy{}, Journal: &JournalFault{}}
	w.Upstream = upstream.New(w.Clock.True)
	w.Upstream.KeyRetention = KeyRetention
	w.URL, w.stop = w.Upstream.Serve()
	return w, nil
}

// Close stops the upstream and removes the directory.
func (w *World) Close() {
	w.stop()
	_ = os.RemoveAll(w.Dir) // what is left in the system's folder for such is nobody's loss
}

// Policy says who may do what: everybody everything, until it is told.
type Policy struct {
	mu     sync.Mutex
	refuse func(contract.Access) bool
}

var errRefused = errors.New("the policy refuses")

// Refuse sets what is refused; nil refuses nothing.
func (p *Policy) Refuse(f func(contract.Access) bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.refuse = f
}

// Allow returns an error where the policy refuses.
func (p *Policy) Allow(a contract.Access) error {
	p.mu.Lock()
	f := p.refuse
	p.mu.Unlock()
	if f != nil && f(a) {
		return errRefused
	}
	return nil
}

// JournalFault breaks the journal for the processes of a world.
type JournalFault struct {
	mu     sync.Mutex
	claim  error
	record error
	watch  func(step string, before bool)
	mute   bool
}

// Break makes claims and records fail with these errors; nil lets them pass.
func (j *JournalFault) Break(claim, record error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.claim, j.record = claim, record
}

func (j *JournalFault) errs() (claim, record error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.claim, j.record
}

// Mute keeps owners' signs of life from the journal, or lets them through.
func (j *JournalFault) Mute(on bool) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.mute = on
}

func (j *JournalFault) muted() bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.mute
}

// Watch calls f before and after each step of a journal ("claim", "update",
// "get"); nil ends it.
func (j *JournalFault) Watch(f func(step string, before bool)) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.watch = f
}

func (j *JournalFault) tell(step string, before bool) {
	j.mu.Lock()
	f := j.watch
	j.mu.Unlock()
	if f != nil {
		f(step, before)
	}
}
