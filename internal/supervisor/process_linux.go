package supervisor

import (
	"bytes"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// maxProcText bounds what is read of one file of /proc.
const maxProcText = 128 << 10

func procPath(pid int, name string) string { return "/proc/" + strconv.Itoa(pid) + "/" + name }

// readProc reads the beginning of a file of /proc.
func readProc(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, maxProcText))
}

// describe reads what there is to read of a process.
func describe(pid int, name string) Process {
	p := Process{PID: pid, Name: name}
	p.Exe, _ = os.Readlink(procPath(pid, "exe"))
	p.Exe = strings.TrimSuffix(p.Exe, " (deleted)")
	if line, err := readProc(procPath(pid, "cmdline")); err == nil && len(line) > 0 {
		p.Argv = strings.Split(strings.TrimSuffix(string(line), "\x00"), "\x00")
	}
	return p
}

// insideEnv is set for every command behind walls.
const insideEnv = "CARREL=1"

// markedInside says whether a process was started behind walls, by its
// environment. It may have removed the mark.
func markedInside(pid int) bool {
	env, err := readProc(procPath(pid, "environ"))
	return err == nil && slices.ContainsFunc(bytes.Split(env, []byte{0}), func(e []byte) bool { return string(e) == insideEnv })
}

// namespaces are those that say where a process is.
type namespaces struct{ pid, user string }

func namespacesOf(pid string) (namespaces, error) {
	var n namespaces
	var err error
	if n.pid, err = os.Readlink("/proc/" + pid + "/ns/pid"); err != nil {
		return n, err
	}
	n.user, err = os.Readlink("/proc/" + pid + "/ns/user")
	return n, err
}

// ended says whether the process of a pidfd has ended.
func ended(pidfd int) bool {
	fds := []unix.PollFd{{Fd: int32(pidfd), Events: unix.POLLIN}}
	for {
		n, err := unix.Poll(fds, 0)
		if err != unix.EINTR {
			return err != nil || n > 0
		}
	}
}
