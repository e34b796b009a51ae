//go:build !linux

package xfilter

import "net"

// peer is only known where there are workspaces.
func peer(net.Conn) int { return 0 }
