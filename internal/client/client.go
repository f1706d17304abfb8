// Package client is a small MCP client over two pipes, for the commands that ask a server something themselves:
// check --live and demo. It speaks the handshake of revision 2025-11-25, which servers of every revision before
// 2026-07-28 answer and later ones may. It keeps the bytes of every result, and is no part of the proxy.
package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"sync"

	"github.com/spillway-mcp/spillway/internal/wire"
)

// Revision is the protocol revision the client asks for.
const Revision = "2025-11-25"

// ErrHungUp says that the server closed its input, or its output while an answer was due.
var ErrHungUp = errors.New("the server hung up")

// Error is a JSON-RPC error that the server answered with.
type Error struct {
	Method  string
	Code    json.Number `json:"code"`
	Message string      `json:"message"`
}

func (e *Error) Error() string {
	return fmt.Sprintf("%s: the server answered error %s: %s", e.Method, e.Code, e.Message)
}

// Client is one connection. Its methods may be called from many goroutines.
type Client struct {
	out *wire.Writer

	mu      sync.Mutex
	last    int
	waiting map[wire.IDKey]chan answer
	ended   error // why reading ended
}

type answer struct {
	result []byte
	fault  []byte // the error object, where that came
}

// New returns a client that writes to the server's stdin and reads its stdout, until that ends.
func New(stdin io.Writer, stdout io.Reader) *Client {
	c := &Client{out: wire.NewWriter(stdin), waiting: map[wire.IDKey]chan answer{}}
	go c.read(wire.NewReader(stdout, 0))
	return c
}

func (c *Client) read(r *wire.Reader) {
	for {
		frame, err := r.Next()
		var large *wire.TooLargeError
		if errors.As(err, &large) {
			c.deliver(wire.KeyOf(large.ID), answer{fault: fmt.Appendf(nil, `{"code":0,"message":%q}`, large.Error())})
			continue
		}
		if err != nil {
			c.end(err)
			return
		}
		body := frame.Body()
		m, err := wire.Scan(body)
		if err != nil {
			continue // a banner line
		}
		switch m.Kind {
		case wire.Response:
			c.deliver(wire.KeyOf(m.ID.Of(body)), answer{m.Result.Of(body), m.Error.Of(body)})
		case wire.Request:
			c.refuse(m.ID.Of(body), m.Method.Of(body))
		}
	}
}

func (c *Client) end(err error) {
	if errors.Is(err, io.EOF) {
		err = ErrHungUp
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ended = err
	for key, ch := range c.waiting {
		close(ch)
		delete(c.waiting, key)
	}
}

func (c *Client) deliver(key wire.IDKey, a answer) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if ch, ok := c.waiting[key]; ok {
		ch <- a // buffered, and only ever sent to once
		delete(c.waiting, key)
	}
}

// refuse answers a request of the server: this client declares no capabilities, so only ping is due an answer.
func (c *Client) refuse(id, method []byte) {
	reply := `,"error":{"code":-32601,"message":"method not found"}}`
	if wire.StringIs(method, "ping") {
		reply = `,"result":{}}`
	}
	c.out.Frame([]byte(`{"jsonrpc":"2.0","id":`), id, []byte(reply)) // an error shows at the next request
}

// Do sends one request and returns the bytes of its result. params is anything that encodes as JSON, or nil.
func (c *Client) Do(ctx context.Context, method string, params any) (json.RawMessage, error) {
	body, err := encode(params)
	if err != nil {
		return nil, err
	}
	ch := make(chan answer, 1)
	c.mu.Lock()
	if c.ended != nil {
		c.mu.Unlock()
		return nil, fmt.Errorf("%s: %w", method, c.ended)
	}
	c.last++
	id := strconv.Itoa(c.last)
	key := wire.KeyOf([]byte(id))
	c.waiting[key] = ch
	c.mu.Unlock()

	if err := c.out.Frame([]byte(`{"jsonrpc":"2.0","id":`+id+`,"method":"`+method+`"`), body, []byte(`}`)); err != nil {
		return nil, fmt.Errorf("%s: %w (%v)", method, ErrHungUp, err)
	}
	select {
	case <-ctx.Done():
		c.mu.Lock()
		delete(c.waiting, key)
		c.mu.Unlock()
		return nil, fmt.Errorf("%s: no answer: %w", method, context.Cause(ctx))
	case a, ok := <-ch:
		switch {
		case !ok:
			return nil, fmt.Errorf("%s: %w", method, c.ended)
		case a.fault != nil:
			fault := &Error{Method: method}
			if err := json.Unmarshal(a.fault, fault); err != nil {
				fault.Message = string(a.fault)
			}
			return nil, fault
		}
		return a.result, nil
	}
}

// encode returns params as the member that a request ends with. There is no "params":null: servers drop such a
// request without an answer.
func encode(params any) ([]byte, error) {
	raw, err := json.Marshal(params)
	if err != nil || string(raw) == "null" {
		return nil, err
	}
	return append([]byte(`,"params":`), raw...), nil
}
