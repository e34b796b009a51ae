package hostfacts

import (
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// TerminalName gives the device of the terminal among the standard descriptors,
// so that ttyname(3) finds it inside as /dev/console; "" without one.
func TerminalName() string {
	for fd := range 3 {
		if _, err := unix.IoctlGetTermios(fd, unix.TCGETS); err != nil {
			continue
		}
		if name, err := os.Readlink("/proc/self/fd/" + strconv.Itoa(fd)); err == nil && strings.HasPrefix(name, "/dev/") {
			return name
		}
	}
	return ""
}
