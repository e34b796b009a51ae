package disk

import (
	"crypto/rand"
	"encoding/hex"
	"os"

	"carrel/internal/history/journal"
	"carrel/internal/pathname"

	"golang.org/x/sys/unix"
)

// RandomHex is a new part of a name: eight random bytes.
func RandomHex() string {
	var b [8]byte
	_, _ = rand.Read(b[:])
	return hex.EncodeToString(b[:])
}

// Locked says whether a process holds a segment's lock.
func Locked(f *os.File) bool {
	if unix.Flock(int(f.Fd()), unix.LOCK_SH|unix.LOCK_NB) != nil {
		return true
	}
	_ = unix.Flock(int(f.Fd()), unix.LOCK_UN)
	return false
}

// NamesOf looks for names of some files until use has taken one of each.
func NamesOf[T any](roots []Root, wanted map[journal.ID]T, use func(path string, id journal.ID) (bool, error)) error {
	inodes := make(map[uint64]int)
	for id := range wanted {
		inodes[id.Ino]++
	}
	var err error
	taken := make(map[journal.ID]bool)
	for i := range roots {
		roots[i].EachBelow(func(dir int, path string, ino uint64, name string) {
			if inodes[ino] == 0 || err != nil {
				return
			}
			st, e := LookAt(dir, name)
			if _, ok := wanted[st.ID]; e != nil || !ok || taken[st.ID] {
				return
			}
			if taken[st.ID], err = use(pathname.Join(path, name), st.ID); taken[st.ID] {
				if inodes[ino]--; inodes[ino] == 0 {
					delete(inodes, ino)
				}
			}
		}, func() bool { return len(inodes) == 0 || err != nil })
	}
	return err
}
