package wire

import (
	"errors"
	"fmt"
)

// Kind tells what a message is by the members it has.
type Kind uint8

// The kinds of message. A Batch is a JSON array of messages, legal up to
// revision 2025-03-26.
const (
	Invalid Kind = iota
	Request
	Notification
	Response
	Batch
)

// A Message holds the spans of the members of one JSON-RPC message, over the
// bytes it was scanned from. Strings keep their quotes, ids their digits.
type Message struct {
	Kind                                       Kind
	JSONRPC, ID, Method, Params, Result, Error Span
}

// ErrNotMessage is wrapped by every error of [Scan].
var ErrNotMessage = errors.New("not a JSON-RPC message")

// Scan finds the top-level members of one message. It is shallow: it walks
// over nested values by their quotes and brackets alone, and so it accepts some
// bytes that are no JSON further inside; on valid JSON its spans are exact. Of
// a repeated member the last wins. It allocates nothing when it succeeds.
//
// A frame that is not an object with the members of a request, notification or
// response, nor an array of at least one object, is an error: on a server's
// stdout that is a banner line (K64).
func Scan(src []byte) (Message, error) {
	i := skipSpace(src, 0)
	if i == len(src) {
		return Message{}, fmt.Errorf("%w: empty", ErrNotMessage)
	}
	switch src[i] {
	case '{':
		return scanObject(src, i)
	case '[':
		return scanBatch(src, i)
	}
	return Message{}, fmt.Errorf("%w: starts with %q, want { or [", ErrNotMessage, src[i])
}

// ScanAt is [Scan] for the element of a batch that stands at sp; the spans of
// the message are over src.
func ScanAt(src []byte, sp Span) (Message, error) {
	m, err := Scan(src[:sp.End][sp.Start:])
	if err != nil {
		return m, err
	}
	for _, s := range []*Span{&m.JSONRPC, &m.ID, &m.Method, &m.Params, &m.Result, &m.Error} {
		if s.Present() {
			s.Start += sp.Start
			s.End += sp.Start
		}
	}
	return m, nil
}

func scanObject(src []byte, at int) (Message, error) {
	var m Message
	it := membersAt(src, at)
	for it.Next() {
		m.Set(it.Key(), it.Value())
	}
	if it.bad {
		return Message{}, fmt.Errorf("%w: broken at byte %d", ErrNotMessage, it.pos)
	}
	if end := skipSpace(src, it.pos); end != len(src) {
		return Message{}, fmt.Errorf("%w: more than one value, at byte %d", ErrNotMessage, end)
	}
	err := m.Classify(src)
	return m, err
}

// Set takes the member named key, as it is written, into the message.
func (m *Message) Set(key []byte, v Span) {
	switch {
	case StringIs(key, "jsonrpc"):
		m.JSONRPC = v
	case StringIs(key, "id"):
		m.ID = v
	case StringIs(key, "method"):
		m.Method = v
	case StringIs(key, "params"):
		m.Params = v
	case StringIs(key, "result"):
		m.Result = v
	case StringIs(key, "error"):
		m.Error = v
	}
}

// Classify sets the kind of a message whose members over src have been set. It
// fails, and leaves an empty message, where they are those of no message.
func (m *Message) Classify(src []byte) error {
	switch {
	case m.Method.Present() && src[m.Method.Start] == '"':
		m.Kind = Notification
		if m.ID.Present() {
			m.Kind = Request
		}
	case m.Result.Present() || m.Error.Present():
		m.Kind = Response
	default:
		*m = Message{}
		return fmt.Errorf("%w: an object without method, result or error", ErrNotMessage)
	}
	return nil
}

func scanBatch(src []byte, at int) (Message, error) {
	it := elementsAt(src, at)
	n := 0
	for it.Next() {
		if src[it.Value().Start] != '{' {
			return Message{}, fmt.Errorf("%w: an array with an element that is no object", ErrNotMessage)
		}
		n++
	}
	if it.bad {
		return Message{}, fmt.Errorf("%w: broken at byte %d", ErrNotMessage, it.pos)
	}
	if end := skipSpace(src, it.pos); end != len(src) || n == 0 {
		return Message{}, fmt.Errorf("%w: an array that is no batch", ErrNotMessage)
	}
	return Message{Kind: Batch}, nil
}
