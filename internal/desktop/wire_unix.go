//go:build unix

package desktop

import (
	"errors"
	"net"
	"os"
	"syscall"
)

// sendWith writes a request and the descriptor that belongs to it.
func (w *wire) sendWith(b []byte, f *os.File) (int, error) {
	u, ok := w.Conn.(*net.UnixConn)
	if !ok {
		return 0, errors.New("a descriptor goes over a Unix socket only")
	}
	n, _, err := u.WriteMsgUnix(b, syscall.UnixRights(int(f.Fd())), nil)
	return n, err
}
