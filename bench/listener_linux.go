package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"unsafe"

	"golang.org/x/sys/unix"
)

// listenFor runs a command of which every call that may change a file waits for
// this program, which lets each go on at once: the least that any decision
// outside the kernel costs. The calls are the broker's, the descriptors'
// among them; legacy forms are those of amd64.
//
// With carries it makes the calls itself, see carrier.
func listenFor(argv []string, carries bool) error {
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	theirs := os.NewFile(uintptr(pair[1]), "to the listener")
	cmd := exec.Command("/proc/self/exe", append([]string{"-listened"}, argv...)...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr, cmd.ExtraFiles = os.Stdin, os.Stdout, os.Stderr, []*os.File{theirs}
	if err := cmd.Start(); err != nil {
		return err
	}
	theirs.Close()
	listener, err := take(pair[0])
	unix.Close(pair[0]) // the command starts
	var carry func(*stopped) bool
	if carries {
		carry = (&carrier{listener: listener, dirs: make(map[uint32]directory)}).carry
	}
	if err == nil {
		go letGoOn(listener, carry)
	}
	return errors.Join(err, cmd.Wait())
}

// take receives the listener from the process that has made it.
func take(from int) (int, error) {
	oob := make([]byte, unix.CmsgSpace(4))
	_, n, _, _, err := unix.Recvmsg(from, make([]byte, 1), oob, unix.MSG_CMSG_CLOEXEC)
	if err != nil {
		return -1, fmt.Errorf("the listener: %w", err)
	}
	messages, err := unix.ParseSocketControlMessage(oob[:n])
	if err != nil || len(messages) != 1 {
		return -1, errors.New("the process that is listened to has sent no listener")
	}
	fds, err := unix.ParseUnixRights(&messages[0])
	if err != nil || len(fds) != 1 {
		return -1, errors.New("want one listener")
	}
	return fds[0], nil
}

// listened is the process that is listened to, before it becomes the command.
func listened(argv []string) error {
	runtime.LockOSThread()
	path, err := exec.LookPath(argv[0])
	if err != nil {
		return err
	}
	filter := listenerFilter()
	program := unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("no_new_privs: %w", err)
	}
	fd, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, unix.SECCOMP_FILTER_FLAG_NEW_LISTENER, uintptr(unsafe.Pointer(&program)))
	if errno != 0 {
		return fmt.Errorf("the filter: %w", errno)
	}
	const listener = 3 // the socket to it
	if err := unix.Sendmsg(listener, []byte{0}, unix.UnixRights(int(fd)), nil, 0); err != nil {
		return fmt.Errorf("sending the listener: %w", err)
	}
	_, _ = unix.Read(listener, make([]byte, 1))
	unix.CloseOnExec(listener)
	unix.CloseOnExec(int(fd))
	return unix.Exec(path, argv, os.Environ())
}

// The offsets of struct seccomp_data, linux/seccomp.h.
const (
	offNumber = 0
	offArgs   = 16
)

func listenerFilter() []unix.SockFilter {
	load := func(at uint32) unix.SockFilter {
		return unix.SockFilter{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: at}
	}
	ret := func(what uint32) unix.SockFilter { return unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: what} }
	filter := []unix.SockFilter{load(offNumber)}
	// A call of the kind whose argument has one of the bits.
	bits := func(number, arg, mask uint32) {
		filter = append(filter,
			unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: number, Jf: 4},
			load(offArgs+8*arg),
			unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_JSET | unix.BPF_K, K: mask, Jf: 1},
			ret(unix.SECCOMP_RET_USER_NOTIF), ret(unix.SECCOMP_RET_ALLOW))
	}
	bits(unix.SYS_OPENAT, 2, unix.O_ACCMODE|unix.O_CREAT|unix.O_TRUNC)
	bits(unix.SYS_FACCESSAT, 2, unix.W_OK)
	bits(unix.SYS_FACCESSAT2, 2, unix.W_OK)
	calls := []uint32{unix.SYS_UNLINKAT, unix.SYS_RENAMEAT, unix.SYS_RENAMEAT2, unix.SYS_MKDIRAT, unix.SYS_LINKAT, unix.SYS_SYMLINKAT,
		unix.SYS_MKNODAT, unix.SYS_FCHMODAT, unix.SYS_FCHMOD, unix.SYS_FCHOWNAT, unix.SYS_FCHOWN, unix.SYS_UTIMENSAT, unix.SYS_TRUNCATE, unix.SYS_OPENAT2}
	if runtime.GOARCH == "amd64" {
		const open, access, rename, mkdir, rmdir, link, unlink, symlink, chmod, chown, lchown = 2, 21, 82, 83, 84, 86, 87, 88, 90, 92, 94
		bits(open, 1, unix.O_ACCMODE|unix.O_CREAT|unix.O_TRUNC)
		bits(access, 1, unix.W_OK)
		calls = slices.Concat(calls, []uint32{rename, mkdir, rmdir, link, unlink, symlink, chmod, chown, lchown})
	}
	for _, number := range calls {
		filter = append(filter, unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: number, Jf: 1}, ret(unix.SECCOMP_RET_USER_NOTIF))
	}
	return append(filter, ret(unix.SECCOMP_RET_ALLOW))
}

// The requests of linux/seccomp.h, for its structs of 80 and 24 bytes.
const (
	askNext  = 0xc0502100
	send     = 0xc0182101
	valid    = 0x40082102
	addFD    = 0x40182103
	setFlags = 0x40082104
)

type answer struct {
	id    uint64
	value int64
	err   int32
	flags uint32
}

// letGoOn answers until nobody is left; carry may have answered itself.
func letGoOn(listener int, carry func(call *stopped) bool) {
	runtime.LockOSThread()
	_, _, _ = unix.Syscall(unix.SYS_IOCTL, uintptr(listener), setFlags, 1) // SYNC_WAKE_UP, since 6.6
	for {
		var asked stopped
		_, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(listener), askNext, uintptr(unsafe.Pointer(&asked)))
		if errno == unix.EINTR || errno == unix.ENOENT {
			if polled := []unix.PollFd{{Fd: int32(listener), Events: unix.POLLIN}}; gone(polled) {
				return
			}
			continue
		}
		if errno != 0 {
			return
		}
		if carry != nil && carry(&asked) {
			continue
		}
		a := answer{id: asked.id, flags: unix.SECCOMP_USER_NOTIF_FLAG_CONTINUE}
		_, _, _ = unix.Syscall(unix.SYS_IOCTL, uintptr(listener), send, uintptr(unsafe.Pointer(&a)))
	}
}

// gone waits for the next call and says whether there can be none.
func gone(polled []unix.PollFd) bool {
	_, err := unix.Poll(polled, -1)
	return err != nil && err != unix.EINTR || polled[0].Revents&unix.POLLHUP != 0
}
