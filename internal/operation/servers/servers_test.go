package servers

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/spillway-mcp/spillway/internal/client"
	httpclient "github.com/spillway-mcp/spillway/internal/httpmcp/client"
	"github.com/spillway-mcp/spillway/internal/operation"
)

// fake is a connection whose answers are a function.
type fake struct {
	do     func(params string) (json.RawMessage, error)
	closed atomic.Bool
}

func (f *fake) Do(_ context.Context, method string, params any) (json.RawMessage, error) {
	raw, err := json.Marshal(params)
	if err != nil {
		return nil, err
	}
	return f.do(method + string(raw))
}

func (f *fake) Close() { f.closed.Store(true) }

func TestEachServerIsStartedOnceAndAgainAfterItsEnd(t *testing.T) {
	var started []*fake
	p := New(func(_ context.Context, server string) (Conn, error) {
		if server == "broken" {
			return nil, errors.New("no such command")
		}
		n := len(started)
		f := &fake{do: func(params string) (json.RawMessage, error) {
			if n == 0 && len(started) == 1 && params == `tools/call{"name":"die","arguments":{}}` {
				return nil, client.ErrHungUp
			}
			return json.RawMessage(params), nil
		}}
		started = append(started, f)
		return f, nil
	})
	call := func(server, tool, meta string) (string, error) {
		var m []byte
		if meta != "" {
			m = []byte(meta)
		}
		got, err := p.CallTool(t.Context(), server, tool, []byte("{}"), m)
		return string(got), err
	}
	if got, err := call("a", "x", `{"k":1}`); err != nil || got != `tools/call{"name":"x","arguments":{},"_meta":{"k":1}}` {
		t.Errorf("%s, %v", got, err)
	}
	var ce *operation.CallError
	if _, err := call("a", "die", ""); !errors.As(err, &ce) || ce.Kind != "transport" {
		t.Errorf("a server that ended under the call: %v", err)
	}
	if _, err := call("a", "x", ""); err != nil || len(started) != 2 || !started[0].closed.Load() {
		t.Errorf("%d started, %v", len(started), err)
	}
	if _, err := call("broken", "x", ""); !errors.As(err, &ce) || ce.Kind != "start" {
		t.Errorf("a server that cannot be started: %v", err)
	}
	p.Close()
	if !started[1].closed.Load() {
		t.Error("not ended")
	}
	if _, err := call("a", "x", ""); !errors.As(err, &ce) || ce.Kind != "start" {
		t.Errorf("after Close: %v", err)
	}
}

func TestAnswersOfTheServerAreToldApart(t *testing.T) {
	for want, err := range map[string]error{
		"rpc":       &client.Error{Code: "-32602", Message: "no"},
		"http":      &operation.CallError{Kind: "http", Status: 503},
		"transport": fmt.Errorf("x: %w", context.DeadlineExceeded),
	} {
		p := New(func(context.Context, string) (Conn, error) {
			return &fake{do: func(string) (json.RawMessage, error) { return nil, err }}, nil
		})
		_, got := p.CallTool(t.Context(), "a", "x", []byte("{}"), nil)
		var ce *operation.CallError
		if !errors.As(got, &ce) || ce.Kind != want {
			t.Errorf("%v: %v", err, got)
		}
	}
}

type echo struct {
	N int `json:"n"`
}

// The official SDK's server: where it keeps sessions it wants the handshake,
// and says so in the errors of the newer era; without them it is modern.
func TestDialHTTP(t *testing.T) {
	server := mcp.NewServer(&mcp.Implementation{Name: "peer", Version: "1"}, nil)
	mcp.AddTool(server, &mcp.Tool{Name: "echo"}, func(_ context.Context, r *mcp.CallToolRequest, in echo) (*mcp.CallToolResult, echo, error) {
		return nil, in, nil
	})
	get := func(*http.Request) *mcp.Server { return server }
	for era, handler := range map[string]http.Handler{
		"legacy": mcp.NewStreamableHTTPHandler(get, nil),
		"modern": mcp.NewStreamableHTTPHandler(get, &mcp.StreamableHTTPOptions{Stateless: true}),
	} {
		t.Run(era, func(t *testing.T) {
			var called atomic.Value // the Mcp-Method header that every modern request has
			called.Store("")
			peer := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if m := r.Header.Get("Mcp-Method"); m == "tools/call" {
					called.Store(m)
				}
				handler.ServeHTTP(w, r)
			}))
			defer peer.Close()
			p := New(func(ctx context.Context, server string) (Conn, error) {
				return DialHTTP(ctx, httpclient.Options{Name: server, URL: peer.URL}, "spillway", "1")
			})
			defer p.Close()
			for range 2 {
				got, err := p.CallTool(t.Context(), "peer", "echo", []byte(`{"n":7}`), []byte(`{"example.com/k":"v"}`))
				var result struct{ StructuredContent echo }
				if err != nil || json.Unmarshal(got, &result) != nil || result.StructuredContent.N != 7 {
					t.Fatalf("%s, %v", got, err)
				}
			}
			if modern := called.Load() != ""; modern != (era == "modern") {
				t.Errorf("spoken to as modern: %t", modern)
			}
			_, err := p.CallTool(t.Context(), "peer", "nope", []byte(`{}`), nil)
			var ce *operation.CallError
			if !errors.As(err, &ce) || ce.Kind != "rpc" && ce.Kind != "http" {
				t.Errorf("an unknown tool: %v", err)
			}
		})
	}
}
