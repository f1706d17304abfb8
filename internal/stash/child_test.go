package stash

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// The test binary runs itself as the other process: childEnv says what to do,
// the argument after "--" where.
const childEnv = "SPILLWAY_STASH_CHILD"

// children are what the other process can do in dir, until stdin ends. A line
// on stdout is a report to the parent; an error ends the process with 1.
var children = map[string]func(dir string, out io.Writer) error{
	"put":     childPut,
	"put all": childPutAll,
	"gc":      childGC,
}

func child(what string) {
	err := children[what](os.Args[len(os.Args)-1], os.Stdout)
	if err != nil {
		fmt.Fprintln(os.Stderr, what+":", err)
		os.Exit(1)
	}
	os.Exit(0)
}

// process is a running child.
type process struct {
	t    *testing.T
	cmd  *exec.Cmd
	in   io.WriteCloser
	out  *bufio.Scanner
	errs strings.Builder
}

func command(t *testing.T, what, dir string) *process {
	t.Helper()
	p := &process{t: t, cmd: exec.Command(os.Args[0], "-test.run=^$", "--", dir)}
	p.cmd.Env = append(os.Environ(), childEnv+"="+what)
	p.cmd.Stderr = &p.errs
	return p
}

func start(t *testing.T, what, dir string) *process {
	t.Helper()
	p := command(t, what, dir)
	var err error
	if p.in, err = p.cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	p.out = bufio.NewScanner(out)
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.kill)
	return p
}

// line waits for the next report; "" if there is none.
func (p *process) line() string {
	if p.out.Scan() {
		return p.out.Text()
	}
	return ""
}

// kill is kill -9.
func (p *process) kill() {
	p.cmd.Process.Kill()
	p.cmd.Wait()
}

// stop ends the child's stdin and waits for it.
func (p *process) stop() {
	p.t.Helper()
	p.in.Close()
	for p.out.Scan() { // Wait closes the pipe
	}
	if err := p.cmd.Wait(); err != nil {
		p.t.Fatalf("%v: %s", err, p.errs.String())
	}
}
