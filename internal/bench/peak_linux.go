package bench

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
)

// ownPeak returns the largest resident set of this process, in bytes. It is read from the process itself: rusage counts
// what the parent held when it forked.
func ownPeak() (int64, error) {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0, err
	}
	for line := range bytes.Lines(status) {
		if rest, ok := bytes.CutPrefix(line, []byte("VmHWM:")); ok {
			kilobytes, err := strconv.ParseInt(string(bytes.Fields(rest)[0]), 10, 64)
			return kilobytes * 1024, err
		}
	}
	return 0, fmt.Errorf("/proc/self/status has no VmHWM")
}
