package upstream

import (
	"os"

	"golang.org/x/sys/unix"
)

// widen gives a pipe room for a megabyte: a large result then crosses in tens
// of turns between two processes, not in thousands. Where the system refuses,
// the pipe works as it is.
func widen(f *os.File) {
	if raw, err := f.SyscallConn(); err == nil {
		_ = raw.Control(func(fd uintptr) { _, _ = unix.FcntlInt(fd, unix.F_SETPIPE_SZ, 1<<20) })
	}
}
