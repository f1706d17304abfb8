//go:build linux

//lint:file-ignore SA1019 roots and sampling are deprecated, and part of the revisions that are tested here

package peertest

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// bearer adds a token to each request.
type bearer string

func (b bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+string(b))
	return http.DefaultTransport.RoundTrip(r)
}

func overHTTPWith(url, token string) mcp.Transport {
	return &mcp.StreamableClientTransport{Endpoint: url, HTTPClient: &http.Client{Transport: bearer(token)}, MaxEventSize: -1}
}

func overStdioOf(env []string, argv ...string) mcp.Transport {
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Env = env
	return &mcp.CommandTransport{Command: cmd}
}

// goPeer is a session of the Go SDK's client.
type goPeer struct {
	*mcp.ClientSession
	mu       sync.Mutex
	progress map[string][]float64 // by token
}

func goConnect(t *testing.T, root string, way mcp.Transport) *goPeer {
	t.Helper()
	p := &goPeer{progress: map[string][]float64{}}
	client := mcp.NewClient(&mcp.Implementation{Name: "peers", Version: "1"}, &mcp.ClientOptions{
		ProgressNotificationHandler: func(_ context.Context, r *mcp.ProgressNotificationClientRequest) {
			p.mu.Lock()
			defer p.mu.Unlock()
			token := fmt.Sprint(r.Params.ProgressToken)
			p.progress[token] = append(p.progress[token], r.Params.Progress)
		},
		CreateMessageHandler: func(context.Context, *mcp.CreateMessageRequest) (*mcp.CreateMessageResult, error) {
			return &mcp.CreateMessageResult{Model: "fixed", Role: "assistant", Content: &mcp.TextContent{Text: "sampled by the client"}}, nil
		},
		ElicitationHandler: func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			return &mcp.ElicitResult{Action: "accept", Content: map[string]any{"name": "Zoë", "integer": 5}}, nil
		},
	})
	client.AddRoots(&mcp.Root{URI: "file://" + root, Name: "work"})
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	session, err := client.Connect(ctx, way, &mcp.ClientSessionOptions{ProtocolVersion: "2025-11-25"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { session.Close() })
	p.ClientSession = session
	return p
}

// outcome is what a call gave, as a text to compare it by, with what was cut.
func (p *goPeer) outcome(ctx context.Context, tool string, args any) (text string, result *mcp.CallToolResult) {
	ctx, cancel := context.WithTimeout(ctx, 2*patience)
	defer cancel()
	result, err := p.CallTool(ctx, &mcp.CallToolParams{Name: tool, Arguments: args})
	if err != nil {
		return err.Error(), nil
	}
	data, err := json.Marshal(result)
	if err != nil {
		return err.Error(), nil
	}
	return string(data), result
}

func (p *goPeer) tools(t *testing.T) (names []string) {
	t.Helper()
	for tool, err := range p.Tools(t.Context(), nil) {
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, tool.Name)
	}
	return names
}

// goClient compares what the Go SDK's client is given through the endpoint with
// what it is given by each server. Those that misbehave it cannot talk to: a
// stray line ends its connection, and a mark at the start of a stream hides the
// answer. Through the endpoint it can.
func goClient(t *testing.T, dir string, servers []endpointServer, way mcp.Transport) {
	files := filepath.Join(dir, "files")
	through := goConnect(t, files, way)
	names := through.tools(t)
	if again := through.tools(t); !slices.Equal(names, again) {
		t.Errorf("K43: listed %v, then %v", names, again)
	}
	type ask struct {
		name, want string
		args       any
	}
	var asks []ask
	var want []string
	for _, s := range servers {
		if s.misfit {
			for _, name := range []string{"read_text_file", "null_id", "stream_bom", "stream_cr", "stream_notes"} {
				if name = s.listed(name); slices.Contains(names, name) {
					if text, result := through.outcome(t.Context(), name, nil); result == nil || result.IsError {
						t.Errorf("%s, which this client cannot reach directly: %s", name, text)
					}
				}
			}
			continue
		}
		var direct *goPeer
		if s.URL != "" {
			direct = goConnect(t, files, overHTTPWith(s.URL, "none"))
		} else {
			env := home(dir)
			for name, value := range s.Env {
				env = append(env, name+"="+value)
			}
			direct = goConnect(t, files, overStdioOf(env, s.Argv...))
		}
		for _, name := range direct.tools(t) {
			want = append(want, s.listed(name))
		}
		for _, call := range s.Calls {
			text, _ := direct.outcome(t.Context(), call.Tool, call.Args)
			asks = append(asks, ask{s.listed(call.Tool), text, call.Args})
		}
		direct.Close()
	}
	for _, name := range want {
		if !slices.Contains(names, name) {
			t.Errorf("the list lacks %s: %v", name, names)
		}
	}
	var wait sync.WaitGroup
	var mu sync.Mutex
	refs := map[string]string{} // to the original's text
	for range 3 {
		for _, a := range asks {
			wait.Go(func() {
				got, result := through.outcome(t.Context(), a.name, a.args)
				if result != nil && result.Meta["io.github.spillway-mcp/cut"] != nil {
					mu.Lock()
					defer mu.Unlock()
					refs[result.Meta["io.github.spillway-mcp/cut"].(map[string]any)["ref"].(string)] = a.want
					return
				}
				if got != a.want {
					t.Errorf("%s:\ndirect  %.400s\nthrough %.400s", a.name, a.want, got)
				}
			})
		}
	}
	wait.Wait()
	if len(refs) == 0 {
		t.Error("nothing was cut")
	}
	for ref, original := range refs {
		got, result := through.outcome(t.Context(), "reducer_expand", map[string]any{"ref": ref})
		var first mcp.CallToolResult
		if err := json.Unmarshal([]byte(original), &first); err != nil || result == nil || len(first.Content) == 0 {
			t.Errorf("%s: %v: %.200s", ref, err, got)
			continue
		}
		whole, part := first.Content[0].(*mcp.TextContent).Text, result.Content[0].(*mcp.TextContent).Text
		if n := min(len(whole), 1000); !strings.Contains(part, whole[:n]) {
			t.Errorf("%s gives %.300q back, the original was %.300q", ref, part, whole)
		}
	}
	for _, s := range servers {
		if s.Interactive {
			goInteract(t, through, s, files)
		}
	}
}

// listed is the name that a tool of the server has behind the endpoint.
func (s endpointServer) listed(tool string) string {
	if names, ok := s.Clashes.([]string); s.Clashes == true || ok && slices.Contains(names, tool) {
		return s.Name + "_" + tool
	}
	return tool
}

// goInteract does what a session of its own with a server can.
func goInteract(t *testing.T, p *goPeer, s endpointServer, root string) {
	long := func(ctx context.Context, token string, duration float64, n int) error {
		params := &mcp.CallToolParams{Name: s.listed("trigger-long-running-operation"), Arguments: map[string]any{"duration": duration, "steps": n}}
		params.SetProgressToken(token)
		_, err := p.CallTool(ctx, params)
		return err
	}
	told := func(token string) []float64 {
		p.mu.Lock()
		defer p.mu.Unlock()
		return slices.Clone(p.progress[token])
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- long(ctx, s.Name+" endless", 60, 120) }()
	await(t, "progress of a call that is then cancelled", func() bool { return len(told(s.Name+" endless")) > 0 })
	cancel()
	select {
	case err := <-ended:
		if err == nil {
			t.Errorf("K65: %s: a cancelled call was answered", s.Name)
		}
	case <-time.After(patience):
		t.Fatalf("K65: %s: a cancelled call does not end", s.Name)
	}
	if err := long(t.Context(), s.Name+" short", 0.6, 3); err != nil {
		t.Errorf("%s: %v", s.Name, err)
	}
	await(t, "all progress of a call", func() bool { return slices.Equal(told(s.Name+" short"), []float64{1, 2, 3}) })
	for tool, want := range map[string]string{
		"trigger-elicitation-request": "Zoë", "trigger-sampling-request": "sampled by the client", "get-roots-list": root,
	} {
		args := map[string]any{}
		if tool == "trigger-sampling-request" {
			args = map[string]any{"prompt": "hello", "maxTokens": 10}
		}
		if got, _ := p.outcome(t.Context(), s.listed(tool), args); !strings.Contains(got, want) {
			t.Errorf("%s: %s gives %.300s, want %q in it", s.Name, tool, got, want)
		}
	}
}
