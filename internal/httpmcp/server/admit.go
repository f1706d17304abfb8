package server

import (
	"errors"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"

	"github.com/spillway-mcp/spillway/internal/httpmcp"
)

// Codes of errors that only this edge answers with, outside the range that
// JSON-RPC and MCP keep for themselves.
const (
	CodeTimeout = -31010 // the time for one call is up
	CodeBusy    = -31011 // too many calls, streams or sessions of one caller
	CodeClosing = -31012 // the server is closing
	CodeDenied  = -31013 // not authenticated, or a host or origin that is not accepted
	CodeSession = -31014 // no such session
)

// Admit checks a request for something else on the same address as it checks
// the MCP endpoint's: host, origin and token. Where it returns false it has
// answered.
func (s *Server) Admit(w http.ResponseWriter, r *http.Request) bool {
	_, ok := s.admit(w, r)
	return ok
}

// admit checks who asks, and from where a browser was sent.
func (s *Server) admit(w http.ResponseWriter, r *http.Request) (caller string, ok bool) {
	local := false
	if addr, _ := r.Context().Value(http.LocalAddrContextKey).(*net.TCPAddr); addr != nil {
		local = addr.IP.IsLoopback()
	}
	if (local || len(s.hosts) > 0) && !s.hosts[strings.ToLower(r.Host)] && !s.hosts[hostname(r.Host)] && !(local && loopbackHost(hostname(r.Host))) {
		refuse(w, http.StatusForbidden, httpmcp.Errorf(CodeDenied, "the Host header names a host that is not accepted here"))
		return "", false
	}
	if origin, sent := r.Header["Origin"]; sent && !s.origin(origin, local) {
		refuse(w, http.StatusForbidden, httpmcp.Errorf(CodeDenied, "the Origin header names an origin that is not accepted here"))
		return "", false
	}
	if s.share(w, r) {
		return "", false
	}
	if s.opt.Auth == nil {
		return Anonymous, true
	}
	caller, err := s.opt.Auth.Authenticate(r)
	if err == nil {
		return caller, true
	}
	var d *Denied
	if !errors.As(err, &d) {
		s.opt.Log.Warn("authentication failed", "err", err)
		d = &Denied{Status: http.StatusUnauthorized, Challenge: "Bearer", Reason: "not authenticated"}
	}
	if d.Challenge != "" {
		w.Header().Set("WWW-Authenticate", d.Challenge)
	}
	refuse(w, d.Status, httpmcp.Errorf(CodeDenied, "%s", d.Reason))
	return "", false
}

func (s *Server) origin(sent []string, local bool) bool {
	if len(sent) != 1 {
		return false
	}
	if s.origins[strings.ToLower(sent[0])] {
		return true
	}
	u, err := url.Parse(sent[0])
	return err == nil && local && (u.Scheme == "http" || u.Scheme == "https") && loopbackHost(strings.ToLower(u.Hostname()))
}

// hostname is a Host header without its port and brackets.
func hostname(host string) string {
	if h, _, err := net.SplitHostPort(host); err == nil {
		host = h
	}
	return strings.ToLower(strings.TrimSuffix(strings.TrimPrefix(host, "["), "]"))
}

func loopbackHost(name string) bool {
	if name == "localhost" {
		return true
	}
	ip, err := netip.ParseAddr(name)
	return err == nil && ip.IsLoopback()
}

func names(list []string) map[string]bool {
	set := map[string]bool{}
	for _, s := range list {
		set[strings.ToLower(strings.TrimSuffix(s, "/"))] = true
	}
	return set
}
