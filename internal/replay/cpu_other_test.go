//go:build !unix

package replay

import "time"

var begin = time.Now()

// cpuTime is the time since the start where the system tells no CPU time.
func cpuTime() time.Duration { return time.Since(begin) }
