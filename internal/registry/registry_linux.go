package registry

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"slices"
	"strconv"
	"syscall"
	"time"

	"carrel/internal/procfs"
)

// atWorkingDirectory is AT_FDCWD, which package syscall keeps to itself.
const atWorkingDirectory = -100

// Above opens the directory that a place of the registry lies in: this user's own, that
// no other user writes.
func Above(place string) (*os.File, error) {
	return openOwn(atWorkingDirectory, path.Dir(place), path.Dir(place), 0o022)
}

// Open opens a place of the registry in the directory above it: a 0700 directory of this
// user's own. Neither of the two may be a symbolic link.
func Open(above *os.File, place string) (*os.File, error) {
	return openOwn(int(above.Fd()), path.Base(place), place, 0o077)
}

// openOwn opens a directory that belongs to this user and grants none of the
// forbidden permissions.
func openOwn(at int, name, path string, forbidden uint32) (*os.File, error) {
	fd, err := syscall.Openat(at, name, syscall.O_RDONLY|syscall.O_DIRECTORY|syscall.O_NOFOLLOW|syscall.O_CLOEXEC, 0)
	if err != nil {
		return nil, &os.PathError{Op: "open", Path: path, Err: err}
	}
	f := os.NewFile(uintptr(fd), path)
	var st syscall.Stat_t
	if err := syscall.Fstat(fd, &st); err != nil {
		f.Close()
		return nil, &os.PathError{Op: "stat", Path: path, Err: err}
	}
	if int(st.Uid) != os.Geteuid() || st.Mode&forbidden != 0 {
		f.Close()
		return nil, fmt.Errorf("%q is not a directory of this user alone (owner %d, mode %04o); make it 0700", path, st.Uid, st.Mode&0o7777)
	}
	return f, nil
}

// OpenPlace is [Open] with the directory above.
func OpenPlace(place string) (*os.File, error) {
	above, err := Above(place)
	if err != nil {
		return nil, err
	}
	defer above.Close()
	return Open(above, place)
}

// ReadManifest reads a manifest of an open place.
func ReadManifest(dir *os.File, name string) ([]byte, error) {
	fd, err := syscall.Openat(int(dir.Fd()), name, syscall.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK|syscall.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	defer syscall.Close(fd)
	var st syscall.Stat_t
	if err := syscall.Fstat(fd, &st); err != nil || st.Mode&syscall.S_IFMT != syscall.S_IFREG || int(st.Uid) != os.Geteuid() {
		return nil, fmt.Errorf("%q is not a file of this user", name)
	}
	// An os.File would start what the runtime waits with.
	text := make([]byte, 0, 1<<10)
	for len(text) <= MaxManifest {
		text = slices.Grow(text, 1<<10)
		n, err := syscall.Read(fd, text[len(text):cap(text)])
		if err == syscall.EINTR {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("reading the manifest %q: %w", name, err)
		}
		if n == 0 {
			return text, nil
		}
		text = text[:len(text)+n]
	}
	return nil, fmt.Errorf("reading the manifest %q: more than %d bytes", name, MaxManifest)
}

// Self names this process.
func Self() (Process, error) { return Identify(os.Getpid()) }

// Identify names a process of our PID namespace: another one that gets its number later
// has another name.
func Identify(pid int) (Process, error) {
	s, err := procfs.ReadStat(pid)
	if err != nil {
		return Process{}, err
	}
	namespace, err := os.Readlink("/proc/self/ns/pid")
	return Process{PID: pid, Start: s.Start, Boot: procfs.BootID(), PIDNamespace: namespace}, err
}

// Gone says that a process runs no more. me is this process: numbers of another PID
// namespace say nothing here.
func (p Process) Gone(me Process) bool {
	if p.Boot != me.Boot {
		return true
	}
	if p.PIDNamespace != me.PIDNamespace {
		return false
	}
	s, err := procfs.ReadStat(p.PID)
	if err != nil {
		return errors.Is(err, os.ErrNotExist) || errors.Is(err, syscall.ESRCH)
	}
	return s.Start != p.Start || s.Gone()
}

// Ended reports whether a process has ended, as far as this process can see.
func (p Process) Ended() bool {
	me, err := Self()
	return err == nil && p.Gone(me)
}

// Alive reports whether a process still runs, as far as this process can see.
func (p Process) Alive() bool {
	me, err := Self()
	return err == nil && !p.Gone(me)
}

// Descriptor is a path that leads to an open file.
func Descriptor(f *os.File) string { return "/proc/self/fd/" + strconv.Itoa(int(f.Fd())) }

// maxSocketPath is what fits into an address, see unix(7).
const maxSocketPath = 107

// SocketPath names a socket in an open directory: by its own path where that
// is short enough, since people see it in lists, else through the descriptor.
func SocketPath(dir *os.File, id string) string {
	name := id + ".sock"
	if p := path.Join(dir.Name(), name); len(p) <= maxSocketPath {
		return p
	}
	return Descriptor(dir) + "/" + name
}

// startTime is how long a supervisor that is in the registry may take to listen, and
// crowdTime how long a caller stands in the queue before one that many want something of.
const (
	startTime = time.Second
	crowdTime = 10 * time.Second
)

// Connect opens a connection, a descriptor that does not block, to one that may just be
// starting. It gives up when done is closed.
func (l Listener) Connect(done <-chan struct{}) (int, error) {
	for start, wait := time.Now(), 5*time.Millisecond; ; {
		fd, err := l.dial()
		patience := time.Duration(0)
		switch {
		case errors.Is(err, syscall.EAGAIN): // the kernel's queue is full
			patience, wait = crowdTime, time.Millisecond
		case errors.Is(err, syscall.ENOENT), errors.Is(err, syscall.ECONNREFUSED):
			patience = startTime
		}
		if err == nil || time.Since(start) >= patience || !l.Alive() {
			return fd, l.unreached(err)
		}
		select {
		case <-done:
			return -1, l.unreached(err)
		case <-time.After(wait):
		}
	}
}

func (l Listener) unreached(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("reaching workspace %s: %w", l.ID, err)
}

// dial connects, and sees that the process that listens is the manifest's.
func (l Listener) dial() (int, error) {
	dir, err := OpenPlace(l.Dir)
	if err != nil {
		return -1, err
	}
	defer dir.Close()
	fd, err := syscall.Socket(syscall.AF_UNIX, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC|syscall.SOCK_NONBLOCK, 0)
	if err != nil {
		return -1, err
	}
	at := SocketPath(dir, l.ID)
	if err := syscall.Connect(fd, &syscall.SockaddrUnix{Name: at}); err != nil {
		syscall.Close(fd)
		return -1, &os.PathError{Op: "connect", Path: at, Err: err}
	}
	cred, err := syscall.GetsockoptUcred(fd, syscall.SOL_SOCKET, syscall.SO_PEERCRED)
	if err == nil && (int(cred.Uid) != os.Geteuid() || int(cred.Pid) != l.PID) {
		err = fmt.Errorf("process %d of user %d listens there, not %d", cred.Pid, cred.Uid, l.PID)
	}
	if err != nil {
		syscall.Close(fd)
		return -1, err
	}
	return fd, nil
}

// Broken says what an error of an open connection means.
func (l Listener) Broken(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, syscall.EPIPE) || errors.Is(err, syscall.ECONNRESET) {
		err = errEnded
	}
	return fmt.Errorf("talking to workspace %s: %w", l.ID, err)
}
