package install

import (
	"encoding/binary"
	"fmt"
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"
)

const (
	maxInstructions = 4096 // BPF_MAXINSNS of linux/bpf_common.h
	instructionSize = 8    // of struct sock_filter, linux/filter.h
)

// plainFlags are those of every filter. SPEC_ALLOW: kernels before 5.16 otherwise switch a
// costly mitigation (speculative store bypass) on for every filtered process. It guards
// untrusted code within one address space, which can ask for it itself.
const plainFlags = unix.SECCOMP_FILTER_FLAG_SPEC_ALLOW

// listenerFlags are those of a filter with a listener. WAIT_KILLABLE_RECV: a caller whose
// call was received can be killed, and not interrupted. A call that a signal starts anew
// would be carried out twice. Linux has it since 5.19; older kernels answer EINVAL.
const listenerFlags = plainFlags | unix.SECCOMP_FILTER_FLAG_NEW_LISTENER | unix.SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV

// Filter puts program, as seccomp.Marshal writes it, on the calling thread and everything
// that the thread starts. The caller has locked the goroutine to its thread
// (runtime.LockOSThread) and set no_new_privs on it; without that the kernel answers EACCES.
// There is no way back. Other threads of the process are not covered.
//
// With listen it returns the descriptor of the filter's listener, close-on-exec: the calls
// that program traps wait until they are answered there, and get ENOSYS when it is closed.
// Where a filter with a listener is installed already, the error is unix.EBUSY. Without
// listen it returns -1.
func Filter(program []byte, listen bool) (listener int, err error) {
	code, err := decode(program)
	if err != nil {
		return -1, err
	}
	flags := uintptr(plainFlags)
	if listen {
		flags = listenerFlags
	}
	fprog := unix.SockFprog{Len: uint16(len(code)), Filter: &code[0]}
	fd, _, errno := unix.RawSyscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, flags, uintptr(unsafe.Pointer(&fprog)))
	runtime.KeepAlive(code)
	switch {
	case errno != 0:
		return -1, errno
	case !listen:
		return -1, nil
	}
	return int(fd), nil
}

// decode checks the length only: whether the instructions make sense is for the kernel to
// judge when it loads them.
func decode(program []byte) ([]unix.SockFilter, error) {
	if len(program) == 0 || len(program)%instructionSize != 0 || len(program) > maxInstructions*instructionSize {
		return nil, fmt.Errorf("a filter program of %d bytes, want 1 to %d instructions of %d", len(program), maxInstructions, instructionSize)
	}
	code := make([]unix.SockFilter, len(program)/instructionSize)
	for i := range code {
		in := program[i*instructionSize:]
		code[i] = unix.SockFilter{Code: binary.LittleEndian.Uint16(in), Jt: in[2], Jf: in[3], K: binary.LittleEndian.Uint32(in[4:])}
	}
	return code, nil
}
