//go:build !linux

package hostfile

import (
	"errors"
	"io/fs"
	"os"
	"time"
)

// NoFollow adds nothing here.
const NoFollow = 0

// OwnedByUs cannot tell here.
func OwnedByUs(os.FileInfo) bool { return true }

// ChangeTime is the time of the last write here.
func ChangeTime(info fs.FileInfo) time.Time { return info.ModTime() }

// Lock locks nothing here.
func Lock(string, time.Duration) (func(), error) { return nil, errors.ErrUnsupported }

// Share locks nothing here.
func Share(string, time.Duration) (func(), error) { return nil, errors.ErrUnsupported }
