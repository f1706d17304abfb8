package client

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"
)

// plain sends small requests over HTTP/1.1 without TLS, on connections of its
// own. net/http hands each request to one goroutine that writes and waits for
// another that reads, and much of a call that an upstream answers at once is spent
// on waking them. With both on the goroutine of the call, one of 1.5 kB through the
// gateway takes an eighth less time, and with 64 callers at once a third less of
// the processor's (docs/performance.md). Responses are read by net/http, and what
// is not small, plain and a POST goes through [http.Transport].
type plain struct {
	host  string // as the Host header has it
	addr  string
	dial  func(ctx context.Context, network, addr string) (net.Conn, error)
	limit int64 // bytes of a response's head

	mu     sync.Mutex
	idle   []*plainConn // the last used one at the end
	max    int
	sweep  *time.Timer // nil while none is idle
	closed bool
}

const (
	maxPlain     = 64 << 10 // bytes of a body: what the buffers of two sockets take, whether the peer reads or not
	plainBuffer  = 16 << 10
	idleConnTime = 90 * time.Second
)

// newPlain returns nil where the upstream is not reached so.
func newPlain(u *url.URL, o *Options) *plain {
	if !canTellAlive || u.Scheme != "http" || o.EnvProxy || strings.ContainsFunc(u.Host, func(r rune) bool { return r <= ' ' || r >= 0x7f || r == '%' }) {
		return nil
	}
	addr := u.Host
	if u.Port() == "" {
		addr = net.JoinHostPort(u.Hostname(), "80")
	}
	d := net.Dialer{Timeout: o.DialTime, KeepAlive: keepAliveTime}
	return &plain{host: u.Host, addr: addr, dial: d.DialContext, limit: maxHead, max: o.MaxConns}
}

// takes reports whether a request goes this way.
func (p *plain) takes(method string, to *url.URL, body []byte) bool {
	return p != nil && method == http.MethodPost && len(body) <= maxPlain && to.Scheme == "http" && to.Host == p.host
}

// A plainConn is a connection, which one call at a time has for itself.
type plainConn struct {
	net.Conn
	p     *plain
	r     *bufio.Reader
	head  int64  // bytes that may still be read of the head; -1 within a body
	out   []byte // of the last request
	reply http.Request
	since time.Time // it is idle
}

var errLongHead = errors.New("the head of its response is too long")

func (c *plainConn) Read(b []byte) (int, error) {
	if c.head < 0 {
		return c.Conn.Read(b)
	}
	if c.head == 0 {
		return 0, errLongHead
	}
	n, err := c.Conn.Read(b[:min(int64(len(b)), c.head)])
	c.head -= int64(n)
	return n, err
}

// A plainCall is a request that was sent.
type plainCall struct {
	c    *plainConn
	ctx  context.Context
	stop func() bool
}

var longAgo = time.Unix(1, 0)

// send sends a request. One that could not even be begun, because the upstream
// has closed the connection meanwhile, is sent on another; any other is not
// repeated.
func (p *plain) send(ctx context.Context, to *url.URL, h http.Header, body []byte) (*plainCall, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	for {
		c, reused, err := p.take(ctx)
		if err != nil {
			return nil, err
		}
		if c.out, err = appendRequest(c.out[:0], p.host, to, h, body); err != nil {
			p.put(c)
			return nil, err
		}
		call := &plainCall{c: c, ctx: ctx}
		call.stop = context.AfterFunc(ctx, func() { _ = c.SetDeadline(longAgo) })
		n, err := c.Write(c.out)
		if err == nil {
			return call, nil
		}
		call.stop()
		c.Close()
		if n > 0 || !reused || ctx.Err() != nil {
			return nil, err
		}
	}
}

// appendRequest writes a request. What a header cannot hold is an error: it
// would be another request.
func appendRequest(b []byte, host string, to *url.URL, h http.Header, body []byte) ([]byte, error) {
	b = append(append(append(b, "POST "...), to.RequestURI()...), " HTTP/1.1\r\nHost: "...)
	b = append(append(b, host...), "\r\n"...)
	for name, values := range h {
		for _, v := range values {
			if !fit(name, ':') || name == "" || !fit(v, 0x7f) {
				return b, fmt.Errorf("the header %.60q has a value that cannot be sent", name)
			}
			b = append(append(append(append(b, name...), ": "...), v...), "\r\n"...)
		}
	}
	b = strconv.AppendInt(append(b, "Content-Length: "...), int64(len(body)), 10)
	return append(append(b, "\r\n\r\n"...), body...), nil
}

// fit reports whether s holds neither a control character but the tab nor not.
func fit(s string, not byte) bool {
	for i := range len(s) {
		if c := s[i]; c < ' ' && c != '\t' || c == 0x7f || c == not {
			return false
		}
	}
	return true
}

// wait waits for the response to begin, at most for d, and reports whether it
// has, or has failed.
func (call *plainCall) wait(d time.Duration) bool {
	if d <= 0 {
		return false
	}
	c := call.c
	c.head = c.p.limit
	_ = c.SetReadDeadline(time.Now().Add(d))
	_, err := c.r.Peek(1)
	_ = c.SetReadDeadline(time.Time{})
	if call.ctx.Err() != nil { // it may have been undone just now
		_ = c.SetDeadline(longAgo)
		return true
	}
	var slow net.Error
	return !errors.As(err, &slow) || !slow.Timeout()
}

// response waits for the response. Its connection is used again once the body
// was read to its end; to close the body before closes the connection.
func (call *plainCall) response() (*http.Response, error) {
	c := call.c
	for {
		c.head = c.p.limit
		c.reply.Method = http.MethodPost
		resp, err := http.ReadResponse(c.r, &c.reply)
		c.head = -1
		if err != nil {
			call.stop()
			c.Close()
			if cause := call.ctx.Err(); cause != nil {
				err = cause
			}
			return nil, err
		}
		if resp.StatusCode/100 == 1 && resp.StatusCode != http.StatusSwitchingProtocols {
			continue // it tells that another comes
		}
		resp.Body = &plainBody{ReadCloser: resp.Body, call: call, last: resp.Close || resp.StatusCode == http.StatusSwitchingProtocols}
		return resp, nil
	}
}

type plainBody struct {
	io.ReadCloser
	call *plainCall
	last bool // the connection is not used again
	over bool
}

func (b *plainBody) Read(p []byte) (int, error) {
	if b.over {
		return 0, io.EOF
	}
	n, err := b.ReadCloser.Read(p)
	if err == io.EOF {
		b.over = true
		c := b.call.c
		if b.call.stop() && !b.last && c.r.Buffered() == 0 {
			c.p.put(c)
		} else {
			c.Close()
		}
	} else if cause := b.call.ctx.Err(); err != nil && cause != nil {
		err = cause
	}
	return n, err
}

func (b *plainBody) Close() error {
	if !b.over {
		b.over = true
		b.call.stop()
		return b.call.c.Close()
	}
	return nil
}

// take returns a connection, and whether it was used before.
func (p *plain) take(ctx context.Context) (c *plainConn, reused bool, err error) {
	for {
		p.mu.Lock()
		n := len(p.idle) - 1
		if n < 0 {
			p.mu.Unlock()
			break
		}
		c = p.idle[n]
		p.idle[n], p.idle = nil, p.idle[:n]
		p.mu.Unlock()
		if time.Since(c.since) < idleConnTime && alive(c.Conn) {
			return c, true, nil
		}
		c.Close()
	}
	conn, err := p.dial(ctx, "tcp", p.addr)
	if err != nil {
		return nil, false, err
	}
	c = &plainConn{Conn: conn, p: p}
	c.r = bufio.NewReaderSize(c, plainBuffer)
	return c, false, nil
}

func (p *plain) put(c *plainConn) {
	c.since = time.Now()
	if cap(c.out) > plainBuffer {
		c.out = nil // of many that are idle it would be much
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed || len(p.idle) >= p.max {
		c.Close()
		return
	}
	p.idle = append(p.idle, c)
	if p.sweep == nil {
		p.sweep = time.AfterFunc(idleConnTime, p.clean)
	}
}

// clean closes connections that nobody has used for long.
func (p *plain) clean() {
	p.mu.Lock()
	defer p.mu.Unlock()
	old := 0
	for old < len(p.idle) && time.Since(p.idle[old].since) >= idleConnTime {
		p.idle[old].Close()
		old++
	}
	p.idle = append(p.idle[:0:0], p.idle[old:]...)
	p.sweep = nil
	if len(p.idle) > 0 && !p.closed {
		p.sweep = time.AfterFunc(idleConnTime, p.clean)
	}
}

// close closes idle connections, and those in use when they are done.
func (p *plain) close() {
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
	if p.sweep != nil {
		p.sweep.Stop()
	}
	for _, c := range p.idle {
		c.Close()
	}
	p.idle = nil
}
