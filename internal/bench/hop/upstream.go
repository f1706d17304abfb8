package hop

import (
	"io"
	"net/http"
	"net/http/httputil"
	"net/url"
	"strconv"
	"strings"

	"github.com/spillway-mcp/spillway/internal/fixture"
	"github.com/spillway-mcp/spillway/internal/wire"
)

// The tools of [Upstream].
const (
	Small  = "status"      // 1.5 kB of text, which no rule touches
	Medium = "search_code" // 211 kB in the shape of GitHub's code search
	Large  = "search_all"  // 2.05 MB of the same
)

// Tools are all of them, in the order in which they are measured.
var Tools = []string{Small, Medium, Large}

// Rules are what the gateway reduces them by.
const Rules = `upstream:
  search_code:
    keep: "items[*].{repo: repository.full_name, path: path, url: html_url}"
  search_all:
    keep: "items[*].{repo: repository.full_name, path: path, url: html_url}"
`

// Upstream is an MCP server of the revisions with sessions that answers at once
// and does nothing else, so that what is measured is the way to it.
func Upstream() http.Handler {
	text := func(s string) []byte { return []byte(`{"content":[{"type":"text","text":"` + s + `"}]}`) }
	answers := map[string][]byte{
		Small:  text(strings.Repeat("all is well. ", 110)),
		Medium: fixture.Result(fixture.CodeSearch(20), fixture.Options{}),
		Large:  fixture.Result(fixture.CodeSearch(194), fixture.Options{}),
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet {
			w.WriteHeader(http.StatusMethodNotAllowed) // it has nothing to say by itself
			return
		}
		body, _ := io.ReadAll(r.Body)
		m, err := wire.Scan(body)
		if err != nil || m.Kind != wire.Request {
			w.WriteHeader(http.StatusAccepted)
			return
		}
		var result []byte
		switch wire.Text(m.Method.Of(body)) {
		case "initialize":
			w.Header().Set("Mcp-Session-Id", "s")
			result = []byte(`{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"upstream","version":"1"}}`)
		case "ping":
			result = []byte(`{}`)
		case "tools/list":
			result = []byte(`{"tools":[{"name":"` + strings.Join(Tools, `","inputSchema":{"type":"object"}},{"name":"`) + `","inputSchema":{"type":"object"}}]}`)
		case "tools/call":
			result = answers[wire.Text(wire.Member(body, m.Params, "name").Of(body))]
		}
		parts := [][]byte{[]byte(`{"jsonrpc":"2.0","id":`), m.ID.Of(body), []byte(`,"result":`), result, []byte(`}`)}
		if result == nil {
			parts[2], parts[3] = []byte(`,"error":`), []byte(`{"code":-32601,"message":"unknown"}`)
		}
		size := 0
		for _, p := range parts {
			size += len(p)
		}
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Content-Length", strconv.Itoa(size))
		for _, p := range parts {
			_, _ = w.Write(p)
		}
	})
}

// Reverse is a plain proxy to target, which looks at nothing: what the least is
// that a process between costs.
func Reverse(target *url.URL) http.Handler {
	p := &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(target)
		r.Out.URL.Path, r.Out.URL.RawPath = target.Path, ""
	}}
	p.Transport = &http.Transport{MaxIdleConnsPerHost: 128}
	return p
}
