package upstream

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"unsafe"

	"golang.org/x/sys/windows"
)

// jobbed is a server in a job object of its own.
type jobbed struct {
	cmd *exec.Cmd
	job windows.Handle
}

func start(path string, cmd *Command, p *pipes) (process, error) {
	if err := ownJob(); err != nil {
		return nil, err
	}
	job, err := newJob()
	if err != nil {
		return nil, err
	}
	c := &exec.Cmd{
		Path: path, Args: cmd.Argv, Env: cmd.Env, Dir: cmd.Dir,
		Stdin: p.theirs[0], Stdout: p.theirs[1], Stderr: p.theirs[2],
		SysProcAttr: &syscall.SysProcAttr{HideWindow: true},
	}
	switch strings.ToLower(filepath.Ext(path)) {
	case ".cmd", ".bat":
		// npx and its like are batch files, which cmd.exe runs.
		line, err := batchLine(path, cmd.Argv[1:])
		if err != nil {
			windows.CloseHandle(job)
			return nil, err
		}
		shell := filepath.Join(os.Getenv("SystemRoot"), "System32", "cmd.exe")
		c.Path, c.Args = shell, []string{shell}
		c.SysProcAttr.CmdLine = line
	}
	if err := c.Start(); err != nil {
		windows.CloseHandle(job)
		return nil, err
	}
	// Until this call the server is in our own job only, and so it ends with us.
	h, err := windows.OpenProcess(windows.PROCESS_SET_QUOTA|windows.PROCESS_TERMINATE, false, uint32(c.Process.Pid))
	if err == nil {
		err = windows.AssignProcessToJobObject(job, h)
		windows.CloseHandle(h)
	}
	if err != nil {
		_ = c.Process.Kill()
		_ = c.Wait()
		windows.CloseHandle(job)
		return nil, fmt.Errorf("put into a job object: %w", err)
	}
	return &jobbed{c, job}, nil
}

func (j *jobbed) wait() (code, signal int) {
	_ = j.cmd.Wait()
	j.kill() // what the server left behind
	return j.cmd.ProcessState.ExitCode(), 0
}

// terminate does nothing: there is no signal a server could catch here, and
// its stdin has been closed.
func (j *jobbed) terminate() {}

func (j *jobbed) kill() { _ = windows.TerminateJobObject(j.job, 1) }

// ownJob puts this process, and so all it starts, into a job that ends with the
// last handle on it: with this process, however it ends (K62).
var ownJob = sync.OnceValue(func() error {
	job, err := newJob()
	if err != nil {
		return err
	}
	if err := windows.AssignProcessToJobObject(job, windows.CurrentProcess()); err != nil {
		return fmt.Errorf("put ourselves into a job object: %w", err)
	}
	return nil
})

func newJob() (windows.Handle, error) {
	job, err := windows.CreateJobObject(nil, nil)
	if err != nil {
		return 0, fmt.Errorf("create a job object: %w", err)
	}
	var info windows.JOBOBJECT_EXTENDED_LIMIT_INFORMATION
	info.BasicLimitInformation.LimitFlags = windows.JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE
	_, err = windows.SetInformationJobObject(job, windows.JobObjectExtendedLimitInformation,
		uintptr(unsafe.Pointer(&info)), uint32(unsafe.Sizeof(info)))
	if err != nil {
		windows.CloseHandle(job)
		return 0, fmt.Errorf("set up a job object: %w", err)
	}
	return job, nil
}
