//go:build !unix

package desktop

import (
	"errors"
	"os"
)

func (w *wire) passes() bool { return false }

func (w *wire) sendWith([]byte, *os.File) (int, error) {
	return 0, errors.New("descriptors cannot be passed on this system")
}
