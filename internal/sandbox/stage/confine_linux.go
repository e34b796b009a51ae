package stage

import (
	"fmt"
	"runtime"
	"syscall"
	"unsafe"

	"carrel/internal/sandbox"
	"carrel/internal/sandbox/landlock"

	"golang.org/x/sys/unix"
)

// confine gives up what the stage needed for building. The order matters:
// limits before capabilities (raising a hard limit needs one), the bounding set
// before the rest (dropping from it needs CAP_SETPCAP), no-new-privileges
// before Landlock and seccomp (both demand it), seccomp last.
//
// alone says that only this thread could be confined: the program has C code in
// it, and the runtime then reaches no other thread. See resume.
//
// notify is the listener of the filter's notifications where the plan has
// roots for a broker.
func confine(p *sandbox.Plan) (alone bool, notify int, err error) {
	if err := resourceLimits(p); err != nil {
		return false, -1, err
	}
	if alone, err = dropCapabilities(); err != nil {
		return false, -1, err
	}
	notify, err = lockIn(p)
	return alone, notify, err
}

// lockIn is what takes no privilege.
func lockIn(p *sandbox.Plan) (notify int, err error) {
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return -1, failed("setting no-new-privileges", "", err)
	}
	if err := restrictFiles(p.Landlock, p.Roots); err != nil {
		return -1, err
	}
	return installFilter(p.Seccomp, len(p.Roots) > 0)
}

func resourceLimits(p *sandbox.Plan) error {
	for _, which := range []int{unix.RLIMIT_SIGPENDING, unix.RLIMIT_MSGQUEUE} {
		if err := leaveSome(which); err != nil {
			return failed("leaving others some of a limit", fmt.Sprint(which), err)
		}
	}
	if p.NProc != 0 {
		var now unix.Rlimit
		limit := p.NProc
		if unix.Getrlimit(unix.RLIMIT_NPROC, &now) == nil {
			limit = min(limit, now.Max) // a hard limit cannot be raised from here
		}
		if err := unix.Setrlimit(unix.RLIMIT_NPROC, &unix.Rlimit{Cur: limit, Max: limit}); err != nil {
			return failed("limiting processes", "", err)
		}
	}
	return nil
}

// fewest is what is not shared any more: the runtime itself queues a signal for
// each of its threads.
const fewest = 64

// leaveSome lowers a limit that all processes of a user use up together, those
// outside, too.
func leaveSome(which int) error {
	var now unix.Rlimit
	if err := unix.Getrlimit(which, &now); err != nil {
		return err
	}
	most := now.Max / sandbox.SignalsPart
	if most < fewest {
		return nil
	}
	return unix.Setrlimit(which, &unix.Rlimit{Cur: min(now.Cur, most), Max: most})
}

// dropCapabilities leaves none, in any thread, and none to regain: an exec by
// uid 0 would get the whole bounding set back, and NOROOT takes that meaning
// from uid 0.
func dropCapabilities() (alone bool, err error) {
	const secureBits = 1<<0 | 1<<1 | 1<<2 | 1<<3 | 1<<5 | 1<<6 | 1<<7 // NOROOT, NO_SETUID_FIXUP, their locks, KEEP_CAPS locked, NO_CAP_AMBIENT_RAISE
	for c := uintptr(0); ; c++ {
		err := unix.Prctl(unix.PR_CAPBSET_DROP, c, 0, 0, 0)
		if err == unix.EINVAL {
			break // past the kernel's last capability
		}
		if err != nil {
			return false, failed("dropping a capability from the bounding set", fmt.Sprint(c), err)
		}
	}
	if err := unix.Prctl(unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0); err != nil {
		return false, failed("clearing ambient capabilities", "", err)
	}
	if err := unix.Prctl(unix.PR_SET_SECUREBITS, secureBits&^(1<<4), 0, 0, 0); err != nil {
		return false, failed("locking secure bits", "", err)
	}
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var none [2]unix.CapUserData
	_, _, e := syscall.AllThreadsSyscall(unix.SYS_CAPSET, uintptr(unsafe.Pointer(&header)), uintptr(unsafe.Pointer(&none[0])), 0)
	if alone = e == syscall.ENOTSUP; alone {
		_, _, e = unix.RawSyscall(unix.SYS_CAPSET, uintptr(unsafe.Pointer(&header)), uintptr(unsafe.Pointer(&none[0])), 0)
	}
	runtime.KeepAlive(&header)
	runtime.KeepAlive(&none)
	if e != 0 {
		return false, failed("dropping capabilities", "", e)
	}
	return alone, nil
}

// restrictFiles adds Landlock. What the plan asks for and the kernel
// lacks is an error here: the supervisor knows the kernel and plans for it.
func restrictFiles(l sandbox.Landlock, roots []string) error {
	if !l.Files && !l.Scopes {
		return nil
	}
	set := landlock.Ruleset{Files: l.Files, ScopeAbstract: l.Scopes, ScopeSignal: l.Scopes}
	if l.Files {
		var without landlock.Access
		if l.Limited {
			without = landlock.Execute
		}
		set.Rules = append(set.Rules, landlock.Rule{Path: "/", Access: landlock.ReadExec &^ without})
		// The mounts and the filter keep the roots unchanged; Landlock's part is that nothing
		// below them is opened for writing. With the right to truncate, which each open asks
		// for, its walk upwards ends at the root. The broker continues no call that cuts a
		// file without opening it for writing.
		set.Rules = append(set.Rules, present(roots, (landlock.ReadExec|landlock.Truncate)&^without)...)
		set.Rules = append(set.Rules, present(l.Write, landlock.ReadWrite&^without)...)
		programs, err := pinned(l.Execute)
		if err != nil {
			return err
		}
		for _, fd := range programs {
			defer unix.Close(fd)
			set.Rules = append(set.Rules, landlock.Rule{FD: fd, Access: landlock.ReadExec})
		}
	}
	_, err := landlock.Apply(set)
	return failed("applying Landlock", "", err)
}

// present gives a rule for each path that is there: optional steps may have
// found nothing.
func present(paths []string, access landlock.Access) []landlock.Rule {
	var rules []landlock.Rule
	for _, p := range paths {
		if unix.Access(p, unix.F_OK) != unix.ENOENT {
			rules = append(rules, landlock.Rule{Path: p, Access: access})
		}
	}
	return rules
}

// pinned opens the programs that may be started, which no link may have replaced.
func pinned(paths []string) ([]int, error) {
	var fds []int
	for _, p := range paths {
		fd, err := unix.Openat2(unix.AT_FDCWD, p, &unix.OpenHow{Flags: unix.O_PATH | unix.O_CLOEXEC, Resolve: unix.RESOLVE_NO_SYMLINKS})
		if err == unix.ENOENT || err == unix.EACCES || err == unix.ENOTDIR {
			continue // not in the view
		}
		if err != nil {
			return fds, failed("opening a program that may be started", p, err)
		}
		fds = append(fds, fd)
	}
	return fds, nil
}

// installFilter puts the seccomp program on this thread; every command is
// started from it. With listen it gives the descriptor that its notifications
// are received on.
func installFilter(prog []byte, listen bool) (int, error) {
	if len(prog) == 0 {
		return -1, nil
	}
	if len(prog)%8 != 0 {
		return -1, failed("installing the seccomp filter", "", fmt.Errorf("program of %d bytes is not whole instructions", len(prog)))
	}
	// SPEC_ALLOW: kernels before 5.16 otherwise slow every filtered process
	// down for a side channel that matters between browser tabs, not here.
	flags := uintptr(unix.SECCOMP_FILTER_FLAG_SPEC_ALLOW)
	step := "installing the seccomp filter"
	if listen {
		step = sandbox.StepListener
		// WAIT_KILLABLE_RECV: a signal must not make a call that is being carried
		// out run a second time. Linux 5.19.
		flags |= unix.SECCOMP_FILTER_FLAG_NEW_LISTENER | unix.SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV
	}
	fprog := unix.SockFprog{Len: uint16(len(prog) / 8), Filter: (*unix.SockFilter)(unsafe.Pointer(&prog[0]))}
	fd, _, e := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, flags, uintptr(unsafe.Pointer(&fprog)))
	runtime.KeepAlive(prog)
	if e != 0 {
		return -1, failed(step, "", e)
	}
	return int(fd), nil
}
