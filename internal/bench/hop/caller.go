package hop

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/spillway-mcp/spillway/internal/wire"
)

// caller is a client with one session and one connection.
type caller struct {
	ctx     context.Context
	way     Way
	client  http.Client
	session string
	names   map[string]string // of the tools, as the way shows them
	buf     bytes.Buffer
	size    int // of the last answer, in bytes
	id      int
}

func dial(ctx context.Context, w Way) (*caller, error) {
	c := &caller{ctx: ctx, way: w, names: map[string]string{}}
	c.client.Transport = &http.Transport{DisableCompression: true}
	c.client.Timeout = time.Minute
	if err := c.open(); err != nil {
		c.close()
		return nil, err
	}
	return c, nil
}

func (c *caller) close() { c.client.CloseIdleConnections() }

func (c *caller) open() error {
	if _, err := c.ask("initialize", `{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"bench","version":"1"}}`); err != nil {
		return err
	}
	resp, err := c.post(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	if err != nil {
		return err
	}
	resp.Body.Close()
	list, err := c.ask("tools/list", `{}`)
	if err != nil {
		return err
	}
	var said struct {
		Result struct{ Tools []struct{ Name string } }
	}
	if err := json.Unmarshal(list, &said); err != nil {
		return err
	}
	for _, tool := range Tools {
		for _, t := range said.Result.Tools {
			// Some show the tools of several servers under longer names.
			if t.Name == tool || strings.HasSuffix(t.Name, "_"+tool) || strings.HasSuffix(t.Name, ":"+tool) {
				c.names[tool] = t.Name
			}
		}
		if c.names[tool] == "" {
			return fmt.Errorf("tools/list has no tool %q", tool)
		}
	}
	return nil
}

func (c *caller) post(msg string) (*http.Response, error) {
	r, err := http.NewRequestWithContext(c.ctx, http.MethodPost, c.way.URL, strings.NewReader(msg))
	if err != nil {
		return nil, err
	}
	r.Header["Content-Type"] = []string{"application/json"}
	r.Header["Accept"] = []string{"application/json, text/event-stream"}
	if c.session != "" {
		r.Header["Mcp-Session-Id"] = []string{c.session}
		r.Header["Mcp-Protocol-Version"] = []string{"2025-11-25"}
	}
	if c.way.Token != "" {
		r.Header["Authorization"] = []string{"Bearer " + c.way.Token}
	}
	return c.client.Do(r)
}

// ask sends a request and returns the response, which is good until the next.
func (c *caller) ask(method, params string) ([]byte, error) {
	c.id++
	resp, err := c.post(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":%q,"params":%s}`, c.id, method, params))
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	c.buf.Reset()
	if _, err := c.buf.ReadFrom(resp.Body); err != nil {
		return nil, err
	}
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("status %s: %.200s", resp.Status, c.buf.Bytes())
	}
	if id := resp.Header.Get("Mcp-Session-Id"); id != "" {
		c.session = id
	}
	c.size = c.buf.Len()
	return response(c.buf.Bytes(), strings.HasPrefix(resp.Header.Get("Content-Type"), "text/event-stream"))
}

// response takes the response out of a body.
func response(body []byte, stream bool) ([]byte, error) {
	if stream {
		found := false
		for line := range bytes.Lines(body) {
			data, is := bytes.CutPrefix(line, []byte("data:"))
			if m, err := wire.Scan(data); is && err == nil && m.Kind == wire.Response {
				body, found = data, true
			}
		}
		if !found {
			return nil, errors.New("the stream ended without a response")
		}
	}
	m, err := wire.Scan(body)
	if err != nil {
		return nil, err
	}
	if !m.Result.Present() {
		return nil, fmt.Errorf("answered with an error: %.200s", m.Error.Of(body))
	}
	return body, nil
}

// calls calls a tool n times, and returns the median time in seconds until the
// answer was read, and until it was decoded. Calls without an answer are counted:
// a reverse proxy of net/http breaks some off. If all are, that is an error.
func (c *caller) calls(tool string, n int) (read, used float64, failed int, err error) {
	params := fmt.Sprintf(`{"name":%q,"arguments":{"query":"x"}}`, c.names[tool])
	var reads, uses []time.Duration
	for range n {
		began := time.Now()
		answer, err := c.ask("tools/call", params)
		took := time.Since(began)
		if err != nil {
			if failed++; failed == n {
				return 0, 0, failed, err
			}
			continue
		}
		var v any
		if err := json.Unmarshal(answer, &v); err != nil {
			return 0, 0, failed, err
		}
		reads, uses = append(reads, took), append(uses, time.Since(began))
	}
	slices.Sort(reads)
	slices.Sort(uses)
	return reads[len(reads)/2].Seconds(), uses[len(uses)/2].Seconds(), failed, nil
}
