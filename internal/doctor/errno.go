package doctor

import (
	"errors"
	"fmt"
	"syscall"

	"carrel/internal/sandbox"
)

// errnoOf finds the kernel's answer in an error, 0 where there is none.
func errnoOf(err error) syscall.Errno {
	var setup *sandbox.SetupError
	if errors.As(err, &setup) {
		return syscall.Errno(setup.Code)
	}
	var n syscall.Errno
	if errors.As(err, &n) {
		return n
	}
	return 0
}

// errnoNames are the answers that decide something here.
var errnoNames = map[syscall.Errno]string{
	syscall.EPERM: "EPERM", syscall.EACCES: "EACCES", syscall.ENOSPC: "ENOSPC", syscall.EINVAL: "EINVAL",
	syscall.ENOSYS: "ENOSYS", syscall.ENODEV: "ENODEV", syscall.EUSERS: "EUSERS", syscall.ENOENT: "ENOENT", syscall.EROFS: "EROFS",
	syscall.ENOMEM: "ENOMEM", syscall.EBUSY: "EBUSY", syscall.ETIMEDOUT: "ETIMEDOUT", syscall.EDQUOT: "EDQUOT", syscall.EAGAIN: "EAGAIN",
}

// said is what was refused in words: the step and the errno's name.
func said(err error) string {
	name, known := errnoNames[errnoOf(err)]
	if !known {
		return "refused: " + err.Error()
	}
	return fmt.Sprintf("refused with %s: %v", name, err)
}
