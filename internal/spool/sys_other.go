//go:build !linux

package spool

import (
	"errors"
	"os"
)

func openAt(dir *os.File, name string, _ int) (*os.File, error) {
	return nil, pathError("open", dir, name, errors.ErrUnsupported)
}

func renameAt(*os.File, string, string) error { return errors.ErrUnsupported }

func unlinkAt(*os.File, string) error { return errors.ErrUnsupported }

func tryLock(*os.File) (bool, error) { return false, errors.ErrUnsupported }

func noRoom(error) bool { return false }
