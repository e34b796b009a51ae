//go:build !linux

package desktop

import (
	"errors"
	"os"
)

func newMemory(int) (*os.File, []byte, error) {
	return nil, nil, errors.New("memory is shared on Linux only")
}

func freeMemory([]byte) {}
