package tokens

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"
)

// Command is a Counter that is another program: for a vocabulary that is not in
// this one. It is asked over its standard input and output, a JSON object a line:
//
//	{"id":1,"texts":["a text"]}
//	{"id":1,"counts":[3]}
//
// One request is under way at a time, and each is answered before the next. In
// place of counts may stand an error, a string. The program ends when its input
// does. What it says on its standard error is the tail of an error of ours.
//
// It is far too slow for the way of a call: it counts recorded sessions. The
// first failure (no answer in time, one that cannot be read, a program that
// ends) is kept; from then on Count is 0, and Err says so.
type Command struct {
	argv    []string
	timeout time.Duration

	mu      sync.Mutex
	err     error
	cmd     *exec.Cmd
	in      io.WriteCloser
	answers chan answer
	talk    tail
	id      int
	known   map[[sha256.Size]byte]int
}

type answer struct {
	ID     int    `json:"id"`
	Counts []int  `json:"counts"`
	Error  string `json:"error"`
	err    error
}

const (
	commandTimeout = 30 * time.Second // of one request; the first has the program's start in it
	maxKnown       = 1 << 16          // counts that are remembered
	maxAnswer      = 1 << 20          // bytes
)

// NewCommand returns the counter that argv is. The program is started by the
// first Count.
func NewCommand(argv []string) (*Command, error) {
	if len(argv) == 0 || argv[0] == "" {
		return nil, errors.New("an estimator's command needs a program")
	}
	return &Command{argv: argv, timeout: commandTimeout, known: map[[sha256.Size]byte]int{}}, nil
}

// Name is "command:" and the program's name.
func (c *Command) Name() string { return "command:" + filepath.Base(c.argv[0]) }

// Count asks the program, once for each distinct text.
func (c *Command) Count(text []byte) int {
	if len(text) == 0 {
		return 0
	}
	key := sha256.Sum256(text)
	c.mu.Lock()
	defer c.mu.Unlock()
	if n, ok := c.known[key]; ok {
		return n
	}
	if c.err != nil {
		return 0
	}
	n, err := c.ask(text)
	if err != nil {
		c.stop() // what it said last has arrived once it has ended
		c.err = fmt.Errorf("estimator %s: %w%s", c.Name(), err, c.talk.said())
		return 0
	}
	if len(c.known) < maxKnown {
		c.known[key] = n
	}
	return n
}

// Err returns why the counts since then are 0; nil while all is well.
func (c *Command) Err() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.err
}

// Close ends the program.
func (c *Command) Close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.stop()
	if c.err == nil {
		c.err = errors.New("estimator " + c.Name() + " is closed")
	}
}

func (c *Command) start() error {
	cmd := exec.Command(c.argv[0], c.argv[1:]...)
	cmd.Stderr = &c.talk
	cmd.WaitDelay = time.Second
	in, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	c.cmd, c.in, c.answers = cmd, in, make(chan answer, 1)
	go read(out, c.answers)
	return nil
}

func read(out io.Reader, to chan<- answer) {
	defer close(to)
	lines := bufio.NewScanner(out)
	lines.Buffer(nil, maxAnswer)
	for lines.Scan() {
		var a answer
		if err := json.Unmarshal(lines.Bytes(), &a); err != nil {
			a.err = fmt.Errorf(`its answer is no JSON object with "id" and "counts", or "error": %w`, err)
		}
		to <- a
		if a.err != nil {
			return
		}
	}
}

func (c *Command) ask(text []byte) (int, error) {
	if c.cmd == nil {
		if err := c.start(); err != nil {
			return 0, err
		}
	}
	c.id++
	request, err := json.Marshal(map[string]any{"id": c.id, "texts": []string{string(bytes.ToValidUTF8(text, []byte("\uFFFD")))}})
	if err != nil {
		return 0, err
	}
	in := c.in
	sent := make(chan error, 1)
	go func() {
		_, err := in.Write(append(request, '\n'))
		sent <- err
	}()
	late := time.NewTimer(c.timeout)
	defer late.Stop()
	for {
		select {
		case err := <-sent:
			if err != nil {
				return 0, fmt.Errorf("it does not read: %w", err)
			}
			sent = nil
		case a, ok := <-c.answers:
			switch {
			case !ok:
				return 0, errors.New("it ended without an answer")
			case a.err != nil:
				return 0, a.err
			case a.Error != "":
				return 0, fmt.Errorf("it says %q", a.Error)
			case a.ID != c.id || len(a.Counts) != 1 || a.Counts[0] < 0:
				return 0, fmt.Errorf("it answered id %d with %d counts; wanted is id %d with one count from 0", a.ID, len(a.Counts), c.id)
			}
			return a.Counts[0], nil
		case <-late.C:
			return 0, fmt.Errorf("no answer within %v", c.timeout)
		}
	}
}

func (c *Command) stop() {
	if c.cmd == nil {
		return
	}
	cmd, answers := c.cmd, c.answers
	c.in.Close()
	c.cmd = nil
	done := make(chan struct{})
	go func() {
		for range answers { // the reader must not wait for us
		}
		cmd.Wait() // what became of it is told by what it answered
		close(done)
	}()
	select {
	case <-done:
	case <-time.After(time.Second):
		cmd.Process.Kill()
		<-done
	}
}

// tail keeps the last of what a program says.
type tail struct {
	mu   sync.Mutex
	last []byte
}

func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.last = append(t.last, p...)
	if over := len(t.last) - 300; over > 0 {
		t.last = append(t.last[:0], t.last[over:]...)
	}
	return len(p), nil
}

func (t *tail) said() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	if s := strings.TrimSpace(string(t.last)); s != "" {
		return "; it said: " + s
	}
	return ""
}
