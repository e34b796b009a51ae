package stage

import (
	"runtime"
	"unsafe"

	"carrel/internal/sandbox"

	"golang.org/x/sys/unix"
)

// binder is a thread that lives in the mirror: bind(2) takes a text, which
// stays to be seen in getsockname(2), and so its directory can be pinned only by
// having the right root and working directory. It has no filter and, like every
// thread of the stage, no capability once the walls stand.
type binder struct {
	requests chan bindRequest
}

type bindRequest struct {
	socket, at int
	text       string
	umask      int
	reply      chan error
}

// startBinder must be called while the stage may still change a root.
func startBinder(mirror int) (*binder, error) {
	b := &binder{requests: make(chan bindRequest)}
	ready := make(chan error)
	go func() {
		runtime.LockOSThread() // for good: this thread's root is not the others'
		err := unix.Unshare(unix.CLONE_FS)
		if err == nil {
			err = unix.Fchdir(mirror)
		}
		if err == nil {
			err = unix.Chroot(".")
		}
		ready <- failed("entering the mirror", "", err)
		if err != nil {
			return
		}
		for r := range b.requests {
			r.reply <- bindText(r)
			_ = unix.Chdir("/") // pins nothing
		}
	}()
	return b, <-ready
}

// bindText binds with exactly this text: the wrapper would take an "@" at its
// start for an abstract name.
func bindText(r bindRequest) error {
	if len(r.text) == 0 || len(r.text) > 108 {
		return unix.EINVAL
	}
	if err := unix.Fchdir(r.at); err != nil {
		return err
	}
	unix.Umask(r.umask)
	sa := unix.RawSockaddrUnix{Family: unix.AF_UNIX}
	for i := range len(r.text) {
		sa.Path[i] = int8(r.text[i])
	}
	size := unsafe.Offsetof(sa.Path) + uintptr(min(len(r.text)+1, len(sa.Path)))
	if _, _, e := unix.Syscall(unix.SYS_BIND, uintptr(r.socket), uintptr(unsafe.Pointer(&sa)), size); e != 0 {
		return e
	}
	return nil
}

// bind answers a request of the supervisor's broker. Until then the broker holds
// the socket, so that closing it here is not closing its last descriptor, which
// may take as long as its SO_LINGER says: nothing else would be obeyed meanwhile.
func (s *server) bind(r *request) {
	reply := sandbox.Message{Kind: sandbox.MsgBound, ID: r.msg.ID, Code: int(unix.ENOSYS)}
	if s.binder != nil && len(r.fds) == 2 {
		done := make(chan error)
		s.binder.requests <- bindRequest{r.fds[0], r.fds[1], r.msg.Text, r.msg.Code, done}
		reply.Code = errno(<-done)
	}
	r.close()
	s.link.say(reply)
}
