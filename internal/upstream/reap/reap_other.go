//go:build unix && !linux && !darwin

package reap

import (
	"syscall"

	"golang.org/x/sys/unix"
)

func adopt() {}

func attributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

func dup2(from, to int) error { return unix.Dup2(from, to) }

// descendants knows only the process group here, which is signalled anyway.
func descendants(int) []int { return nil }
