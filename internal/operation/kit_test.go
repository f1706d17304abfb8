package operation

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/spillway-mcp/spillway/contract"
)

// service is an upstream over HTTP: what it was asked, and what it answers.
type service struct {
	t   *testing.T
	url string

	mu      sync.Mutex
	asked   []request
	respond func(r request) (status int, body string)
}

type request struct {
	Method, Path, Query, Body string
	Header                    http.Header
}

func newService(t *testing.T, respond func(request) (int, string)) *service {
	s := &service{t: t, respond: respond}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		got := request{r.Method, r.URL.EscapedPath(), r.URL.RawQuery, string(body), r.Header}
		s.mu.Lock()
		s.asked = append(s.asked, got)
		s.mu.Unlock()
		status, answer := s.respond(got)
		switch {
		case status == 0:
			panic(http.ErrAbortHandler) // the connection breaks
		case status >= 300 && status < 400:
			w.Header().Set("Location", answer)
			answer = ""
		case strings.HasPrefix(answer, "Link:"):
			link, rest, _ := strings.Cut(strings.TrimPrefix(answer, "Link:"), "\n")
			w.Header().Set("Link", link)
			answer = rest
		}
		w.WriteHeader(status)
		io.WriteString(w, answer)
	}))
	server.Config.ErrorLog = nil
	t.Cleanup(server.Close)
	s.url = server.URL
	return s
}

func (s *service) requests() []request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]request(nil), s.asked...)
}

// tools is a Caller with one answer for each tool.
type tools func(server, tool string, args, meta []byte) (string, error)

func (f tools) CallTool(_ context.Context, server, tool string, args, meta []byte) ([]byte, error) {
	answer, err := f(server, tool, args, meta)
	return []byte(answer), err
}

// open reads operations in which URL stands for the service.
func open(t *testing.T, yaml, url string, caller Caller) *contract.Client {
	t.Helper()
	lookup := func(name string) (string, bool) { return "secret-of-" + name, name != "UNSET" }
	set, err := Parse("operations.yaml", []byte(strings.ReplaceAll(yaml, "URL", url)), Options{Servers: caller, Lookup: lookup})
	if err != nil {
		t.Fatal(err)
	}
	c, err := contract.New(contract.Options{Caller: "tester", Definitions: set.Definitions})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func do(t *testing.T, c *contract.Client, operation, key, params string) *contract.Receipt {
	t.Helper()
	r, _ := c.Do(t.Context(), c.Lookup(operation), contract.Call{Key: key, Params: json.RawMessage(params)})
	if r == nil {
		t.Fatalf("%s: no receipt", operation)
	}
	return r
}
