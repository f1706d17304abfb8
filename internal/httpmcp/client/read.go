package client

import (
	"context"
	"errors"
	"io"
	"mime"
	"net/http"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/spillway-mcp/spillway/internal/httpmcp"
	"github.com/spillway-mcp/spillway/internal/wire"
)

// firstBuffer bounds what is reserved for an answer on the word of its header.
const firstBuffer = 1 << 20

const chunkSize = 64 << 10

var chunks = sync.Pool{New: func() any { return new([chunkSize]byte) }}

// whole reads an answer that is no stream, in memory of its own.
func (u *Upstream) whole(resp *http.Response) ([]byte, error) {
	n := resp.ContentLength
	switch {
	case n > int64(u.opt.MaxFrame):
		return nil, &TooLargeError{Size: n, Limit: u.opt.MaxFrame}
	case n >= 0 && n <= firstBuffer:
		buf := make([]byte, n)
		_, err := io.ReadFull(resp.Body, buf)
		if n == 0 && err == io.EOF {
			err = nil
		}
		return buf, err
	}
	// Its length is not known: pieces are joined once, when it is.
	var full []*[chunkSize]byte
	defer func() {
		for _, c := range full {
			chunks.Put(c)
		}
	}()
	for size := 0; ; {
		c := chunks.Get().(*[chunkSize]byte)
		full = append(full, c)
		got, err := fill(resp.Body, c[:])
		size += got
		switch {
		case size > u.opt.MaxFrame:
			rest, _ := io.Copy(io.Discard, io.LimitReader(resp.Body, int64(u.opt.MaxFrame)))
			return nil, &TooLargeError{Size: int64(size) + rest, Limit: u.opt.MaxFrame}
		case err == io.EOF:
			body := make([]byte, 0, size)
			for _, c := range full {
				body = append(body, c[:min(chunkSize, size-len(body))]...)
			}
			return body, nil
		case err != nil:
			return nil, err
		}
	}
}

// fill reads until p is full. Unlike io.ReadFull it leaves the error as it is:
// io.EOF is the end, and io.ErrUnexpectedEOF an answer that was cut short.
func fill(r io.Reader, p []byte) (n int, err error) {
	for n < len(p) && err == nil {
		var got int
		got, err = r.Read(p[n:])
		n += got
	}
	return n, err
}

// media is the media type of an answer.
func media(h http.Header) string {
	t := h.Get("Content-Type")
	if t == "application/json" || t == "text/event-stream" {
		return t
	}
	kind, _, err := mime.ParseMediaType(t)
	if err != nil {
		kind, _, _ = strings.Cut(t, ";")
	}
	return strings.ToLower(strings.TrimSpace(kind))
}

// maxErrorBody is the size in bytes to which the body of a refusal is read.
const maxErrorBody = 64 << 10

// refusal reads an answer whose status is no success: a JSON-RPC error, which is
// returned as the response to the request with this id, or a *StatusError. It
// reports too whether the body is what servers say of a session unknown to them:
// 404 by the specification, and 400 in a form that is widespread.
func (u *Upstream) refusal(resp *http.Response, id []byte) (response []byte, forgotten bool, err error) {
	body, _ := io.ReadAll(io.LimitReader(resp.Body, maxErrorBody))
	_ = resp.Body.Close()
	se := &StatusError{Name: u.opt.Name, Status: resp.StatusCode}
	if resp.StatusCode == http.StatusUnauthorized || resp.StatusCode == http.StatusForbidden {
		se.Challenge = resp.Header.Get("WWW-Authenticate")
	} else if m, err := wire.Scan(body); err == nil && m.Kind == wire.Response && m.Error.Present() && id != nil {
		return own(body, m, id), unknownSession(resp.StatusCode, body), nil
	}
	se.Body = excerpt(body)
	return nil, unknownSession(resp.StatusCode, body), se
}

// own gives a response with a null id the request's.
func own(body []byte, m wire.Message, id []byte) []byte {
	switch {
	case !m.ID.Present():
		return wire.Splice(body, wire.SetMember(body, wire.Span{End: len(body)}, "id", id))
	case string(m.ID.Of(body)) == "null":
		return wire.Splice(body, wire.Edit{Span: m.ID, With: id})
	}
	return body
}

// excerpt is the start of a text, on one line.
func excerpt(body []byte) string {
	if len(body) > 200 {
		body = body[:200]
	}
	s := strings.Join(strings.Fields(strings.ToValidUTF8(string(body), "")), " ")
	if !utf8.ValidString(s) || strings.ContainsFunc(s, func(r rune) bool { return r < ' ' }) {
		return ""
	}
	return s
}

func unknownSession(status int, body []byte) bool {
	if status == http.StatusNotFound {
		return true
	}
	m, err := wire.Scan(body)
	if status != http.StatusBadRequest || err != nil {
		return false
	}
	code, _ := httpmcp.ErrorCode(body, m)
	text := strings.ToLower(wire.Text(wire.Member(body, m.Error, "message").Of(body)))
	return (code == -32000 || code == -32001) && (strings.Contains(text, "session") || strings.Contains(text, "not initialized"))
}

// watched is a body that ends with an error when it is silent for too long.
type watched struct {
	io.ReadCloser
	timer  *time.Timer
	silent time.Duration
}

var errSilent = errors.New("the upstream was silent for too long")

func (u *Upstream) watch(body io.ReadCloser, end context.CancelCauseFunc) io.ReadCloser {
	if u.opt.SilentTime <= 0 {
		return body
	}
	return &watched{body, time.AfterFunc(u.opt.SilentTime, func() { end(errSilent) }), u.opt.SilentTime}
}

func (w *watched) Read(p []byte) (int, error) {
	n, err := w.ReadCloser.Read(p)
	if n > 0 {
		w.timer.Reset(w.silent)
	}
	return n, err
}

func (w *watched) Close() error {
	w.timer.Stop()
	return w.ReadCloser.Close()
}
