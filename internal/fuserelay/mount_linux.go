package fuserelay

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// FSType is what a mount is called in /proc/self/mounts, as "fuse.carrel".
const FSType = "carrel"

// MaxMessage bounds a message in bytes: 1 MiB of data, its header and some names.
const MaxMessage = 1<<20 + 16<<10

// Mount mounts a file system at a directory, and gives the descriptor at which its requests
// are read and answered. The kernel checks modes and owners for each caller (default_permissions).
func Mount(dir string) (*os.File, error) {
	fd, err := unix.Open("/dev/fuse", unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("opening /dev/fuse: %w", err)
	}
	if err := MountOpened(fd, dir); err != nil {
		unix.Close(fd)
		return nil, err
	}
	return os.NewFile(uintptr(fd), "/dev/fuse"), nil
}

// MountOpened is Mount with /dev/fuse opened before. The kernel wants that in one user namespace.
func MountOpened(device int, dir string) error {
	options := fmt.Sprintf("fd=%d,rootmode=40000,user_id=%d,group_id=%d,default_permissions,allow_other", device, os.Getuid(), os.Getgid())
	if err := unix.Mount(FSType, dir, "fuse."+FSType, unix.MS_NOSUID|unix.MS_NODEV, options); err != nil {
		return fmt.Errorf("mounting on %s: %w", dir, err)
	}
	return nil
}
