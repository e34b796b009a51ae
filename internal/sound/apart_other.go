//go:build !linux

package sound

import "syscall"

func apart() *syscall.SysProcAttr { return nil }
