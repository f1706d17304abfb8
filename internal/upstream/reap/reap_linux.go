package reap

import (
	"bytes"
	"os"
	"strconv"
	"syscall"
)

const prSetChildSubreaper = 36

// adopt makes orphans of the tree children of this process.
func adopt() {
	_, _, _ = syscall.RawSyscall6(syscall.SYS_PRCTL, prSetChildSubreaper, 1, 0, 0, 0, 0)
}

func attributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

func dup2(from, to int) error { return syscall.Dup3(from, to, 0) }

// descendants lists the processes under root, itself left out.
func descendants(root int) []int {
	dir, err := os.Open("/proc")
	if err != nil {
		return nil
	}
	names, _ := dir.Readdirnames(-1)
	dir.Close()
	parents := make(map[int]int, len(names))
	for _, name := range names {
		pid, err := strconv.Atoi(name)
		if err != nil {
			continue
		}
		stat, err := os.ReadFile("/proc/" + name + "/stat")
		if err != nil {
			continue
		}
		// pid (name) state ppid: the name may hold spaces and parentheses.
		fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
		if len(fields) < 2 || fields[0][0] == 'Z' {
			continue
		}
		if ppid, err := strconv.Atoi(string(fields[1])); err == nil {
			parents[pid] = ppid
		}
	}
	return under(root, parents)
}
