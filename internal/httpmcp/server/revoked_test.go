package server_test

import (
	"context"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"github.com/spillway-mcp/spillway/internal/httpmcp/server"
)

// revocable lets everyone in until it is revoked.
type revocable struct{ revoked atomic.Bool }

func (a *revocable) Authenticate(*http.Request) (string, error) {
	if a.revoked.Load() {
		return "", &server.Denied{Status: 401, Reason: "the bearer token is not known"}
	}
	return "token:a", nil
}

// RED-23: who is let in no more hears no more, on streams that were opened before
// too, whether or not anything comes on them.
func TestRED23_RevokedListenersHearNoMore(t *testing.T) {
	listen := `{"jsonrpc":"2.0","id":"s1","method":"subscriptions/listen","params":{` + modernMeta + `}}`
	for _, way := range []string{"GET", "listen"} {
		for _, silent := range []bool{true, false} {
			auth := &revocable{}
			replies := make(chan *server.Reply, 1)
			k := &core{serve: func(_ context.Context, in *server.Inbound) {
				must(in.Reply.Related([]byte(`{"n":0}`)))
				replies <- in.Reply
			}}
			opt := server.Options{Auth: auth, KeepAlive: time.Hour}
			if silent {
				opt.KeepAlive = 5 * time.Millisecond
			}
			e := start(t, k, opt)
			var s *events
			var send func(text string) error
			if way == "GET" {
				h := e.handshake("2025-06-18")
				s = streamOf(t, e.open(t.Context(), "GET", "", h))
				send = func(text string) error { return k.last().Send([]byte(text)) }
				must(send(`{"n":0}`))
			} else {
				s = streamOf(t, e.open(t.Context(), "POST", listen, head{"MCP-Protocol-Version", "2026-07-28", "Mcp-Method", "subscriptions/listen"}))
				reply := <-replies
				send = func(text string) error { return reply.Related([]byte(text)) }
			}
			s.want(`{"n":0}`)
			auth.revoked.Store(true)
			if !silent {
				must(send(`{"n":1}`))
			}
			s.end()
		}
	}
}

// The answer of a call that was let in goes out.
func TestRED23_RevokedCallersGetTheirAnswers(t *testing.T) {
	auth := &revocable{}
	k := &core{serve: func(_ context.Context, in *server.Inbound) {
		must(in.Reply.Related([]byte(`{"n":0}`)))
		auth.revoked.Store(true)
		answerOK(in)
	}}
	e := start(t, k, server.Options{Auth: auth, KeepAlive: time.Millisecond})
	s := streamOf(t, e.open(t.Context(), "POST", modernCall, modernHead))
	s.want(`{"n":0}`)
	s.want(`{"jsonrpc":"2.0","id":7,"result":{"ok":true}}`)
	s.end()
}
