package proxy

import (
	"bytes"
	"sync"

	"github.com/spillway-mcp/spillway/internal/jsontape"
	"github.com/spillway-mcp/spillway/internal/wire"
)

// ahead parses the server's long messages while they arrive: when the last byte
// of one is there, little is left to do. It is of use to one goroutine, the one
// that reads.
type ahead struct {
	doc *jsontape.Doc // nil: no message, or one that is not valid JSON
	fed int           // bytes of it
}

const (
	// aheadStep is how many bytes have to arrive before they are looked at. A
	// number that has not ended is read from its start each time.
	aheadStep = 128 << 10
	// aheadMost is the size in bytes up to which messages are parsed so; what a
	// very long one needs is held for as short as can be.
	aheadMost = 8 << 20
)

var aheadDocs = sync.Pool{New: func() any { return new(jsontape.Doc) }}

// Begin implements [wire.Follower].
func (a *ahead) Begin(size int) {
	if a.doc == nil {
		a.doc = aheadDocs.Get().(*jsontape.Doc)
	}
	a.doc.Begin(size)
	a.fed = 0
}

// More implements [wire.Follower].
func (a *ahead) More(soFar []byte) {
	if a.doc == nil || len(soFar)-a.fed < aheadStep {
		return
	}
	a.fed = len(soFar)
	// A carriage return may turn out to belong to the line's end.
	if a.doc.Feed(bytes.TrimSuffix(soFar, []byte{'\r'}), jsontape.Limits{}) != nil {
		a.Drop()
	}
}

// Drop implements [wire.Follower].
func (a *ahead) Drop() {
	if a.doc != nil {
		aheadDocs.Put(a.doc)
		a.doc = nil
	}
}

// take returns body, a frame that was just read, as it was parsed; nil where it
// was not, or is no JSON.
func (a *ahead) take(body []byte) *parsed {
	d := a.doc
	if d == nil {
		return nil
	}
	if len(body) > aheadMost || d.Finish(body, jsontape.Limits{}) != nil {
		a.Drop()
		return nil
	}
	a.doc = nil
	return &parsed{d}
}

// parsed is a message with its document; nil is one without.
type parsed struct{ doc *jsontape.Doc }

// message finds what [wire.Scan] finds, without another look at the bytes. It
// reports false for what it leaves to Scan.
func (p *parsed) message(body []byte) (m wire.Message, ok bool) {
	if p == nil || p.doc.Root().Kind() != jsontape.Object {
		return m, false
	}
	for it := p.doc.Root().Iter(); it.Next(); {
		from, to := it.Value().Span()
		m.Set(it.Key().Raw(), wire.Span{Start: from, End: to})
	}
	return m, m.Classify(body) == nil
}

// at returns the value at sp if that is the message's result, else the zero
// Value.
func (p *parsed) at(sp wire.Span) jsontape.Value {
	if p == nil || p.doc == nil {
		return jsontape.Value{}
	}
	v := p.doc.Root().Get("result")
	if from, to := v.Span(); from != sp.Start || to != sp.End {
		return jsontape.Value{}
	}
	return v
}

// free ends the use of the document and of every value of it.
func (p *parsed) free() {
	if p != nil {
		aheadDocs.Put(p.doc)
		p.doc = nil
	}
}
