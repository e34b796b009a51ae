//go:build !linux

package mcpserver

import (
	"errors"
	"os"
)

func inMemory([]byte) (*os.File, error) { return nil, errors.ErrUnsupported }
