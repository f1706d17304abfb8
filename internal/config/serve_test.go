package config

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func TestServe(t *testing.T) {
	c, err := Parse("/etc/s.yaml", []byte(`servers:
  a: {command: a, prefix: x, per_session: true}
  b: {url: "https://b.example/mcp", forward_headers: [authorization, X-Tenant]}
serve:
  listen: 0.0.0.0:9000
  tokens: tokens.json
  tls: {cert: c.pem, key: k.pem}
  hosts: [mcp.example.com]
  origins: ["https://app.example.com"]
  behind_tls: true
  limits: {max_body: 1MiB, max_calls: 8, max_sessions: 9, call_time: 10m, idle_session: 1h, stop_time: 5s}
`), env("HOME", "/home/u", "USERPROFILE", "/home/u"))
	if err != nil {
		t.Fatal(err)
	}
	want := Serve{
		Listen: "0.0.0.0:9000", Tokens: filepath.FromSlash("/etc/tokens.json"),
		TLSCert: filepath.FromSlash("/etc/c.pem"), TLSKey: filepath.FromSlash("/etc/k.pem"),
		Hosts: []string{"mcp.example.com"}, Origins: []string{"https://app.example.com"}, Insecure: true,
		Limits: Limits{MaxBody: 1 << 20, MaxCalls: 8, MaxSessions: 9, CallTime: 10 * time.Minute, IdleSession: time.Hour, StopTime: 5 * time.Second},
	}
	if !reflect.DeepEqual(c.Serve, want) {
		t.Errorf("got  %+v\nwant %+v", c.Serve, want)
	}
	a, _ := c.Server("a")
	if a.Prefix != "x" || !a.PerSession {
		t.Errorf("got %+v", a)
	}
	b, _ := c.Server("b")
	if !reflect.DeepEqual(b.ForwardHeaders, []string{"Authorization", "X-Tenant"}) {
		t.Errorf("K66: got %q", b.ForwardHeaders)
	}
}

// What would let others in, or carry what belongs to one connection to another,
// is refused where it is written.
func TestServeFaults(t *testing.T) {
	for in, want := range map[string]string{
		"serve: {auth: none, listen: 'example.com:80'}":                      `auth: none is for loopback addresses only, and listen is "example.com:80"`,
		"serve: {auth: none, listen: ':80'}":                                 `auth: none is for loopback addresses only`,
		"serve: {auth: off}":                                                 `auth must be one of tokens, none, got`,
		"serve: {listen: 80}":                                                `listen needs a string`,
		"serve: {listen: '80'}":                                              `listen needs HOST:PORT`,
		"serve: {tls: {cert: a}}":                                            `tls needs a cert and a key`,
		"serve: {origins: [example.com]}":                                    `origins needs the form https://HOST`,
		"serve: {limits: {max_calls: 0}}":                                    `max_calls needs a whole number from 1, got "0"`,
		"serve: {limits: {max_call: 1}}":                                     `unknown key "max_call" in limits`,
		"serve: {limits: {call_time: soon}}":                                 `call_time needs a time such as 30s, 10m or 1h, got "soon"`,
		"servers: {a: {command: a, prefix: 'a b'}}":                          `prefix needs 1 to 32 characters`,
		"servers: {a: {command: a, per_session: 1}}":                         `per_session must be true or false`,
		"servers: {a: {url: 'http://a', per_session: true}}":                 `has a url; each client has its own session there anyway`,
		"servers: {a: {command: a, forward_headers: [x]}}":                   `has a command; forward_headers belong to a url`,
		"servers: {a: {url: 'http://a', forward_headers: x}}":                `forward_headers needs a list of names`,
		"servers: {a: {url: 'http://a', forward_headers: ['*']}}":            `forward_headers needs the names of headers, got "*"`,
		"servers: {a: {url: 'http://a', forward_headers: [mcp-session-id]}}": `Mcp-Session-Id cannot be forwarded`,
		"servers: {a: {url: 'http://a', forward_headers: [host]}}":           `Host cannot be forwarded`,
	} {
		_, err := Parse("f.yaml", []byte(in), env("HOME", "/home/u", "USERPROFILE", "/home/u"))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s\ngot  %v\nwant %s", in, err, want)
		}
	}
}

func TestWatchFile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "s.yaml")
		write := func(text string) {
			if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		write("a")
		ctx, cancel := context.WithCancel(t.Context())
		changes, err := WatchFile(ctx, path, slog.New(slog.DiscardHandler))
		if err != nil {
			t.Fatal(err)
		}
		write("b")
		<-changes
		os.Remove(path) // an editor that replaces the file
		time.Sleep(3 * time.Second)
		write("b")
		time.Sleep(3 * time.Second)
		select {
		case <-changes:
			t.Error("a change was told of that was none")
		default:
		}
		write("c")
		<-changes
		cancel()
		if _, open := <-changes; open {
			t.Error("the channel is open after the end")
		}
	})
}
