package client

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/spillway-mcp/spillway/internal/httpmcp/sse"
	"github.com/spillway-mcp/spillway/internal/wire"
)

// An exchange is one POST and what comes back for it.
type exchange struct {
	u   *Upstream
	msg []byte
	m   wire.Message
	id  []byte     // of the request; nil where there is none to answer
	key wire.IDKey // of it
	a   Answer
	end context.CancelCauseFunc

	answered []byte // the response
	draining bool   // the rest of the stream is read elsewhere, which then calls end

	lastID   string // of the stream
	clean    bool   // the upstream ended it, nothing broke
	retry    time.Duration
	hasRetry bool
	tooLarge error
}

// finish lets go of the context.
func (x *exchange) finish() {
	if !x.draining {
		x.end(nil)
	}
}

func (u *Upstream) exchange(out Outbound, a Answer) (*exchange, error) {
	m := out.Scan
	if m.Kind == wire.Invalid {
		var err error
		if m, err = wire.Scan(out.Message); err != nil {
			return nil, err
		}
	}
	x := &exchange{u: u, msg: out.Message, m: m, a: a}
	if m.Kind == wire.Request {
		x.id = m.ID.Of(out.Message)
		x.key = wire.KeyOf(x.id)
	}
	return x, nil
}

func (x *exchange) method() string { return wire.Text(x.m.Method.Of(x.msg)) }

// give hands a message over.
func (x *exchange) give(msg []byte, m wire.Message) {
	switch {
	case x.a.Scanned != nil:
		x.a.Scanned(msg, m)
	case x.a.Message != nil:
		x.a.Message(msg)
	}
}

// success reads an answer of status 2xx. It reports whether the response was
// among it; if not, and without an error, a stream ended early.
func (x *exchange) success(ctx context.Context, resp *http.Response) (done bool, err error) {
	if x.id == nil { // it was taken, and there is nothing to be read
		_, _ = io.CopyN(io.Discard, resp.Body, 4<<10)
		return true, resp.Body.Close()
	}
	switch kind := media(resp.Header); kind {
	case "text/event-stream":
		if x.a.Stream != nil {
			x.a.Stream()
		}
		return x.stream(ctx, resp)
	case "application/json":
		defer resp.Body.Close()
		body, err := x.u.whole(resp)
		if err != nil {
			return false, x.broken(ctx, err)
		}
		return true, x.json(body)
	default:
		_, _ = io.CopyN(io.Discard, resp.Body, 4<<10)
		_ = resp.Body.Close()
		if resp.StatusCode == http.StatusAccepted || resp.StatusCode == http.StatusNoContent {
			return false, fmt.Errorf("%w: upstream %s answered a request with status %d", ErrNoAnswer, x.u.opt.Name, resp.StatusCode)
		}
		return false, fmt.Errorf("%w: upstream %s answered with content of type %.60q, want application/json or text/event-stream", ErrNoAnswer, x.u.opt.Name, kind)
	}
}

// broken is the error of a transfer that failed after the upstream had begun to
// answer.
func (x *exchange) broken(ctx context.Context, err error) error {
	var big *TooLargeError
	switch cause := context.Cause(ctx); {
	case errors.As(err, &big):
		return err
	case cause != nil && !errors.Is(cause, errSilent):
		return cause
	case cause != nil:
		err = cause
	}
	return fmt.Errorf("%w: %w", ErrNoAnswer, x.u.networkError(context.Background(), err))
}

// smallAnswer is the size in bytes to which a plain answer is looked at for a
// null id. Larger ones answer the one request they can, and need no look.
const smallAnswer = 8 << 10

// json hands over a body that is the response, or a batch with it.
func (x *exchange) json(body []byte) error {
	x.answered = body
	if x.a.Scanned == nil && len(body) > smallAnswer && body[0] == '{' {
		x.give(body, wire.Message{})
		return nil
	}
	m, err := wire.Scan(body)
	switch {
	case err != nil:
		return fmt.Errorf("%w: upstream %s answered with a body that is none: %w", ErrNoAnswer, x.u.opt.Name, err)
	case m.Kind == wire.Batch:
		found := false
		for it := wire.ElementsOf(body, wire.Span{End: len(body)}); it.Next(); {
			part := it.Value().Of(body)
			if m, err := wire.Scan(part); err == nil {
				found = x.one(part, m) || found
			}
		}
		if !found {
			return fmt.Errorf("%w: upstream %s answered with a batch without it", ErrNoAnswer, x.u.opt.Name)
		}
	case !x.one(body, m):
		return fmt.Errorf("%w: upstream %s answered with a message that is not it", ErrNoAnswer, x.u.opt.Name)
	}
	return nil
}

// one hands over a message, and reports whether it was the response.
func (x *exchange) one(msg []byte, m wire.Message) bool {
	final := false
	if m.Kind == wire.Response {
		if m.Error.Present() && nullID(msg, m) {
			msg = own(msg, m, x.id)
			m, _ = wire.Scan(msg)
		}
		final = wire.KeyOf(m.ID.Of(msg)) == x.key
		if final {
			x.answered = msg
		}
	}
	x.give(msg, m)
	return final
}

// nullID reports whether a response does not say what it answers.
func nullID(msg []byte, m wire.Message) bool {
	id := m.ID.Of(msg)
	return id == nil || string(id) == "null"
}

// stream hands over the messages of a stream until the response. An error of no
// request, whose id is null, may be about anything: it is the response only
// where the stream ends without one.
func (x *exchange) stream(ctx context.Context, resp *http.Response) (done bool, err error) {
	body := x.u.watch(resp.Body, x.end)
	r := sse.NewReader(body, x.u.opt.MaxFrame)
	var nobodys []byte
	for {
		ev, err := r.Next()
		x.lastID = r.LastID()
		var big *TooLargeError
		switch {
		case errors.As(err, &big):
			x.tooLarge = err
			continue
		case err != nil:
			_ = body.Close()
			x.clean = err == io.EOF
			if nobodys != nil && context.Cause(ctx) == nil {
				m, _ := wire.Scan(nobodys)
				return x.one(nobodys, m), nil
			}
			if x.clean {
				return false, nil
			}
			if cause := context.Cause(ctx); cause != nil {
				return false, cause
			}
			return false, nil // broken off: as good as ended, and can be resumed alike
		}
		if ev.HasRetry {
			x.retry, x.hasRetry = ev.Retry, true
		}
		if len(ev.Data) == 0 || ev.Name != "" && ev.Name != "message" {
			continue
		}
		m, err := wire.Scan(ev.Data)
		switch {
		case err != nil:
			x.u.opt.Log.Warn("event of the upstream skipped, it is no message", "server", x.u.opt.Name, "err", err)
			continue
		case m.Kind == wire.Batch:
			for it := wire.ElementsOf(ev.Data, wire.Span{End: len(ev.Data)}); it.Next(); {
				part := it.Value().Of(ev.Data)
				if m, err := wire.Scan(part); err == nil {
					done = x.one(part, m) || done
				}
			}
		case m.Kind == wire.Response && m.Error.Present() && nullID(ev.Data, m):
			nobodys = ev.Data
		default:
			done = x.one(ev.Data, m)
		}
		if done {
			x.draining = true
			go func() {
				drain(body)
				x.end(nil)
			}()
			return true, nil
		}
	}
}

// drain reads a stream to the end that comes right behind the response, so that
// its connection can be used again, and closes one that does not end.
func drain(body io.ReadCloser) {
	t := time.AfterFunc(time.Second, func() { _ = body.Close() })
	_, _ = io.Copy(io.Discard, io.LimitReader(body, 64<<10))
	t.Stop()
	_ = body.Close()
}
