package gateway

import (
	"context"
	"errors"
	"io"
	"net/http"
	"sync"
	"time"

	"github.com/spillway-mcp/spillway/internal/httpmcp"
	"github.com/spillway-mcp/spillway/internal/proxy"
	"github.com/spillway-mcp/spillway/internal/wire"
)

// outbound is one message for an upstream.
type outbound struct {
	ctx    context.Context
	msg    []byte
	m      wire.Message
	f      *inflight       // the client's request that it belongs to; nil: none
	header http.Header     // of the client's HTTP request
	params []httpmcp.Param // of the tool, from the upstream's own schema
	again  bool            // it was sent before, to a session that was lost
	inline bool            // the line may use this goroutine to wait for the answer
}

// line is an open connection to an upstream. What comes back on it goes to
// conn.fromPeer, what cannot come back to conn.failed.
type line interface {
	send(o outbound)
	close()
}

// pipe is a child's two streams: frames out by a queue, so that a child that
// does not read stops nobody else, and frames in.
type pipe struct {
	child proxy.Upstream
	out   *wire.Writer
	mu    sync.Mutex
	queue [][]byte
	bytes int
	wake  chan struct{}
	done  chan struct{} // closed when no more is read
}

// maxQueued bounds the bytes that wait for a child that does not read.
const maxQueued = 64 << 20

var errNotReading = errors.New("it does not read what it is sent")

func newPipe(child proxy.Upstream) *pipe {
	return &pipe{child: child, out: wire.NewWriter(child.Stdin()), wake: make(chan struct{}, 1), done: make(chan struct{})}
}

func (p *pipe) write(msg []byte) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.queue) > 0 && p.bytes+len(msg) > maxQueued {
		return errNotReading
	}
	p.queue = append(p.queue, msg)
	p.bytes += len(msg)
	select {
	case p.wake <- struct{}{}:
	default:
	}
	return nil
}

// pump writes what is queued until the child's output ends.
func (p *pipe) pump() {
	for {
		select {
		case <-p.done:
			return
		case <-p.wake:
		}
		for {
			p.mu.Lock()
			if len(p.queue) == 0 {
				p.queue = nil
				p.mu.Unlock()
				break
			}
			msg := p.queue[0]
			p.queue[0], p.queue = nil, p.queue[1:]
			p.bytes -= len(msg)
			p.mu.Unlock()
			if p.out.Frame(oneLine(msg)) != nil {
				break
			}
		}
	}
}

// read gives every message of the child to on, until its output ends. Where a
// message is over the limit and answers a request, on gets an error in its
// place.
func (p *pipe) read(limit int, skipped func(line []byte, err error), on func(msg []byte, m wire.Message)) {
	defer close(p.done)
	r := wire.NewReader(p.child.Stdout(), limit)
	for {
		f, err := r.Next()
		var big *wire.TooLargeError
		switch {
		case errors.As(err, &big):
			skipped(nil, err)
			if big.ID != nil && big.Method == nil {
				msg := errorf(codeTooLarge, "the server's answer of %d bytes is over the limit of %d bytes a message (max_frame)", big.Size, big.Limit).Response(big.ID)
				if m, err := wire.Scan(msg); err == nil {
					on(msg, m)
				}
			}
			continue
		case err != nil:
			return
		}
		msg := f.Body()
		m, err := wire.Scan(msg)
		switch {
		case err != nil:
			skipped(msg, err)
		case m.Kind == wire.Batch:
			for it := wire.ElementsOf(msg, whole(msg)); it.Next(); {
				part := it.Value().Of(msg)
				if m, err := wire.Scan(part); err == nil && m.Kind != wire.Batch {
					on(part, m)
				}
			}
		default:
			on(msg, m)
		}
	}
}

const codeTooLarge = -31002

// settle is how long a child whose output has ended may take to end itself.
const settle = 2 * time.Second

// end stops the child and tells how it ended.
func (p *pipe) end() error {
	t := time.NewTimer(settle)
	defer t.Stop()
	select {
	case <-p.child.Done():
	case <-t.C:
	}
	p.child.Stop()
	p.child.Stdout().Close()
	if exit := p.child.Exit(); exit != nil {
		return exit
	}
	return io.EOF
}

// childLine is a child that one client has for itself.
type childLine struct {
	p    *peer
	pipe *pipe
	end  sync.Once
	wait sync.WaitGroup
}

func (p *peer) dialChild() (line, error) {
	child, err := p.src.g.command(p.src)
	if err != nil {
		return nil, err
	}
	l := &childLine{p: p, pipe: newPipe(child)}
	began := time.Now()
	l.wait.Go(l.pipe.pump)
	l.wait.Go(func() {
		l.pipe.read(p.src.g.opt.MaxFrame, p.src.skipped, func(msg []byte, m wire.Message) {
			p.c.fromPeer(p, msg, m, nil, false)
		})
		err := l.pipe.end()
		p.lost(l, err, time.Since(began))
	})
	return l, nil
}

func (l *childLine) send(o outbound) {
	if err := l.pipe.write(o.msg); err != nil {
		l.p.c.failed(l.p, o, err)
	}
}

// close ends the child and returns when it is gone.
func (l *childLine) close() {
	l.end.Do(func() {
		l.pipe.child.Stop()
		l.wait.Wait()
	})
}

// skipped logs a line of a child's output that is no message (K64).
func (s *source) skipped(line []byte, err error) {
	s.g.opt.Log.Warn("line on the server's stdout skipped, it is no message", "server", s.cfg.Name, "err", err, "line", clip(string(line), 200))
}
