//go:build unix

package bench

import (
	"os"
	"runtime"
	"syscall"
)

// peakOf returns the largest resident set of an ended process, in bytes.
func peakOf(state *os.ProcessState) (int64, bool) {
	usage, ok := state.SysUsage().(*syscall.Rusage)
	if !ok {
		return 0, false
	}
	if runtime.GOOS == "darwin" {
		return int64(usage.Maxrss), true // bytes there, kilobytes elsewhere
	}
	return int64(usage.Maxrss) * 1024, true
}
