//go:build unix

package client

import (
	"net"
	"syscall"
)

const canTellAlive = true

// alive reports whether an idle connection is still open and silent. A request
// on one that the upstream has closed would be lost, and must not be repeated.
func alive(c net.Conn) bool {
	tcp, ok := c.(*net.TCPConn)
	if !ok {
		return false
	}
	raw, err := tcp.SyscallConn()
	if err != nil {
		return false
	}
	open := false
	err = raw.Read(func(fd uintptr) bool {
		var b [1]byte
		_, err := syscall.Read(int(fd), b[:])
		open = err == syscall.EAGAIN || err == syscall.EWOULDBLOCK
		return true
	})
	return err == nil && open
}
