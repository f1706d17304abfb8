package client

import (
	"bufio"
	"context"
	"errors"
	"io"
	"strings"
	"testing"
)

// script answers each line of a client with the lines of one reply; after the last it hangs up.
func script(t *testing.T, replies ...string) *Client {
	t.Helper()
	fromClient, toServer := io.Pipe()
	fromServer, toClient := io.Pipe()
	go func() {
		lines := bufio.NewScanner(fromClient)
		for _, reply := range replies {
			if !lines.Scan() {
				break
			}
			if reply != "" {
				io.WriteString(toClient, reply+"\n")
			}
		}
		toClient.Close()
		io.Copy(io.Discard, fromClient)
	}()
	t.Cleanup(func() { toServer.Close() })
	return New(toServer, fromServer)
}

func TestInitialize(t *testing.T) {
	c := script(t, "Welcome to the server!\n"+`{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-06-18","serverInfo":{"name":"s","version":"2"}}}`, "")
	got, err := c.Initialize(context.Background(), "test", "1")
	if want := (Server{"s", "2", "2025-06-18"}); err != nil || got != want {
		t.Errorf("got %+v, %v; want %+v", got, err, want)
	}
}

func TestToolsOverPages(t *testing.T) {
	t.Run("K40 all pages, each once", func(t *testing.T) {
		c := script(t,
			`{"jsonrpc":"2.0","id":1,"result":{"tools":[{"name":"a"},{"name":"b"}],"nextCursor":""}}`,
			`{"jsonrpc":"2.0","id":2,"result":{"tools":[{"name":"c","outputSchema":{}}]}}`)
		tools, err := c.Tools(context.Background())
		if err != nil || len(tools) != 3 || tools[2].Name != "c" || tools[2].OutputSchema == nil || tools[0].OutputSchema != nil {
			t.Errorf("got %v, %v", tools, err)
		}
	})
	t.Run("K41 the same cursor again", func(t *testing.T) {
		c := script(t,
			`{"jsonrpc":"2.0","id":1,"result":{"tools":[{"name":"a"}],"nextCursor":"x"}}`,
			`{"jsonrpc":"2.0","id":2,"result":{"tools":[{"name":"b"}],"nextCursor":"x"}}`)
		_, err := c.Tools(context.Background())
		if err == nil || !strings.Contains(err.Error(), `cursor "x" twice`) {
			t.Errorf("got %v", err)
		}
	})
}

func TestNoParamsIsNoMember(t *testing.T) {
	for _, params := range []any{nil, map[string]any(nil), (*int)(nil)} {
		if got, err := encode(params); len(got) > 0 || err != nil {
			t.Errorf("%T encodes as %s, %v", params, got, err)
		}
	}
}

func TestErrors(t *testing.T) {
	t.Run("of the server", func(t *testing.T) {
		c := script(t, `{"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"no such tool"}}`)
		_, err := c.Call(context.Background(), "x", nil)
		var fault *Error
		if !errors.As(err, &fault) || fault.Code != "-32602" || fault.Message != "no such tool" {
			t.Errorf("got %v", err)
		}
	})
	t.Run("a server that hangs up", func(t *testing.T) {
		c := script(t, "")
		if _, err := c.Call(context.Background(), "x", nil); !errors.Is(err, ErrHungUp) {
			t.Errorf("got %v", err)
		}
		if _, err := c.Call(context.Background(), "x", nil); err == nil {
			t.Error("a call after the end succeeds")
		}
	})
	t.Run("no answer", func(t *testing.T) {
		c := script(t, "", "")
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		if _, err := c.Call(ctx, "x", nil); !errors.Is(err, context.Canceled) {
			t.Errorf("got %v", err)
		}
	})
}

// A server may ask things before it answers: roots/list right after the handshake is common.
func TestAnswersTheServersRequests(t *testing.T) {
	c := script(t,
		`{"jsonrpc":"2.0","id":"r","method":"roots/list"}`,
		`{"jsonrpc":"2.0","id":9,"method":"ping"}`,
		`{"jsonrpc":"2.0","id":1,"result":{"content":[]}}`)
	got, err := c.Call(context.Background(), "x", nil)
	if err != nil || string(got) != `{"content":[]}` {
		t.Errorf("got %s, %v", got, err)
	}
}
