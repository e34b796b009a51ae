//go:build !linux

package qemu

import (
	"errors"
	"time"
)

func probe() (time.Duration, error) { return 0, errors.ErrUnsupported }
