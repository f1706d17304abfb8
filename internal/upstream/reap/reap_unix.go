//go:build unix

package reap

import (
	"os"
	"os/signal"
	"runtime"
	"strconv"
	"sync/atomic"
	"syscall"
	"time"
)

const (
	controlFD = 3
	reportFD  = 4
)

func init() {
	if len(os.Args) > 4 && os.Args[1] == Arg {
		grace, err := strconv.Atoi(os.Args[2])
		if err != nil {
			os.Exit(2)
		}
		os.Exit(run(time.Duration(grace)*time.Millisecond, os.Args[3], os.Args[4:]))
	}
}

// tree is the server and all it left behind.
type tree struct {
	pid    int
	grace  time.Duration
	ending atomic.Bool
}

func run(grace time.Duration, path string, argv []string) int {
	// The server is killed when the thread that started it ends.
	runtime.LockOSThread()
	syscall.CloseOnExec(controlFD)
	syscall.CloseOnExec(reportFD)
	if _, err := syscall.Write(reportFD, nil); err != nil {
		return 2 // started by hand
	}
	adopt()
	proc, err := syscall.ForkExec(path, argv, &syscall.ProcAttr{
		Env:   os.Environ(),
		Files: []uintptr{0, 1, 2},
		Sys:   attributes(),
	})
	if err != nil {
		report(Report{Failed: err.Error()})
		return 1
	}
	// The caught signals are not inherited by the server as ignored, since it
	// has been started. Spillway decides when this process ends.
	signal.Ignore(syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT, syscall.SIGPIPE)
	silence()
	report(Report{PID: proc})
	t := &tree{pid: proc, grace: grace}
	go t.obey()
	t.wait()
	return 0
}

// silence lets go of the server's streams: Spillway waits for their end of file.
func silence() {
	null, err := syscall.Open(os.DevNull, syscall.O_RDWR, 0)
	for fd := range 3 {
		if err != nil {
			syscall.Close(fd)
		} else {
			_ = dup2(null, fd)
		}
	}
}

func report(r Report) { _, _ = syscall.Write(reportFD, []byte(r.String()+"\n")) }

// obey carries out what comes over the control pipe until Spillway is gone.
func (t *tree) obey() {
	var b [1]byte
	for {
		n, err := syscall.Read(controlFD, b[:])
		switch {
		case err == syscall.EINTR:
		case err != nil || n == 0:
			t.end()
			return
		case b[0] == Terminate:
			t.signal(syscall.SIGTERM)
		case b[0] == Kill:
			t.killAll()
		}
	}
}

// wait reaps until the whole tree is gone.
func (t *tree) wait() {
	for {
		var ws syscall.WaitStatus
		pid, err := syscall.Wait4(-1, &ws, 0, nil)
		switch {
		case err == syscall.EINTR:
		case err != nil: // ECHILD: nobody is left
			t.killGroup(syscall.SIGKILL)
			return
		case pid == t.pid:
			r := Report{Exited: true, Code: ws.ExitStatus()}
			if ws.Signaled() {
				r.Signal = int(ws.Signal())
			}
			report(r)
			// A server that ends takes what it started with it.
			go t.end()
		}
	}
}

// end asks the tree to end, and makes it.
func (t *tree) end() {
	if t.ending.Swap(true) {
		return
	}
	t.signal(syscall.SIGTERM)
	time.Sleep(t.grace)
	t.killAll()
}

// killAll kills until nobody is left: [tree.wait] then ends the process.
func (t *tree) killAll() {
	for {
		t.signal(syscall.SIGKILL)
		time.Sleep(2 * time.Millisecond)
	}
}

func (t *tree) signal(sig syscall.Signal) {
	t.killGroup(sig)
	for _, pid := range descendants(os.Getpid()) {
		_ = syscall.Kill(pid, sig)
	}
}

func (t *tree) killGroup(sig syscall.Signal) { _ = syscall.Kill(-t.pid, sig) }
