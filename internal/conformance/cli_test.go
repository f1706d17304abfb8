package conformance

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"sync"
	"testing"
	"time"

	"github.com/spillway-mcp/spillway/contract"
	"github.com/spillway-mcp/spillway/contract/contracttest"
	"github.com/spillway-mcp/spillway/internal/journal"
)

// commandEnv makes the test binary the command.
const commandEnv = "SPILLWAY_CONFORMANCE_COMMAND"

// command is the adapter of the command line: each call is a process.
type command struct{}

func (command) Name() string { return "spillway op" }

func (command) Lacks(f contracttest.Feature) string {
	if f == contracttest.HasCallers {
		return "the caller is the user of the system, whose files nobody else reads"
	}
	return ""
}

func (command) Open(w *contracttest.World, caller string) (contracttest.Process, error) {
	if err := writeOperations(w); err != nil {
		return nil, err
	}
	return &commands{w: w, caller: caller}, nil
}

// writeOperations puts the operations into a world's directory.
// writeOperations puts the operations file of a world in its place at once: a
// process that was started before may be reading it.
func writeOperations(w *contracttest.World) error {
	path := filepath.Join(w.Dir, "operations.yaml")
	if err := os.WriteFile(path+".new", contracttest.OperationsYAML, 0o600); err != nil {
		return err
	}
	return os.Rename(path+".new", path)
}

// commandIn makes a command of a world, for one of its callers.
func commandIn(ctx context.Context, w *contracttest.World, caller string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, os.Args[0], args...)
	cmd.Env = append(os.Environ(), commandEnv+"=1", worldEnv+"="+servedAt(w)+"?as="+caller, contracttest.URLVariable+"="+w.URL,
		"SPILLWAY_OPERATIONS="+filepath.Join(w.Dir, "operations.yaml"),
		"SPILLWAY_JOURNAL="+filepath.Join(w.Dir, "journal.db"), "SPILLWAY_STASH="+filepath.Join(w.Dir, "stash"))
	for _, name := range []string{"HOME", "LOCALAPPDATA", "APPDATA", "USERPROFILE", "XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME"} {
		cmd.Env = append(cmd.Env, name+"="+w.Dir)
	}
	return cmd
}

// commands runs the calls of one process of a case.
type commands struct {
	w       *contracttest.World
	caller  string   // in the world; the face knows the user of the system
	wrap    []string // what runs the command, with it as arguments
	mu      sync.Mutex
	killed  bool
	running map[*exec.Cmd]bool
}

func (p *commands) args(c contracttest.Call) []string {
	args := []string{"op"}
	flag := func(name, value string) {
		if value != "" {
			args = append(args, name, value)
		}
	}
	switch c.Verb {
	case contracttest.VerbDo:
		args = append(args, "call", c.Operation, string(c.Params))
		flag("--key", c.Key)
		flag("--revision", c.Revision)
		flag("--preview", c.Preview)
		flag("--continuation", c.Continuation)
		if c.Evidence {
			args = append(args, "--evidence")
		}
		if c.WaitMillis > 0 {
			flag("--wait", (time.Duration(c.WaitMillis) * time.Millisecond).String())
		}
	case contracttest.VerbPrepare, contracttest.VerbPreview:
		args = append(args, "prepare", c.Operation, string(c.Params))
		flag("--key", c.Key)
		flag("--revision", c.Revision)
	case contracttest.VerbResume:
		args = append(args, "resume", c.Continuation)
	case contracttest.VerbSweep:
		args = append(args, "journal", "sweep")
	case contracttest.VerbDescribe:
		args = append(args, "describe", c.Operation)
	case contracttest.VerbResolve:
		args = append(args, "resolve", c.Key, "--who", c.Resolution.Who, "--why", c.Resolution.Why)
		flag("--operation", c.Operation)
		if c.Resolution.Completed {
			args = append(args, "--completed")
			flag("--result", string(c.Resolution.Result))
		} else {
			args = append(args, "--absent")
		}
	default: // get, reconcile, commit
		name := map[contracttest.Verb]string{contracttest.VerbGet: "status"}[c.Verb]
		if name == "" {
			name = string(c.Verb)
		}
		args = append(args, name, c.Key)
		flag("--operation", c.Operation)
	}
	return append(args, "--json")
}

var announcement = regexp.MustCompile(`^spillway: operation (\S+)$`)

// Do implements contracttest.Process.
func (p *commands) Do(ctx context.Context, c contracttest.Call) contracttest.Answer {
	cmd := commandIn(ctx, p.w, p.caller, p.args(c)...)
	if p.wrap != nil {
		cmd.Path, cmd.Args = p.wrap[0], append(append([]string{}, p.wrap...), cmd.Args...)
	}
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	var out bytes.Buffer
	cmd.Stdout = &out
	stderr, err := cmd.StderrPipe()
	if err != nil {
		return contracttest.Answer{Error: err.Error()}
	}
	if !p.start(cmd) {
		return contracttest.Answer{Exit: -1, Died: true}
	}
	var text bytes.Buffer
	for lines := bufio.NewScanner(stderr); lines.Scan(); {
		if m := announcement.FindSubmatch(lines.Bytes()); m != nil && c.Announce != nil {
			c.Announce(string(m[1]))
		}
		fmt.Fprintf(&text, "%s\n", lines.Text())
	}
	err = cmd.Wait()
	if p.ended(cmd) {
		return contracttest.Answer{Exit: -1, Died: true}
	}
	a := contracttest.Answer{Exit: cmd.ProcessState.ExitCode(), Text: text.String()}
	if _, ok := errors.AsType[*exec.ExitError](err); err != nil && !ok && ctx.Err() == nil {
		a.Error = err.Error()
	}
	read(c.Verb, bytes.TrimSpace(out.Bytes()), &a)
	return a
}

// read takes an answer's JSON apart.
func read(verb contracttest.Verb, raw []byte, a *contracttest.Answer) {
	if len(raw) == 0 {
		return
	}
	var err error
	switch verb {
	case contracttest.VerbSweep:
	case contracttest.VerbDescribe:
		var whole struct{ Definition json.RawMessage }
		err = json.Unmarshal(raw, &whole)
		a.Doc = whole.Definition
	case contracttest.VerbPrepare, contracttest.VerbPreview:
		if bytes.Contains(raw, []byte(`"outcome":`)) {
			a.Raw = raw
			err = json.Unmarshal(raw, &a.Receipt)
		} else {
			err = json.Unmarshal(raw, &a.Preview)
		}
	default:
		a.Raw = raw
		err = json.Unmarshal(raw, &a.Receipt)
	}
	if err != nil {
		a.Error = fmt.Sprintf("%v: %s", err, raw)
	}
}

// start starts a command unless the process was killed.
func (p *commands) start(cmd *exec.Cmd) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.killed || cmd.Start() != nil {
		return false
	}
	if p.running == nil {
		p.running = map[*exec.Cmd]bool{}
	}
	p.running[cmd] = true
	return true
}

func (p *commands) ended(cmd *exec.Cmd) (killed bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.running, cmd)
	return p.killed
}

// Kill implements contracttest.Process.
func (p *commands) Kill() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.killed = true
	for cmd := range p.running {
		_ = cmd.Process.Kill() // gone already is as good
	}
}

// Close implements contracttest.Process.
func (p *commands) Close() {}

// Lapse implements contracttest.Lapser: 30 s are too long to wait for.
func (p *commands) Lapse(operation, key string) { lapse(p.w, localCaller(), operation, key) }

// localCaller is who calls on one machine.
func localCaller() string { return fmt.Sprint("local:", os.Getuid()) }

// lapse lets the lease of a record run out, and the deadline of its owner.
func lapse(w *contracttest.World, caller, operation, key string) {
	j, err := journal.Open(filepath.Join(w.Dir, "journal.db"))
	if err != nil {
		panic(err)
	}
	defer j.Close()
	ctx := context.Background()
	r, err := j.Get(ctx, contract.ID{Caller: caller, Operation: operation, Key: key})
	if errors.Is(err, contract.ErrNoRecord) {
		return // it died before its claim
	}
	if err == nil {
		// It was an hour ago.
		r.Stamp.At, r.Stamp.Tick = r.Stamp.At.Add(-time.Hour), r.Stamp.Tick-time.Hour
		r.Lease = r.Lease.Add(-time.Hour)
		err = j.Update(ctx, r)
	}
	if err != nil {
		panic(err)
	}
}

func TestCommand(t *testing.T) { contracttest.Run(t, command{}) }
