package cli

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"
)

// TestMainServer lets the test binary be the demo's server: see serving.
func init() {
	if os.Getenv("SPILLWAY_TEST_DEMO_SERVER") != "" {
		os.Exit(Run(context.Background(), []string{serveDemo}, streams{In: os.Stdin, Out: os.Stdout, Err: os.Stderr}))
	}
}

// talked is what a command writes while it runs.
type talked struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *talked) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *talked) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

// find waits for what re finds.
func (s *talked) find(t *testing.T, re string) string {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		if m := regexp.MustCompile(re).FindStringSubmatch(s.String()); m != nil {
			return m[1]
		}
	}
	t.Fatalf("nothing like %s in:\n%s", re, s.String())
	return ""
}

// served is a running spillway serve.
type served struct {
	t      *testing.T
	err    talked
	out    bytes.Buffer
	url    string
	token  string
	stop   context.CancelCauseFunc
	status chan int
	config string
	client *http.Client
}

func serving(t *testing.T, config string, args ...string) *served {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	t.Setenv("HOME", dir)
	t.Setenv("XDG_STATE_HOME", dir)
	t.Setenv("XDG_CONFIG_HOME", dir)
	t.Setenv("GORACE", "atexit_sleep_ms=0")
	s := &served{t: t, status: make(chan int, 1), client: http.DefaultClient, config: filepath.Join(dir, "spillway.yaml")}
	s.write(strings.ReplaceAll(config, "DEMO", fmt.Sprintf(`{command: %q, env: {SPILLWAY_TEST_DEMO_SERVER: "1"}}`, self)))
	ctx, cancel := context.WithCancelCause(t.Context())
	s.stop = cancel
	go func() {
		s.status <- Run(ctx, append([]string{"serve", "-c", s.config, "--listen", "127.0.0.1:0"}, args...), streams{In: strings.NewReader(""), Out: &s.out, Err: &s.err})
	}()
	t.Cleanup(func() { cancel(nil) })
	s.url = s.err.find(t, `serving \(url (\S+?),`)
	return s
}

func (s *served) write(config string) {
	if err := os.WriteFile(s.config, []byte(config), 0o600); err != nil {
		s.t.Fatal(err)
	}
}

func (s *served) post(session, body string) (int, string, string) {
	s.t.Helper()
	r, _ := http.NewRequest("POST", s.url, strings.NewReader(body))
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	if s.token != "" {
		r.Header.Set("Authorization", "Bearer "+s.token)
	}
	if session != "" {
		r.Header.Set("Mcp-Session-Id", session)
	}
	resp, err := s.client.Do(r)
	if err != nil {
		s.t.Fatal(err)
	}
	defer resp.Body.Close()
	b, _ := io.ReadAll(resp.Body)
	if id := resp.Header.Get("Mcp-Session-Id"); id != "" {
		session = id
	}
	return resp.StatusCode, session, string(b)
}

func (s *served) get(path string) string {
	resp, err := http.Get(strings.TrimSuffix(s.url, endpoint) + path)
	if err != nil {
		s.t.Fatal(err)
	}
	defer resp.Body.Close()
	b, _ := io.ReadAll(resp.Body)
	return string(b)
}

const initialize = `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`

// From the first start to the last line of the ledger.
func TestServe(t *testing.T) {
	s := serving(t, "servers: {demo: DEMO}\nrules: {demo: {search_code: {keep: \"items[*].path\", max_rows: 2}}}\nledger: {path: ledger.jsonl}\n")
	if code, _, body := s.post("", initialize); code != http.StatusUnauthorized {
		t.Errorf("without a token: %d %s", code, body)
	}
	s.token = s.err.find(t, `"Authorization": "Bearer ([^"]+)"`)
	code, session, body := s.post("", initialize)
	if code != 200 || session == "" || !strings.Contains(body, `"protocolVersion":"2025-11-25"`) {
		t.Fatalf("%d %q %s", code, session, body)
	}
	s.post(session, `{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	if _, _, body := s.post(session, `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`); !strings.Contains(body, "search_code") || !strings.Contains(body, "reducer_expand") {
		t.Error(body)
	}
	_, _, body = s.post(session, `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"search_code","arguments":{"query":"x"}}}`)
	if !strings.Contains(body, "Showing 2 of") {
		t.Errorf("not reduced: %.300s", body)
	}
	if got := s.get("/healthz"); got != "ok\n" {
		t.Error(got)
	}
	if got := s.get("/readyz"); !strings.Contains(got, `{"server":"demo","state":"up"}`) {
		t.Error(got)
	}
	if got := s.get("/metrics"); !strings.Contains(got, `spillway_request_duration_seconds_count{method="tools/call"} 1`) || !strings.Contains(got, `spillway_upstream_up{server="demo"} 1`) {
		t.Error(got)
	}
	s.stop(nil)
	if status := <-s.status; status != exitOK && status != exitFailed {
		t.Errorf("status %d", status)
	}
	ledger, err := os.ReadFile(filepath.Join(filepath.Dir(s.config), "ledger.jsonl"))
	if err != nil || !strings.Contains(string(ledger), `"caller":"token:default"`) || !strings.Contains(string(ledger), `"outcome":"reduced"`) {
		t.Errorf("the ledger: %v %s", err, ledger)
	}
	if strings.Contains(string(ledger), s.token) || s.out.Len() > 0 {
		t.Errorf("stdout %q, or the token in the ledger", s.out.String())
	}
}

// A client's Authorization and Cookie are in nothing that is kept: not in the
// log at its lowest level, the ledger, the stash or the record.
func TestK66_NothingThatIsKeptHoldsACredential(t *testing.T) {
	s := serving(t, `servers: {demo: DEMO}
rules: {demo: {search_code: {keep: "items[*].path", max_rows: 2}}}
ledger: {path: kept/ledger.jsonl}
stash: {path: kept/stash}
record: {path: kept/record}
`, "--verbose")
	s.token = s.err.find(t, `"Authorization": "Bearer ([^"]+)"`)
	jar := &http.Transport{}
	t.Cleanup(jar.CloseIdleConnections)
	s.client = &http.Client{Transport: withHeader{jar, "Cookie", "session=chocolate-7731"}}
	_, session, _ := s.post("", initialize)
	s.post(session, `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`)
	if _, _, body := s.post(session, `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"search_code","arguments":{"query":"x"}}}`); !strings.Contains(body, "Showing 2 of") {
		t.Fatal(body)
	}
	s.stop(nil)
	<-s.status
	kept := map[string]string{"log": strings.Replace(s.err.String(), s.token, "", 1)} // where a new token is shown
	err := filepath.WalkDir(filepath.Dir(s.config), func(path string, e os.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		b, err := os.ReadFile(path)
		if plain, zerr := zstdText(b); zerr == nil {
			b = plain
		}
		kept[path] = string(b)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	var recorded bool
	for path, text := range kept {
		recorded = recorded || strings.Contains(path, "record") && strings.Contains(text, "search_code")
		for _, secret := range []string{s.token, "chocolate-7731"} {
			if strings.Contains(text, secret) {
				t.Errorf("%s holds %q", path, secret)
			}
		}
	}
	if !recorded {
		t.Errorf("no record of the call among %d files", len(kept))
	}
}

// withHeader adds a header to each request.
type withHeader struct {
	http.RoundTripper
	name, value string
}

func (h withHeader) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set(h.name, h.value)
	return h.RoundTripper.RoundTrip(r)
}

func zstdText(b []byte) ([]byte, error) {
	r, err := zstd.NewReader(nil)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	return r.DecodeAll(b, nil)
}

// The servers of a changed configuration are there without a restart, and a
// faulty one is reported and changes nothing.
func TestServeReloads(t *testing.T) {
	s := serving(t, "servers: {a: DEMO}\nserve: {auth: none}\n")
	text, _ := os.ReadFile(s.config)
	s.write("servers: {a: 7}\n")
	s.err.find(t, `(the last good one stays)`)
	s.write(strings.Replace(string(text), "servers: {a: ", "servers: {b: {command: no-such-command-here}, a: ", 1))
	s.err.find(t, `(servers changed)`)
	_, session, _ := s.post("", initialize)
	if _, _, body := s.post(session, `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`); !strings.Contains(body, "search_code") || !strings.Contains(body, `"server":"b","why":`) {
		t.Error(body)
	}
}

func TestServeRefuses(t *testing.T) {
	t.Setenv("HOME", t.TempDir())
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	t.Setenv("XDG_CONFIG_HOME", t.TempDir())
	for _, args := range [][]string{{"--log", "xml"}, {"--log-level", "loud"}} {
		var said bytes.Buffer
		status := Run(t.Context(), append([]string{"serve"}, args...), streams{In: strings.NewReader(""), Out: io.Discard, Err: &said})
		if status != exitUsage || !strings.Contains(said.String(), "allowed are") {
			t.Errorf("%q: status %d, %s", args, status, said.String())
		}
	}
	for _, c := range []struct {
		config, listen string
		status         int
		says           string
	}{
		{"servers: {a: {command: a}}\nserve: {auth: none}", "0.0.0.0:0", exitUsage, "auth: none is for loopback addresses only"},
		{"servers: {a: {command: a}}", "0.0.0.0:0", exitUsage, "tokens would travel in the clear"},
		{"servers: {a: {command: a}}", "nowhere", exitUsage, `"nowhere" is no address with a port; write one as 127.0.0.1:8372`},
		{"servers: {}", "127.0.0.1:0", exitUsage, "names no servers"},
		{"servers: {a: {command: a}}\nserve: {tls: {cert: none, key: none}}", "127.0.0.1:0", exitFailed, "tls: "},
		{"servers: {a: {command: a, env: {X: '${NOT_SET_AT_ALL}'}}}", "127.0.0.1:0", exitFaults, "NOT_SET_AT_ALL is not set"},
	} {
		path := filepath.Join(t.TempDir(), "s.yaml")
		if err := os.WriteFile(path, []byte(c.config), 0o600); err != nil {
			t.Fatal(err)
		}
		var said bytes.Buffer
		status := Run(t.Context(), []string{"serve", "-c", path, "--listen", c.listen}, streams{In: strings.NewReader(""), Out: io.Discard, Err: &said})
		if status != c.status || strings.Count(said.String(), c.says) != 1 {
			t.Errorf("%s\nstatus %d, want %d and once %q; %s", c.config, status, c.status, c.says, said.String())
		}
	}
}

// A duration in the log of --log json has its unit.
func TestServeLogsDurationsWithUnits(t *testing.T) {
	var said bytes.Buffer
	log, err := (&serveOptions{log: "json"}).logger(streams{Err: &said})
	if err != nil {
		t.Fatal(err)
	}
	log.Error("upstream failed", "again_in", 250*time.Millisecond)
	if !strings.Contains(said.String(), `"again_in":"250ms"`) {
		t.Error(said.String())
	}
}

// All servers of a configuration on one pair of streams.
func TestRunMany(t *testing.T) {
	self, _ := os.Executable()
	dir := t.TempDir()
	t.Setenv("HOME", dir)
	t.Setenv("XDG_STATE_HOME", dir)
	t.Setenv("GORACE", "atexit_sleep_ms=0")
	path := filepath.Join(dir, "s.yaml")
	entry := fmt.Sprintf(`{command: %q, env: {SPILLWAY_TEST_DEMO_SERVER: "1"}`, self)
	if err := os.WriteFile(path, []byte("servers: {a: "+entry+"}, b: "+entry+", prefix: bee}}\nrules: {a: {search_code: {max_rows: 2}}}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	in := initialize + "\n" + `{"jsonrpc":"2.0","method":"notifications/initialized"}` + "\n" +
		`{"jsonrpc":"2.0","id":1,"method":"tools/list"}` + "\n" + `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"bee_search_code","arguments":{"query":"x"}}}` + "\n"
	var out, said bytes.Buffer
	if status := Run(t.Context(), []string{"run", "-c", path}, streams{In: strings.NewReader(in), Out: &out, Err: &said}); status != exitOK {
		t.Fatalf("status %d: %s", status, said.String())
	}
	for _, want := range []string{`"name":"search_code"`, `"name":"bee_search_code"`, `"id":2,"result":`} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %s in %.600s\n%s", want, out.String(), said.String())
		}
	}
	if strings.Contains(said.String(), "no rule names") {
		t.Errorf("rules go by the servers' names, not by ours: %s", said.String())
	}
}
