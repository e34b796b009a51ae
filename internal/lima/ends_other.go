//go:build !linux

package lima

import "syscall"

// endsWithUs is a wish that no other system knows.
var endsWithUs *syscall.SysProcAttr
