package settings

import (
	"fmt"
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

// keepAttributes copies extended attributes. An access control list must come
// along: without it the mode's bits mean something else. Others that the kernel
// sets itself (security.selinux) or does not let us set are left as they are.
func keepAttributes(from, to *os.File) error {
	names := make([]byte, 64<<10)
	n, err := unix.Flistxattr(int(from.Fd()), names)
	if err != nil {
		return nil // the file system has none
	}
	for name := range strings.SplitSeq(strings.TrimRight(string(names[:n]), "\x00"), "\x00") {
		if name == "" {
			continue
		}
		value := make([]byte, 64<<10)
		n, err := unix.Fgetxattr(int(from.Fd()), name, value)
		if err == nil {
			err = unix.Fsetxattr(int(to.Fd()), name, value[:n], 0)
		}
		if err != nil && strings.HasPrefix(name, "system.posix_acl") {
			return fmt.Errorf("keeping its access control list: %w", err)
		}
	}
	return nil
}
