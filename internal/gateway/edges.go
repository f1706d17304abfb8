package gateway

import (
	"context"
	"errors"
	"io"
	"time"

	"github.com/spillway-mcp/spillway/internal/httpmcp/server"
	"github.com/spillway-mcp/spillway/internal/wire"
)

// httpEdge is the way to an HTTP client.
type httpEdge struct {
	client *server.Client // nil: modern
}

func (e *httpEdge) answer(f *inflight, parts ...[]byte) {
	switch { // a client that is gone needs none
	case f.reply == nil:
	case f.inline.Load():
		_ = f.reply.AnswerNow(parts...) // the ledger comes after it
	default:
		_ = f.reply.Answer(parts...)
	}
}

func (e *httpEdge) send(f *inflight, parts ...[]byte) {
	if f != nil && f.reply != nil && f.reply.Related(parts...) == nil {
		return
	}
	if e.client != nil {
		_ = e.client.Send(parts...)
	}
}

func (e *httpEdge) streams() bool { return false }

func (e *httpEdge) close() {
	if e.client != nil {
		e.client.Close()
	}
}

// httpSession is a legacy session for the edge.
type httpSession struct{ c *conn }

func (s *httpSession) Receive(ctx context.Context, in *server.Inbound) { s.c.receive(ctx, in) }

func (s *httpSession) Close() {
	s.c.mu.Lock()
	s.c.byEdge = true
	s.c.mu.Unlock()
	s.c.close()
}

// stdioEdge is the way to the client on a stream.
type stdioEdge struct {
	out  *wire.Writer
	gone context.CancelFunc
}

func (e *stdioEdge) answer(_ *inflight, parts ...[]byte) { e.send(nil, parts...) }

func (e *stdioEdge) send(_ *inflight, parts ...[]byte) {
	for i := range parts {
		parts[i] = oneLine(parts[i]) // an HTTP upstream may write several
	}
	if e.out.Frame(parts...) != nil {
		e.gone()
	}
}

func (e *stdioEdge) streams() bool { return true }
func (e *stdioEdge) close()        {}

// drainTime is how long calls in flight may go on once a client has hung up.
const drainTime = 10 * time.Second

// ServeStdio serves the one client on in and out, until it closes its end or
// ctx ends. Calls in flight may end before it returns. A read of in that blocks
// cannot be ended from here: its goroutine stays until the read returns.
func (g *Gateway) ServeStdio(ctx context.Context, in io.Reader, out io.Writer, caller string) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	e := &stdioEdge{out: wire.NewWriter(out), gone: cancel}
	var c *conn
	frames := make(chan []byte)
	ended := make(chan error, 1)
	go g.readStdio(ctx, in, e, frames, ended)
	defer func() {
		if c != nil {
			c.close()
		}
	}()
	for {
		select {
		case <-ctx.Done():
			return nil
		case err := <-ended:
			if c != nil {
				g.drain(ctx, drainTime)
			}
			if errors.Is(err, io.EOF) {
				return nil
			}
			return err
		case msg := <-frames:
			m, err := wire.Scan(msg)
			if err != nil {
				e.send(nil, errorf(-32700, "%v", err).Response(nil))
				continue
			}
			all := [][]byte{msg}
			if m.Kind == wire.Batch {
				all = all[:0]
				for it := wire.ElementsOf(msg, whole(msg)); it.Next(); {
					all = append(all, it.Value().Of(msg))
				}
			}
			for _, msg := range all {
				m, err := wire.Scan(msg)
				if err != nil || m.Kind == wire.Batch {
					continue
				}
				if c == nil {
					modern := methodOf(msg, m) == "server/discover" || wire.Path(msg, m.Params, "_meta", metaRevision).Present()
					if c, err = g.connect(caller, modern, e); err != nil {
						return err
					}
				}
				c.receive(c.ctx, &server.Inbound{Caller: caller, Message: msg, Scan: m})
			}
		}
	}
}

func (g *Gateway) readStdio(ctx context.Context, in io.Reader, e *stdioEdge, frames chan<- []byte, ended chan<- error) {
	r := wire.NewReader(in, g.opt.MaxFrame)
	for {
		f, err := r.Next()
		var big *wire.TooLargeError
		switch {
		case errors.As(err, &big):
			g.opt.Log.Error("message of the client dropped", "bytes", big.Size, "limit", big.Limit)
			if big.ID != nil && big.Method != nil {
				e.send(nil, errorf(codeTooLarge, "the request of %d bytes is over the limit of %d bytes a message (max_frame)", big.Size, big.Limit).Response(big.ID))
			}
		case err != nil:
			ended <- err
			return
		default:
			select {
			case frames <- f.Body():
			case <-ctx.Done():
				return
			}
		}
	}
}

// Drain refuses requests from now on, and waits until none is without an answer,
// at most for limit.
func (g *Gateway) Drain(ctx context.Context, limit time.Duration) {
	g.draining.Store(true)
	g.drain(ctx, limit)
}

func (g *Gateway) drain(ctx context.Context, limit time.Duration) {
	t := time.NewTimer(limit)
	defer t.Stop()
	if g.opt.Operations != nil { // their tasks need the connections, too
		settle, cancel := context.WithTimeout(ctx, limit)
		defer cancel()
		defer g.opt.Operations.Settle(settle)
	}
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for g.InFlight() > 0 {
		select {
		case <-ctx.Done():
			return
		case <-t.C:
			g.opt.Log.Warn("calls in flight given up", "calls", g.InFlight(), "after", limit)
			return
		case <-tick.C:
		}
	}
}
