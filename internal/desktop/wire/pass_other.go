//go:build !unix

package wire

import (
	"errors"
	"os"
)

// Passes says that descriptors cannot go along on this system.
func (w *Conn) Passes() bool { return false }

func (w *Conn) sendWith([]byte, *os.File) (int, error) {
	return 0, errors.New("descriptors cannot be passed on this system")
}
