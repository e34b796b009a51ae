package seccomp

import (
	"errors"
	"fmt"
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Install puts prog on the calling thread and everything that it starts. The
// caller has locked the goroutine to its thread (runtime.LockOSThread) and set
// no_new_privs on it; without no_new_privs the kernel answers EACCES. There is
// no way back. Threads that exist already are not covered: see
// InstallAllThreads.
func Install(prog []Instruction) error { return install(prog, 0) }

// InstallAllThreads puts prog on every thread of this process, for a process
// that lives on after it installs the filter. The caller's no_new_privs is
// given to the other threads too. Nothing is installed when one thread cannot
// take it.
func InstallAllThreads(prog []Instruction) error {
	return install(prog, unix.SECCOMP_FILTER_FLAG_TSYNC)
}

func install(prog []Instruction, flags uintptr) error {
	if len(prog) == 0 || len(prog) > MaxInstructions {
		return fmt.Errorf("installing a filter program: %d instructions, want 1 to %d", len(prog), MaxInstructions)
	}
	code := make([]unix.SockFilter, len(prog))
	for i, in := range prog {
		code[i] = unix.SockFilter{Code: in.Code, Jt: in.Jt, Jf: in.Jf, K: in.K}
	}
	fprog := unix.SockFprog{Len: uint16(len(code)), Filter: &code[0]}
	// Kernels before 5.16 switch a costly mitigation (speculative store bypass)
	// on for whoever installs a filter; later ones do not, because it guards
	// code that runs untrusted code in one address space, which can ask for it.
	err := setFilter(&fprog, flags|unix.SECCOMP_FILTER_FLAG_SPEC_ALLOW)
	if errors.Is(err, unix.EINVAL) {
		err = setFilter(&fprog, flags) // before 4.17 the flag is unknown
	}
	runtime.KeepAlive(code)
	if err != nil {
		return fmt.Errorf("installing a filter program of %d instructions: %w", len(prog), err)
	}
	return nil
}

func setFilter(fprog *unix.SockFprog, flags uintptr) error {
	r, _, errno := unix.RawSyscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, flags, uintptr(unsafe.Pointer(fprog)))
	if errno != 0 {
		return errno
	}
	if r != 0 { // with TSYNC: the thread that could not take the filter
		return fmt.Errorf("thread %d has a filter of its own", r)
	}
	return nil
}

// listenerFlags make a listener whose callers, once received, can only be
// killed, not interrupted: a call that a signal starts anew would be carried
// out twice. For SPEC_ALLOW see install.
const listenerFlags = unix.SECCOMP_FILTER_FLAG_NEW_LISTENER |
	unix.SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV |
	unix.SECCOMP_FILTER_FLAG_SPEC_ALLOW

// InstallListener puts prog, as Marshal writes it, on the calling thread and
// everything that it starts, as Install does, and returns the descriptor of its
// listener, close-on-exec. The calls that prog traps wait until somebody
// answers them there, and get ENOSYS when it is closed. The error is
// ErrOldKernel before Linux 5.19, and unix.EBUSY where a filter with a listener
// is installed already.
func InstallListener(prog []byte) (fd int, err error) {
	if len(prog) == 0 || len(prog)%instructionSize != 0 || len(prog) > MaxInstructions*instructionSize {
		return -1, fmt.Errorf("installing a filter with a listener: program of %d bytes, want 1 to %d instructions of %d",
			len(prog), MaxInstructions, instructionSize)
	}
	if err := CheckListener(); err != nil {
		return -1, err
	}
	code, err := Unmarshal(prog) // aligned, as the kernel's structure is
	if err != nil {
		return -1, err
	}
	fprog := unix.SockFprog{Len: uint16(len(code)), Filter: (*unix.SockFilter)(unsafe.Pointer(&code[0]))}
	r, _, errno := unix.RawSyscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, listenerFlags, uintptr(unsafe.Pointer(&fprog)))
	runtime.KeepAlive(code)
	if errno != 0 {
		return -1, fmt.Errorf("installing a filter with a listener, %d instructions: %w", len(code), errno)
	}
	return int(r), nil
}

// CheckListener says whether the kernel has what InstallListener needs:
// ErrOldKernel where it lacks it. It installs nothing.
func CheckListener() error {
	// The kernel looks at the flags first, and then fails to read a program.
	_, _, errno := unix.RawSyscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, listenerFlags, 0)
	switch errno {
	case unix.EFAULT:
		return nil
	case unix.EINVAL:
		return ErrOldKernel
	}
	return fmt.Errorf("asking for seccomp's flags: %w", errno)
}
