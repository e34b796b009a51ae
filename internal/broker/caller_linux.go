package broker

import (
	"bytes"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// pathMax is PATH_MAX of linux/limits.h: a path with its NUL.
const pathMax = 4096

const pageSize = 4096 // a multiple or a divisor of every real page: reads stop at a hole either way

// text reads a path from the caller's memory, into buffer n. A text that runs
// into unmapped memory is EFAULT, one without an end ENAMETOOLONG.
func (w *worker) text(tid uint32, addr uint64, n int) (string, error) {
	buf := w.path[n][:]
	for done, size := 0, shortPath; done < len(buf); size = len(buf) - done {
		got, err := readMemory(tid, addr+uint64(done), buf[done:done+size])
		if err != nil {
			return "", err
		}
		if end := bytes.IndexByte(buf[done:done+got], 0); end >= 0 {
			return string(buf[:done+end]), nil
		}
		if done += got; got < size {
			return "", unix.EFAULT
		}
	}
	return "", unix.ENAMETOOLONG
}

// shortPath is how much is read of a path at first: most end in it.
const shortPath = 256

// readMemory fills as much of buf as is mapped at addr.
func readMemory(tid uint32, addr uint64, buf []byte) (int, error) {
	first := min(len(buf), int(pageSize-addr%pageSize))
	local := []unix.Iovec{{Base: &buf[0]}}
	local[0].SetLen(len(buf))
	remote := []unix.RemoteIovec{{Base: uintptr(addr), Len: first}}
	if first < len(buf) {
		remote = append(remote, unix.RemoteIovec{Base: uintptr(addr) + uintptr(first), Len: len(buf) - first})
	}
	n, err := unix.ProcessVMReadv(int(tid), local, remote, 0)
	if err != nil {
		return 0, unix.EFAULT
	}
	return n, nil
}

// readExact reads all of buf or fails with EFAULT.
func readExact(tid uint32, addr uint64, buf []byte) error {
	for done := 0; done < len(buf); {
		n, err := readMemory(tid, addr+uint64(done), buf[done:])
		if err != nil || n == 0 {
			return unix.EFAULT
		}
		done += n
	}
	return nil
}

func writeMemory(tid uint32, addr uint64, buf []byte) error {
	local := []unix.Iovec{{Base: &buf[0]}}
	local[0].SetLen(len(buf))
	n, err := unix.ProcessVMWritev(int(tid), local, []unix.RemoteIovec{{Base: uintptr(addr), Len: len(buf)}}, 0)
	if err != nil || n != len(buf) {
		return unix.EFAULT
	}
	return nil
}

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

// proc opens a caller's directory in procfs. use is called with it, a second
// time where the first was of a thread that is gone.
func (w *worker) proc(tid uint32, use func(dir int) error) error {
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
	fd, err := unix.Open("/proc/"+strconv.FormatUint(uint64(tid), 10), unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
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

// drop lets go of what the worker has pinned.
func (w *worker) drop() {
	w.bases.drop()
	for _, p := range w.procs.known {
		if p.tid != 0 {
			unix.Close(p.fd)
		}
	}
	w.procs = procs{}
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
	err := w.proc(w.call.TID, func(dir int) (e error) {
		fd, e = unix.Openat(dir, link, unix.O_PATH|unix.O_CLOEXEC|flags, 0)
		return e
	})
	return fd, err
}

// callerFD opens, as a path only, what the caller has at fd.
func (w *worker) callerFD(tid uint32, fd int32) (int, error) {
	n := -1
	err := unix.EBADF
	if fd >= 0 {
		_ = w.proc(tid, func(dir int) (e error) {
			n, e = unix.Openat(dir, procLink(fd), unix.O_PATH|unix.O_CLOEXEC, 0)
			if e == nil {
				err = 0
			}
			if e != unix.EACCES {
				return e
			}
			// A program that may not be read hides its descriptors from its
			// user in procfs, but not from the owner of its user namespace.
			if n, e = duplicate(tid, fd); e == nil {
				err = 0
			}
			return nil
		})
	}
	if err != 0 {
		return -1, err
	}
	return n, nil
}

// onlyPath says whether a caller's descriptor was opened with O_PATH: procfs
// shows what a descriptor may do as the mode of its link.
func (w *worker) onlyPath(tid uint32, fd int32) bool {
	var st unix.Stat_t
	err := w.proc(tid, func(dir int) error { return unix.Fstatat(dir, procLink(fd), &st, unix.AT_SYMLINK_NOFOLLOW) })
	if err != nil || fd < 0 || st.Mode&0o600 != 0 {
		return false
	}
	var flags uint64 // neither reads nor writes: O_PATH, or the access mode 3
	_ = w.proc(tid, func(dir int) error {
		f, err := unix.Openat(dir, "fdinfo/"+strconv.Itoa(int(fd)), unix.O_RDONLY|unix.O_CLOEXEC, 0)
		if err != nil {
			return err
		}
		defer unix.Close(f)
		var buf [128]byte
		n, err := unix.Read(f, buf[:])
		if _, rest, ok := strings.Cut(string(buf[:max(n, 0)]), "flags:"); ok {
			line, _, _ := strings.Cut(rest, "\n")
			flags, _ = strconv.ParseUint(strings.TrimSpace(line), 8, 64)
		}
		return err
	})
	return flags&unix.O_PATH != 0
}

// dirPath is fdPath for a directory of the mirror. Asking for the working
// directory takes less than half of what procfs does; it stays in one of bases,
// where the next call is likely to be.
func (w *worker) dirPath(fd int, base bool) (string, error) {
	if w.cwd != fd || !base {
		w.cwd = -1
		if unix.Fchdir(fd) != nil {
			return w.fdPath(fd) // one that may not be searched
		}
		if base {
			w.cwd = fd
		}
	}
	n, err := unix.Getcwd(w.link[:])
	if err == nil {
		// The mirror is mounted nowhere: its root is not ours.
		if at, ok := strings.CutPrefix(string(w.link[:n-1]), "(unreachable)"); ok {
			return at, nil
		}
	}
	return w.fdPath(fd)
}

// fdPath reads where one of our own descriptors is now.
func (w *worker) fdPath(fd int) (string, error) {
	return w.readLink(w.b.self, strconv.Itoa(fd))
}

// readLink reads where a symlink leads.
func (w *worker) readLink(dir int, name string) (string, error) {
	n, err := unix.Readlinkat(dir, name, w.link[:])
	switch {
	case err != nil:
		return "", err
	case n == 0:
		return "", unix.ENOENT
	case n == len(w.link):
		return "", unix.ENAMETOOLONG
	}
	return string(w.link[:n]), nil
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

// status reads one line of a thread's /proc status, "" where it is gone.
func status(tid uint32, name string) string {
	fd, err := unix.Open("/proc/"+strconv.FormatUint(uint64(tid), 10)+"/status", unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return ""
	}
	defer unix.Close(fd)
	var buf [512]byte // the lines that are asked for come first
	n, err := unix.Read(fd, buf[:])
	if err != nil {
		return ""
	}
	for line := range strings.Lines(string(buf[:n])) {
		if rest, ok := strings.CutPrefix(line, name); ok {
			return strings.TrimSpace(rest)
		}
	}
	return ""
}

// umasks remembers the callers' umasks: reading one costs more than a whole
// creation. umask(2) is trapped, so an entry is wrong only where a thread
// number was used again, which takes longer than an entry is trusted, or where
// it was read just before the kernel ran the call that changes it: so what is
// read soon after a change is not remembered.
type umasks struct {
	mu      sync.Mutex
	known   map[uint32]umaskEntry
	first   int
	never   bool // nobody has called umask(2) yet
	changed time.Time
}

type umaskEntry struct {
	mask int
	at   time.Time
}

const (
	umaskTrusted = 250 * time.Millisecond
	umaskEntries = 4096
)

func newUmasks(first int) umasks {
	return umasks{known: make(map[uint32]umaskEntry), first: first, never: true}
}

func (u *umasks) of(tid uint32) int {
	u.mu.Lock()
	if u.never {
		u.mu.Unlock()
		return u.first
	}
	e, ok := u.known[tid]
	settled := time.Since(u.changed) > umaskTrusted
	u.mu.Unlock()
	if ok && time.Since(e.at) < umaskTrusted {
		return e.mask
	}
	mask, err := strconv.ParseUint(status(tid, "Umask:"), 8, 16)
	if err != nil {
		return u.first
	}
	if settled {
		u.remember(tid, int(mask))
	}
	return int(mask)
}

func (u *umasks) remember(tid uint32, mask int) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if len(u.known) >= umaskEntries {
		clear(u.known)
	}
	u.known[tid] = umaskEntry{mask, time.Now()}
}

// changing is told of a umask(2) that is about to run: the other threads of
// the process share it, so what is known of anybody else is forgotten.
func (u *umasks) changing(tid uint32, mask int) {
	u.mu.Lock()
	clear(u.known)
	u.never, u.changed = false, time.Now()
	u.mu.Unlock()
	u.remember(tid, mask&0o777)
}

func umask(w *worker, c *Call) (int64, error) {
	w.b.umasks.changing(c.TID, int(c.Args[0]))
	return 0, errNotMine
}
