package httpmcp_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/spillway-mcp/spillway/internal/httpmcp"
	"github.com/spillway-mcp/spillway/internal/httpmcp/client"
	"github.com/spillway-mcp/spillway/internal/httpmcp/server"
	"github.com/spillway-mcp/spillway/internal/wire"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// relay is the smallest core: it puts one edge behind the other.
type relay struct {
	up *client.Upstream
}

func (k relay) Open(c *server.Client) (server.Session, error) {
	s := &relayed{c: c, up: k.up.Session(nil)}
	s.ctx, s.end = context.WithCancel(context.Background())
	return s, nil
}

func (k relay) Serve(ctx context.Context, in *server.Inbound) {
	err := k.up.Stateless(ctx, client.Outbound{Message: in.Message, Header: in.Header}, answerTo(in))
	failed(in, err)
}

func answerTo(in *server.Inbound) client.Answer {
	if in.Reply == nil {
		return client.Answer{}
	}
	key := wire.KeyOf(in.Scan.ID.Of(in.Message))
	return client.Answer{
		Scanned: func(msg []byte, m wire.Message) {
			if m.Kind == wire.Response && wire.KeyOf(m.ID.Of(msg)) == key {
				_ = in.Reply.AnswerNow(msg)
			} else {
				_ = in.Reply.Related(msg)
			}
		},
		Stream:  in.Reply.Stream,
		Dropped: in.Reply.Drop,
	}
}

func failed(in *server.Inbound, err error) {
	if err != nil && in.Reply != nil {
		_ = in.Reply.Answer(httpmcp.Errorf(httpmcp.CodeInternal, "%v", err).Response(in.Scan.ID.Of(in.Message)))
	}
}

type relayed struct {
	c   *server.Client
	up  *client.Session
	ctx context.Context
	end context.CancelFunc
}

func (s *relayed) Receive(ctx context.Context, in *server.Inbound) {
	over := func(err error) {
		if errors.Is(err, client.ErrSessionLost) {
			s.c.Close()
		}
		failed(in, err)
	}
	rest, err := s.up.Start(ctx, client.Outbound{Message: in.Message, Scan: in.Scan, Header: in.Header}, answerTo(in), time.Second)
	switch {
	case rest == nil:
		over(err)
	case in.Reply == nil:
		over(rest())
	default:
		go func() { over(rest()) }()
	}
	if wire.StringIs(in.Scan.Method.Of(in.Message), "notifications/initialized") {
		go func() { _ = s.up.Listen(s.ctx, func(msg []byte) { _ = s.c.Send(msg) }, nil) }()
	}
}

func (s *relayed) Close() {
	s.end()
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	_ = s.up.Close(ctx)
}

// relayTo starts a relay in front of the upstream at url.
func relayTo(t testing.TB, url string) *httptest.Server {
	t.Helper()
	up, err := client.New(client.Options{Name: "up", URL: url, Retry: 10 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	s := server.New(relay{up}, server.Options{})
	mux := http.NewServeMux()
	mux.Handle("/", s)
	mux.Handle("/sse", s.HTTPSSE())
	h := httptest.NewUnstartedServer(nil)
	h.Config = server.NewHTTPServer(mux)
	h.Start()
	t.Cleanup(func() {
		s.Close()
		h.Close()
		up.Close()
	})
	return h
}
