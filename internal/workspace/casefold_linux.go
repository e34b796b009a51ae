package workspace

import (
	"os"
	"unicode/utf8"

	"carrel/internal/protect"

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

// caseMatters says whether a path is protected, or may become so, only where
// names are compared without case.
func caseMatters(rel string) bool {
	plain := true
	for i := range len(rel) {
		c := rel[i]
		end := i+1 == len(rel) || rel[i+1] == '/'
		if 'A' <= c && c <= 'Z' || c >= utf8.RuneSelf || c == '~' || end && (c == '.' || c == ' ') {
			plain = false
			break
		}
	}
	if plain {
		return false
	}
	_, exact := protect.Name(rel, false)
	_, folded := protect.Name(rel, true)
	_, becomes := protect.Renamed(rel, false)
	_, may := protect.Renamed(rel, true)
	return exact != folded || becomes != may || len(protect.Within(rel, false)) != len(protect.Within(rel, true))
}
