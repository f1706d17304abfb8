// Package upstream starts an MCP server as a child process and owns its whole
// process tree: its streams, its last words, and its end. It knows nothing of
// what the streams carry.
package upstream

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"sync"
	"syscall"
	"time"
)

// The times of a stop: how long a server may take to end once its stdin is
// closed, and then once it was asked by a signal. Together they stay under the
// two seconds that clients give us.
const (
	DefaultGrace     = time.Second
	DefaultTermGrace = 400 * time.Millisecond
)

// A Command says what to run.
type Command struct {
	Name   string    // what messages call the server; Argv[0] if ""
	Argv   []string  // program and arguments; no shell sees them
	Env    []string  // as in os/exec: nil is our own environment
	Dir    string    // working directory, ours if ""
	Stderr io.Writer // gets the server's stderr as it comes; nil drops it

	Grace, TermGrace time.Duration // 0 is the default of each
}

// A Child is a running server. Its methods are safe for concurrent use.
type Child struct {
	stdin  io.WriteCloser
	stdout io.ReadCloser
	cmd    Command
	proc   process
	words  tail
	talked chan struct{} // closed when stderr has ended
	done   chan struct{}
	exit   *ExitError
	stop   sync.Once
}

// process is what differs between systems.
type process interface {
	wait() (code, signal int) // blocks until the tree is gone or going
	terminate()               // asks the tree to end
	kill()                    // ends it
}

// Start starts the server. An error says that it could not be started; what it
// does then is told by [Child.Done].
func Start(cmd Command) (*Child, error) {
	if len(cmd.Argv) == 0 {
		return nil, errors.New("no command given for the server")
	}
	if cmd.Name == "" {
		cmd.Name = cmd.Argv[0]
	}
	if cmd.Grace <= 0 {
		cmd.Grace = DefaultGrace
	}
	if cmd.TermGrace <= 0 {
		cmd.TermGrace = DefaultTermGrace
	}
	if cmd.Env == nil {
		cmd.Env = os.Environ()
	}
	path, err := exec.LookPath(cmd.Argv[0])
	if err != nil {
		return nil, fmt.Errorf("server %s: %w", cmd.Name, err)
	}
	surviveClosedPipe()
	var p pipes
	if err := p.open(); err != nil {
		p.close()
		return nil, fmt.Errorf("server %s: %w", cmd.Name, err)
	}
	proc, err := start(path, &cmd, &p)
	p.closeTheirs()
	if err != nil {
		p.close()
		return nil, fmt.Errorf("server %s: cannot start %s: %w", cmd.Name, path, err)
	}
	c := &Child{
		stdin: p.ours[0], stdout: p.ours[1], cmd: cmd, proc: proc,
		talked: make(chan struct{}), done: make(chan struct{}),
	}
	go c.listen(p.ours[2])
	go c.watch()
	return c, nil
}

// surviveClosedPipe lets a write to a closed stdout or stderr fail instead of
// ending this process with SIGPIPE: with a server to end and an account to close
// it must go on. To be notified of the signal, other than to ignore it, is not
// inherited by the server.
var surviveClosedPipe = sync.OnceFunc(func() { signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE) })

// Name is what messages call the server.
func (c *Child) Name() string { return c.cmd.Name }

// Stdin writes to the server. Closing it asks the server to end.
func (c *Child) Stdin() io.WriteCloser { return c.stdin }

// Stdout reads what the server writes, to the end of file behind its last word.
func (c *Child) Stdout() io.ReadCloser { return c.stdout }

// Done is closed when the server has ended.
func (c *Child) Done() <-chan struct{} { return c.done }

// Exit tells how the server ended; call it once [Child.Done] is closed.
func (c *Child) Exit() *ExitError { return c.exit }

// Stop ends the server and all it started, and returns when they are gone. It
// closes the server's stdin, waits, sends SIGTERM, waits, and kills.
func (c *Child) Stop() {
	c.stop.Do(func() {
		c.stdin.Close()
		if c.gone(c.cmd.Grace) {
			return
		}
		c.proc.terminate()
		if c.gone(c.cmd.TermGrace) {
			return
		}
		c.proc.kill()
	})
	<-c.done
}

func (c *Child) gone(within time.Duration) bool {
	t := time.NewTimer(within)
	defer t.Stop()
	select {
	case <-c.done:
		return true
	case <-t.C:
		return false
	}
}

// listen passes the server's stderr on and remembers its end.
func (c *Child) listen(stderr io.ReadCloser) {
	defer close(c.talked)
	defer stderr.Close()
	dst := io.Writer(&c.words)
	if c.cmd.Stderr != nil {
		dst = io.MultiWriter(&c.words, quiet{c.cmd.Stderr})
	}
	_, _ = io.Copy(dst, stderr)
}

// quiet goes on when its writer fails: a closed terminal stops no server.
type quiet struct{ w io.Writer }

func (q quiet) Write(p []byte) (int, error) {
	_, _ = q.w.Write(p)
	return len(p), nil
}

func (c *Child) watch() {
	code, signal := c.proc.wait()
	// The last words may still be on their way; a straggler that holds stderr
	// open is not waited for.
	t := time.NewTimer(200 * time.Millisecond)
	defer t.Stop()
	select {
	case <-c.talked:
	case <-t.C:
	}
	c.exit = &ExitError{Name: c.cmd.Name, Code: code, Signal: signal, LastWords: c.words.String()}
	close(c.done)
}

// pipes are the three streams of a child, [0] in, [1] out, [2] err.
type pipes struct{ ours, theirs [3]*os.File }

func (p *pipes) open() error {
	for i := range 3 {
		r, w, err := os.Pipe()
		if err != nil {
			return err
		}
		p.ours[i], p.theirs[i] = r, w
		if i == 0 {
			p.ours[i], p.theirs[i] = w, r
		}
		if i < 2 {
			widen(p.ours[i])
		}
	}
	return nil
}

func (p *pipes) closeTheirs() {
	for _, f := range p.theirs {
		f.Close()
	}
}

func (p *pipes) close() {
	for i := range 3 {
		p.ours[i].Close()
		p.theirs[i].Close()
	}
}
