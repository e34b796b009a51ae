//go:build !linux

package egress

import "net"

const maxFast = 1

// transfer copies until the end of src and tells apart whose error ended it.
func transfer(dst, src net.Conn, limit int64, _ chan struct{}) (n int64, read, write error) {
	return transferAny(dst, src, limit)
}

// alive cannot be told here without reading.
func alive(net.Conn) bool { return true }
