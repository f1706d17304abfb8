package operation

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spillway-mcp/spillway/contract"
	"github.com/spillway-mcp/spillway/internal/jsontape"
	"github.com/spillway-mcp/spillway/internal/yamlpos"
)

// CallError is an answer that is no result, or the reason why there is none.
// Its texts may quote the upstream and are not for logs.
type CallError struct {
	Kind   string // "http", "isError", "rpc", "start" (nothing was sent), "redirect", "transport"
	Status int    // of "http" and "redirect"
	Code   string // of "rpc"
	Text   string // what the upstream said, may be ""
	Body   []byte // JSON, where it answered with such
	Err    error
}

func (e *CallError) Error() string {
	switch e.Kind {
	case "http", "redirect":
		return fmt.Sprintf("HTTP status %d", e.Status)
	case "isError":
		return "the tool answered with an error"
	case "rpc":
		return "the server answered error " + e.Code
	}
	if e.Err != nil {
		return e.Err.Error()
	}
	return e.Kind
}

func (e *CallError) Unwrap() error { return e.Err }

// defaultTimeout bounds one call.
const defaultTimeout = 30 * time.Second

// call is a call of a tool or an HTTP endpoint.
type call struct {
	server, tool string
	args         *shape

	http *httpCall

	timeout time.Duration
	page    bool     // of a read: whether the answer is JSON is found out by whoever reads it
	b       *builder // for its callers only
	key     contract.KeyPlacement
	keyName string
}

// call reads {tool, args} or {http: {...}}, with a timeout.
func (b *builder) call(n *yamlpos.Node, what string, root names) *call {
	c := &call{timeout: defaultTimeout, b: b}
	var tool, http *yamlpos.Node
	if !b.fields(n, what,
		field{"tool", func(n *yamlpos.Node) { tool = n }},
		field{"args", func(n *yamlpos.Node) {
			if n.Kind != yamlpos.Map {
				b.errs.At(n, "", "args needs a map from names to expressions, got %s", n.Given())
				return
			}
			c.args = b.shape(n, "args", root)
		}},
		field{"http", func(n *yamlpos.Node) { http = n }},
		field{"timeout", func(n *yamlpos.Node) { c.timeout = b.duration(n, "timeout") }},
	) {
		return c
	}
	switch {
	case tool == nil && http == nil:
		b.errs.At(n, "", "%s needs a tool or http", what)
	case tool != nil && http != nil:
		b.errs.At(http, "", "%s has a tool and http; it can have one", what)
	case tool != nil:
		b.tool(tool, c)
	default:
		if c.args != nil {
			b.errs.At(n.Get("args"), "use query, form or body of http", "args belong to a tool")
		}
		c.http = b.httpCall(http, root)
		b.upstream(c.http.host())
	}
	return c
}

func (b *builder) tool(n *yamlpos.Node, c *call) {
	server, tool, ok := strings.Cut(n.Text, "/")
	if n.Kind != yamlpos.String || !ok || server == "" || tool == "" {
		b.errs.At(n, "", "tool needs SERVER/TOOL, such as github/list_releases, got %s", n.Given())
		return
	}
	if b.opt.ServerNames != nil && !has(b.opt.ServerNames, server) {
		b.errs.At(n, yamlpos.DidYouMean(server, b.opt.ServerNames), "no server %q in the configuration; it names %s", server, namesOr(b.opt.ServerNames, "none"))
		return
	}
	c.server, c.tool = server, tool
	b.upstream(server)
	if !has(b.set.Servers, server) {
		b.set.Servers = append(b.set.Servers, server)
	}
}

func namesOr(list []string, none string) string {
	if len(list) == 0 {
		return none
	}
	return strings.Join(list, ", ")
}

// upstream notes what the operation calls.
func (b *builder) upstream(name string) {
	if name != "" && !has(b.upstreams, name) {
		b.upstreams = append(b.upstreams, name)
	}
}

// do makes the call and returns the page: JSON. Where there is none the error
// is a *CallError, or one of a parameter that does not fit.
func (c *call) do(ctx context.Context, s *scope, key string) ([]byte, error) {
	root, err := s.root()
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	if c.http != nil {
		return c.b.http.do(ctx, c, root, key)
	}
	args := []byte("{}")
	if c.args != nil {
		if args, err = c.args.append(nil, root); err != nil {
			return nil, notSent(err)
		}
	}
	var meta []byte
	switch c.key {
	case contract.KeyInArgument:
		args = withMember(args, c.keyName, key)
	case contract.KeyInMeta:
		meta = withMember([]byte("{}"), c.keyName, key)
	}
	if err := Overdue(ctx); err != nil {
		return nil, &CallError{Kind: "transport", Err: err}
	}
	result, err := c.callTool(ctx, args, meta)
	if err != nil {
		var ce *CallError
		if errors.As(err, &ce) {
			return nil, ce
		}
		return nil, &CallError{Kind: "transport", Err: err}
	}
	return pageOf(result)
}

// notSent is the error of a call that could not be made.
func notSent(err error) error { return &CallError{Kind: "start", Err: err} }

// Overdue is the error of a context whose deadline has passed, also where its
// timer did not get round to say so: right before something is sent, by a
// process that was stopped and goes on (C-16).
func Overdue(ctx context.Context) error {
	if end, ok := ctx.Deadline(); ok {
		now := time.Now()
		if now.After(end) || now.Round(0).After(end.Round(0)) {
			return context.DeadlineExceeded
		}
	}
	return ctx.Err()
}

// withMember adds a string to a JSON object.
func withMember(object []byte, name, value string) []byte {
	object = bytes.TrimSuffix(object, []byte("}"))
	if len(object) > 1 {
		object = append(object, ',')
	}
	object = append(jsontape.AppendQuote(object, name), ':')
	return append(jsontape.AppendQuote(object, value), '}')
}

// pageOf reads the data of a CallToolResult: structuredContent, else the first
// text that is JSON, else the texts as one string.
func pageOf(result []byte) ([]byte, error) {
	doc, err := jsontape.Parse(result)
	if err != nil {
		return nil, &CallError{Kind: "transport", Text: "the answer is no JSON", Err: err}
	}
	root := doc.Root()
	var text []byte
	blocks := 0
	for it := root.Get("content").Iter(); it.Next(); {
		if t := it.Value().Get("text"); t.Exists() {
			text = t.AppendString(text)
			blocks++
		}
	}
	isError := root.Get("isError").Kind() == jsontape.True
	var data []byte
	if v := root.Get("structuredContent"); v.Exists() && !(v.Kind() == jsontape.Null && blocks > 0) {
		data = v.AppendCompact(nil)
	} else if blocks > 0 && json.Valid(text) {
		data = text
	}
	switch {
	case isError:
		return nil, &CallError{Kind: "isError", Text: string(text), Body: data}
	case data != nil:
		return data, nil
	case root.Get("resultType").Is("task"), root.Get("resultType").Is("input_required"):
		return nil, &CallError{Kind: "transport", Text: "the server answered with " + root.Get("resultType").Str() + ", which operations cannot wait for"}
	}
	return jsontape.AppendQuote(nil, text), nil
}
