package broker

import (
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// procs are the callers' directories in procfs, kept open: a descriptor means
// one thread and no later one with its number.
type procs struct {
	known [16]proc
	next  int
}

type proc struct {
	tid uint32
	fd  int
}

func (p *procs) drop() {
	for _, known := range p.known {
		if known.tid != 0 {
			unix.Close(known.fd)
		}
	}
	*p = procs{}
}

// procOf names a thread's directory in procfs.
func procOf(tid uint32) string { return "/proc/" + strconv.FormatUint(uint64(tid), 10) }

// proc opens a caller's directory in procfs. use is called with it, a second
// time where the first was of a thread that is gone.
func (w *worker) proc(use func(dir int) error) error {
	tid := w.call.TID
	for i := range w.procs.known {
		p := &w.procs.known[i]
		if p.tid != tid || tid == 0 {
			continue
		}
		if err := use(p.fd); err != unix.ESRCH && err != unix.ENOENT {
			return err
		}
		unix.Close(p.fd)
		*p = proc{}
	}
	fd, err := unix.Open(procOf(tid), unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	p := &w.procs.known[w.procs.next]
	w.procs.next = (w.procs.next + 1) % len(w.procs.known)
	if p.tid != 0 {
		unix.Close(p.fd)
	}
	*p = proc{tid, fd}
	return use(fd)
}

// procLink names what a directory argument refers to, below the caller's directory.
func procLink(dirfd int32) string {
	if dirfd == unix.AT_FDCWD {
		return "cwd"
	}
	return "fd/" + strconv.Itoa(int(dirfd))
}

// ofCaller opens, as a path only, what a link of the caller's directory in
// procfs means: the caller's own root, working directory or descriptor.
func (w *worker) ofCaller(link string, flags int) (int, error) {
	fd := -1
	err := w.proc(func(dir int) (e error) {
		fd, e = unix.Openat(dir, link, unix.O_PATH|unix.O_CLOEXEC|flags, 0)
		return e
	})
	return fd, err
}

// ownDir opens, as a path only, what a directory argument means, on the caller's
// own mount.
func (w *worker) ownDir(dirfd int32) (int, error) {
	if dirfd != unix.AT_FDCWD {
		return w.callerFD(dirfd)
	}
	fd, err := w.ofCaller("cwd", 0)
	if err != nil {
		return -1, unix.EACCES
	}
	return fd, nil
}

// callerFD opens, as a path only, what the caller has at fd.
func (w *worker) callerFD(fd int32) (int, error) {
	if fd < 0 {
		return -1, unix.EBADF
	}
	n, err := w.ofCaller(procLink(fd), 0)
	if err == unix.EACCES {
		// A program that may not be read hides its descriptors from its user in
		// procfs, but not from the owner of its user namespace.
		n, err = w.b.pinBorrowed(w.call.TID, fd)
	}
	if err != nil {
		return -1, unix.EBADF
	}
	return n, nil
}

// onlyPath says whether a caller's descriptor was opened with O_PATH: procfs
// shows what a descriptor may do as the mode of its link.
func (w *worker) onlyPath(fd int32) bool {
	var st unix.Stat_t
	err := w.proc(func(dir int) error { return unix.Fstatat(dir, procLink(fd), &st, unix.AT_SYMLINK_NOFOLLOW) })
	if err != nil || fd < 0 || st.Mode&0o600 != 0 {
		return false
	}
	var flags uint64 // neither reads nor writes: O_PATH, or the access mode 3
	_ = w.proc(func(dir int) error {
		f, err := unix.Openat(dir, "fdinfo/"+strconv.Itoa(int(fd)), unix.O_RDONLY|unix.O_CLOEXEC, 0)
		if err == nil {
			flags, _ = strconv.ParseUint(field(head(f), "flags:"), 8, 64)
		}
		return err
	})
	return flags&unix.O_PATH != 0
}

// duplicate copies a descriptor out of the caller, the same open file.
func duplicate(tid uint32, fd int32) (int, error) {
	pidfd, err := unix.PidfdOpen(int(tid), pidfdThread)
	if err != nil {
		pidfd, err = unix.PidfdOpen(threadGroup(tid), 0)
	}
	if err != nil {
		return -1, err
	}
	defer unix.Close(pidfd)
	return unix.PidfdGetfd(pidfd, int(fd), 0)
}

const pidfdThread = unix.O_EXCL // PIDFD_THREAD of linux/pidfd.h, since Linux 6.9

func threadGroup(tid uint32) int {
	n, _ := strconv.Atoi(status(tid, "Tgid:"))
	return n
}

// status reads one line of a thread's /proc status, one of the first; "" where
// it is gone.
func status(tid uint32, label string) string {
	fd, err := unix.Open(procOf(tid)+"/status", unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return ""
	}
	return field(head(fd), label)
}

// field gives what a line of procfs says after its label.
func field(text, label string) string {
	for line := range strings.Lines(text) {
		if rest, ok := strings.CutPrefix(line, label); ok {
			return strings.TrimSpace(rest)
		}
	}
	return ""
}

// head reads the first lines of a file of procfs, and closes it.
func head(fd int) string {
	defer unix.Close(fd)
	var buf [512]byte
	n, _ := unix.Read(fd, buf[:])
	return string(buf[:max(n, 0)])
}

// interrupted says whether a signal that the caller handles is waiting: a
// trapped call takes only deadly ones.
func interrupted(tid uint32) bool {
	text, err := readAll(procOf(tid) + "/status")
	if err != nil {
		return false
	}
	set := func(label string) uint64 {
		n, _ := strconv.ParseUint(field(text, label), 16, 64)
		return n
	}
	return (set("SigPnd:")|set("ShdPnd:"))&^set("SigBlk:")&set("SigCgt:") != 0
}

// innerID gives a thread's number in the namespace below ours, which is the
// workspace's.
func innerID(status, label string) string {
	words := strings.Fields(field(status, label))
	if len(words) == 0 {
		return ""
	}
	return words[min(1, len(words)-1)]
}

// readAll reads a small file of our own procfs.
func readAll(name string) (string, error) {
	fd, err := unix.Open(name, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return "", err
	}
	defer unix.Close(fd)
	buf := make([]byte, 4096)
	for have := 0; ; {
		n, err := unix.Read(fd, buf[have:])
		if err != nil {
			return "", err
		}
		if have += n; n == 0 {
			return string(buf[:have]), nil
		}
		if have == len(buf) {
			buf = append(buf, make([]byte, len(buf))...)
		}
	}
}
