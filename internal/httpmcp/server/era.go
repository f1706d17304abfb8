package server

import (
	"encoding/json"
	"net/http"

	"github.com/spillway-mcp/spillway/internal/httpmcp"
	"github.com/spillway-mcp/spillway/internal/wire"
)

// era tells which era a message is of, and holds a modern one to the headers
// that repeat its body. Each request is judged by itself: one endpoint serves
// both eras.
func era(h http.Header, msg []byte, m wire.Message) (revision string, modern bool, e *httpmcp.Error) {
	header := h.Get(httpmcp.HeaderRevision)
	if httpmcp.Legacy(header) && h.Get(httpmcp.HeaderSession) != "" {
		return "", false, nil // nothing of the modern era has both, and params need not be searched
	}
	var named wire.Span
	if m.Kind == wire.Request || m.Kind == wire.Notification {
		named = wire.Path(msg, m.Params, "_meta", httpmcp.MetaRevision)
	}
	if !named.Present() && !newer(header) {
		return "", false, nil
	}
	revision = wire.Text(named.Of(msg))
	if e = headers(h, header, revision, msg, m); e != nil {
		return "", true, e
	}
	return header, true, nil
}

// newer reports whether a header names the first modern revision or one after
// it, known or not.
func newer(revision string) bool {
	if len(revision) != len("2006-01-02") || revision < httpmcp.Revision20260728 {
		return false
	}
	for i := range len(revision) {
		if c := revision[i]; (i == 4 || i == 7) != (c == '-') || c != '-' && (c < '0' || c > '9') {
			return false
		}
	}
	return true
}

func headers(h http.Header, header, revision string, msg []byte, m wire.Message) *httpmcp.Error {
	request := m.Kind == wire.Request
	if m.Kind == wire.Batch || m.Kind == wire.Response {
		return nil // refused for what it is
	}
	switch {
	case header == "":
		return httpmcp.Errorf(httpmcp.CodeHeaderMismatch, "the header %s is missing, _meta names %.40q", httpmcp.HeaderRevision, revision)
	case request && revision == "":
		return httpmcp.Errorf(httpmcp.CodeInvalidParams, "params._meta lacks %q, a string", httpmcp.MetaRevision)
	case revision != "" && header != revision:
		return httpmcp.Errorf(httpmcp.CodeHeaderMismatch, "the header %s is %.40q and _meta names %.40q", httpmcp.HeaderRevision, header, revision)
	case !httpmcp.Modern(header):
		return unsupported(header)
	}
	method := wire.Text(m.Method.Of(msg))
	got, sent := h[httpmcp.HeaderMethod]
	if request || sent {
		if e := repeats(httpmcp.HeaderMethod, got, method); e != nil {
			return e
		}
	}
	if !request {
		return nil
	}
	if name, has := httpmcp.Name(method, msg, m.Params); has {
		if e := repeats(httpmcp.HeaderName, h[httpmcp.HeaderName], name); e != nil {
			return e
		}
	}
	if c := wire.Path(msg, m.Params, "_meta", httpmcp.MetaCapabilities); !c.Present() || msg[c.Start] != '{' {
		return httpmcp.Errorf(httpmcp.CodeInvalidParams, "params._meta lacks %q, an object", httpmcp.MetaCapabilities)
	}
	return nil
}

func unsupported(revision string) *httpmcp.Error {
	e := httpmcp.Errorf(httpmcp.CodeUnsupportedRevision, "revision %.40q is not supported", revision)
	e.Data, _ = json.Marshal(map[string]any{"supported": httpmcp.ModernRevisions(), "requested": revision})
	return e
}

// repeats holds a header to the value that the body has.
func repeats(name string, got []string, want string) *httpmcp.Error {
	if len(got) != 1 {
		return httpmcp.Errorf(httpmcp.CodeHeaderMismatch, "the header %s is there %d times, want once", name, len(got))
	}
	if value, ok := httpmcp.DecodeValue(got[0]); !ok || value != want {
		return httpmcp.Errorf(httpmcp.CodeHeaderMismatch, "the header %s differs from the body", name)
	}
	return nil
}
