package proxy

import (
	"fmt"
	"strconv"
	"time"

	"github.com/spillway-mcp/spillway/internal/jsontape"
	"github.com/spillway-mcp/spillway/internal/ledger"
	"github.com/spillway-mcp/spillway/internal/operation/mcpface"
	"github.com/spillway-mcp/spillway/internal/wire"
)

// The codes of the errors that Spillway itself answers with. They stay outside
// the range that JSON-RPC and MCP keep for themselves, -32768 to -32000.
const (
	CodeUpstreamGone = -31001 // the server ended, or closed its streams, before it answered
	CodeTooLarge     = -31002 // a message over the limit of a frame
	CodeStopped      = -31003 // Spillway stops
	CodeBroken       = -31008 // an answer that is not valid JSON
)

// fail answers the request id with an error.
func (s *session) fail(id []byte, code int, format string, args ...any) {
	s.answerTo(id, errorMessage(id, code, fmt.Sprintf(format, args...)))
}

func errorMessage(id []byte, code int, text string) []byte {
	b := append([]byte(`{"jsonrpc":"2.0","id":`), id...)
	b = append(b, `,"error":{"code":`...)
	b = strconv.AppendInt(b, int64(code), 10)
	b = jsontape.AppendQuote(append(b, `,"message":`...), text)
	return append(b, `}}`...)
}

// faultMessage is an error that an operation's face answers with.
func faultMessage(id []byte, f *mcpface.Fault) []byte {
	b := errorMessage(id, f.Code, f.Message)
	if f.Data == nil {
		return b
	}
	b = append(append(b[:len(b)-2], `,"data":`...), f.Data...)
	return append(b, `}}`...)
}

// answerAbandoned tells the callers whose answer will never come why.
func (s *session) answerAbandoned() {
	calls := s.takeAll()
	if len(calls) == 0 {
		return
	}
	code, why := CodeStopped, "spillway was stopped while the call was in flight"
	if s.mute.Load() {
		code, why = CodeUpstreamGone, "server "+s.opt.Upstream.Name()+" closed its stdout while the call was in flight"
	} else if e := s.opt.Upstream.Exit(); e != nil && !s.stopping.Load() {
		code, why = CodeUpstreamGone, e.How()+" while the call was in flight"
		if e.LastWords != "" {
			why += "; its last words: " + lastBytes(e.LastWords, 1000)
		}
	}
	for _, c := range calls {
		s.abandon(c, code, why)
	}
}

// abandon answers a call that the server will not. One that the client has
// cancelled it does not wait for.
func (s *session) abandon(c *call, code int, why string) {
	c.answered = time.Now()
	if !c.cancelled && c.kind != ownPage {
		s.fail(c.id, code, "%s", why)
	}
	s.accountStopped(c)
}

// lastBytes returns whole characters from the end of text, at most n bytes.
func lastBytes(text string, n int) string {
	if len(text) <= n {
		return text
	}
	text = text[len(text)-n:]
	for i := range text {
		if i > 0 {
			return "…" + text[i:]
		}
	}
	return text
}

func (s *session) tooLargeFromServer(e *wire.TooLargeError) {
	defer s.release(e.Limit)
	s.opt.Log.Error("message of the server dropped", "bytes", e.Size, "limit", e.Limit, "id", string(e.ID), "method", string(e.Method))
	if e.Method == nil {
		s.unusable(e.ID, e.Size, CodeTooLarge, fmt.Sprintf("the server's answer of %d bytes is over the limit of %d bytes a message (max_frame)", e.Size, e.Limit))
	}
}

// brokenFromServer handles a line that is no message: a banner, or an answer
// that is broken inside, whose caller would else wait for ever.
func (s *session) brokenFromServer(body []byte, err error) {
	s.opt.Log.Warn("line on the server's stdout skipped, it is no message", "server", s.opt.Upstream.Name(), "err", err, "line", clip(body, 200))
	if id, method := wire.Skim(body); method == nil {
		s.unusable(id, int64(len(body)), CodeBroken, "the server's answer is not valid JSON: "+err.Error())
	}
}

// unusable answers the request id, if it waits, in place of the server.
func (s *session) unusable(id []byte, size int64, code int, why string) {
	if id == nil {
		return
	}
	switch c := s.take(wire.KeyOf(id)); {
	case c == nil:
	case c.kind == ownPage:
		s.ownDone()
	default:
		c.answered = time.Now()
		s.fail(c.id, code, "%s", why)
		if c.kind == tool {
			s.accountCall(c, ledger.EventError, ledger.OutcomeError, func(l *ledger.Line) { l.BytesIn = size })
		}
	}
}

func (s *session) tooLargeFromClient(e *wire.TooLargeError) {
	defer s.release(e.Limit)
	s.opt.Log.Error("message of the client dropped", "bytes", e.Size, "limit", e.Limit, "id", string(e.ID), "method", string(e.Method))
	if e.ID != nil && e.Method != nil {
		s.fail(e.ID, CodeTooLarge, "the request of %d bytes is over the limit of %d bytes a message (max_frame)", e.Size, e.Limit)
	}
}
