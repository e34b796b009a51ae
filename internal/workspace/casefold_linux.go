package workspace

import (
	"os"

	"golang.org/x/sys/unix"
)

// File systems that compare names without case (linux/magic.h).
const (
	magicFAT   = 0x4d44
	magicExFAT = 0x2011bab0
	magicNTFS  = 0x7366746e
	magicHFS   = 0x482b
	magicCIFS  = 0xff534d42

	flagCasefold = 0x40000000 // FS_CASEFOLD_FL of linux/fs.h, on a directory
)

// foldsCase says whether names below a root may differ in case from the name
// that is meant.
func foldsCase(root string) bool {
	var fs unix.Statfs_t
	if unix.Statfs(root, &fs) == nil {
		switch uint32(fs.Type) {
		case magicFAT, magicExFAT, magicNTFS, magicHFS, magicCIFS:
			return true
		}
	}
	f, err := os.Open(root)
	if err != nil {
		return false
	}
	defer f.Close()
	flags, err := unix.IoctlGetInt(int(f.Fd()), unix.FS_IOC_GETFLAGS)
	return err == nil && flags&flagCasefold != 0
}
