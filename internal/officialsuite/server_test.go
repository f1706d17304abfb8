//go:build unix

package officialsuite

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"
)

// servers are the runs of the server side.
var servers = []struct {
	revision  string
	args      []string // of everything-server over HTTP
	scenarios int      // that the suite runs
	url       []difference
	child     []difference
}{
	{
		// The fixture's stateless default has no sessions, which the revision has.
		revision: "2025-11-25", args: []string{"-stateless=false"}, scenarios: 33,
		// The scenario of polling is not scored. The fixture keeps no events: over
		// HTTP it ends a stream that nobody can resume, and its call is lost. The
		// gateway's own stream has ids, no word of when to ask again, since it is
		// not broken off, and an error that says that the call was lost.
		url: []difference{
			polling("server-sse-priming-event (ServerSendsPrimingEvent)", "WARNING", "SUCCESS"),
			polling("server-sse-retry-field (ServerSendsRetryField)", "SUCCESS", "WARNING"),
			polling("server-sse-disconnect-resume (ServerDisconnectResume)", "INFO", "WARNING"),
		},
		// A child has no streams to end. It answers, and at once, which is JSON.
		child: []difference{
			polling("server-sse-priming-event (ServerSendsPrimingEvent)", "WARNING", ""),
			polling("server-sse-retry-field (ServerSendsRetryField)", "SUCCESS", ""),
			polling("server-sse-disconnect-resume (ServerDisconnectResume)", "INFO", ""),
			polling("server-sse-content-type (ServerSSEContentType)", "", "INFO"),
			asJSON,
		},
	},
	{revision: "2026-07-28", scenarios: 50, child: []difference{asJSON}},
}

func polling(check, direct, through string) difference {
	return difference{scenario: "server-sse-polling", check: check, direct: direct, through: through}
}

// asJSON is what the suite says of streams where an answer at once is JSON, as
// the gateway has it for children, and not a stream.
var asJSON = difference{
	scenario: "server-sse-multiple-streams", check: "server-sse-streams-functional (ServerSSEStreamsFunctional)",
	direct: "SUCCESS", through: "INFO",
}

// A server behind the gateway is to the suite what it is over HTTP without it,
// in what it passes and in what it fails: an HTTP server, and a child.
func TestServer(t *testing.T) {
	k := need(t)
	for _, c := range servers {
		t.Run(c.revision, func(t *testing.T) {
			dir := t.TempDir()
			against := func(t *testing.T, name, url string) outcome {
				return k.run(t, filepath.Join(dir, name), "server", nil, "--url", url, "--requirements", c.revision)
			}
			direct := against(t, "direct", k.startServer(t, c.args...))
			behind := func(name, upstream string, known []difference) {
				t.Run(name, func(t *testing.T) {
					g, err := startGateway(k.spillway, filepath.Join(dir, name+"-gateway"), upstream)
					if err != nil {
						t.Fatal(err)
					}
					t.Cleanup(func() {
						if err := g.stop(); err != nil {
							t.Errorf("spillway serve: %v\n%s", err, tail(g.log))
						}
					})
					report(t, direct, against(t, name, g.url), c.scenarios, known)
					if n, err := g.requests(); err != nil || n < c.scenarios {
						t.Errorf("%d requests came through the gateway, %v: the suite had another server", n, err)
					}
				})
			}
			// Another one: the first has sessions and subscriptions by now.
			behind("url", fmt.Sprintf(`{url: %q}`, k.startServer(t, c.args...)), c.url)
			behind("child", fmt.Sprintf(`{command: %q, per_session: true}`, k.server), c.child)
		})
	}
}

// An answer that is damaged on the way is a difference that the suite sees and
// this package tells.
func TestServerDamaged(t *testing.T) {
	k := need(t)
	upstream := k.startServer(t, "-stateless=false")
	to, err := url.Parse(upstream)
	if err != nil {
		t.Fatal(err)
	}
	proxy := &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(&url.URL{Scheme: to.Scheme, Host: to.Host}) },
		ModifyResponse: func(r *http.Response) error {
			if r.Request.Method != http.MethodPost {
				return nil
			}
			body, err := io.ReadAll(r.Body)
			r.Body.Close()
			body = bytes.ReplaceAll(body, []byte(`"type":"text"`), []byte(`"type":"txet"`))
			r.Body = io.NopCloser(bytes.NewReader(body))
			return err
		},
	}
	damaging := httptest.NewServer(proxy)
	defer damaging.Close()
	dir := t.TempDir()
	against := func(name, upstream string) outcome {
		return k.run(t, filepath.Join(dir, name), "server", nil, "--url", upstream, "--scenario", "tools-call-simple-text", "--spec-version", "2025-11-25")
	}
	var got []string
	for _, d := range compare(against("direct", upstream), against("through", damaging.URL+to.Path), nil) {
		d.message = ""
		got = append(got, d.String())
	}
	want := []string{
		"scenario tools-call-simple-text, check tools-call-simple-text (ToolsCallSimpleText): directly SUCCESS, through the gateway FAILURE",
		"scenario tools-call-simple-text, check wire-schema-valid (WireSchemaValid): directly SUCCESS, through the gateway FAILURE",
		"scenario of all, check exit status: directly 0, through the gateway 1",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// startServer starts everything-server and returns its URL.
func (k kit) startServer(t *testing.T, args ...string) string {
	t.Helper()
	// The fixture does not say which port it got, so it is given one that was
	// free. Somebody may take that first, and then it ends.
	for range 5 {
		addr := freeAddr(t)
		file := filepath.Join(t.TempDir(), "server.log")
		log, err := os.Create(file)
		if err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command(k.server, append([]string{"-http", addr}, args...)...)
		cmd.Stdout, cmd.Stderr = log, log
		p, err := startProcess(cmd)
		log.Close()
		if err != nil {
			t.Fatal(err)
		}
		if p.listens(t, addr) {
			t.Cleanup(func() {
				if err := p.stop(); err != nil {
					t.Errorf("%v\n%s", err, tail(file))
				}
			})
			return "http://" + addr + "/mcp"
		}
		t.Logf("everything-server on %s: %s", addr, tail(file))
	}
	t.Fatal("everything-server does not start")
	return ""
}

func freeAddr(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// listens waits until the process takes connections, or has ended.
func (p *process) listens(t *testing.T, addr string) bool {
	t.Helper()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	deadline := time.After(startTime)
	for {
		select {
		case <-p.done:
			return false
		case <-deadline:
			_ = p.stop()
			t.Fatalf("everything-server does not listen on %s after %v", addr, startTime)
		case <-tick.C:
			if conn, err := net.Dial("tcp", addr); err == nil {
				conn.Close()
				return true
			}
		}
	}
}

// report fails the test for every difference, the first one first, and for runs
// in which the suite did less than it should or its requirements were not met.
func report(t *testing.T, direct, through outcome, scenarios int, known []difference) {
	t.Helper()
	for _, d := range compare(direct, through, known) {
		t.Error(d)
	}
	if len(direct.checks) != scenarios {
		t.Errorf("the suite ran %d scenarios, want %d", len(direct.checks), scenarios)
	}
	if direct.exit != 0 {
		t.Errorf("the suite ends with status %d directly: the fixture does not meet the requirements", direct.exit)
	}
	n := tally(through.checks)
	t.Logf("through the gateway %d scenarios: %d checks succeed, %d fail, %d warn, %d are skipped",
		len(through.checks), n["SUCCESS"], n["FAILURE"], n["WARNING"], n["SKIPPED"])
}
