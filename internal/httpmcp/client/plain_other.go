//go:build !unix

package client

import "net"

// canTellAlive is whether idle connections can be looked at.
const canTellAlive = false

func alive(net.Conn) bool { return false }
