package operation

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/url"
	"sort"
	"strconv"
	"strings"
	"sync/atomic"

	"github.com/spillway-mcp/spillway/contract"
	"github.com/spillway-mcp/spillway/internal/jsontape"
	"github.com/spillway-mcp/spillway/internal/yamlpos"
)

// maxAnswer is the largest HTTP answer that is read, in bytes.
const maxAnswer = 64 << 20

// httpCall is an HTTP request with expressions in it.
type httpCall struct {
	method   string
	url      *template
	query    *shape
	headers  []header
	body     *shape
	form     *shape
	envelope bool
	size     atomic.Int64 // of the last answer: pages are of about one size
}

type header struct {
	name  string
	value *template
}

func (b *builder) httpCall(n *yamlpos.Node, root names) *httpCall {
	h := &httpCall{method: http.MethodGet, url: &template{}}
	if !b.fields(n, "http",
		field{"method", func(n *yamlpos.Node) { h.method = b.word(n, "method", "GET", "POST", "PUT", "PATCH", "DELETE", "HEAD") }},
		field{"url", func(n *yamlpos.Node) {
			before := len(b.errs)
			h.url = b.template(n, "url", root)
			if len(b.errs) == before && h.url.unset == "" && !h.url.fixedOrigin() {
				b.errs.At(n, "parameters belong into the path or the query", "url needs to start with a scheme and host, such as https://api.example.com/")
			}
		}},
		field{"query", func(n *yamlpos.Node) { h.query = b.members(n, "query", root) }},
		field{"headers", func(n *yamlpos.Node) {
			if n.Kind != yamlpos.Map {
				b.errs.At(n, "", "headers needs a map from names to texts, got %s", n.Kind)
				return
			}
			for _, p := range n.Pairs {
				h.headers = append(h.headers, header{p.Key.Text, b.template(p.Value, "the header "+p.Key.Text, root)})
			}
		}},
		field{"body", func(n *yamlpos.Node) { h.body = b.shape(n, "body", root) }},
		field{"form", func(n *yamlpos.Node) { h.form = b.members(n, "form", root) }},
		field{"envelope", func(n *yamlpos.Node) { h.envelope = b.truth(n, "envelope") }},
	) {
		return h
	}
	switch {
	case n.Get("url") == nil:
		b.errs.At(n, "", "http needs a url")
	case h.body != nil && h.form != nil:
		b.errs.At(n.Get("form"), "", "http has a body and a form; it can have one")
	case (h.body != nil || h.form != nil) && (h.method == http.MethodGet || h.method == http.MethodHead):
		b.errs.At(n, "use query", "a %s has no body", h.method)
	}
	return h
}

// members reads a map from names to expressions.
func (b *builder) members(n *yamlpos.Node, name string, root names) *shape {
	if n.Kind != yamlpos.Map {
		b.errs.At(n, "", "%s needs a map from names to expressions, got %s", name, n.Given())
		return nil
	}
	return b.shape(n, name, root)
}

// host names what is called, for people; it holds no secret.
func (h *httpCall) host() string {
	u, err := url.Parse(h.url.literal())
	if err != nil {
		return ""
	}
	return u.Host
}

// httpCaller makes HTTP calls.
type httpCaller struct {
	client *http.Client
}

func newHTTP(c *http.Client) *httpCaller {
	own := &http.Client{}
	if c != nil {
		*own = *c
	} else {
		t := http.DefaultTransport.(*http.Transport).Clone()
		t.Proxy = nil // a proxy sees the credentials of plain http
		t.MaxIdleConnsPerHost = 16
		own.Transport = t
	}
	own.CheckRedirect = sameOriginReads
	return &httpCaller{own}
}

// sameOriginReads lets a read be redirected within its origin. A mutation is
// never sent a second time, and credentials never leave for another host.
func sameOriginReads(req *http.Request, via []*http.Request) error {
	first := via[0]
	if first.Method != http.MethodGet && first.Method != http.MethodHead || len(via) > 5 ||
		req.URL.Scheme != first.URL.Scheme || req.URL.Host != first.URL.Host {
		return http.ErrUseLastResponse
	}
	return nil
}

func (h *httpCaller) do(ctx context.Context, c *call, root jsontape.Value, key string) ([]byte, error) {
	req, err := c.http.request(ctx, c, root, key)
	if err != nil {
		return nil, notSent(err)
	}
	if err := Overdue(ctx); err != nil {
		return nil, &CallError{Kind: "transport", Err: err}
	}
	resp, err := h.client.Do(req)
	if err != nil {
		var ue *url.Error
		if errors.As(err, &ue) { // its text holds the URL, and with it parameters
			err = ue.Err
		}
		return nil, &CallError{Kind: "transport", Err: err}
	}
	defer resp.Body.Close()
	body, err := c.http.read(resp)
	switch {
	case err != nil:
		return nil, &CallError{Kind: "transport", Err: err}
	case len(body) > maxAnswer:
		return nil, &CallError{Kind: "transport", Err: errors.New("the answer is over 64 MiB")}
	}
	ok := resp.StatusCode >= 200 && resp.StatusCode < 300
	data := body
	if !ok || !c.page || !isJSON(resp.Header.Get("Content-Type")) || len(body) == 0 {
		data = jsonOrText(body)
	}
	switch {
	case resp.StatusCode >= 300 && resp.StatusCode < 400:
		return nil, &CallError{Kind: "redirect", Status: resp.StatusCode}
	case !ok:
		return nil, &CallError{Kind: "http", Status: resp.StatusCode, Text: string(body), Body: data}
	case c.http.envelope:
		return envelope(resp, data), nil
	}
	return data, nil
}

// read reads an answer, into one buffer where its size is known or guessed.
func (h *httpCall) read(resp *http.Response) ([]byte, error) {
	guess := resp.ContentLength
	if guess < 0 {
		guess = h.size.Load() + h.size.Load()/16
	}
	var b bytes.Buffer
	b.Grow(int(min(guess, maxAnswer)) + bytes.MinRead)
	_, err := b.ReadFrom(io.LimitReader(resp.Body, maxAnswer+1))
	h.size.Store(int64(b.Len()))
	return b.Bytes(), err
}

func (h *httpCall) request(ctx context.Context, c *call, root jsontape.Value, key string) (*http.Request, error) {
	target, err := h.url.fill(root, escapeSegment)
	if err != nil {
		return nil, err
	}
	u, err := url.Parse(target)
	if err != nil || u.Host != h.host() {
		return nil, errors.New("the url with its parameters is none")
	}
	if h.query != nil {
		values, err := pairs(h.query, root)
		if err != nil {
			return nil, err
		}
		if u.RawQuery != "" {
			u.RawQuery += "&"
		}
		u.RawQuery += values.Encode()
	}
	var body []byte
	contentType := ""
	switch {
	case h.body != nil:
		if body, err = h.body.append(nil, root); err != nil {
			return nil, err
		}
		contentType = "application/json"
		if c.key == contract.KeyInArgument && bytes.HasSuffix(body, []byte("}")) {
			body = withMember(body, c.keyName, key)
		}
	case h.form != nil:
		values, err := pairs(h.form, root)
		if err != nil {
			return nil, err
		}
		if c.key == contract.KeyInArgument {
			values.Set(c.keyName, key)
		}
		body = []byte(values.Encode())
		contentType = "application/x-www-form-urlencoded"
	case c.key == contract.KeyInArgument:
		q := u.Query()
		q.Set(c.keyName, key)
		u.RawQuery = q.Encode()
	}
	req, err := http.NewRequestWithContext(ctx, h.method, u.String(), bytes.NewReader(body))
	if err != nil {
		return nil, errors.New("no request can be made of the url with its parameters")
	}
	// net/http sends a request again, on a fresh connection, if it has no body
	// to rewind and its header says that it is idempotent. Whether to is the
	// contract's to say: a body without GetBody is never sent twice.
	req.GetBody = nil
	if len(body) == 0 && h.method != http.MethodGet && h.method != http.MethodHead {
		req.Body, req.ContentLength = io.NopCloser(bytes.NewReader(nil)), 0
	}
	req.Header.Set("Accept", "application/json")
	req.Header.Set("User-Agent", "spillway")
	if contentType != "" {
		req.Header.Set("Content-Type", contentType)
	}
	for _, hd := range h.headers {
		value, err := hd.value.fill(root, nil)
		if err != nil {
			return nil, err
		}
		if strings.ContainsAny(value, "\r\n") {
			return nil, errors.New("the header " + hd.name + " would hold a line end")
		}
		if value != "" { // an expression that is null sends no header: If-Match without a revision, say
			req.Header.Set(hd.name, value)
		}
	}
	if c.key == contract.KeyInHeader {
		req.Header.Set(c.keyName, key)
	}
	return req, nil
}

// pairs evaluates a map of plain values; of a list, each item is a value.
func pairs(s *shape, root jsontape.Value) (url.Values, error) {
	raw, err := s.append(nil, root)
	if err != nil {
		return nil, err
	}
	doc, err := jsontape.Parse(raw)
	if err != nil {
		return nil, err
	}
	values := url.Values{}
	var add func(name string, v jsontape.Value) error
	add = func(name string, v jsontape.Value) error {
		switch v.Kind() {
		case jsontape.String:
			values.Add(name, v.Str())
		case jsontape.Null:
		case jsontape.Object:
			for it := v.Iter(); it.Next(); {
				if err := add(name+"["+it.Key().Str()+"]", it.Value()); err != nil {
					return err
				}
			}
		case jsontape.Array:
			for it := v.Iter(); it.Next(); {
				if err := add(name, it.Value()); err != nil {
					return err
				}
			}
		default:
			values.Add(name, string(v.Raw()))
		}
		return nil
	}
	for it := doc.Root().Iter(); it.Next(); {
		if err := add(it.Key().Str(), it.Value()); err != nil {
			return nil, err
		}
	}
	return values, nil
}

// isJSON reports whether an answer calls itself JSON.
func isJSON(contentType string) bool {
	media, _, _ := strings.Cut(contentType, ";")
	media = strings.ToLower(strings.TrimSpace(media))
	return media == "application/json" || strings.HasSuffix(media, "+json")
}

// jsonOrText is an answer's body as JSON: null if empty, a string if it is none.
func jsonOrText(body []byte) []byte {
	switch {
	case len(bytes.TrimSpace(body)) == 0:
		return []byte("null")
	case json.Valid(body):
		return body
	}
	return jsontape.AppendQuote(nil, body)
}

// envelope is the page of a call with envelope: true, for upstreams that say
// in headers what the next page is.
func envelope(resp *http.Response, data []byte) []byte {
	b := strconv.AppendInt([]byte(`{"status":`), int64(resp.StatusCode), 10)
	b = append(b, `,"headers":{`...)
	names := make([]string, 0, len(resp.Header))
	for name := range resp.Header {
		names = append(names, name)
	}
	sort.Strings(names)
	for i, name := range names {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(jsontape.AppendQuote(b, strings.ToLower(name)), ':')
		b = jsontape.AppendQuote(b, strings.Join(resp.Header[name], ", "))
	}
	b = append(b, `},"links":{`...)
	n := 0
	for _, l := range strings.Split(strings.Join(resp.Header.Values("Link"), ","), ",") {
		target, rest, ok := strings.Cut(strings.TrimSpace(l), ">")
		if !ok || !strings.HasPrefix(target, "<") {
			continue
		}
		for _, attr := range strings.Split(rest, ";") {
			if rel, ok := strings.CutPrefix(strings.TrimSpace(attr), "rel="); ok {
				if n++; n > 1 {
					b = append(b, ',')
				}
				b = append(jsontape.AppendQuote(b, strings.Trim(rel, `"`)), ':')
				b = jsontape.AppendQuote(b, target[1:])
			}
		}
	}
	b = append(b, `},"body":`...)
	return append(append(b, data...), '}')
}
