package client

import (
	"context"
	"encoding/json"
	"fmt"
)

// Server is what a server says of itself.
type Server struct {
	Name     string // of serverInfo
	Version  string
	Revision string // the revision it chose
}

// Initialize does the handshake.
func (c *Client) Initialize(ctx context.Context, name, version string) (Server, error) {
	type implementation struct {
		Name    string `json:"name"`
		Version string `json:"version"`
	}
	result, err := c.Do(ctx, "initialize", map[string]any{
		"protocolVersion": Revision,
		"capabilities":    map[string]any{},
		"clientInfo":      implementation{name, version},
	})
	if err != nil {
		return Server{}, err
	}
	var said struct {
		ProtocolVersion string         `json:"protocolVersion"`
		ServerInfo      implementation `json:"serverInfo"`
	}
	if err := json.Unmarshal(result, &said); err != nil {
		return Server{}, fmt.Errorf("initialize: the server's answer: %w", err)
	}
	err = c.out.Frame([]byte(`{"jsonrpc":"2.0","method":"notifications/initialized"}`))
	return Server{said.ServerInfo.Name, said.ServerInfo.Version, said.ProtocolVersion}, err
}

// Tool is one entry of a tools/list.
type Tool struct {
	Name         string          `json:"name"`
	Description  string          `json:"description"`
	InputSchema  json.RawMessage `json:"inputSchema"`
	OutputSchema json.RawMessage `json:"outputSchema"` // nil where it declares none
	Annotations  struct {
		ReadOnly *bool `json:"readOnlyHint"` // nil where it does not say
	} `json:"annotations"`
}

// Tools lists every tool: see [Tools].
func (c *Client) Tools(ctx context.Context) ([]Tool, error) { return Tools(ctx, c) }

// Doer is a connection to a server after its handshake.
type Doer interface {
	Do(ctx context.Context, method string, params any) (json.RawMessage, error)
}

// Tools lists every tool of a server, all pages. A cursor that was given before ends it with an error (K41).
func Tools(ctx context.Context, c Doer) ([]Tool, error) {
	var all []Tool
	seen := map[string]bool{}
	var params map[string]any
	for {
		result, err := c.Do(ctx, "tools/list", params)
		if err != nil {
			return nil, err
		}
		var page struct {
			Tools      []Tool  `json:"tools"`
			NextCursor *string `json:"nextCursor"`
		}
		if err := json.Unmarshal(result, &page); err != nil {
			return nil, fmt.Errorf("tools/list: the server's answer: %w", err)
		}
		all = append(all, page.Tools...)
		if page.NextCursor == nil {
			return all, nil
		}
		if seen[*page.NextCursor] {
			return nil, fmt.Errorf("tools/list: the server gave the cursor %q twice, after %d tools", *page.NextCursor, len(all))
		}
		seen[*page.NextCursor] = true
		params = map[string]any{"cursor": *page.NextCursor}
	}
}

// Call calls a tool and returns the bytes of the CallToolResult.
func (c *Client) Call(ctx context.Context, tool string, arguments any) (json.RawMessage, error) {
	return c.Do(ctx, "tools/call", map[string]any{"name": tool, "arguments": arguments})
}
