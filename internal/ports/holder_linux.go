package ports

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// maxOwnFiles bounds the descriptors of one process that are looked at, newest first.
const maxOwnFiles = 4096

// HasOpen says whether a process has a descriptor of a socket. What is new has a high
// number. It gives up at end.
func HasOpen(pid int, s Socket, end time.Time) bool {
	dir, err := os.Open("/proc/" + strconv.Itoa(pid) + "/fd")
	if err != nil {
		return false
	}
	defer dir.Close()
	link := fmt.Sprintf("socket:[%d]", s.Inode)
	names, _ := dir.Readdirnames(-1)
	buf := make([]byte, 64)
	for i, name := range slices.Backward(names[max(0, len(names)-maxOwnFiles):]) {
		if i%64 == 0 && time.Now().After(end) {
			return false
		}
		n, err := unix.Readlinkat(int(dir.Fd()), name, buf)
		if err == nil && string(buf[:n]) == link {
			return true
		}
	}
	return false
}
