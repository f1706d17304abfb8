package client

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"sync"

	"github.com/spillway-mcp/spillway/internal/httpmcp"
	"github.com/spillway-mcp/spillway/internal/httpmcp/sse"
	"github.com/spillway-mcp/spillway/internal/wire"
)

// twoEnds is a session over the transport of 2024-11-05: a stream that brings
// all that the server sends, and an address to post to. A response goes to the
// send that waits for it, all else to who listens.
type twoEnds struct {
	s      *Session
	cancel context.CancelFunc
	to     *url.URL
	done   chan struct{} // closed when the stream has ended

	mu      sync.Mutex
	waiting map[wire.IDKey]chan<- []byte
	on      func(msg []byte)
	early   [][]byte // what came before anybody listened
}

// maxEarly bounds what is kept for a Listen to come.
const maxEarly = 256

// fallBack opens a session of 2024-11-05, and sends the initialize over it.
// Where there is none either, the first refusal counts.
func (s *Session) fallBack(ctx context.Context, x *exchange, out Outbound, refused func() error) error {
	t, err := s.openTwoEnds(ctx)
	if err != nil {
		if refused != nil {
			return refused()
		}
		return err
	}
	s.mu.Lock()
	s.old = t
	s.mu.Unlock()
	if err := t.send(ctx, x, out); err != nil {
		return err
	}
	s.negotiated(x.answered)
	return nil
}

func (s *Session) openTwoEnds(ctx context.Context) (*twoEnds, error) {
	// The stream lives on when the send that opens it is over.
	life, cancel := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, cancel)
	resp, err := s.stream(life, "")
	if err != nil {
		cancel()
		return nil, err
	}
	t := &twoEnds{s: s, cancel: cancel, done: make(chan struct{}), waiting: map[wire.IDKey]chan<- []byte{}}
	r := sse.NewReader(resp.Body, s.u.opt.MaxFrame)
	ev, err := sse.Event{}, errors.New("no stream")
	if resp.StatusCode == http.StatusOK && media(resp.Header) == "text/event-stream" {
		ev, err = r.Next()
	}
	if err == nil {
		t.to, err = s.u.url.Parse(string(ev.Data))
	}
	if err != nil || ev.Name != "endpoint" || t.to.Scheme != s.u.url.Scheme || t.to.Host != s.u.url.Host {
		cancel()
		_ = resp.Body.Close()
		return nil, fmt.Errorf("upstream %s speaks neither Streamable HTTP nor HTTP+SSE, or names an address to post to at another server", s.u.opt.Name)
	}
	stop()
	go func() {
		defer close(t.done)
		defer resp.Body.Close()
		defer cancel()
		s.hear(r, t.route)
	}()
	return t, nil
}

// route brings a message to who waits for it.
func (t *twoEnds) route(msg []byte) {
	m, err := wire.Scan(msg)
	if err != nil {
		t.s.u.opt.Log.Warn("event of the upstream skipped, it is no message", "server", t.s.u.opt.Name, "err", err)
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if m.Kind == wire.Response {
		key := wire.KeyOf(m.ID.Of(msg))
		if c := t.waiting[key]; c != nil {
			delete(t.waiting, key)
			c <- msg
		}
		return
	}
	if t.on == nil {
		if t.early = append(t.early, msg); len(t.early) > maxEarly {
			t.early = t.early[1:]
		}
		return
	}
	t.on(msg)
}

func (t *twoEnds) send(ctx context.Context, x *exchange, out Outbound) error {
	answer := make(chan []byte, 1)
	if x.id != nil {
		t.mu.Lock()
		t.waiting[x.key] = answer
		t.mu.Unlock()
		defer func() {
			t.mu.Lock()
			delete(t.waiting, x.key)
			t.mu.Unlock()
		}()
	}
	select {
	case <-t.done:
		return ErrSessionLost
	default:
	}
	h, _ := t.s.headers(out.Header)
	delete(h, httpmcp.HeaderRevision)
	h["Content-Type"], h["Accept"] = typeJSON, acceptBoth
	resp, err := t.s.u.roundTrip(ctx, http.MethodPost, t.to, h, out.Message)
	if err != nil {
		return err
	}
	if resp.StatusCode/100 != 2 {
		response, _, err := t.s.u.refusal(resp, x.id)
		if resp.StatusCode == http.StatusNotFound {
			return ErrSessionLost
		}
		if err != nil {
			return err
		}
		return x.json(response)
	}
	_, _, _ = t.s.u.refusal(resp, nil)
	if x.id == nil {
		return nil
	}
	select {
	case msg := <-answer:
		return x.json(msg)
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-t.done:
		return fmt.Errorf("%w: upstream %s ended the stream", ErrNoAnswer, t.s.u.opt.Name)
	}
}

func (t *twoEnds) listen(ctx context.Context, on func(msg []byte)) error {
	t.mu.Lock()
	for _, msg := range t.early {
		on(msg)
	}
	t.early, t.on = nil, on
	t.mu.Unlock()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-t.done:
		return ErrSessionLost
	}
}

func (t *twoEnds) close() {
	t.cancel()
	<-t.done
}
