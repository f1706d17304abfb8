package client

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"time"

	"github.com/spillway-mcp/spillway/internal/httpmcp/sse"
	"github.com/spillway-mcp/spillway/internal/wire"
)

// maxRetry is the longest wait before a GET stream is opened again.
const maxRetry = 30 * time.Second

// Listen runs the GET stream and gives its messages to on, one after the other,
// until ctx ends. It connects again after a break and resumes behind the last
// event. It returns nil when the upstream offers no such stream, and
// [ErrSessionLost]. Call it once, after the initialized notification is sent.
//
// It calls opened, which may be nil, once: when the upstream has answered the
// first GET, whatever it says, or will not. What an upstream that keeps no events
// has to say before that is lost.
func (s *Session) Listen(ctx context.Context, on func(msg []byte), opened func()) error {
	open := sync.OnceFunc(func() {
		if opened != nil {
			opened()
		}
	})
	defer open()
	if old := s.twoEnds(); old != nil {
		open()
		return old.listen(ctx, on)
	}
	last, retry, named := "", s.u.opt.Retry, false
	failures := 0
	for {
		resp, err := s.stream(ctx, last)
		open()
		switch {
		case context.Cause(ctx) != nil:
			if err == nil {
				_ = resp.Body.Close()
			}
			return context.Cause(ctx)
		case err != nil:
			s.u.opt.Log.Debug("listening stream not opened", "server", s.u.opt.Name, "err", err)
			failures++
		case resp.StatusCode == http.StatusNotFound:
			_ = resp.Body.Close()
			return ErrSessionLost
		case resp.StatusCode/100 == 4 && last != "":
			_ = resp.Body.Close()
			last = "" // it does not resume: what comes from now on is better than nothing
			failures++
		case resp.StatusCode/100 == 2 && media(resp.Header) == "text/event-stream":
			r := sse.NewReader(resp.Body, s.u.opt.MaxFrame)
			got, wait, has := s.hear(r, on)
			_ = resp.Body.Close()
			if r.LastID() != "" {
				last = r.LastID()
			}
			if has {
				retry, named = wait, true
			}
			failures++
			if got {
				failures = 1
			}
		case resp.StatusCode >= 500 || resp.StatusCode == http.StatusTooManyRequests:
			_ = resp.Body.Close()
			failures++
		default:
			_ = resp.Body.Close()
			return nil
		}
		wait := retry
		if !named || failures > s.u.opt.MaxAttempts {
			wait = min(max(retry, s.u.opt.Retry)<<min(failures-1, 10), maxRetry)
		}
		if err := pause(ctx, wait); err != nil {
			return err
		}
	}
}

// hear gives the messages of one stream to on until it ends.
func (s *Session) hear(r *sse.Reader, on func(msg []byte)) (got bool, retry time.Duration, has bool) {
	for {
		ev, err := r.Next()
		var big *TooLargeError
		if errors.As(err, &big) {
			s.u.opt.Log.Warn("message of the upstream dropped", "server", s.u.opt.Name, "err", err)
			continue
		}
		if err != nil {
			return got, retry, has
		}
		if ev.HasRetry {
			retry, has = ev.Retry, true
		}
		if len(ev.Data) == 0 || ev.Name != "" && ev.Name != "message" {
			continue
		}
		got = true
		each(ev.Data, on)
	}
}

// each gives the messages of a batch one by one.
func each(msg []byte, on func(msg []byte)) {
	m, err := wire.Scan(msg)
	if err != nil || m.Kind != wire.Batch {
		on(msg)
		return
	}
	for it := wire.ElementsOf(msg, wire.Span{End: len(msg)}); it.Next(); {
		on(it.Value().Of(msg))
	}
}
