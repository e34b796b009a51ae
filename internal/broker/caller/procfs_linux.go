package caller

import (
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// Threads are the callers' directories in procfs, kept open: a descriptor means
// one thread and no later one with its number.
type Threads struct {
	known [16]thread
	next  int
}

type thread struct {
	tid uint32
	fd  int
}

// Drop closes them.
func (p *Threads) Drop() {
	for _, known := range p.known {
		if known.tid != 0 {
			unix.Close(known.fd)
		}
	}
	*p = Threads{}
}

// Dir names a thread's directory in procfs.
func Dir(tid uint32) string { return "/proc/" + strconv.FormatUint(uint64(tid), 10) }

// Use opens a caller's directory in procfs. use is called with it, a second
// time where the first was of a thread that is gone.
func (p *Threads) Use(tid uint32, use func(dir int) error) error {
	for i := range p.known {
		known := &p.known[i]
		if known.tid != tid || tid == 0 {
			continue
		}
		if err := use(known.fd); err != unix.ESRCH && err != unix.ENOENT {
			return err
		}
		unix.Close(known.fd)
		*known = thread{}
	}
	fd, err := unix.Open(Dir(tid), unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	known := &p.known[p.next]
	p.next = (p.next + 1) % len(p.known)
	if known.tid != 0 {
		unix.Close(known.fd)
	}
	*known = thread{tid, fd}
	return use(fd)
}

// Link names what a directory argument refers to, below the caller's directory.
func Link(dirfd int32) string {
	if dirfd == unix.AT_FDCWD {
		return "cwd"
	}
	return "fd/" + strconv.Itoa(int(dirfd))
}

// Open opens, as a path only, what a link of the caller's directory in
// procfs means: the caller's own root, working directory or descriptor.
func (p *Threads) Open(tid uint32, link string, flags int) (int, error) {
	fd := -1
	err := p.Use(tid, func(dir int) (e error) {
		fd, e = unix.Openat(dir, link, unix.O_PATH|unix.O_CLOEXEC|flags, 0)
		return e
	})
	return fd, err
}

// OnlyPath says whether a caller's descriptor was opened with O_PATH: procfs
// shows what a descriptor may do as the mode of its link.
func (p *Threads) OnlyPath(tid uint32, fd int32) bool {
	var st unix.Stat_t
	err := p.Use(tid, func(dir int) error { return unix.Fstatat(dir, Link(fd), &st, unix.AT_SYMLINK_NOFOLLOW) })
	if err != nil || fd < 0 || st.Mode&0o600 != 0 {
		return false
	}
	var flags uint64 // neither reads nor writes: O_PATH, or the access mode 3
	_ = p.Use(tid, func(dir int) error {
		f, err := unix.Openat(dir, "fdinfo/"+strconv.Itoa(int(fd)), unix.O_RDONLY|unix.O_CLOEXEC, 0)
		if err == nil {
			flags, _ = strconv.ParseUint(Field(Head(f), "flags:"), 8, 64)
		}
		return err
	})
	return flags&unix.O_PATH != 0
}

// Duplicate copies a descriptor out of the caller, the same open file.
func Duplicate(tid uint32, fd int32) (int, error) {
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
	n, _ := strconv.Atoi(Status(tid, "Tgid:"))
	return n
}

// Status reads one line of a thread's /proc status, one of the first; "" where
// it is gone.
func Status(tid uint32, label string) string {
	fd, err := unix.Open(Dir(tid)+"/status", unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return ""
	}
	return Field(Head(fd), label)
}

// Field gives what a line of procfs says after its label.
func Field(text, label string) string {
	for line := range strings.Lines(text) {
		if rest, ok := strings.CutPrefix(line, label); ok {
			return strings.TrimSpace(rest)
		}
	}
	return ""
}

// Head reads the first lines of a file of procfs, and closes it.
func Head(fd int) string {
	defer unix.Close(fd)
	var buf [512]byte
	n, _ := unix.Read(fd, buf[:])
	return string(buf[:max(n, 0)])
}

// Interrupted says whether a signal that the caller handles is waiting: a
// trapped call takes only deadly ones.
func Interrupted(tid uint32) bool {
	text, err := ReadFile(Dir(tid) + "/status")
	if err != nil {
		return false
	}
	set := func(label string) uint64 {
		n, _ := strconv.ParseUint(Field(text, label), 16, 64)
		return n
	}
	return (set("SigPnd:")|set("ShdPnd:"))&^set("SigBlk:")&set("SigCgt:") != 0
}

// InnerID gives a thread's number in the workspace's namespace, which is this many levels
// below ours.
func InnerID(status, label string, level int) string {
	words := strings.Fields(Field(status, label))
	if len(words) == 0 {
		return ""
	}
	return words[min(level, len(words)-1)]
}

// ReadFile reads a small file of our own procfs.
func ReadFile(name string) (string, error) {
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
