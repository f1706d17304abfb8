// Package servers reaches the MCP servers that operations call: each is
// started when it is first called, once, and all end with Close. Where they
// come from is the caller's business.
package servers

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"

	"github.com/spillway-mcp/spillway/internal/client"
	"github.com/spillway-mcp/spillway/internal/operation"
)

// Conn is one connection to a server, after its handshake.
type Conn interface {
	// Do sends a request and returns the bytes of its result. params is
	// anything that encodes as JSON.
	Do(ctx context.Context, method string, params any) (json.RawMessage, error)
	// Close ends the server.
	Close()
}

// Start starts a server by its name in the configuration. Its context is for
// the start alone.
type Start func(ctx context.Context, server string) (Conn, error)

// Pool is an [operation.Caller]. It is safe for concurrent use.
type Pool struct {
	start Start

	mu     sync.Mutex
	closed bool
	conns  map[string]*entry
}

type entry struct {
	ready chan struct{}
	conn  Conn
	err   error
}

// New returns a Pool that starts servers with start.
func New(start Start) *Pool { return &Pool{start: start, conns: map[string]*entry{}} }

// CallTool implements [operation.Caller]. A server that has ended is started
// again for the next call; the call that met its end is not made twice.
func (p *Pool) CallTool(ctx context.Context, server, tool string, arguments, meta []byte) ([]byte, error) {
	e, err := p.get(ctx, server)
	if err != nil {
		return nil, &operation.CallError{Kind: "start", Err: err}
	}
	params := struct {
		Name      string          `json:"name"`
		Arguments json.RawMessage `json:"arguments"`
		Meta      json.RawMessage `json:"_meta,omitempty"`
	}{tool, arguments, meta}
	if err := operation.Overdue(ctx); err != nil {
		return nil, &operation.CallError{Kind: "transport", Err: err}
	}
	result, err := e.conn.Do(ctx, "tools/call", params)
	var fault *client.Error
	var ce *operation.CallError
	switch {
	case err == nil:
		return result, nil
	case errors.As(err, &ce):
		return nil, ce
	case errors.As(err, &fault):
		return nil, &operation.CallError{Kind: "rpc", Code: fault.Code.String(), Text: fault.Message}
	case errors.Is(err, client.ErrHungUp):
		p.drop(server, e)
	}
	return nil, &operation.CallError{Kind: "transport", Err: err}
}

func (p *Pool) get(ctx context.Context, server string) (*entry, error) {
	p.mu.Lock()
	if p.closed {
		p.mu.Unlock()
		return nil, errors.New("the servers are being ended")
	}
	e := p.conns[server]
	if e == nil {
		e = &entry{ready: make(chan struct{})}
		p.conns[server] = e
		// The first call's end must not fail the calls that wait with it.
		go p.open(context.WithoutCancel(ctx), server, e)
	}
	p.mu.Unlock()
	select {
	case <-e.ready:
		return e, e.err
	case <-ctx.Done():
		return nil, fmt.Errorf("server %s is not ready: %w", server, context.Cause(ctx))
	}
}

func (p *Pool) open(ctx context.Context, server string, e *entry) {
	conn, err := p.start(ctx, server)
	p.mu.Lock()
	defer p.mu.Unlock()
	if err == nil && p.closed {
		conn.Close()
		err = errors.New("the servers are being ended")
	}
	if err != nil && p.conns[server] == e {
		delete(p.conns, server) // the next call tries again
	}
	e.conn, e.err = conn, err
	close(e.ready)
}

func (p *Pool) drop(server string, e *entry) {
	p.mu.Lock()
	mine := p.conns[server] == e
	if mine {
		delete(p.conns, server)
	}
	p.mu.Unlock()
	if mine {
		e.conn.Close()
	}
}

// Close ends all servers and returns when they are gone. A server that is just
// being started is ended when it has.
func (p *Pool) Close() {
	p.mu.Lock()
	p.closed = true
	all := p.conns
	p.conns = map[string]*entry{}
	p.mu.Unlock()
	var wg sync.WaitGroup
	for _, e := range all {
		select {
		case <-e.ready:
			if e.conn != nil {
				wg.Go(e.conn.Close)
			}
		default:
		}
	}
	wg.Wait()
}
