package peertest

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

// patience is how long one answer may take on a loaded machine.
const patience = 30 * time.Second

// session is one process that speaks newline-delimited JSON-RPC, driven with
// raw bytes.
type session struct {
	t     testing.TB
	cmd   *exec.Cmd
	in    io.WriteCloser
	lines chan string // closed at the end of output
	seen  []string    // every line read so far, in order
	errs  *bytes.Buffer
}

// start runs argv with an isolated home in dir.
func start(t testing.TB, dir string, argv ...string) *session {
	t.Helper()
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Env = isolated(t, dir)
	cmd.Dir = dir
	ownGroup(cmd)
	s := &session{t: t, cmd: cmd, lines: make(chan string, 1024), errs: new(bytes.Buffer)}
	cmd.Stderr = s.errs
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	s.in = in
	t.Cleanup(s.stop)
	go func() {
		defer close(s.lines)
		r := bufio.NewReaderSize(out, 1<<20)
		for {
			line, err := r.ReadString('\n')
			if line != "" {
				s.lines <- line
			}
			if err != nil {
				return
			}
		}
	}()
	return s
}

// send writes raw bytes; a frame ends with its newline.
func (s *session) send(raw string) {
	s.t.Helper()
	if _, err := io.WriteString(s.in, raw); err != nil {
		s.t.Fatalf("writing %.100q: %v\n%s", raw, err, s.errs)
	}
}

// next returns the next line, newline included; false at the end of output.
func (s *session) next() (string, bool) {
	s.t.Helper()
	select {
	case line, ok := <-s.lines:
		if ok {
			s.seen = append(s.seen, line)
		}
		return line, ok
	case <-time.After(patience):
		last := ""
		if len(s.seen) > 0 {
			last = s.seen[len(s.seen)-1]
		}
		s.t.Fatalf("no line within %v, after %d; the last: %.500s\n%s", patience, len(s.seen), last, s.errs)
		return "", false
	}
}

// until reads lines until one is wanted, and returns it.
func (s *session) until(wanted func(message) bool) string {
	s.t.Helper()
	for {
		line, ok := s.next()
		if !ok {
			s.t.Fatalf("the output ended\n%s", s.errs)
		}
		var m message
		if err := json.Unmarshal([]byte(line), &m); err != nil {
			s.t.Fatalf("a line that is not JSON-RPC: %.200q", line)
		}
		if wanted(m) {
			return line
		}
	}
}

// message is as much of a frame as the tests look at.
type message struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
	Result json.RawMessage `json:"result"`
	Error  json.RawMessage `json:"error"`
}

// answer waits for the response whose id has exactly these bytes.
func (s *session) answer(id string) string {
	s.t.Helper()
	return s.until(func(m message) bool { return m.Method == "" && string(m.ID) == id })
}

// request waits for a request of the server with this method.
func (s *session) request(method string) message {
	s.t.Helper()
	var found message
	s.until(func(m message) bool {
		found = m
		return m.Method == method && m.ID != nil
	})
	return found
}

// initialize does the handshake in the given revision with the given client
// capabilities.
func (s *session) initialize(revision, capabilities string) string {
	s.t.Helper()
	s.send(`{"jsonrpc":"2.0","id":"hello","method":"initialize","params":{"protocolVersion":"` + revision +
		`","capabilities":` + capabilities + `,"clientInfo":{"name":"raw","version":"1"}}}` + "\n")
	line := s.answer(`"hello"`)
	s.send(`{"jsonrpc":"2.0","method":"notifications/initialized"}` + "\n")
	return line
}

// stop ends the process and what it started, if it still runs. Closing the
// input is not enough: a server with a task's timer pending stays for minutes.
func (s *session) stop() {
	if s.cmd.ProcessState == nil {
		s.in.Close()
		killGroup(s.cmd)
		for range s.lines {
		}
		s.cmd.Wait()
	}
}

// run is the command line that puts Spillway in front of argv under a rule
// set of peers/rules; an empty file means no rules file.
func run(t testing.TB, name, rules string, argv ...string) []string {
	t.Helper()
	front := []string{spillway(t), "run", "--server", name}
	if rules != "" {
		front = append(front, "--rules", filepath.Join(root(), "peers", "rules", rules))
	}
	return append(append(front, "--"), argv...)
}
