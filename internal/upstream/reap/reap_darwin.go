package reap

import (
	"syscall"

	"golang.org/x/sys/unix"
)

// adopt does nothing: this system gives orphans to launchd. Those that left
// the server's process group before their parent ended are out of reach.
func adopt() {}

func attributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

func dup2(from, to int) error { return syscall.Dup2(from, to) }

// descendants lists the processes under root, itself left out.
func descendants(root int) []int {
	procs, err := unix.SysctlKinfoProcSlice("kern.proc.all")
	if err != nil {
		return nil
	}
	parents := make(map[int]int, len(procs))
	for i := range procs {
		parents[int(procs[i].Proc.P_pid)] = int(procs[i].Eproc.Ppid)
	}
	return under(root, parents)
}
