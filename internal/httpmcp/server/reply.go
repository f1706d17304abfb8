package server

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/spillway-mcp/spillway/internal/httpmcp"
	"github.com/spillway-mcp/spillway/internal/wire"
)

// Reply is where the answer to one request goes. Its methods never wait for the
// client and may be called from any goroutine. They take over the messages,
// which are written in their parts one behind the other and must not be changed
// any more.
type Reply struct {
	s      *Server
	st     *stream
	caller string
	id     []byte // of the request, as written
	cancel context.CancelCauseFunc
	holds  Counts  // of its caller, until it is settled
	opens  *Client // where it answers initialize
	timer  *time.Timer

	answered, lated, cancelled bool // with st.mu
}

// ErrAnswered is the error of a second answer, and of what comes after one.
var ErrAnswered = errors.New("the request is answered already")

var errReplaced = errors.New("the client has opened another stream in its place")

// Related sends a message of the server that belongs to the request: progress,
// log, and in the legacy era the server's own requests. The answer becomes a
// stream by it. After an error nothing reaches the client any more.
func (r *Reply) Related(parts ...[]byte) error {
	st := r.st
	st.mu.Lock()
	defer st.mu.Unlock()
	if err := r.over(); err != nil {
		return err
	}
	if st.c == nil {
		for _, p := range parts {
			if st.bytes+len(p) > r.s.opt.MaxQueue {
				st.stop(ErrSlow)
				r.cancel(ErrSlow)
				return ErrSlow
			}
		}
	}
	if !st.lost {
		st.append(event{parts: parts})
	}
	return nil
}

func (r *Reply) over() error {
	if r.st.stopped == nil && r.answered {
		return ErrAnswered
	}
	return r.st.stopped
}

// Answer sends the response, whose id is the request's, and ends the request.
// Modern errors get the HTTP status that belongs to their code, if the response
// is no stream yet. A second answer is an error.
func (r *Reply) Answer(parts ...[]byte) error {
	_, err := r.answer(nil, parts, false)
	return err
}

// AnswerNow is Answer for the goroutine that Receive was called on. Where the
// response is nothing but the answer, it is on its way to the client when
// AnswerNow returns, whatever Receive does after it; to a client that reads
// slowly that takes its time.
func (r *Reply) AnswerNow(parts ...[]byte) error {
	serve, err := r.answer(nil, parts, true)
	if serve != nil {
		serve()
	}
	return err
}

// answer answers. Where that ends the response, nothing of it is written yet, and
// now is set, what writes it is left to the caller.
func (r *Reply) answer(cause error, parts [][]byte, now bool) (serve func(), err error) {
	refused := r.opens != nil && !r.opens.negotiate(parts)
	st := r.st
	st.mu.Lock()
	if err := r.over(); err != nil {
		st.mu.Unlock()
		return nil, err
	}
	// Before the client can see the answer, and ask for more.
	r.settle(cause)
	r.answered = true
	st.open--
	st.replies = slices.DeleteFunc(st.replies, func(x *Reply) bool { return x == r })
	st.refused = refused
	unheard := refused && st.reader == nil
	if rd := st.reader; now && rd != nil && rd.serve != nil && st.open == 0 {
		serve = rd.takeServe()
	}
	switch last := st.open == 0; {
	case st.c == nil:
		st.append(event{parts: parts, answer: true})
	case st.num == 0:
		st.append(event{parts: parts})
	case st.lost:
		if last {
			st.c.forget(st)
		}
	default:
		if last {
			st.ended = time.Now()
			st.c.used = st.ended
			st.c.finished = append(st.c.finished, st)
		}
		st.append(event{parts: parts, answer: true})
	}
	st.mu.Unlock()
	if unheard {
		st.c.finish(true)
	}
	return serve, nil
}

// settle gives back what the call held.
func (r *Reply) settle(cause error) {
	r.timer.Stop()
	r.cancel(cause)
	r.s.give(r.caller, r.holds)
}

// cancel notes that the client has cancelled the request with this id. Most
// servers send no answer then, and the response would never end.
func (c *Client) cancel(id []byte) {
	key := wire.KeyOf(id)
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, st := range c.streams {
		st.cancel(key)
	}
	if c.outside != nil {
		c.outside.cancel(key)
	}
}

func (st *stream) cancel(key wire.IDKey) {
	for _, r := range st.replies {
		if !r.cancelled && wire.KeyOf(r.id) == key {
			r.cancelled = true
			r.timer.Reset(r.s.opt.CancelTime)
		}
	}
}

// leave ends a cancelled request without an answer.
func (r *Reply) leave() {
	st := r.st
	st.mu.Lock()
	if r.answered {
		st.mu.Unlock()
		return
	}
	r.settle(context.Canceled)
	r.answered = true
	st.open--
	st.replies = slices.DeleteFunc(st.replies, func(x *Reply) bool { return x == r })
	if st.open == 0 && st.num > 0 {
		if st.ended = time.Now(); st.lost {
			st.c.forget(st)
		} else {
			st.c.finished = append(st.c.finished, st)
		}
	}
	st.wake()
	st.mu.Unlock()
}

// abandon gives the request up without an answer: its client cannot be reached.
func (r *Reply) abandon(cause error) {
	r.st.mu.Lock()
	done := r.answered
	r.answered = true
	r.st.mu.Unlock()
	if !done {
		r.settle(cause)
	}
}

// late is called when Options.StreamAfter is over, and again when the time for a
// call is.
func (r *Reply) late() {
	left := r.s.opt.CallTime - r.s.opt.StreamAfter
	r.st.mu.Lock()
	if r.cancelled {
		r.st.mu.Unlock()
		r.leave()
		return
	}
	first := !r.lated && left > 0
	r.lated = true
	if first {
		r.st.forced = true
		r.st.wake()
		if !r.answered && r.holds.Calls > 0 {
			r.timer.Reset(left)
		}
	}
	expired := !first && r.holds.Calls > 0
	r.st.mu.Unlock()
	if expired {
		_, _ = r.answer(ErrTimeout, [][]byte{httpmcp.Errorf(CodeTimeout, "no answer within %v", r.s.opt.CallTime).Response(r.id)}, false)
	}
}

// Stream makes the answer a stream at once, because the upstream's is one.
func (r *Reply) Stream() {
	r.st.mu.Lock()
	defer r.st.mu.Unlock()
	r.st.forced = true
	r.st.wake()
}

// Drop ends the HTTP response of a call that goes on, and has the client ask
// again after retry with the id of the last event; what is sent meanwhile is
// kept for it. Where the client cannot (before 2025-11-25, and modern) it does
// nothing.
func (r *Reply) Drop(retry time.Duration) {
	st := r.st
	st.mu.Lock()
	defer st.mu.Unlock()
	if st.c == nil || st.num == 0 || !st.c.polls() || st.reader == nil {
		return
	}
	st.forced = true
	st.reader.drop, st.reader.retry = true, retry
	st.wake()
}
