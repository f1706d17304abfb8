package journal

import (
	"os"
	"regexp"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// shifted is a time namespace whose clock is not the machine's.
var shifted = regexp.MustCompile(`(?m)^boottime\s+(-?[1-9]|0\s+-?[1-9])`)

var bootID = sync.OnceValues(func() (string, error) {
	if raw, err := os.ReadFile("/proc/self/timens_offsets"); err == nil && shifted.Match(raw) {
		return "", os.ErrNotExist
	}
	raw, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	return string(raw), err
})

func boot() (id string, since time.Duration, ok bool) {
	id, err := bootID()
	var ts unix.Timespec
	if err != nil || unix.ClockGettime(unix.CLOCK_BOOTTIME, &ts) != nil {
		return "", 0, false
	}
	return id, time.Duration(ts.Nano()), true
}
