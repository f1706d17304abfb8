package gateway

import (
	"bytes"
	"strconv"
	"strings"

	"github.com/spillway-mcp/spillway/internal/httpmcp"
	"github.com/spillway-mcp/spillway/internal/jsontape"
	"github.com/spillway-mcp/spillway/internal/wire"
)

// The codes of the errors that the gateway itself answers with. They go on where
// those of package proxy end.
const (
	CodeUpstreamGone = -31001 // the upstream ended, or its connection did, before it answered
	CodeStopped      = -31003 // Spillway stops
	CodeUpstreamDown = -31004 // the upstream is down, or did not start in time
	CodeOtherEra     = -31005 // the upstream speaks only revisions of the other era
	CodeSessionLost  = -31006 // the upstream forgot its session, and the call is not safe to repeat (K61)
	CodeCancelled    = -31007 // the client gave the request up; ends its HTTP response
)

func errorf(code int, format string, args ...any) *httpmcp.Error {
	return httpmcp.Errorf(code, format, args...)
}

func request(id, method string, params []byte) []byte {
	b := append([]byte(`{"jsonrpc":"2.0","id":`), id...)
	b = jsontape.AppendQuote(append(b, `,"method":`...), method)
	if params != nil {
		b = append(append(b, `,"params":`...), params...)
	}
	return append(b, '}')
}

func notification(method string, params []byte) []byte {
	b := jsontape.AppendQuote([]byte(`{"jsonrpc":"2.0","method":`), method)
	if params != nil {
		b = append(append(b, `,"params":`...), params...)
	}
	return append(b, '}')
}

func result(id, value []byte) []byte {
	b := append([]byte(`{"jsonrpc":"2.0","id":`), id...)
	b = append(append(b, `,"result":`...), value...)
	return append(b, '}')
}

// replace returns msg with the bytes at sp replaced.
func replace(msg []byte, sp wire.Span, with []byte) []byte {
	return wire.Splice(msg, wire.Edit{Span: sp, With: with})
}

// setID returns a message, whose spans are m, with another id, and its spans.
func setID(msg []byte, m wire.Message, id []byte) ([]byte, wire.Message) {
	at, by := m.ID.End, len(id)-(m.ID.End-m.ID.Start)
	if by == 0 && bytes.Equal(m.ID.Of(msg), id) {
		return msg, m
	}
	msg = replace(msg, m.ID, id)
	for _, sp := range []*wire.Span{&m.JSONRPC, &m.Method, &m.Params, &m.Result, &m.Error} {
		if sp.Start >= at {
			sp.Start += by
			sp.End += by
		}
	}
	m.ID.End = m.ID.Start + len(id)
	return msg, m
}

func methodOf(msg []byte, m wire.Message) string { return wire.Text(m.Method.Of(msg)) }

// text returns a string member of the object at sp.
func text(msg []byte, sp wire.Span, keys ...string) string {
	return wire.Text(wire.Path(msg, sp, keys...).Of(msg))
}

func whole(b []byte) wire.Span { return wire.Span{End: len(b)} }

func isObject(msg []byte, sp wire.Span) bool { return sp.Present() && msg[sp.Start] == '{' }

// oneLine makes a message fit for a stream that is framed by newlines. White
// space is the only place where JSON has any.
func oneLine(msg []byte) []byte {
	if bytes.IndexByte(msg, '\n') < 0 && bytes.IndexByte(msg, '\r') < 0 {
		return msg
	}
	msg = bytes.ReplaceAll(msg, []byte{'\n'}, []byte{' '})
	return bytes.ReplaceAll(msg, []byte{'\r'}, []byte{' '})
}

func numberID(n uint64) []byte { return strconv.AppendUint(nil, n, 10) }

// ownPrefix heads the ids of requests that are our own.
const ownPrefix = "spillway:"

func ownID(n uint64) []byte {
	return append(strconv.AppendUint([]byte(`"`+ownPrefix), n, 10), '"')
}

// clip cuts a text for a message.
func clip(s string, n int) string {
	s = strings.Join(strings.Fields(s), " ")
	if len(s) > n {
		return s[:n] + "…"
	}
	return s
}

// array joins raw values to an array.
func array(items [][]byte) []byte {
	b := append([]byte{'['}, bytes.Join(items, []byte{','})...)
	return append(b, ']')
}

// object writes an object of raw members, in pairs of name and value.
type object struct{ b []byte }

func (o *object) set(name string, value []byte) {
	if len(value) == 0 {
		return
	}
	if o.b == nil {
		o.b = []byte{'{'}
	}
	if len(o.b) > 1 {
		o.b = append(o.b, ',')
	}
	o.b = append(append(jsontape.AppendQuote(o.b, name), ':'), value...)
}

func (o *object) setText(name, value string) { o.set(name, jsontape.AppendQuote(nil, value)) }

func (o *object) bytes() []byte {
	if o.b == nil {
		return []byte("{}")
	}
	return append(o.b[:len(o.b):len(o.b)], '}')
}
