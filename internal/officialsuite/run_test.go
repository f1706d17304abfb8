//go:build unix

package officialsuite

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// runTime is the longest that one run of the suite may take. Most take 3 s.
const runTime = 2 * time.Minute

// run runs the suite as role "server" or "client" with args, and keeps what it
// writes in dir. Its processes have ended when run returns.
func (k kit) run(t *testing.T, dir, role string, env []string, args ...string) outcome {
	t.Helper()
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	// A file and no pipe: a pipe would be open for as long as any process of a
	// client that hangs.
	log, err := os.Create(filepath.Join(dir, "log.txt"))
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	ctx, cancel := context.WithTimeout(t.Context(), runTime)
	defer cancel()
	argv := append(append([]string{k.suite[1], role}, args...), "--output-dir", filepath.Join(dir, "results"))
	cmd := exec.CommandContext(ctx, k.suite[0], argv...)
	cmd.Dir = dir
	cmd.Env = append(isolated(dir), env...)
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	err = cmd.Wait()
	endGroup(t, cmd.Process.Pid)
	var exit *exec.ExitError
	if ctx.Err() != nil || err != nil && !errors.As(err, &exit) {
		t.Fatalf("the suite ended with %v after %v\n%s", err, context.Cause(ctx), tail(log.Name()))
	}
	o := outcome{exit: cmd.ProcessState.ExitCode()}
	prefix := ""
	if role == "server" {
		prefix = "server-"
	}
	if o.checks, err = readChecks(filepath.Join(dir, "results"), prefix); err != nil {
		t.Fatalf("%v\n%s", err, tail(log.Name()))
	}
	return o
}

// endGroup ends what a run of the suite left, and fails the test for it.
func endGroup(t *testing.T, group int) {
	t.Helper()
	if syscall.Kill(-group, 0) == nil {
		t.Errorf("the suite ended and left processes of its group %d", group)
	}
	deadline := time.After(10 * time.Second)
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for syscall.Kill(-group, syscall.SIGKILL) == nil {
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatalf("processes of group %d do not end", group)
		}
	}
}

// tail is the end of a log.
func tail(file string) string {
	data, err := os.ReadFile(file)
	if err != nil {
		return err.Error()
	}
	return string(data[max(0, len(data)-4000):])
}

// isolated is an environment whose home is dir: neither the user's
// configuration nor the user's stash take part.
func isolated(dir string) []string {
	var env []string
	for _, pair := range os.Environ() {
		if !strings.HasPrefix(pair, "XDG_") && !strings.HasPrefix(pair, "HOME=") && !strings.HasPrefix(pair, "SPILLWAY_") || strings.HasPrefix(pair, "SPILLWAY_CI_MARK=") {
			env = append(env, pair)
		}
	}
	return append(env, "HOME="+dir)
}

// process is a server that runs beside the suite.
type process struct {
	cmd  *exec.Cmd
	done chan struct{} // closed when it has ended
	err  error         // how, then
}

func startProcess(cmd *exec.Cmd) (*process, error) {
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	p := &process{cmd: cmd, done: make(chan struct{})}
	go func() {
		p.err = cmd.Wait()
		close(p.done)
	}()
	return p, nil
}

// stopTime is how long a process has to end when it is asked to.
const stopTime = 10 * time.Second

// stop asks the process to end, and sees to it. An end by the signal is none
// that is returned.
func (p *process) stop() error {
	select {
	case <-p.done:
		return fmt.Errorf("%s ended by itself: %v", filepath.Base(p.cmd.Path), p.err)
	default:
	}
	_ = p.cmd.Process.Signal(syscall.SIGTERM)
	select {
	case <-p.done:
		status := p.cmd.ProcessState.Sys().(syscall.WaitStatus)
		if status.Signaled() && status.Signal() == syscall.SIGTERM || status.ExitStatus() == 128+int(syscall.SIGTERM) {
			return nil
		}
		return p.err
	case <-time.After(stopTime):
		_ = p.cmd.Process.Kill()
		<-p.done
		return fmt.Errorf("%s did not end in %v", filepath.Base(p.cmd.Path), stopTime)
	}
}
