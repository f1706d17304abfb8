package proxy

import (
	"bytes"
	"runtime/debug"
	"time"

	"github.com/spillway-mcp/spillway/internal/wire"
)

// fromServer carries one frame of the server down.
func (s *session) fromServer(f wire.Frame) {
	p := s.ahead.take(f.Body())
	m, ok := p.message(f.Body())
	if !ok {
		var err error
		if m, err = wire.Scan(f.Body()); err != nil {
			s.brokenFromServer(f.Body(), err)
			return
		}
	}
	s.fromServerAs(f, m, p, false)
}

// fromServerAs is fromServer for a message whose spans are known, and its
// document p, if it was parsed.
func (s *session) fromServerAs(f wire.Frame, m wire.Message, p *parsed, inline bool) {
	body := f.Body()
	switch m.Kind {
	case wire.Batch:
		s.batchFromServer(f)
	default:
		c, d := s.downward(body, m)
		switch {
		case c == nil:
			if m.Kind == wire.Response && bytes.HasPrefix(m.ID.Of(body), ownCallID) {
				return // an operation has not waited for it
			}
		case c.kind == ownPage:
			s.ownPage(body, m)
			return
		case c.kind == ownCall:
			c.got <- bytes.Clone(body)
			return
		}
		if d == nil {
			s.deliver(c, f, change{})
			return
		}
		if c == nil || c.kind != tool && c.kind != taskResult && c.kind != taskGet {
			s.deliver(c, f, d(body, m))
			return
		}
		if c.kind == tool {
			c.answer = p
		}
		if inline {
			ch := s.inSlot(func() change { return d(body, m) })
			s.deliver(c, f, ch) // the client may read slowly, and holds no slot meanwhile
			return
		}
		s.work(func() {
			s.deliver(c, f, d(body, m))
			c.answer.free()
		})
	}
}

// A rewrite makes the changes to one message. What it has to do once the
// message is out, it leaves in after.
type rewrite func(body []byte, m wire.Message) change

type change struct {
	edits []wire.Edit
	after func()
}

func (s *session) deliver(c *call, f wire.Frame, ch change) {
	if c != nil {
		c.answered = time.Now()
	}
	switch {
	case s.hand != nil:
		s.hand(c.rawID(), wire.Parts(f.Body(), ch.edits...)...)
	case len(ch.edits) == 0:
		s.sent(s.down.Forward(f))
	default:
		s.toClient(wire.Parts(f.Body(), ch.edits...)...)
	}
	if ch.after != nil {
		ch.after()
	}
	s.release(f.Len())
}

// largeFrame is the size in bytes from which a message's memory is given back
// to the system at once.
const largeFrame = 8 << 20

// release gives back the memory that a message of size bytes took. Left alone,
// the heap would stay at twice the size that it had for that one message.
func (s *session) release(size int) {
	if size >= largeFrame {
		s.workers.Go(debug.FreeOSMemory)
	}
}

// batchFromServer handles a batch by its elements, in one go.
func (s *session) batchFromServer(f wire.Frame) {
	body := f.Body()
	var all [][]byte
	var after []func()
	changed := false
	for it := wire.ElementsOf(body, wire.Span{End: len(body)}); it.Next(); {
		m, err := wire.ScanAt(body, it.Value())
		if err == nil {
			if _, d := s.downward(body, m); d != nil {
				ch := d(body, m)
				if ch.after != nil {
					after = append(after, ch.after)
				}
				if len(ch.edits) > 0 {
					changed = true
					all = append(all, cut(body, it.Value(), ch.edits))
					continue
				}
			}
		}
		all = append(all, it.Value().Of(body))
	}
	if changed {
		s.toClient([]byte("["), bytes.Join(all, []byte(",")), []byte("]"))
	} else {
		s.sent(s.down.Forward(f))
	}
	for _, do := range after {
		do()
	}
}

// downward finds the request that a message answers, and how the message is
// rewritten; nil leaves it as it came.
func (s *session) downward(body []byte, m wire.Message) (*call, rewrite) {
	if m.Kind != wire.Response {
		switch method := m.Method.Of(body); {
		case m.Kind != wire.Notification:
		case wire.StringIs(method, "notifications/tasks"):
			return nil, s.taskNotification
		case s.opt.Operations != nil && wire.StringIs(method, "notifications/subscriptions/acknowledged"):
			return nil, s.acknowledged
		}
		return nil, nil
	}
	c := s.take(wire.KeyOf(m.ID.Of(body)))
	if c == nil {
		return nil, nil
	}
	var how func(*call, []byte, wire.Message) change
	switch c.kind {
	case handshake:
		how = s.handshake
	case list:
		how = s.list
	case tool:
		how = s.result
	case taskResult:
		how = s.taskResult
	case taskGet:
		how = s.taskGet
	case taskList:
		how = s.taskList
	default:
		return c, nil
	}
	return c, func(body []byte, m wire.Message) change { return how(c, body, m) }
}

func clip(b []byte, n int) string {
	if len(b) > n {
		return string(b[:n]) + "…"
	}
	return string(b)
}
