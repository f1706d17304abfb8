package client

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"sync"
	"time"

	"github.com/spillway-mcp/spillway/internal/httpmcp"
	"github.com/spillway-mcp/spillway/internal/wire"
)

// Session is one legacy session. It is made by [Upstream.Session] and begins
// with the first Send, which must be of the initialize request; the id that the
// upstream gives and the revision that it answers with go into the headers of
// what is sent after. It is safe for concurrent use.
type Session struct {
	u       *Upstream
	forward http.Header

	mu       sync.Mutex
	id       string
	revision string
	old      *twoEnds // where it speaks the transport of 2024-11-05
}

// Session starts a session. Of forward, the headers of the client whose session
// it is, those that Options.Forward names go out with the GET stream and the end
// of the session too; it may be nil.
func (u *Upstream) Session(forward http.Header) *Session {
	return &Session{u: u, forward: forward}
}

// Revision is what the upstream answered to initialize.
func (s *Session) Revision() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.revision
}

// headers are those of one request, and the session's id in it.
func (s *Session) headers(client http.Header) (http.Header, string) {
	if client == nil {
		client = s.forward
	}
	h := s.u.headers(client)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.id != "" {
		h[httpmcp.HeaderSession] = []string{s.id}
	}
	if s.revision >= httpmcp.Revision20250618 {
		h[httpmcp.HeaderRevision] = []string{s.revision}
	}
	return h, s.id
}

func (s *Session) twoEnds() *twoEnds {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.old
}

// Send sends one message. For a request it returns when its response has been
// given to a, after resuming a broken stream where the upstream can; else when
// the upstream has taken it. Ending ctx ends the wait and cancels nothing
// upstream: send notifications/cancelled for that.
//
// Errors: [ErrSessionLost], *[StatusError], *[TooLargeError], [ErrNoAnswer], the
// cause of ctx, or what the network said. A JSON-RPC error is an answer and no
// error.
func (s *Session) Send(ctx context.Context, out Outbound, a Answer) error {
	rest, err := s.Start(ctx, out, a, 0)
	if rest != nil {
		return rest()
	}
	return err
}

// Start is Send as far as it goes without much waiting: at most for patience
// until the answer begins, and not for a stream. What is left to be done is
// rest, which has to be called, on any goroutine; without it all is done, and
// err is that of Send.
func (s *Session) Start(ctx context.Context, out Outbound, a Answer, patience time.Duration) (rest func() error, err error) {
	x, err := s.u.exchange(out, a)
	if err != nil {
		return nil, err
	}
	initialize := x.id != nil && wire.StringIs(x.m.Method.Of(x.msg), "initialize")
	if old := s.twoEnds(); old != nil {
		return func() error { return old.send(ctx, x, out) }, nil
	}
	if initialize && s.u.opt.HTTPSSE {
		return func() error { return s.fallBack(ctx, x, out, nil) }, nil
	}
	ctx, x.end = context.WithCancelCause(ctx)
	h, id := s.headers(out.Header)
	h["Content-Type"], h["Accept"] = typeJSON, acceptBoth
	t, err := s.u.start(ctx, http.MethodPost, s.u.url, h, out.Message)
	if err != nil {
		x.finish()
		return nil, err
	}
	take := func() (*http.Response, error) {
		resp, err := t.finish()
		if err != nil {
			return nil, err
		}
		return s.taken(ctx, x, out, resp, id, initialize)
	}
	if !t.ready(patience) {
		return func() error {
			defer x.finish()
			resp, err := take()
			if resp == nil {
				return err
			}
			return s.receive(ctx, x, resp, initialize)
		}, nil
	}
	resp, err := take()
	if resp != nil && x.id != nil && media(resp.Header) == "text/event-stream" {
		return func() error {
			defer x.finish()
			return s.receive(ctx, x, resp, initialize)
		}, nil
	}
	defer x.finish()
	if resp == nil {
		return nil, err
	}
	return nil, s.receive(ctx, x, resp, initialize)
}

// taken looks at the status of a response, and returns it if the message was
// taken. Without it there is nothing more to come: the request was answered by
// what refuses it, or err says why it was not.
func (s *Session) taken(ctx context.Context, x *exchange, out Outbound, resp *http.Response, id string, initialize bool) (*http.Response, error) {
	if resp.StatusCode/100 == 2 {
		if initialize {
			s.begin(resp.Header.Get(httpmcp.HeaderSession))
		}
		return resp, nil
	}
	status := resp.StatusCode
	response, forgotten, err := s.u.refusal(resp, x.id)
	if id != "" && forgotten {
		return nil, ErrSessionLost
	}
	refused := func() error {
		if err != nil {
			return err
		}
		return x.json(response)
	}
	if initialize && (status == http.StatusBadRequest || status == http.StatusNotFound || status == http.StatusMethodNotAllowed) {
		return nil, s.fallBack(ctx, x, out, refused)
	}
	return nil, refused()
}

// receive reads the answer of a message that was taken.
func (s *Session) receive(ctx context.Context, x *exchange, resp *http.Response, initialize bool) error {
	done, err := x.success(ctx, resp)
	if err == nil && !done {
		err = s.resume(ctx, x)
	}
	if err == nil && initialize {
		s.negotiated(x.answered)
	}
	return err
}

func (s *Session) begin(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.id = id
}

func (s *Session) negotiated(response []byte) {
	m, err := wire.Scan(response)
	if err != nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.revision = wire.Text(wire.Member(response, m.Result, "protocolVersion").Of(response))
}

// resume asks for the rest of an answer whose stream ended, until the response
// is there or the upstream does not know it any more.
func (s *Session) resume(ctx context.Context, x *exchange) error {
	for attempt := 0; ; attempt++ {
		if x.tooLarge != nil {
			return x.tooLarge
		}
		if x.lastID == "" {
			return fmt.Errorf("%w: upstream %s ended the stream", ErrNoAnswer, s.u.opt.Name)
		}
		if attempt >= s.u.opt.MaxAttempts {
			return fmt.Errorf("%w: upstream %s ended the stream, and %d attempts to resume it failed", ErrNoAnswer, s.u.opt.Name, attempt)
		}
		wait := s.u.opt.Retry << attempt
		if x.hasRetry {
			wait = x.retry
		}
		if attempt == 0 && x.clean && x.a.Dropped != nil {
			x.a.Dropped(wait)
		}
		if err := pause(ctx, wait); err != nil {
			return err
		}
		last := x.lastID
		resp, err := s.stream(ctx, last)
		if err != nil {
			if cause := context.Cause(ctx); cause != nil {
				return cause
			}
			continue
		}
		if resp.StatusCode/100 != 2 || media(resp.Header) != "text/event-stream" {
			_, _, _ = s.u.refusal(resp, nil)
			if resp.StatusCode >= 500 {
				continue
			}
			return fmt.Errorf("%w: upstream %s does not resume it (status %d)", ErrNoAnswer, s.u.opt.Name, resp.StatusCode)
		}
		done, err := x.stream(ctx, resp)
		if done || err != nil {
			return err
		}
		if x.lastID == "" {
			x.lastID = last
		} else if x.lastID != last {
			attempt = -1
		}
	}
}

// stream opens a GET stream behind the event with the id last.
func (s *Session) stream(ctx context.Context, last string) (*http.Response, error) {
	h, _ := s.headers(nil)
	h["Accept"] = acceptStream
	if last != "" {
		h[httpmcp.HeaderLastID] = []string{last}
	}
	return s.u.roundTrip(ctx, http.MethodGet, s.u.url, h, nil)
}

// pause waits a little longer or shorter than d, so that not all who lost one
// server come back at once.
func pause(ctx context.Context, d time.Duration) error {
	if d > 0 {
		d += rand.N(d/10 + 1)
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// Close tells the upstream that the session is over (DELETE). An upstream that
// does not let clients end sessions is no error.
func (s *Session) Close(ctx context.Context) error {
	if old := s.twoEnds(); old != nil {
		old.close()
		return nil
	}
	h, id := s.headers(nil)
	if id == "" {
		return nil
	}
	resp, err := s.u.roundTrip(ctx, http.MethodDelete, s.u.url, h, nil)
	if err != nil {
		return err
	}
	_, _, err = s.u.refusal(resp, nil)
	var status *StatusError
	if errors.As(err, &status) && (status.Status/100 == 2 || status.Status == http.StatusMethodNotAllowed || status.Status == http.StatusNotFound) {
		return nil
	}
	return err
}
