package guard

import (
	"os"
	"sync/atomic"
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

// FoldsCase says whether names below a root may differ in case from the name
// that is meant.
func FoldsCase(root string) bool {
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

// plainCase says whether no comparison without case takes a path for another.
func plainCase(rel string) bool {
	for i := range len(rel) {
		c := rel[i]
		end := i+1 == len(rel) || rel[i+1] == '/'
		if 'A' <= c && c <= 'Z' || c >= utf8.RuneSelf || c == '~' || end && (c == '.' || c == ' ') {
			return false
		}
	}
	return true
}

// foldingMatters says whether a path is protected, or may become so, only where
// names are compared without case.
func foldingMatters(rel string) bool {
	_, exact := protect.Name(rel, false)
	_, folded := protect.Name(rel, true)
	_, becomes := protect.Renamed(rel, false)
	_, may := protect.Renamed(rel, true)
	return exact != folded || becomes != may || len(protect.Within(rel, false)) != len(protect.Within(rel, true))
}

// cases remembers of one path whether its case matters: one change asks more than
// once, and so do the next ones of the same file.
type cases struct{ last atomic.Pointer[caseOf] }

type caseOf struct {
	rel     string
	matters bool
}

func (c *cases) matters(rel string) bool {
	if plainCase(rel) {
		return false
	}
	if last := c.last.Load(); last != nil && last.rel == rel {
		return last.matters
	}
	matters := foldingMatters(rel)
	c.last.Store(&caseOf{rel, matters})
	return matters
}
