package gateway

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/spillway-mcp/spillway/internal/httpmcp"
	"github.com/spillway-mcp/spillway/internal/wire"
)

// trunk is a child that all clients of one era share. Ids and progress tokens
// are mapped, so that no two clients meet in them. It declares no capability of
// a client: a question of the child could not be told whose it is.
type trunk struct {
	src    *source
	modern bool
	stop   context.CancelFunc
	ctx    context.Context
	over   chan struct{} // closed when run has returned

	mu      sync.Mutex
	pipe    *pipe         // nil: not up
	tried   chan struct{} // closed when the try under way to start it is over
	profile *profile
	err     error // why it is not up
	pending map[wire.IDKey]trunkCall
	peers   map[*peer]struct{}
	watched map[string]map[*peer]struct{} // resource subscriptions, by raw URI
}

// trunkCall is a request of one client.
type trunkCall struct {
	p         *peer
	f         *inflight
	id, token []byte // as the client wrote them
	mapped    []byte // the id that the child knows
}

func newTrunk(s *source, modern bool) *trunk {
	t := &trunk{
		src: s, modern: modern, over: make(chan struct{}), tried: make(chan struct{}),
		pending: make(map[wire.IDKey]trunkCall), peers: make(map[*peer]struct{}), watched: make(map[string]map[*peer]struct{}),
	}
	t.ctx, t.stop = context.WithCancel(s.gone)
	go t.run()
	return t
}

func (t *trunk) close() {
	t.stop()
	<-t.over
}

// run keeps the child up.
func (t *trunk) run() {
	defer close(t.over)
	for t.ctx.Err() == nil {
		began := time.Now()
		err := t.once()
		if t.ctx.Err() != nil {
			break
		}
		var era *otherEra
		if errors.As(err, &era) {
			t.src.g.opt.Log.Warn(err.Error(), "server", t.src.cfg.Name)
			t.settle(nil, nil, err)
			<-t.ctx.Done()
			break
		}
		wait := t.src.failed(err, time.Since(began))
		if wait > 0 {
			t.settle(nil, nil, downFor(t.src.cfg.Name, err))
		}
		select {
		case <-t.ctx.Done():
		case <-time.After(wait):
		}
		t.retry()
	}
	t.settle(nil, nil, errStopped)
}

// settle ends a try to start the child.
func (t *trunk) settle(p *pipe, prof *profile, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.pipe, t.profile, t.err = p, prof, err
	select {
	case <-t.tried:
	default:
		close(t.tried)
	}
}

// retry says that a try is under way, for which calls may wait.
func (t *trunk) retry() {
	t.mu.Lock()
	defer t.mu.Unlock()
	select {
	case <-t.tried:
		t.tried = make(chan struct{})
	default:
	}
}

// once starts the child and serves it to its end.
func (t *trunk) once() error {
	child, err := t.src.g.command(t.src)
	if err != nil {
		return err
	}
	p := newPipe(child)
	unwatch := context.AfterFunc(t.ctx, child.Stop)
	defer unwatch()
	hello := make(chan []byte, 1)
	var tasks sync.WaitGroup
	tasks.Go(p.pump)
	tasks.Go(func() {
		p.read(t.src.g.opt.MaxFrame, t.src.skipped, func(msg []byte, m wire.Message) { t.receive(p, msg, m, hello) })
	})
	err = t.greet(p, hello)
	switch {
	case err == nil:
		<-p.done
	case err != errNoHello: // which ends by itself, and tells why
		child.Stop()
	}
	ended := p.end()
	tasks.Wait()
	switch err {
	case nil:
		err = ended
	case errNoHello:
		err = errors.New(howEnded(ended, t.src.cfg.Name, beforeHello))
	}
	t.lost(err)
	return err
}

// errNoHello says that the child's output ended before the handshake.
var errNoHello = errors.New("the output ended before the handshake was answered")

var trunkInit = []byte(`"` + ownPrefix + `hello"`)

// greet makes the handshake.
func (t *trunk) greet(p *pipe, hello chan []byte) error {
	name := t.src.cfg.Name
	if t.modern {
		_ = p.write(request(string(trunkInit), "server/discover", t.src.g.modernParams(nil)))
	} else {
		_ = p.write(request(string(trunkInit), "initialize", t.src.g.initParams(httpmcp.Revision20251125)))
	}
	timer := time.NewTimer(t.src.g.opt.StartTime)
	defer timer.Stop()
	var msg []byte
	select {
	case msg = <-hello:
	case <-p.done:
		return errNoHello
	case <-timer.C:
		return fmt.Errorf("server %s did not answer the handshake within %v", name, t.src.g.opt.StartTime)
	}
	prof, err := t.src.profileOf(msg, t.modern)
	if err != nil {
		return err
	}
	if !t.modern {
		_ = p.write(notification("notifications/initialized", nil))
	}
	t.settle(p, prof, nil)
	t.src.works()
	for _, p := range t.attached() {
		p.back(prof)
	}
	return nil
}

func (t *trunk) attached() []*peer {
	t.mu.Lock()
	defer t.mu.Unlock()
	all := make([]*peer, 0, len(t.peers))
	for p := range t.peers {
		all = append(all, p)
	}
	return all
}

// open waits until the child is up, or a try to start it has failed.
func (t *trunk) open(ctx context.Context, p *peer) (*profile, error) {
	t.mu.Lock()
	t.peers[p] = struct{}{}
	tried := t.tried
	t.mu.Unlock()
	select {
	case <-tried:
	default:
		timer := time.NewTimer(t.src.g.opt.StartTime)
		defer timer.Stop()
		select {
		case <-tried:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-timer.C:
			return nil, fmt.Errorf("server %s is still starting", t.src.cfg.Name)
		}
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.profile, t.err
}

// trunkLine is the trunk as one client has it.
type trunkLine struct {
	t *trunk
	p *peer
}

// close forgets the client.
func (l *trunkLine) close() {
	t := l.t
	t.mu.Lock()
	delete(t.peers, l.p)
	var drop []string
	for uri, who := range t.watched {
		if delete(who, l.p); len(who) == 0 {
			delete(t.watched, uri)
			drop = append(drop, uri)
		}
	}
	var left [][]byte
	for key, c := range t.pending {
		if c.p == l.p {
			delete(t.pending, key)
			left = append(left, c.mapped)
		}
	}
	pipe := t.pipe
	t.mu.Unlock()
	if pipe == nil {
		return
	}
	for _, id := range left {
		var o object
		o.set("requestId", id)
		_ = pipe.write(notification("notifications/cancelled", o.bytes()))
	}
	for _, uri := range drop {
		var o object
		o.set("uri", []byte(uri))
		_ = pipe.write(request(string(ownID(t.src.g.lastID.Add(1))), "resources/unsubscribe", o.bytes()))
	}
}

// send maps a message and queues it.
func (l *trunkLine) send(o outbound) {
	t := l.t
	msg, m := o.msg, o.m
	switch m.Kind {
	case wire.Request:
		if done := l.subscribe(&o); done {
			return
		}
		n := t.src.g.lastID.Add(1)
		id := numberID(n)
		call := trunkCall{p: l.p, f: o.f, id: m.ID.Of(msg), mapped: id}
		var edits []wire.Edit
		edits = append(edits, wire.Edit{Span: m.ID, With: id})
		if token := wire.Path(msg, m.Params, "_meta", "progressToken"); token.Present() {
			call.token = token.Of(msg)
			edits = append(edits, wire.Edit{Span: token, With: id})
			if token.Start < m.ID.Start {
				edits[0], edits[1] = edits[1], edits[0]
			}
		}
		msg = wire.Splice(msg, edits...)
		key := wire.KeyOf(id)
		t.mu.Lock()
		pipe, err := t.pipe, t.err
		if pipe != nil {
			t.pending[key] = call
		}
		t.mu.Unlock()
		if pipe == nil {
			if err == nil {
				err = fmt.Errorf("server %s is down", t.src.cfg.Name)
			}
			l.p.c.failed(l.p, o, err)
			return
		}
		if err := pipe.write(msg); err != nil {
			t.mu.Lock()
			delete(t.pending, key)
			t.mu.Unlock()
			l.p.c.failed(l.p, o, fmt.Errorf("server %s: %w", t.src.cfg.Name, err))
		}
	case wire.Notification:
		if methodOf(msg, m) != "notifications/cancelled" {
			return // what one client says of itself does not hold for the others
		}
		id := wire.Member(msg, m.Params, "requestId")
		mapped := t.giveUp(l.p, wire.KeyOf(id.Of(msg)))
		if pipe := t.up(); mapped != nil && pipe != nil {
			_ = pipe.write(replace(msg, id, mapped))
		}
	}
}

func (t *trunk) up() *pipe {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.pipe
}

// giveUp forgets a client's request, and returns the id that it has here. An
// answer that comes all the same is dropped: nobody waits for it.
func (t *trunk) giveUp(p *peer, key wire.IDKey) []byte {
	t.mu.Lock()
	defer t.mu.Unlock()
	for mapped, c := range t.pending {
		if c.p == p && wire.KeyOf(c.id) == key {
			delete(t.pending, mapped)
			return c.mapped
		}
	}
	return nil
}

// subscribe notes who watches a resource, and keeps back what would end the
// subscription of another. It reports whether the request is answered.
func (l *trunkLine) subscribe(o *outbound) (answered bool) {
	method := methodOf(o.msg, o.m)
	if method != "resources/subscribe" && method != "resources/unsubscribe" {
		return false
	}
	uri := string(wire.Member(o.msg, o.m.Params, "uri").Of(o.msg))
	l.t.mu.Lock()
	who := l.t.watched[uri]
	if method == "resources/subscribe" {
		if who == nil {
			who = make(map[*peer]struct{})
			l.t.watched[uri] = who
		}
		who[l.p] = struct{}{}
		l.t.mu.Unlock()
		return false
	}
	delete(who, l.p)
	others := len(who) > 0
	if !others {
		delete(l.t.watched, uri)
	}
	l.t.mu.Unlock()
	if others {
		msg := result(o.m.ID.Of(o.msg), []byte("{}"))
		m, _ := wire.Scan(msg)
		l.p.c.fromPeer(l.p, msg, m, o.f, false)
	}
	return others
}
