//go:build unix

package upstream

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/spillway-mcp/spillway/internal/upstream/reap"
)

// supervised is a server under a reaper (package reap): our own program again.
type supervised struct {
	reaper  *exec.Cmd
	control *os.File
	reports *bufio.Reader
	report  *os.File
	pid     int
}

func start(path string, cmd *Command, p *pipes) (process, error) {
	self, err := ownProgram()
	if err != nil {
		return nil, err
	}
	controlR, control, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer controlR.Close()
	report, reportW, err := os.Pipe()
	if err != nil {
		control.Close()
		return nil, err
	}
	defer reportW.Close()
	s := &supervised{control: control, report: report, reports: bufio.NewReader(report)}
	s.reaper = &exec.Cmd{
		Path: self,
		Args: append([]string{"spillway", reap.Arg,
			strconv.FormatInt(cmd.TermGrace.Milliseconds(), 10), path}, cmd.Argv...),
		Env: cmd.Env, Dir: cmd.Dir,
		Stdin: p.theirs[0], Stdout: p.theirs[1], Stderr: p.theirs[2],
		ExtraFiles: []*os.File{controlR, reportW},
		// A group of its own: a terminal's interrupt reaches us alone, and we
		// decide how the server ends.
		SysProcAttr: &syscall.SysProcAttr{Setpgid: true},
	}
	if err := s.reaper.Start(); err != nil {
		s.close()
		return nil, fmt.Errorf("start %s as its supervisor: %w", self, err)
	}
	reportW.Close()
	r, err := s.next()
	if err == nil && r.Failed != "" {
		err = errors.New(r.Failed)
	}
	if err != nil {
		_ = s.reaper.Wait()
		s.close()
		return nil, err
	}
	s.pid = r.PID
	return s, nil
}

func (s *supervised) next() (reap.Report, error) {
	line, err := s.reports.ReadString('\n')
	if err != nil {
		if errors.Is(err, io.EOF) {
			err = errors.New("its supervisor ended without a report")
		}
		return reap.Report{}, err
	}
	return reap.ParseReport(strings.TrimSuffix(line, "\n"))
}

func (s *supervised) wait() (code, signal int) {
	r, err := s.next()
	if err != nil {
		// The supervisor was killed, and the server with it.
		_ = syscall.Kill(-s.pid, syscall.SIGKILL)
		r = reap.Report{Code: -1, Signal: int(syscall.SIGKILL)}
	}
	_ = s.reaper.Wait()
	s.close()
	return r.Code, r.Signal
}

func (s *supervised) terminate() { _, _ = s.control.Write([]byte{reap.Terminate}) }

func (s *supervised) kill() {
	_, _ = s.control.Write([]byte{reap.Kill})
	// The supervisor is our own code and obeys; should it not, it is killed
	// after a while and the server's group with it.
	time.AfterFunc(2*time.Second, func() {
		if s.reaper.Process.Kill() == nil {
			_ = syscall.Kill(-s.pid, syscall.SIGKILL)
		}
	})
}

func (s *supervised) close() {
	s.control.Close()
	s.report.Close()
}
