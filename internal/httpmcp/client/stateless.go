package client

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/spillway-mcp/spillway/internal/httpmcp"
	"github.com/spillway-mcp/spillway/internal/wire"
)

// Stateless sends one message to a modern upstream, with the headers that repeat
// its body. It returns when the response has been given to a, or when the
// upstream has taken a notification. Ending ctx closes the response, which
// cancels the request.
//
// Errors: *[StatusError], *[TooLargeError], [ErrNoAnswer], the cause of ctx, or
// what the network said. A JSON-RPC error is an answer and no error.
func (u *Upstream) Stateless(ctx context.Context, out Outbound, a Answer) error {
	_, err := u.stateless(ctx, out, a)
	return err
}

func (u *Upstream) stateless(ctx context.Context, out Outbound, a Answer) (*exchange, error) {
	x, err := u.exchange(out, a)
	if err != nil {
		return nil, err
	}
	ctx, x.end = context.WithCancelCause(ctx)
	defer x.finish()
	h := u.headers(out.Header)
	h["Content-Type"], h["Accept"] = typeJSON, acceptBoth
	x.modernHeaders(h, out)
	resp, err := u.roundTrip(ctx, http.MethodPost, u.url, h, out.Message)
	if err != nil {
		return nil, err
	}
	if resp.StatusCode/100 != 2 {
		response, _, err := u.refusal(resp, x.id)
		if err != nil {
			return nil, err
		}
		return x, x.json(response)
	}
	done, err := x.success(ctx, resp)
	switch {
	case err != nil:
		return nil, err
	case !done && x.tooLarge != nil:
		return nil, x.tooLarge
	case !done:
		return nil, fmt.Errorf("%w: upstream %s ended the stream", ErrNoAnswer, u.opt.Name)
	}
	return x, nil
}

// modernHeaders sets what repeats the body. The headers that repeat arguments
// pass as they came where the client has sent its message over modern HTTP: it
// is the upstream that checks them, and what is wrong must not be made right on
// the way. For other clients they are made.
func (x *exchange) modernHeaders(h http.Header, out Outbound) {
	method := x.method()
	h[httpmcp.HeaderMethod] = []string{httpmcp.EncodeValue(method)}
	revision := wire.Text(wire.Path(x.msg, x.m.Params, "_meta", httpmcp.MetaRevision).Of(x.msg))
	if revision == "" {
		revision = httpmcp.Revision20260728
	}
	h[httpmcp.HeaderRevision] = []string{httpmcp.EncodeValue(revision)}
	if name, ok := httpmcp.Name(method, x.msg, x.m.Params); ok {
		h[httpmcp.HeaderName] = []string{httpmcp.EncodeValue(name)}
	}
	switch {
	case out.Header.Get(httpmcp.HeaderMethod) == method: // and not a question of ours on the way
		for name, values := range out.Header {
			if strings.HasPrefix(name, httpmcp.PrefixParam) {
				h[name] = values
			}
		}
	case len(out.Params) > 0 && method == "tools/call":
		httpmcp.SetParams(h, out.Params, x.msg, wire.Member(x.msg, x.m.Params, "arguments"))
	}
}

// An Era tells how an upstream wants to be spoken to.
type Era int

// The eras.
const (
	Legacy Era = iota
	Modern
)

// Probe asks which era the upstream is of, by sending discover, a
// server/discover request. It returns the answer too, if it was a response. An
// upstream that cannot be asked at all, or wants other credentials, is an error.
//
// A result and the errors -32020, -32021 and -32022 are modern; whatever else an
// upstream answers, or answers in no form that is MCP's, is legacy.
func (u *Upstream) Probe(ctx context.Context, discover Outbound) (Era, []byte, error) {
	x, err := u.stateless(ctx, discover, Answer{})
	var status *StatusError
	switch {
	case errors.As(err, &status) && status.Status != http.StatusUnauthorized && status.Status != http.StatusForbidden && status.Status/100 == 4:
		return Legacy, nil, nil
	case errors.Is(err, ErrNoAnswer) && context.Cause(ctx) == nil:
		return Legacy, nil, nil
	case err != nil:
		return Legacy, nil, err
	}
	m, err := wire.Scan(x.answered)
	if err != nil {
		return Legacy, nil, nil
	}
	code, failed := httpmcp.ErrorCode(x.answered, m)
	switch {
	case !failed && wire.Member(x.answered, m.Result, "supportedVersions").Present():
		return Modern, x.answered, nil
	case code == httpmcp.CodeHeaderMismatch, code == httpmcp.CodeMissingCapability, code == httpmcp.CodeUnsupportedRevision:
		return Modern, x.answered, nil
	}
	return Legacy, x.answered, nil
}
