package config

import (
	"math"
	"net"
	"net/netip"
	"strconv"
	"strings"
	"time"

	"github.com/spillway-mcp/spillway/internal/yamlpos"
)

// DefaultListen is where spillway serve listens: on loopback.
const DefaultListen = "127.0.0.1:8372"

// Serve is what spillway serve needs besides the servers.
type Serve struct {
	Listen   string // host:port
	NoAuth   bool   // auth: none, which must be written out and is for loopback only
	Tokens   string // the file of the bearer tokens
	TLSCert  string // paths; "" without TLS
	TLSKey   string
	Hosts    []string // that requests may name, besides loopback ones
	Origins  []string // of web pages that may send requests, besides loopback ones
	Insecure bool     // tokens may travel without TLS from other machines: something in front has it

	Limits Limits
}

// Limits bound what clients may take. A zero value is the default of the HTTP
// edge.
type Limits struct {
	MaxBody     int           // bytes of one request
	MaxCalls    int           // of one caller at once
	MaxSessions int           // of one caller
	CallTime    time.Duration // for one call
	IdleSession time.Duration // until a session without calls ends
	StopTime    time.Duration // that calls get to end when spillway stops
}

// DefaultStopTime is Limits.StopTime where the file does not say.
const DefaultStopTime = 30 * time.Second

func (r *reader) serve(n *yamlpos.Node) {
	s := &r.c.Serve
	r.fields(n, "serve", []field{
		{"listen", func(n *yamlpos.Node) {
			s.Listen = r.expanded(n, "listen")
			if s.Listen != "" && !validAddress(s.Listen) {
				r.errs.At(n, "", "listen needs HOST:PORT, such as %s, got %q", DefaultListen, n.Text)
			}
		}},
		{"auth", func(n *yamlpos.Node) { s.NoAuth = r.word(n, "auth", "tokens", "none") == "none" }},
		{"tokens", func(n *yamlpos.Node) { s.Tokens = r.file(n, "tokens") }},
		{"tls", func(n *yamlpos.Node) {
			r.fields(n, "tls", []field{
				{"cert", func(n *yamlpos.Node) { s.TLSCert = r.file(n, "cert") }},
				{"key", func(n *yamlpos.Node) { s.TLSKey = r.file(n, "key") }},
			})
			if n.Kind == yamlpos.Map && (n.Get("cert") == nil) != (n.Get("key") == nil) {
				r.errs.At(n, "", "tls needs a cert and a key")
			}
		}},
		{"hosts", func(n *yamlpos.Node) { s.Hosts = r.texts(n, "hosts") }},
		{"origins", func(n *yamlpos.Node) {
			s.Origins = r.texts(n, "origins")
			for i, origin := range s.Origins {
				if !strings.HasPrefix(origin, "https://") && !strings.HasPrefix(origin, "http://") {
					r.errs.At(n.Items[i], "", "origins needs the form https://HOST, got %q", origin)
				}
			}
		}},
		{"behind_tls", func(n *yamlpos.Node) { s.Insecure = r.flag(n, "behind_tls") }},
		{"limits", r.limits},
	})
	if s.NoAuth && s.Listen != "" && !Loopback(s.Listen) {
		at := n.Get("listen")
		r.errs.At(at, "leave auth out for bearer tokens", "auth: none is for loopback addresses only, and listen is %q", at.Text)
	}
}

func (r *reader) limits(n *yamlpos.Node) {
	l := &r.c.Serve.Limits
	number := func(name string, to *int) field {
		return field{name, func(n *yamlpos.Node) {
			v, err := strconv.Atoi(n.Text)
			if n.Kind != yamlpos.Int || err != nil || v < 1 {
				r.errs.At(n, "", "%s needs a whole number from 1, got %q", name, n.Text)
				return
			}
			*to = v
		}}
	}
	span := func(name string, to *time.Duration) field {
		return field{name, func(n *yamlpos.Node) {
			text := r.expanded(n, name)
			d, ok := parseDuration(text)
			if !ok && text != "" {
				r.errs.At(n, "", "%s needs a time such as 30s, 10m or 1h, got %q", name, n.Text)
			}
			*to = d
		}}
	}
	r.fields(n, "limits", []field{
		{"max_body", func(n *yamlpos.Node) { l.MaxBody = int(r.size(n, "max_body", 1024, math.MaxInt32)) }},
		number("max_calls", &l.MaxCalls),
		number("max_sessions", &l.MaxSessions),
		span("call_time", &l.CallTime),
		span("idle_session", &l.IdleSession),
		span("stop_time", &l.StopTime),
	})
}

func (r *reader) texts(n *yamlpos.Node, name string) (all []string) {
	if n.Kind != yamlpos.List {
		r.errs.At(n, "", "%s needs a list of strings, got %s", name, n.Kind)
		return nil
	}
	for _, item := range n.Items {
		all = append(all, r.expanded(item, "each of "+name))
	}
	return all
}

func validAddress(addr string) bool {
	_, port, err := net.SplitHostPort(addr)
	if err != nil {
		return false
	}
	_, err = strconv.ParseUint(port, 10, 16)
	return err == nil
}

// Loopback reports whether an address to listen on is reached from this machine
// only.
func Loopback(addr string) bool {
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		return false
	}
	if host == "localhost" {
		return true
	}
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.IsLoopback()
}
