package hostfacts

import (
	"fmt"
	"os"
	"strconv"
	"strings"
)

// HighestPID is half of the process numbers that there are, or of the threads that
// the kernel makes; 0 where a pid namespace has no limit of its own, before Linux
// 6.14: there the setting is everybody's.
func HighestPID() uint64 {
	const fewest = 1000
	text, err := os.ReadFile("/proc/sys/kernel/osrelease")
	var major, minor int
	if _, scan := fmt.Sscanf(string(text), "%d.%d", &major, &minor); err != nil || scan != nil || major < 6 || major == 6 && minor < 14 {
		return 0
	}
	n := min(KernelNumber("/proc/sys/kernel/pid_max"), KernelNumber("/proc/sys/kernel/threads-max")) / 2
	if n < fewest {
		return 0
	}
	return n
}

// KernelNumber reads a setting of the kernel, 0 where there is none.
func KernelNumber(file string) uint64 {
	text, err := os.ReadFile(file)
	if err != nil {
		return 0
	}
	n, _ := strconv.ParseUint(strings.TrimSpace(string(text)), 10, 64)
	return n
}
