package hop

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"time"
)

// cpuTime is the processor time that a process has had so far, to the
// nanosecond, of all threads that it has; 0 where it cannot be told. The ticks
// of /proc/PID/stat are too coarse for a few calls.
func cpuTime(pid int) time.Duration {
	if pid == 0 {
		return 0
	}
	dir := fmt.Sprintf("/proc/%d/task", pid)
	threads, err := os.ReadDir(dir)
	if err != nil {
		return 0
	}
	sum := time.Duration(0)
	for _, t := range threads {
		line, err := os.ReadFile(dir + "/" + t.Name() + "/schedstat")
		if err != nil {
			continue
		}
		first, _, _ := bytes.Cut(line, []byte(" "))
		n, _ := strconv.ParseInt(string(first), 10, 64)
		sum += time.Duration(n)
	}
	return sum
}
