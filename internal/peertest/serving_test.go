package peertest

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/spillway-mcp/spillway/internal/access"
)

// serving is a running `spillway serve`.
type serving struct {
	t     testing.TB
	cmd   *exec.Cmd
	dir   string
	base  string // http://host:port
	log   *syncBuffer
	token map[string]string // by caller
}

// syncBuffer is written by one goroutine and read by another.
type syncBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *syncBuffer) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *syncBuffer) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

var servingAt = regexp.MustCompile(`(https?://[0-9.:]+)/mcp`)

// serve starts `spillway serve` in dir under a configuration to which it adds
// the place of the tokens, one for each of the callers, and waits until it
// listens.
func serve(t testing.TB, dir, configuration string, env []string, callers ...string) *serving {
	t.Helper()
	tokens := filepath.Join(dir, "tokens.json")
	store, err := access.Open(tokens)
	if err != nil {
		t.Fatal(err)
	}
	s := &serving{t: t, dir: dir, log: new(syncBuffer), token: map[string]string{}}
	for _, name := range callers {
		if s.token[name], err = store.Add(name); err != nil {
			t.Fatal(err)
		}
	}
	file := filepath.Join(dir, "spillway.yaml")
	configuration += fmt.Sprintf("\nserve: {listen: \"127.0.0.1:0\", tokens: %q}\n", tokens)
	if err := os.WriteFile(file, []byte(configuration), 0o644); err != nil {
		t.Fatal(err)
	}
	s.cmd = exec.Command(spillway(t), "serve", "-c", file)
	s.cmd.Env, s.cmd.Dir = env, dir
	s.cmd.Stderr = s.log
	ownGroup(s.cmd)
	if err := s.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.stop() })
	await(t, "spillway serves", func() bool {
		found := servingAt.FindStringSubmatch(s.log.String())
		if found != nil {
			s.base = found[1]
		}
		return found != nil
	})
	return s
}

// stop ends it as a supervisor does, and fails the test if it does not end well.
func (s *serving) stop() {
	if s.cmd.ProcessState != nil {
		return
	}
	s.cmd.Process.Signal(syscall.SIGTERM)
	timer := time.AfterFunc(patience, func() { killGroup(s.cmd) })
	err := s.cmd.Wait()
	if !timer.Stop() {
		s.t.Errorf("spillway serve did not end within %v of SIGTERM: %v\n%s", patience, err, tail(s.log.String()))
	}
}

func tail(text string) string { return text[max(0, len(text)-4000):] }

// get returns the body of one of the pages for operators.
func (s *serving) get(path string) string {
	s.t.Helper()
	resp, err := http.Get(s.base + path)
	if err != nil {
		s.t.Fatalf("%v\n%s", err, tail(s.log.String()))
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	return string(body)
}

// metric returns one figure of /metrics, by its name with its labels.
func (s *serving) metric(name string) int {
	s.t.Helper()
	page := s.get("/metrics")
	for line := range strings.Lines(page) {
		if value, ok := strings.CutPrefix(strings.TrimSpace(line), name+" "); ok {
			f, err := strconv.ParseFloat(value, 64)
			if err != nil {
				s.t.Fatal(err)
			}
			return int(f)
		}
	}
	s.t.Fatalf("/metrics has no %s:\n%s", name, page)
	return 0
}

// await waits until ok, at most for as long as an answer may take.
func await(t testing.TB, what string, ok func() bool) {
	t.Helper()
	deadline := time.After(patience)
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for !ok() {
		select {
		case <-deadline:
			t.Fatalf("waited %v in vain: %s", patience, what)
		case <-tick.C:
		}
	}
}
