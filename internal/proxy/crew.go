package proxy

import "sync"

// crew runs goroutines until it is dismissed. A WaitGroup alone is not enough:
// its Wait must not meet an Add from zero, and a read of the client's that
// blocks may bring one more message while the session ends.
type crew struct {
	mu   sync.Mutex
	wg   sync.WaitGroup
	gone bool // dismissed: nothing is started any more
}

// Go runs f and reports true, or false where the crew is dismissed.
func (c *crew) Go(f func()) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.gone {
		return false
	}
	c.wg.Go(f)
	return true
}

// Wait waits for those that run. Nobody may call Go meanwhile.
func (c *crew) Wait() { c.wg.Wait() }

// Dismiss starts nothing more and waits for those that run.
func (c *crew) Dismiss() {
	c.mu.Lock()
	c.gone = true
	c.mu.Unlock()
	c.wg.Wait()
}
