package peertest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/spillway-mcp/spillway/internal/httpmcp/sse"
)

// httpCaller is a raw client of an MCP endpoint over Streamable HTTP, in revision
// 2025-11-25.
type httpCaller struct {
	web     *http.Client
	url     string
	token   string
	session string
}

// post sends one message and gives each that comes back to on, which says
// whether to go on.
func (c *httpCaller) post(ctx context.Context, body string, on func(msg []byte) bool) error {
	r, err := http.NewRequestWithContext(ctx, "POST", c.url, strings.NewReader(body))
	if err != nil {
		return err
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	r.Header.Set("Authorization", "Bearer "+c.token)
	if c.session != "" {
		r.Header.Set("Mcp-Session-Id", c.session)
		r.Header.Set("MCP-Protocol-Version", "2025-11-25")
	}
	resp, err := c.web.Do(r)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if id := resp.Header.Get("Mcp-Session-Id"); id != "" {
		c.session = id
	}
	switch {
	case resp.StatusCode == http.StatusAccepted:
		return nil
	case resp.StatusCode != http.StatusOK:
		text, _ := io.ReadAll(resp.Body)
		return fmt.Errorf("%s: %s", resp.Status, text)
	case resp.Header.Get("Content-Type") != "text/event-stream":
		text, err := io.ReadAll(resp.Body)
		if err == nil {
			on(text)
		}
		return err
	}
	for events := sse.NewReader(resp.Body, 0); ; {
		ev, err := events.Next()
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		case len(ev.Data) > 0 && !on(ev.Data):
			return nil
		}
	}
}

// ask sends a request and returns the answer with this id, and what came before.
func (c *httpCaller) ask(ctx context.Context, id int, method, params string) (answer message, before []message, err error) {
	body := fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":%q,"params":%s}`, id, method, params)
	found := false
	var fault error
	err = c.post(ctx, body, func(msg []byte) bool {
		var m message
		if fault = json.Unmarshal(msg, &m); fault != nil {
			return false
		}
		if m.Method != "" {
			before = append(before, m)
			return true
		}
		if found || string(m.ID) != fmt.Sprint(id) {
			fault = fmt.Errorf("%s %d was sent the answer %.300s", method, id, msg)
			return false
		}
		answer, found = m, true
		return true
	})
	if err = errors.Join(err, fault); err == nil && !found {
		err = fmt.Errorf("%s %d: the response ended without an answer", method, id)
	}
	return answer, before, err
}

// tell sends a notification.
func (c *httpCaller) tell(ctx context.Context, method, params string) error {
	return c.post(ctx, `{"jsonrpc":"2.0","method":"`+method+`","params":`+params+`}`, func([]byte) bool { return true })
}

// open makes the handshake.
func (c *httpCaller) open(ctx context.Context) error {
	m, _, err := c.ask(ctx, 0, "initialize", `{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"load","version":"1"}}`)
	if err != nil {
		return err
	}
	if m.Error != nil {
		return fmt.Errorf("initialize: %s", m.Error)
	}
	return c.tell(ctx, "notifications/initialized", "{}")
}

// end ends the session.
func (c *httpCaller) end(ctx context.Context) error {
	r, err := http.NewRequestWithContext(ctx, "DELETE", c.url, nil)
	if err != nil {
		return err
	}
	r.Header.Set("Authorization", "Bearer "+c.token)
	r.Header.Set("Mcp-Session-Id", c.session)
	resp, err := c.web.Do(r)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode/100 != 2 {
		return fmt.Errorf("the end of a session: %s", resp.Status)
	}
	return nil
}

// called is as much of a tool's result as the tests look at.
type called struct {
	Content []struct{ Type, Text string } `json:"content"`
	IsError bool                          `json:"isError"`
}

// text joins the texts of a result.
func (m message) text() (string, bool) {
	var r called
	if m.Result == nil || json.Unmarshal(m.Result, &r) != nil {
		return "", false
	}
	var all []string
	for _, c := range r.Content {
		all = append(all, c.Text)
	}
	return strings.Join(all, "\n"), r.IsError
}

// fault is the error of a response.
type fault struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
}

func (m message) fault() (f fault) {
	if m.Error != nil {
		_ = json.Unmarshal(m.Error, &f)
	}
	return f
}
