package gateway

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/spillway-mcp/spillway/internal/httpmcp/client"
	"github.com/spillway-mcp/spillway/internal/wire"
)

// httpLine is a session with a legacy HTTP upstream, which one client has for
// itself, or the way to a modern one, which has no sessions.
type httpLine struct {
	p       *peer
	session *client.Session // nil: modern
	ctx     context.Context
	cancel  context.CancelFunc
	listen  sync.Once

	mu     sync.Mutex
	closed bool
	wait   sync.WaitGroup
}

// beside runs do on a goroutine that close waits for, and reports whether it is
// not too late for that.
func (l *httpLine) beside(do func()) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.closed {
		l.wait.Go(do)
	}
	return !l.closed
}

func (p *peer) dialHTTP() line {
	l := &httpLine{p: p}
	l.ctx, l.cancel = context.WithCancel(p.src.gone)
	if !p.c.modern {
		l.session = p.src.http.Session(p.c.opened)
	}
	return l
}

func (l *httpLine) send(o outbound) {
	if o.m.Kind == wire.Request && o.inline {
		l.exchange(o)
		return
	}
	if o.m.Kind == wire.Notification && methodOf(o.msg, o.m) == "notifications/initialized" {
		// What follows must find the session ready, and the stream open on which
		// the upstream asks what belongs to no request: one that keeps no events
		// drops a question that it has before.
		l.exchange(o)
		l.listen.Do(l.startHearing)
		return
	}
	if !l.beside(func() { l.exchange(o) }) {
		l.p.c.failed(l.p, o, errStopped)
	}
}

// patience is how long the goroutine of a client's request waits for an answer
// to begin. What takes longer goes on beside it, and the HTTP response of the
// request can end before.
const patience = 2 * time.Second

func (l *httpLine) exchange(o outbound) {
	ctx := o.ctx
	if ctx == nil {
		ctx = l.ctx
	}
	out := client.Outbound{Message: o.msg, Scan: o.m, Header: o.header, Params: o.params}
	answer := client.Answer{Scanned: func(msg []byte, m wire.Message) { l.p.c.fromPeer(l.p, msg, m, o.f, true) }}
	if o.f != nil && o.f.reply != nil {
		answer.Stream, answer.Dropped = o.f.reply.Stream, func(retry time.Duration) { o.f.reply.Drop(retry) }
	}
	began := time.Now()
	if l.session == nil {
		l.over(o, began, l.p.src.http.Stateless(ctx, out, answer))
		return
	}
	if !o.inline {
		l.over(o, began, l.session.Send(ctx, out, answer))
		return
	}
	rest, err := l.session.Start(ctx, out, answer, patience)
	if rest == nil {
		l.over(o, began, err)
		return
	}
	if o.f != nil {
		o.f.inline.Store(false)
	}
	if !l.beside(func() { l.over(o, began, rest()) }) {
		l.over(o, began, rest()) // the line is closed, and ctx ends
	}
}

// over ends what came to no answer.
func (l *httpLine) over(o outbound, began time.Time, err error) {
	switch {
	case err == nil:
	case errors.Is(err, client.ErrSessionLost) && o.m.Kind == wire.Request:
		l.p.c.sessionLost(l.p, l, o)
	case o.m.Kind == wire.Request:
		var status *client.StatusError
		if l.session == nil && errors.As(err, &status) && legacyStatus[status.Status] {
			err = &otherEra{server: l.p.src.cfg.Name, modern: true}
		}
		l.p.unreachable(err, began)
		l.p.c.failed(l.p, o, err)
	default:
		l.p.src.g.opt.Log.Debug("message not sent", "server", l.p.src.cfg.Name, "err", err)
	}
}

// legacyStatus are what legacy upstreams answer modern requests with, that have
// no session.
var legacyStatus = map[int]bool{400: true, 404: true, 405: true}

// openTime is how long messages wait for the stream of what belongs to no
// request. Some servers send nothing of it before there is something to say.
const openTime = 2 * time.Second

// startHearing begins to hear, and returns when the upstream has opened the
// stream or has none.
func (l *httpLine) startHearing() {
	open := make(chan struct{})
	if !l.beside(func() { l.hear(func() { close(open) }) }) {
		return
	}
	t := time.NewTimer(openTime)
	defer t.Stop()
	select {
	case <-open:
	case <-t.C:
	}
}

// hear takes what the upstream sends outside any call.
func (l *httpLine) hear(opened func()) {
	err := l.session.Listen(l.ctx, func(msg []byte) {
		if m, err := wire.Scan(msg); err == nil {
			l.p.c.fromPeer(l.p, msg, m, nil, true)
		}
	}, opened)
	if err != nil && l.ctx.Err() == nil {
		l.p.src.g.opt.Log.Debug("listening stream ended", "server", l.p.src.cfg.Name, "err", err)
	}
}

// endTime is how long the end of a session may take.
const endTime = 2 * time.Second

func (l *httpLine) close() {
	if l.session != nil {
		ctx, cancel := context.WithTimeout(context.Background(), endTime)
		defer cancel()
		_ = l.session.Close(ctx)
	}
	l.mu.Lock()
	l.closed = true
	l.mu.Unlock()
	l.cancel()
	l.wait.Wait()
}
