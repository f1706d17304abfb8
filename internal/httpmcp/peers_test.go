//lint:file-ignore SA1019 roots are deprecated, and part of the revisions that are tested here

package httpmcp_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/spillway-mcp/spillway/internal/httpmcp"
)

// sdkServer is a server of the Go SDK, whose tool does what a call can do: it
// reports progress, asks the client back, and drops its stream.
func sdkServer(t *testing.T) *mcp.Server {
	t.Helper()
	s := mcp.NewServer(&mcp.Implementation{Name: "peer", Version: "1"}, nil)
	type args struct {
		Do string `json:"do"`
	}
	mcp.AddTool(s, &mcp.Tool{Name: "act"}, func(ctx context.Context, r *mcp.CallToolRequest, a args) (*mcp.CallToolResult, any, error) {
		text := "done: " + a.Do
		switch a.Do {
		case "progress":
			for i := range 3 {
				if err := r.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{ProgressToken: r.Params.GetProgressToken(), Progress: float64(i)}); err != nil {
					return nil, nil, err
				}
			}
		case "roots":
			roots, err := r.Session.ListRoots(ctx, nil)
			if err != nil {
				return nil, nil, err
			}
			text = "roots: " + roots.Roots[0].URI
		case "drop":
			r.Extra.CloseSSEStream(mcp.CloseSSEStreamArgs{RetryAfter: 10 * time.Millisecond})
		case "change":
			mcp.AddTool(s, &mcp.Tool{Name: "another"}, func(context.Context, *mcp.CallToolRequest, args) (*mcp.CallToolResult, any, error) {
				return nil, nil, nil
			})
		case "wait":
			select { // this server's tools are not told that the response was closed
			case <-ctx.Done():
			case <-time.After(500 * time.Millisecond):
			}
		}
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: text}}}, nil, nil
	})
	return s
}

func peer(t *testing.T, h http.Handler) string {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(func() {
		s.CloseClientConnections()
		s.Close()
	})
	return relayTo(t, s.URL).URL
}

func act(t *testing.T, c *mcp.ClientSession, do string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	params := &mcp.CallToolParams{Name: "act", Arguments: map[string]any{"do": do}}
	params.SetProgressToken("p")
	r, err := c.CallTool(ctx, params)
	if err != nil {
		t.Fatalf("%s: %v", do, err)
	}
	return r.Content[0].(*mcp.TextContent).Text
}

// Both edges between the client and the server of the Go SDK, in the legacy era.
func TestSDKLegacy(t *testing.T) {
	for _, revision := range httpmcp.LegacyRevisions() {
		t.Run(revision, func(t *testing.T) {
			peers := sdkServer(t)
			handler := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return peers },
				&mcp.StreamableHTTPOptions{EventStore: mcp.NewMemoryEventStore(nil), DisableLocalhostProtection: true})
			url := peer(t, handler)
			progress, changed := make(chan float64, 9), make(chan bool, 9)
			client := mcp.NewClient(&mcp.Implementation{Name: "c", Version: "1"}, &mcp.ClientOptions{
				ProgressNotificationHandler: func(_ context.Context, r *mcp.ProgressNotificationClientRequest) { progress <- r.Params.Progress },
				ToolListChangedHandler:      func(context.Context, *mcp.ToolListChangedRequest) { changed <- true },
			})
			client.AddRoots(&mcp.Root{URI: "file:///x"})
			c, err := client.Connect(t.Context(), &mcp.StreamableClientTransport{Endpoint: url}, &mcp.ClientSessionOptions{ProtocolVersion: revision})
			if err != nil {
				t.Fatal(err)
			}
			if got := c.InitializeResult().ProtocolVersion; got != revision {
				t.Errorf("negotiated %s", got)
			}
			if got := act(t, c, "nothing"); got != "done: nothing" {
				t.Error(got)
			}
			if got := act(t, c, "progress"); got != "done: progress" {
				t.Error(got)
			}
			for want := range 3 {
				if got := <-progress; got != float64(want) {
					t.Errorf("progress %v, want %d", got, want)
				}
			}
			if got := act(t, c, "roots"); got != "roots: file:///x" {
				t.Error(got)
			}
			if got := act(t, c, "change"); got != "done: change" {
				t.Error(got)
			}
			<-changed // by the GET stream
			if revision == httpmcp.Revision20251125 {
				if got := act(t, c, "drop"); got != "done: drop" {
					t.Error(got)
				}
			}
			if err := c.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestSDKModern(t *testing.T) {
	peers := sdkServer(t)
	handler := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return peers },
		&mcp.StreamableHTTPOptions{Stateless: true, DisableLocalhostProtection: true})
	url := peer(t, handler)
	progress := make(chan float64, 9)
	client := mcp.NewClient(&mcp.Implementation{Name: "c", Version: "1"}, &mcp.ClientOptions{
		ProgressNotificationHandler: func(_ context.Context, r *mcp.ProgressNotificationClientRequest) { progress <- r.Params.Progress },
	})
	c, err := client.Connect(t.Context(), &mcp.StreamableClientTransport{Endpoint: url}, &mcp.ClientSessionOptions{ProtocolVersion: httpmcp.Revision20260728})
	if err != nil {
		t.Fatal(err)
	}
	if got := act(t, c, "progress"); got != "done: progress" {
		t.Error(got)
	}
	for want := range 3 {
		if got := <-progress; got != float64(want) {
			t.Errorf("progress %v, want %d", got, want)
		}
	}
	if tools, err := c.ListTools(t.Context(), nil); err != nil || len(tools.Tools) != 1 {
		t.Error(tools, err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := c.CallTool(ctx, &mcp.CallToolParams{Name: "act", Arguments: map[string]any{"do": "wait"}}); err == nil {
		t.Error("a call that was given up was answered")
	}
	if _, err := c.CallTool(t.Context(), &mcp.CallToolParams{Name: "nope"}); err == nil || !strings.Contains(fmt.Sprint(err), "nope") {
		t.Error(err)
	}
	if err := c.Close(); err != nil {
		t.Error(err)
	}
}

// An upstream of 2024-11-05 behind a client of today.
func TestSDKHTTPSSEUpstream(t *testing.T) {
	peers := sdkServer(t)
	url := peer(t, mcp.NewSSEHandler(func(*http.Request) *mcp.Server { return peers }, nil))
	client := mcp.NewClient(&mcp.Implementation{Name: "c", Version: "1"}, nil)
	client.AddRoots(&mcp.Root{URI: "file:///x"})
	c, err := client.Connect(t.Context(), &mcp.StreamableClientTransport{Endpoint: url}, &mcp.ClientSessionOptions{ProtocolVersion: httpmcp.Revision20241105})
	if err != nil {
		t.Fatal(err)
	}
	if got := act(t, c, "nothing"); got != "done: nothing" {
		t.Error(got)
	}
	if got := act(t, c, "roots"); got != "roots: file:///x" {
		t.Error(got)
	}
	if err := c.Close(); err != nil {
		t.Error(err)
	}
}

// A client of 2024-11-05 in front of a server of today.
func TestSDKHTTPSSEClient(t *testing.T) {
	peers := sdkServer(t)
	url := peer(t, mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return peers },
		&mcp.StreamableHTTPOptions{DisableLocalhostProtection: true}))
	changed := make(chan bool, 9)
	client := mcp.NewClient(&mcp.Implementation{Name: "c", Version: "1"}, &mcp.ClientOptions{
		ToolListChangedHandler: func(context.Context, *mcp.ToolListChangedRequest) { changed <- true },
	})
	client.AddRoots(&mcp.Root{URI: "file:///x"})
	c, err := client.Connect(t.Context(), &mcp.SSEClientTransport{Endpoint: url + "/sse"}, &mcp.ClientSessionOptions{ProtocolVersion: httpmcp.Revision20241105})
	if err != nil {
		t.Fatal(err)
	}
	for do, want := range map[string]string{"nothing": "done: nothing", "progress": "done: progress", "roots": "roots: file:///x"} {
		if got := act(t, c, do); got != want {
			t.Error(got)
		}
	}
	_ = act(t, c, "change")
	<-changed
	if err := c.Close(); err != nil {
		t.Error(err)
	}
}
