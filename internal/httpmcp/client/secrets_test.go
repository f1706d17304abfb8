package client_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/spillway-mcp/spillway/internal/httpmcp/client"
)

// K66: the client's credentials reach an upstream where they are named, and
// nowhere else.
func TestK66_HeadersAreForwardedByNameAlone(t *testing.T) {
	var got http.Header
	up := serve(t, func(w http.ResponseWriter, r *http.Request) {
		got = r.Header
		sendJSON(w, 200, result)
	})
	mine := http.Header{"Authorization": {"Bearer client"}, "Cookie": {"a=b"}, "X-Team": {"red"}, "X-Key": {"client"}, "Connection": {"close"}}
	for _, c := range []struct {
		forward []string
		want    map[string]string
	}{
		{nil, map[string]string{"Authorization": "", "Cookie": "", "X-Team": "", "X-Key": "static"}},
		{[]string{"x-team", "X-Key"}, map[string]string{"Authorization": "", "Cookie": "", "X-Team": "red", "X-Key": "static"}},
		{[]string{"Authorization", "cookie"}, map[string]string{"Authorization": "Bearer client", "Cookie": "a=b", "X-Team": ""}},
	} {
		u := upstream(t, up.URL, client.Options{Forward: c.forward, Header: map[string]string{"x-key": "static"}})
		o := out(modernCall)
		o.Header = mine
		if err := u.Stateless(t.Context(), o, client.Answer{}); err != nil {
			t.Fatal(err)
		}
		for name, want := range c.want {
			if got.Get(name) != want {
				t.Errorf("forward %v: %s is %q, want %q", c.forward, name, got.Get(name), want)
			}
		}
		s := u.Session(mine)
		_ = s.Send(t.Context(), out(initialize), client.Answer{})
		for name, want := range c.want {
			if got.Get(name) != want {
				t.Errorf("forward %v, session: %s is %q, want %q", c.forward, name, got.Get(name), want)
			}
		}
	}
}

func TestK66_RedirectsCarryNoCredentialsElsewhere(t *testing.T) {
	reached := false
	other := serve(t, func(w http.ResponseWriter, r *http.Request) { reached = true })
	var to string
	status := 307
	var bodies []string
	up := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/there" {
			bodies = append(bodies, bodyOf(r)+r.Header.Get("Authorization"))
			sendJSON(w, 200, result)
			return
		}
		http.Redirect(w, r, to, status)
	})
	u := upstream(t, up.URL+"/mcp?key=s3cret", client.Options{Header: map[string]string{"Authorization": "Bearer s3cret"}})
	to = other.URL + "/there"
	err := u.Stateless(t.Context(), out(modernCall), client.Answer{})
	if err == nil || !strings.Contains(err.Error(), "redirects to "+other.URL) || strings.Contains(err.Error(), "s3cret") || reached {
		t.Error(err, reached)
	}
	to = "/there"
	for _, status = range []int{307, 308} {
		if err := u.Stateless(t.Context(), out(modernCall), client.Answer{}); err != nil {
			t.Error(err)
		}
	}
	if len(bodies) != 2 || bodies[0] != modernCall+"Bearer s3cret" {
		t.Error(bodies)
	}
	for _, status = range []int{301, 302, 303} {
		if err := u.Stateless(t.Context(), out(modernCall), client.Answer{}); err == nil || !strings.Contains(err.Error(), "turn the message into a GET") {
			t.Error(status, err)
		}
	}
	to, status = "/again", 307
	if err := u.Stateless(t.Context(), out(modernCall), client.Answer{}); err == nil || !strings.Contains(err.Error(), "over and over") {
		t.Error(err)
	}
}

func TestErrorsHoldNoSecrets(t *testing.T) {
	u := upstream(t, "http://user:s3cret@127.0.0.1:1/mcp/s3cret?key=s3cret", client.Options{Header: map[string]string{"X-Key": "s3cret"}})
	err := u.Stateless(t.Context(), out(modernCall), client.Answer{})
	if err == nil || strings.Contains(err.Error(), "s3cret") || !strings.Contains(err.Error(), "upstream up at http://127.0.0.1:1") {
		t.Error(err)
	}
	for _, opt := range []client.Options{
		{URL: "ftp://s3cret"}, {URL: "://s3cret"}, {URL: "s3cret"},
		{URL: "http://x", Header: map[string]string{"A": "s3cret\r\nB: 1"}},
		{URL: "http://x", Header: map[string]string{"Mcp-Session-Id": "s3cret"}},
		{URL: "http://x", Header: map[string]string{"a b": "s3cret"}},
		{URL: "http://x", Forward: []string{"Host"}},
		{URL: "http://x", Forward: []string{""}},
	} {
		if _, err := client.New(opt); err == nil || strings.Contains(err.Error(), "s3cret") {
			t.Errorf("%+v: %v", opt, err)
		}
	}
}
