package upstream

// Fault is one way to break. It meets the next request that it is On. Of the
// members after On and Times, those that are set happen in the order in which
// they stand here.
type Fault struct {
	On    func(Arrival) bool // nil: requests that ask for an effect
	Times int                // how many requests; 0 is one, -1 all

	Before func(Arrival) // runs when the request has come, before anything is done; may block

	Refuse int    // answer this status and do nothing
	Body   string // with Refuse or Answer: the body; "" is an object with an error

	LoseRequest bool // break the connection and do nothing
	// Later breaks the connection at once, and does what was asked when the
	// channel is closed: a request that waits in a queue.
	Later <-chan struct{}
	Twice bool // the network delivers the request twice

	After func(Arrival) // runs when the effect is committed, before the answer; may block

	Answer     int  // answer this status although the effect is committed
	LoseAnswer bool // break the connection although the effect is committed
	Reset      bool // break connections with a reset, not by closing them
}

// Script adds faults, to be met in their order.
func (f *Fake) Script(faults ...Fault) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, x := range faults {
		if x.Times == 0 {
			x.Times = 1
		}
		f.faults = append(f.faults, &x)
	}
}

// Heal removes the faults that are left.
func (f *Fake) Heal() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.faults = nil
}

// OnPage selects the request for a page of a collection, the first being 1.
func OnPage(n int) func(Arrival) bool {
	return func(a Arrival) bool {
		return len(a.Path) > len("/records/") && a.Path[:len("/records/")] == "/records/" && pageOf(a.Cursor) == n
	}
}

// OnRef selects mutations whose key or reference is the one given.
func OnRef(ref string) func(Arrival) bool {
	return func(a Arrival) bool { return a.Mutates() && (a.Key == ref || a.XRef == ref) }
}

// OnBody selects mutations whose body is accepted by match.
func OnBody(match func(body []byte) bool) func(Arrival) bool {
	return func(a Arrival) bool { return a.Mutates() && match(a.Body) }
}

// take finds the fault that a request meets; the lock is held.
func (f *Fake) take(a Arrival) *Fault {
	for _, x := range f.faults {
		if x.Times == 0 {
			continue
		}
		if x.On == nil && !a.Mutates() || x.On != nil && !x.On(a) {
			continue
		}
		if x.Times > 0 {
			x.Times--
		}
		return x
	}
	return nil
}
