//go:build unix

package wire

import (
	"errors"
	"net"
	"os"
	"syscall"
)

// passer is a connection that carries descriptors: a *net.UnixConn, or what has one in it.
type passer interface {
	WriteMsgUnix(b, oob []byte, to *net.UnixAddr) (n, oobn int, err error)
}

// Passes says whether descriptors can go along.
func (w *Conn) Passes() bool {
	_, ok := w.Conn.(passer)
	return ok
}

// sendWith writes a request and the descriptor that belongs to it.
func (w *Conn) sendWith(b []byte, f *os.File) (int, error) {
	u, ok := w.Conn.(passer)
	if !ok {
		return 0, errors.New("a descriptor goes over a Unix socket only")
	}
	n, _, err := u.WriteMsgUnix(b, syscall.UnixRights(int(f.Fd())), nil)
	return n, err
}
