package servers

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"sync/atomic"

	"github.com/spillway-mcp/spillway/internal/client"
	"github.com/spillway-mcp/spillway/internal/httpmcp"
	httpclient "github.com/spillway-mcp/spillway/internal/httpmcp/client"
	"github.com/spillway-mcp/spillway/internal/jsontape"
	"github.com/spillway-mcp/spillway/internal/operation"
	"github.com/spillway-mcp/spillway/internal/wire"
)

// DialHTTP connects to a server over HTTP, of whichever era it is.
func DialHTTP(ctx context.Context, opt httpclient.Options, name, version string) (Conn, error) {
	up, err := httpclient.New(opt)
	if err != nil {
		return nil, err
	}
	h := &httpConn{up: up, me: string(jsontape.AppendQuote(append(jsontape.AppendQuote([]byte(`{"name":`), name), `,"version":`...), version)) + "}"}
	ask := h.message("server/discover", wire.Splice([]byte(`{}`), wire.SetMember([]byte(`{}`), wire.Span{End: 2}, "_meta", h.meta(nil))))
	era, answer, err := up.Probe(ctx, httpclient.Outbound{Message: ask})
	if err != nil {
		up.Close()
		return nil, err
	}
	if h.modern = era == httpclient.Modern && !refusesModern(answer); !h.modern {
		if err := h.begin(ctx, nil); err != nil {
			up.Close()
			return nil, err
		}
	}
	return h, nil
}

// refusesModern reports whether a server that knows the newer era's errors
// says that it takes none of its revisions here: some do so where they keep
// sessions, and want the handshake.
func refusesModern(answer []byte) bool {
	doc, err := jsontape.Parse(answer)
	if err != nil {
		return false
	}
	supported := doc.Root().Lookup("error", "data", "supported")
	if !supported.Exists() {
		supported = doc.Root().Lookup("result", "supportedVersions")
	}
	if supported.Kind() != jsontape.Array {
		return false
	}
	for it := supported.Iter(); it.Next(); {
		if httpmcp.Modern(it.Value().Str()) {
			return false
		}
	}
	return true
}

// httpConn is a connection over HTTP.
type httpConn struct {
	up     *httpclient.Upstream
	me     string // clientInfo
	modern bool
	last   atomic.Int64

	mu      sync.Mutex
	session *httpclient.Session
}

func (h *httpConn) message(method string, params []byte) []byte {
	b := strconv.AppendInt([]byte(`{"jsonrpc":"2.0","id":`), h.last.Add(1), 10)
	b = jsontape.AppendQuote(append(b, `,"method":`...), method)
	if params != nil {
		b = append(append(b, `,"params":`...), params...)
	}
	return append(b, '}')
}

// meta is what every modern request says of its client, beside what it has.
func (h *httpConn) meta(had []byte) []byte {
	if len(had) == 0 {
		had = []byte("{}")
	}
	for _, m := range []struct{ key, value string }{
		{httpmcp.MetaRevision, `"` + httpmcp.ModernRevisions()[0] + `"`},
		{httpmcp.MetaCapabilities, "{}"},
		{"io.modelcontextprotocol/clientInfo", h.me},
	} {
		had = wire.Splice(had, wire.SetMember(had, wire.Span{End: len(had)}, m.key, []byte(m.value)))
	}
	return had
}

// begin opens a legacy session in place of lost, unless another call has.
func (h *httpConn) begin(ctx context.Context, lost *httpclient.Session) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.session != lost {
		return nil
	}
	s := h.up.Session(nil)
	hello := `{"protocolVersion":"` + client.Revision + `","capabilities":{},"clientInfo":` + h.me + `}`
	if _, err := send(ctx, "initialize", h.message("initialize", []byte(hello)), s.Send); err != nil {
		return err
	}
	done := httpclient.Outbound{Message: []byte(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)}
	if err := s.Send(ctx, done, httpclient.Answer{}); err != nil {
		return err
	}
	h.session = s
	return nil
}

// Do implements Conn.
func (h *httpConn) Do(ctx context.Context, method string, params any) (json.RawMessage, error) {
	raw, err := json.Marshal(params)
	if err != nil {
		return nil, err
	}
	if h.modern {
		all := wire.Span{End: len(raw)}
		meta := h.meta(append([]byte(nil), wire.Member(raw, all, "_meta").Of(raw)...))
		raw = wire.Splice(raw, wire.SetMember(raw, all, "_meta", meta))
		return send(ctx, method, h.message(method, raw), h.up.Stateless)
	}
	h.mu.Lock()
	s := h.session
	h.mu.Unlock()
	result, err := send(ctx, method, h.message(method, raw), s.Send)
	if errors.Is(err, httpclient.ErrSessionLost) { // it has not handled the message
		if err := h.begin(ctx, s); err != nil {
			return nil, &operation.CallError{Kind: "start", Err: err}
		}
		h.mu.Lock()
		s = h.session
		h.mu.Unlock()
		result, err = send(ctx, method, h.message(method, raw), s.Send)
	}
	return result, err
}

// send sends a request and reads its response.
func send(ctx context.Context, method string, msg []byte, by func(context.Context, httpclient.Outbound, httpclient.Answer) error) (json.RawMessage, error) {
	var last []byte
	err := by(ctx, httpclient.Outbound{Message: msg}, httpclient.Answer{Message: func(m []byte) { last = m }})
	var status *httpclient.StatusError
	switch {
	case errors.As(err, &status):
		return nil, &operation.CallError{Kind: "http", Status: status.Status, Text: status.Body, Err: err}
	case err != nil:
		return nil, err
	}
	m, err := wire.Scan(last)
	switch {
	case err != nil || m.Kind != wire.Response:
		return nil, fmt.Errorf("%s: %w", method, httpclient.ErrNoAnswer)
	case m.Error.Present():
		fault := &client.Error{Method: method}
		if err := json.Unmarshal(m.Error.Of(last), fault); err != nil {
			fault.Message = string(m.Error.Of(last))
		}
		return nil, fault
	}
	return m.Result.Of(last), nil
}

// Close implements Conn.
func (h *httpConn) Close() {
	h.mu.Lock()
	s := h.session
	h.mu.Unlock()
	if s != nil {
		_ = s.Close(context.Background())
	}
	h.up.Close()
}
