package client

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/spillway-mcp/spillway/internal/httpmcp"
)

// Upstream is one HTTP server and the connections to it. It is safe for
// concurrent use.
type Upstream struct {
	opt     Options
	url     *url.URL
	static  http.Header
	forward []string
	tr      *http.Transport
	plain   *plain // nil: the upstream is reached through tr alone
}

// New checks the options; it connects to nothing.
func New(opt Options) (*Upstream, error) {
	u, err := url.Parse(opt.URL)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return nil, fmt.Errorf("upstream %s: its url must be an absolute http or https URL", opt.Name)
	}
	static := http.Header{}
	if u.User != nil {
		password, _ := u.User.Password()
		r := http.Request{Header: static}
		r.SetBasicAuth(u.User.Username(), password)
		u.User = nil
	}
	u.Fragment, u.RawFragment = "", ""
	for _, name := range slices.Sorted(maps.Keys(opt.Header)) {
		if err := checkHeader(name); err != nil {
			return nil, fmt.Errorf("upstream %s: headers: %w", opt.Name, err)
		}
		if strings.ContainsAny(opt.Header[name], "\r\n\x00") {
			return nil, fmt.Errorf("upstream %s: headers: the value of %s holds a line end", opt.Name, name)
		}
		static.Set(name, opt.Header[name])
	}
	up := &Upstream{opt: opt, url: u, static: static}
	for _, name := range opt.Forward {
		if err := checkHeader(name); err != nil {
			return nil, fmt.Errorf("upstream %s: forward_headers: %w", opt.Name, err)
		}
		up.forward = append(up.forward, http.CanonicalHeaderKey(name))
	}
	up.opt.defaults()
	up.tr = up.opt.transport()
	up.plain = newPlain(u, &up.opt)
	return up, nil
}

func (o *Options) defaults() {
	for _, n := range []struct {
		limit *int
		value int
	}{
		{&o.MaxFrame, 64 << 20}, {&o.MaxConns, 128}, {&o.MaxAttempts, 5},
	} {
		if *n.limit <= 0 {
			*n.limit = n.value
		}
	}
	if o.DialTime <= 0 {
		o.DialTime = 10 * time.Second
	}
	if o.Retry <= 0 {
		o.Retry = time.Second
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
}

// keepAliveTime is between the probes of an idle connection.
const keepAliveTime = 15 * time.Second

// maxHead is the size in bytes of a response's head: more than enough for a
// session id and what proxies add.
const maxHead = 256 << 10

func (o *Options) transport() *http.Transport {
	tr := &http.Transport{
		DialContext:            (&net.Dialer{Timeout: o.DialTime, KeepAlive: keepAliveTime}).DialContext,
		TLSHandshakeTimeout:    o.DialTime,
		TLSClientConfig:        o.TLS.Clone(),
		ForceAttemptHTTP2:      true,
		MaxIdleConns:           o.MaxConns,
		MaxIdleConnsPerHost:    o.MaxConns,
		IdleConnTimeout:        90 * time.Second,
		ExpectContinueTimeout:  time.Second,
		DisableCompression:     true, // bytes pass as they are, and a stream is not held back by a compressor
		WriteBufferSize:        16 << 10,
		ReadBufferSize:         16 << 10,
		MaxResponseHeaderBytes: maxHead,
	}
	if tr.TLSClientConfig == nil {
		tr.TLSClientConfig = &tls.Config{MinVersion: tls.VersionTLS12}
	}
	if o.EnvProxy {
		tr.Proxy = http.ProxyFromEnvironment
	}
	return tr
}

// ours are the headers that the transport sets: they can be neither configured
// nor forwarded.
var ours = []string{
	"Accept", "Accept-Encoding", "Connection", "Content-Length", "Content-Type", "Content-Encoding", "Expect", "Host", "Keep-Alive", "Origin",
	"Proxy-Authorization", "Proxy-Connection", "Te", "Trailer", "Transfer-Encoding", "Upgrade", httpmcp.HeaderLastID,
}

func checkHeader(name string) error {
	key := http.CanonicalHeaderKey(name)
	for i := range len(name) {
		if c := name[i]; c <= ' ' || c >= 0x7f || strings.IndexByte(`()<>@,;:\"/[]?={}`, c) >= 0 {
			return fmt.Errorf("%q is no name of a header", name)
		}
	}
	if name == "" || strings.HasPrefix(key, "Mcp-") || slices.Contains(ours, key) {
		return fmt.Errorf("%q is set by the transport", name)
	}
	return nil
}

// Close closes idle connections. Sends in flight go on.
func (u *Upstream) Close() {
	u.tr.CloseIdleConnections()
	u.plain.close()
}

// headers starts the headers of a request: what the client's own has of those
// that are named (K66), and over it what is configured.
func (u *Upstream) headers(client http.Header) http.Header {
	h := make(http.Header, len(u.static)+len(u.forward)+8)
	for _, name := range u.forward {
		if v := client[name]; len(v) > 0 {
			h[name] = v
		}
	}
	for name, v := range u.static {
		h[name] = v
	}
	h["User-Agent"] = userAgent
	return h
}

var (
	userAgent    = []string{"spillway"}
	typeJSON     = []string{"application/json"}
	acceptBoth   = []string{"application/json, text/event-stream"}
	acceptStream = []string{"text/event-stream"}
)

const maxRedirects = 5

// A trip is one request and the way to its response.
type trip struct {
	u      *Upstream
	ctx    context.Context
	method string
	to     *url.URL
	header http.Header
	body   []byte
	call   *plainCall // nil: the request goes through net/http's transport, in finish
}

// start sends a request, or makes it ready to be sent.
func (u *Upstream) start(ctx context.Context, method string, to *url.URL, h http.Header, body []byte) (*trip, error) {
	t := &trip{u: u, ctx: ctx, method: method, to: to, header: h, body: body}
	if u.plain.takes(method, t.to, body) {
		var err error
		if t.call, err = u.plain.send(ctx, t.to, h, body); err != nil {
			return nil, u.networkError(ctx, err)
		}
	}
	return t, nil
}

// ready waits for the response to begin, at most for d, and reports whether it
// has. A trip of which that cannot be told is not ready.
func (t *trip) ready(d time.Duration) bool { return t.call != nil && t.call.wait(d) }

// finish waits for the response. It follows redirects that keep the method and
// stay at the same host, and refuses others: credentials go nowhere else.
func (t *trip) finish() (*http.Response, error) {
	for range maxRedirects {
		resp, err := t.response()
		if err != nil {
			return nil, t.u.networkError(t.ctx, err)
		}
		if resp.StatusCode < 301 || resp.StatusCode > 308 || resp.StatusCode == http.StatusNotModified {
			return resp, nil
		}
		next, err := t.u.redirect(resp, t.method, t.to)
		if err != nil {
			return nil, err
		}
		t.to = next
	}
	return nil, fmt.Errorf("upstream %s redirects over and over", t.u.opt.Name)
}

func (t *trip) response() (*http.Response, error) {
	if call := t.call; call != nil {
		t.call = nil // what it redirects to is asked by the other
		return call.response()
	}
	r := (&http.Request{
		Method: t.method, URL: t.to, Host: t.to.Host, Header: t.header,
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
	}).WithContext(t.ctx)
	if body := t.body; body != nil {
		r.ContentLength = int64(len(body))
		r.Body = io.NopCloser(bytes.NewReader(body))
		r.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(body)), nil }
	}
	return t.u.tr.RoundTrip(r)
}

// roundTrip sends one request and waits for its response.
func (u *Upstream) roundTrip(ctx context.Context, method string, to *url.URL, h http.Header, body []byte) (*http.Response, error) {
	t, err := u.start(ctx, method, to, h, body)
	if err != nil {
		return nil, err
	}
	return t.finish()
}

func (u *Upstream) redirect(resp *http.Response, method string, from *url.URL) (*url.URL, error) {
	_, _ = io.CopyN(io.Discard, resp.Body, 4<<10)
	resp.Body.Close()
	to, err := from.Parse(resp.Header.Get("Location"))
	switch {
	case err != nil || resp.Header.Get("Location") == "":
		return nil, fmt.Errorf("upstream %s redirects to nowhere", u.opt.Name)
	case to.Host != from.Host && !upgrades(from, to) || to.Scheme != from.Scheme && !upgrades(from, to):
		return nil, fmt.Errorf("upstream %s redirects to %s://%s, which is another server: if that is meant, put its address into the configuration", u.opt.Name, to.Scheme, to.Host)
	case method != http.MethodGet && resp.StatusCode != http.StatusTemporaryRedirect && resp.StatusCode != http.StatusPermanentRedirect:
		return nil, fmt.Errorf("upstream %s redirects with status %d, which would turn the message into a GET", u.opt.Name, resp.StatusCode)
	}
	to.User, to.Fragment = nil, ""
	return to, nil
}

// upgrades reports whether a redirect goes from http to https of the same name,
// on the usual ports.
func upgrades(from, to *url.URL) bool {
	return from.Scheme == "http" && to.Scheme == "https" && from.Hostname() == to.Hostname() &&
		(from.Port() == "" || from.Port() == "80") && (to.Port() == "" || to.Port() == "443")
}

// networkError says what went wrong, without the URL: its query may be secret.
func (u *Upstream) networkError(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	var ue *url.Error
	if errors.As(err, &ue) {
		err = ue.Err
	}
	return fmt.Errorf("upstream %s at %s://%s: %w", u.opt.Name, u.url.Scheme, u.url.Host, err)
}
