package stdio

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// Streams is what the command gets as its standard descriptors, and the relays
// behind them. A regular file never crosses the walls: reopening
// /proc/self/fd/0 would make a file that was opened for reading writable. It is
// relayed through a pipe instead; everything else (terminal, pipe, socket,
// /dev/null) crosses as it is.
type Streams struct {
	Files   [3]*os.File // what the command gets
	inside  []*os.File  // our copies of pipe ends that crossed
	outside []*os.File  // the other ends, of what the command writes
	output  sync.WaitGroup
	input   *inputRelay
	left    bool // somebody else may still write
	writing atomic.Int32
	mu      sync.Mutex
	failure error // the first write error of an output relay
}

// inputRelay feeds a file into a pipe. It never takes more from the file than
// the pipe holds, so that what the command left unread can be given back.
type inputRelay struct {
	file  *os.File
	read  *os.File // our copy of the command's end
	start int64    // place of the file at the start
	moved int64    // bytes from the file into the pipe; to be read when it is done
	done  chan struct{}

	endless bool // it may wait for somebody who types, or for another program
}

// New looks at the three outer descriptors and prepares the inner ones. To a command
// elsewhere, of another process's, no terminal and no other device crosses either.
func New(outer [3]*os.File, elsewhere bool) (*Streams, error) {
	s := &Streams{Files: outer}
	for i, f := range outer {
		var st syscall.Stat_t
		if err := syscall.Fstat(int(f.Fd()), &st); err != nil {
			return nil, fmt.Errorf("standard descriptor %d: %w", i, err)
		}
		switch st.Mode & syscall.S_IFMT {
		case syscall.S_IFDIR, syscall.S_IFBLK:
			s.Abandon()
			return nil, fmt.Errorf("standard descriptor %d is a directory or a block device; it would give the command a way out: redirect it to a file or a pipe", i)
		}
		file := st.Mode&syscall.S_IFMT == syscall.S_IFREG
		if file || elsewhere && Crosses(int(f.Fd()), &st) != "" {
			if err := s.relay(i, f, !file); err != nil {
				s.Abandon()
				return nil, err
			}
		}
	}
	return s, nil
}

// Crosses says what about a descriptor keeps it from crossing to a command of another
// process's, "" where nothing does: it could be opened anew with other rights, or leads
// to more than one other program.
func Crosses(fd int, st *syscall.Stat_t) string {
	switch st.Mode & syscall.S_IFMT {
	case syscall.S_IFIFO:
		var fs syscall.Statfs_t
		if syscall.Fstatfs(fd, &fs) != nil || fs.Type != pipeFS {
			return "a pipe with a name"
		}
	case syscall.S_IFSOCK:
		// A service takes whoever writes for its caller, our own supervisor too. What has
		// a name on this machine is one.
		there, err := syscall.Getpeername(fd)
		if err != nil {
			return "a socket that is not connected"
		}
		switch a := there.(type) {
		case *syscall.SockaddrInet4, *syscall.SockaddrInet6:
			return ""
		case *syscall.SockaddrUnix:
			if a.Name == "" || a.Name == "@" { // how the package reads an address without a name
				return ""
			}
		}
		return "a socket of a service"
	case syscall.S_IFCHR:
		// null, zero, full, random, urandom; the kernel's messages and its memory have the
		// same major number, see devices.txt of the kernel.
		if major(st.Rdev) != 1 || !slices.Contains([]uint32{3, 5, 7, 8, 9}, minor(st.Rdev)) {
			return "a terminal or another device"
		}
	default:
		return "a file or directory"
	}
	return ""
}

// relay has a pipe cross instead of a descriptor; endless: reading it may wait for ever.
func (s *Streams) relay(i int, f *os.File, endless bool) error {
	if i == 2 && s.Files[1] != nil && len(s.inside) > 0 && sameFile(1, 2) {
		s.Files[2] = s.Files[1] // one pipe for both keeps their order
		return nil
	}
	flags, err := fcntl(f.Fd(), syscall.F_GETFL)
	if err != nil {
		return fmt.Errorf("standard descriptor %d: %w", i, err)
	}
	r, w, err := BlockingPipe()
	if err != nil {
		return fmt.Errorf("relaying standard descriptor %d: %w", i, err)
	}
	if i == 0 || flags&syscall.O_ACCMODE == syscall.O_RDONLY {
		s.Files[i] = r
		s.input = &inputRelay{file: f, read: r, done: make(chan struct{}), endless: endless}
		s.input.start, _ = f.Seek(0, io.SeekCurrent)
		go s.input.run(w)
		return nil
	}
	s.Files[i] = w
	s.inside, s.outside = append(s.inside, w), append(s.outside, r)
	s.output.Add(1)
	go s.copyOut(i, f, r)
	return nil
}

// BlockingPipe avoids os.Pipe: its ends are non-blocking, and that would be
// visible to the command, which shares the open file description.
func BlockingPipe() (*os.File, *os.File, error) {
	var fds [2]int
	if err := syscall.Pipe2(fds[:], syscall.O_CLOEXEC); err != nil {
		return nil, nil, err
	}
	return os.NewFile(uintptr(fds[0]), "relay"), os.NewFile(uintptr(fds[1]), "relay"), nil
}

// sameFile says whether two descriptors share an open file description
// (kcmp(2)); where the kernel cannot tell, the same inode counts.
func sameFile(a, b uintptr) bool {
	const kcmpFile = 0
	pid := uintptr(os.Getpid())
	n, _, e := syscall.Syscall6(sysKcmp, pid, pid, kcmpFile, a, b, 0)
	if e == 0 {
		return n == 0
	}
	var x, y syscall.Stat_t
	return syscall.Fstat(int(a), &x) == nil && syscall.Fstat(int(b), &y) == nil && x.Dev == y.Dev && x.Ino == y.Ino
}

// relayed writes what was relayed, and tells that it is at it.
type relayed struct {
	of *Streams
	to *os.File
}

func (r relayed) Write(b []byte) (int, error) {
	r.of.writing.Add(1)
	defer r.of.writing.Add(-1)
	return r.to.Write(b)
}

func (s *Streams) copyOut(i int, to, from *os.File) {
	defer s.output.Done()
	defer from.Close() // a failed write reaches the command as a broken pipe
	if _, err := io.CopyBuffer(relayed{s, to}, struct{ io.Reader }{from}, make([]byte, 128<<10)); err != nil {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.failure == nil {
			s.failure = fmt.Errorf("writing standard descriptor %d: %w", i, errors.Unwrap(err))
		}
	}
}

func (r *inputRelay) run(w *os.File) {
	defer close(r.done)
	defer w.Close()
	for {
		n, err := syscall.Splice(int(r.file.Fd()), nil, int(w.Fd()), nil, 64<<10, 0)
		switch {
		case err == syscall.EINTR:
		case err == syscall.EINVAL: // a file system without splice
			n, _ := io.Copy(struct{ io.Writer }{w}, struct{ io.Reader }{r.file})
			r.moved += n
			return
		case err != nil || n == 0:
			return
		}
		r.moved += n
	}
}

// finish ends the relay. What the command left in the pipe is given back to a file, whose place
// is set once the copying has ended: a copy that fails sets it as well. A writing end keeps the
// pipe to be counted.
func (r *inputRelay) finish() {
	pipe, err := syscall.Open(fmt.Sprintf("/proc/self/fd/%d", r.read.Fd()), syscall.O_WRONLY|syscall.O_CLOEXEC, 0)
	r.read.Close()
	if err == nil {
		defer syscall.Close(pipe)
	}
	if r.endless {
		return
	}
	<-r.done
	if err != nil {
		return
	}
	if left, err := ioctlNumber(uintptr(pipe), waiting); err == nil && left > 0 {
		_, _ = r.file.Seek(r.start+r.moved-int64(left), io.SeekStart)
	}
}

// Started closes our copies of what the command now holds.
func (s *Streams) Started() {
	for _, f := range s.inside {
		f.Close()
	}
}

// Finish waits until everything that the command wrote has arrived, and gives
// back what it did not read. It is called when nothing inside is alive.
func (s *Streams) Finish() error {
	if s.input != nil {
		s.input.finish()
	}
	if !s.left {
		s.output.Wait()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.failure
}

// Settle waits until what a command has written that has ended is where it belongs.
// What it left behind in the background may hold its pipes, and write on.
func (s *Streams) Settle() {
	if len(s.outside) == 0 {
		return
	}
	done := make(chan struct{})
	go func() { s.output.Wait(); close(done) }()
	for quiet := 0; quiet < settled; {
		select {
		case <-done:
			return
		case <-time.After(settleEye):
		}
		if quiet++; s.writing.Load() > 0 {
			quiet = 0
		}
		for _, r := range s.outside {
			if n, err := ioctlNumber(r.Fd(), waiting); err == nil && n > 0 {
				quiet = 0
			}
		}
	}
	s.left = true
}

// A relay has settled when its pipe was empty that many times.
const (
	settleEye = 5 * time.Millisecond
	settled   = 4
)

// Abandon lets go of everything before a command was started.
func (s *Streams) Abandon() {
	s.Started()
	if s.input != nil {
		s.input.read.Close()
	}
}
