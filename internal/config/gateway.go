package config

import (
	"net/http"
	"strings"

	"github.com/spillway-mcp/spillway/internal/yamlpos"
)

// prefix reads what stands before the names of a server's tools.
func (r *reader) prefix(n *yamlpos.Node) string {
	text := r.expanded(n, "prefix")
	for _, c := range text {
		if !(c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_' || c == '-') || len(text) > 32 {
			r.errs.At(n, "", "prefix needs 1 to 32 characters of A-Z, a-z, 0-9, _ and -, got %q", n.Text)
			return ""
		}
	}
	return text
}

func (r *reader) flag(n *yamlpos.Node, name string) bool {
	if n.Kind != yamlpos.Bool {
		r.errs.At(n, "", "%s must be true or false, got %q", name, n.Text)
		return false
	}
	return n.Text == "true"
}

// transportHeaders belong to the connection with the client; what stands in them
// means nothing to another.
var transportHeaders = map[string]bool{
	"Connection": true, "Content-Length": true, "Content-Type": true, "Host": true, "Keep-Alive": true,
	"Te": true, "Trailer": true, "Transfer-Encoding": true, "Upgrade": true, "Accept": true, "Accept-Encoding": true,
}

// headerNames reads the names of headers that are passed on.
func (r *reader) headerNames(n *yamlpos.Node) (names []string) {
	if n.Kind != yamlpos.List {
		r.errs.At(n, "", "forward_headers needs a list of names, got %s", n.Kind)
		return nil
	}
	for _, item := range n.Items {
		if item.Kind != yamlpos.String {
			r.errs.At(item, "", "each of forward_headers needs a string, got %s", item.Kind)
			continue
		}
		name := http.CanonicalHeaderKey(item.Text)
		switch {
		case name == "" || strings.ContainsAny(name, " :*\t\r\n"):
			r.errs.At(item, "", "forward_headers needs the names of headers, got %q", item.Text)
		case transportHeaders[name] || strings.HasPrefix(name, "Mcp-"):
			r.errs.At(item, "", "%s cannot be forwarded: it belongs to the connection with the client", name)
		default:
			names = append(names, name)
		}
	}
	return names
}
