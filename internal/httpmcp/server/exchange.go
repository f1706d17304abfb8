package server

import (
	"bytes"
	"context"
	"net/http"
	"strconv"
	"time"

	"github.com/spillway-mcp/spillway/internal/httpmcp"
	"github.com/spillway-mcp/spillway/internal/httpmcp/sse"
	"github.com/spillway-mcp/spillway/internal/wire"
)

// An exchange is one HTTP response that a stream is written to: as plain JSON
// where it holds nothing but the answer, else as an event stream.
type exchange struct {
	s   *Server
	r   *http.Request
	w   http.ResponseWriter
	out timed
	st  *stream
	rd  *reader

	json, sse bool // what the client accepts
	batch     bool
	opens     bool // it answers initialize: the session's id goes along
	endless   bool // it does not end with the last answer
	atOnce    bool // it is a stream whatever comes
	listens   bool // it carries what belongs to no call
	refused   bool // initialize was refused
	streaming bool
	early     bool          // it is written before Receive has returned
	begun     chan struct{} // closed when that is over
}

func (s *Server) newExchange(w http.ResponseWriter, r *http.Request, st *stream) *exchange {
	return &exchange{s: s, r: r, w: w, st: st, out: timed{w, http.NewResponseController(w), s.opt.WriteTime}}
}

// receiveBeside has receive called on a goroutine of its own.
func (x *exchange) receiveBeside(receive func()) {
	x.st.mu.Lock()
	x.rd = x.st.attach(1)
	x.st.mu.Unlock()
	go receive()
	x.run()
}

// receive gives the message to receive on this goroutine, which saves two
// hand-offs between goroutines, and writes what comes back: by
// [Reply.AnswerNow] within it, else beside it or once it has returned.
func (x *exchange) receive(ctx context.Context, in *Inbound, receive func(context.Context, *Inbound)) {
	x.begun = make(chan struct{})
	x.st.mu.Lock()
	x.rd = x.st.attach(1)
	x.rd.serve = func() {
		defer close(x.begun)
		x.early = true
		x.run()
	}
	x.rd.pressing = func() bool { return x.rd.end != nil || x.mode() != undecided }
	x.st.mu.Unlock()
	receive(ctx, in)
	x.st.mu.Lock()
	inline := x.rd.serve != nil
	x.rd.serve = nil
	x.st.mu.Unlock()
	if inline {
		x.run()
	} else {
		<-x.begun
	}
}

// mode tells what the response is by what is known now. It needs st.mu.
func (x *exchange) mode() mode {
	st := x.st
	done := st.open == 0 && !x.endless
	related := false
	for _, ev := range st.events {
		related = related || !ev.answer
	}
	switch {
	case x.streaming, x.atOnce, x.sse && (st.forced || related || done && !x.json):
		return streamed
	case done:
		return plain
	}
	return undecided
}

type mode uint8

const (
	undecided mode = iota
	plain
	streamed
)

// run writes until the stream, the client or the session is at its end.
func (x *exchange) run() {
	defer x.leave()
	st, rd := x.st, x.rd
	var tick *time.Timer
	for {
		st.mu.Lock()
		end, drop, retry := rd.end, rd.drop, rd.retry
		done := st.open == 0 && !x.endless
		mode := x.mode()
		x.refused = st.refused
		var evs []event
		var first uint64
		if mode != undecided {
			evs = st.take(rd)
			first = rd.next - uint64(len(evs))
		}
		st.mu.Unlock()
		if end != nil {
			x.cut(end)
			return
		}
		switch mode {
		case plain:
			x.writePlain(evs)
			return
		case streamed:
			if len(evs) > 0 && x.listens && !x.admitted() {
				return
			}
			if !x.write(evs, first, drop, retry) || done || drop {
				return
			}
		}
		if tick == nil {
			tick = time.NewTimer(x.s.opt.KeepAlive)
			defer tick.Stop()
		}
		select {
		case <-rd.wake:
		case <-x.r.Context().Done():
			return
		case <-x.s.ctx.Done():
			x.cut(ErrClosed)
			return
		case <-tick.C:
			if x.listens && !x.admitted() || x.streaming && !x.comment() {
				return
			}
		}
		tick.Reset(x.s.opt.KeepAlive)
	}
}

// cut ends the response where there is nothing to be had any more.
func (x *exchange) cut(err error) {
	switch {
	case x.streaming:
	case x.s.ctx.Err() != nil:
		refuse(x.w, http.StatusServiceUnavailable, httpmcp.Errorf(CodeClosing, "the server is closing"))
	case err == ErrSlow:
		refuse(x.w, http.StatusServiceUnavailable, httpmcp.Errorf(CodeBusy, "%v", err))
	default:
		refuse(x.w, http.StatusNotFound, httpmcp.Errorf(CodeSession, "no such session"))
	}
}

// leave is the end of the response, whatever ended it.
func (x *exchange) leave() {
	st := x.st
	st.mu.Lock()
	st.detach(x.rd)
	refused := st.refused
	var open []*Reply
	switch {
	case st.c == nil:
		if st.stopped == nil {
			st.stopped = ErrGone
		}
		open = append(open, st.replies...)
	case !x.streaming && st.num > 0: // no event went out by whose id the client could ask
		st.lost = true
		if st.open == 0 {
			st.c.forget(st)
		}
	}
	st.mu.Unlock()
	for _, r := range open {
		r.abandon(ErrGone)
	}
	if refused || st.c != nil && st.c.single && x.endless {
		st.c.finish(true)
	}
}

func (x *exchange) sessionHeader() {
	if x.opens && !x.refused {
		x.w.Header()[httpmcp.HeaderSession] = []string{x.st.c.id}
	}
}

// writePlain writes the answer, or the answers of a batch, as JSON.
func (x *exchange) writePlain(evs []event) {
	var parts [][]byte
	size := 0
	for _, ev := range evs {
		if !ev.answer {
			continue
		}
		if x.batch {
			parts, size = append(parts, []byte(", ")), size+2
		}
		parts, size = append(parts, ev.parts...), size+ev.size
	}
	if len(parts) == 0 { // all were cancelled
		if x.sse {
			x.begin(1)
		} else {
			x.w.WriteHeader(http.StatusAccepted)
		}
		return
	}
	if x.batch {
		parts[0] = []byte("[ ")
		parts, size = append(parts, []byte("]")), size+1
	}
	h := x.w.Header()
	x.sessionHeader()
	h["Content-Type"] = typeJSON
	h["Content-Length"] = []string{strconv.Itoa(size)}
	if x.st.c == nil {
		if status := status(parts, size); status != http.StatusOK {
			x.w.WriteHeader(status)
		}
	}
	for _, p := range parts {
		if _, err := x.out.Write(p); err != nil {
			return
		}
	}
	if x.early {
		_ = x.out.rc.Flush() // net/http would keep it until the handler returns
	}
}

// maxError is the size in bytes up to which an answer is looked at for an error.
const maxError = 8 << 10

func status(parts [][]byte, size int) int {
	if size > maxError {
		return http.StatusOK
	}
	msg := parts[0]
	if len(parts) > 1 {
		msg = bytes.Join(parts, nil)
	}
	m, err := wire.Scan(msg)
	if err != nil {
		return http.StatusOK
	}
	code, _ := httpmcp.ErrorCode(msg, m)
	return httpmcp.Status(code)
}

// write writes events to the stream, of which the first has the number first.
func (x *exchange) write(evs []event, first uint64, drop bool, retry time.Duration) bool {
	legacy := x.st.c != nil
	begin := !x.streaming
	if begin {
		x.begin(first)
	}
	for i, ev := range evs {
		var h sse.Head
		if legacy {
			h.ID = x.st.id(first + uint64(i))
		}
		if err := sse.Write(&x.out, h, ev.parts...); err != nil {
			return false
		}
	}
	if drop {
		if _, err := x.out.Write(append(sse.AppendHead(nil, sse.Head{Retry: retry, HasRetry: true}), '\n')); err != nil {
			return false
		}
	}
	if !begin && !drop && len(evs) == 0 {
		return true
	}
	if x.out.rc.Flush() != nil {
		return false
	}
	if legacy && len(evs) > 0 {
		x.st.mu.Lock()
		x.st.sent = max(x.st.sent, first+uint64(len(evs))-1)
		x.st.mu.Unlock()
	}
	return true
}

// begin starts the event stream. For those who can ask again it starts with an
// event that gives them an id to ask with.
func (x *exchange) begin(first uint64) {
	x.streaming = true
	h := x.w.Header()
	x.sessionHeader()
	h["Content-Type"] = typeStream
	h["Cache-Control"] = noTransform
	h["X-Accel-Buffering"] = noBuffering
	x.w.WriteHeader(http.StatusOK)
	if c := x.st.c; c != nil && !c.single {
		c.mu.Lock()
		polls := c.polls()
		c.mu.Unlock()
		if polls {
			_, _ = x.out.Write([]byte("id: " + x.st.id(first-1) + "\ndata: \n\n")) // the next write shows the error
		}
	}
}

// admitted reports whether who asked would still be let in. A stream outlives the
// request that opened it, and a token that is revoked ends what it listens to;
// the answer of a call that was let in still goes out.
func (x *exchange) admitted() bool {
	if x.s.opt.Auth == nil {
		return true
	}
	_, err := x.s.opt.Auth.Authenticate(x.r)
	return err == nil
}

// comment keeps a silent stream alive, and notices a client that is gone.
func (x *exchange) comment() bool {
	if _, err := x.out.Write([]byte(": \n\n")); err != nil {
		return false
	}
	return x.out.rc.Flush() == nil
}
