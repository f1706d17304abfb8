package demo

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"

	"github.com/spillway-mcp/spillway/internal/client"
)

// process is a child and the client in front of it.
type process struct {
	*client.Client
	cmd     *exec.Cmd
	stdin   io.Closer
	stopped bool
}

// start starts a command and does the handshake.
func start(ctx context.Context, o Options, argv ...string) (*process, error) {
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Stderr = o.Err
	cmd.Env = environ()
	cmd.WaitDelay = 5 * time.Second
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	p := &process{Client: client.New(stdin, stdout), cmd: cmd, stdin: stdin}
	if _, err := p.Initialize(ctx, "spillway-demo", o.Version); err != nil {
		p.stop()
		return nil, err
	}
	if _, err := p.Tools(ctx); err != nil { // as every client does first: what a call may be cut to depends on it
		p.stop()
		return nil, err
	}
	return p, nil
}

// environ is our environment without the variables that lead to somebody's own rules, stash and ledger.
func environ() []string {
	return slices.DeleteFunc(os.Environ(), func(s string) bool {
		name, _, _ := strings.Cut(s, "=")
		return slices.Contains([]string{"SPILLWAY_CONFIG", "SPILLWAY_RULES", "SPILLWAY_STASH", "SPILLWAY_LEDGER"}, name)
	})
}

// stop hangs up, as clients do, and waits until the process has ended by itself.
func (p *process) stop() error {
	if p.stopped {
		return nil
	}
	p.stopped = true
	p.stdin.Close()
	done := make(chan error, 1)
	go func() { done <- p.cmd.Wait() }()
	select {
	case err := <-done:
		return err
	case <-time.After(5 * time.Second):
		p.cmd.Process.Kill()
		<-done
		return fmt.Errorf("did not end within 5 s of its client hanging up")
	}
}
