package stage

import (
	"fmt"
	"runtime"
	"syscall"
	"unsafe"

	"carrel/internal/sandbox"
	"carrel/internal/sandbox/landlock"
	"carrel/internal/seccomp/install"

	"golang.org/x/sys/unix"
)

// confine gives up what the stage needed for building. The order matters:
// limits before capabilities (raising a hard limit needs one), the bounding set
// before the rest (dropping from it needs CAP_SETPCAP), no-new-privileges
// before Landlock and seccomp (both demand it), seccomp after them. The limit of processes comes last:
// the runtime stops all threads to change each, and may start one for that.
//
// alone says that only this thread could be confined: the program has C code in
// it, and the runtime then reaches no other thread. See resume.
//
// notify is the listener of the filter's notifications where the plan has
// roots for a broker.
func confine(p *sandbox.Plan) (alone bool, notify int, err error) {
	if err := resourceLimits(); err != nil {
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
	if notify, err = installFilter(p.Seccomp, len(p.Roots) > 0); err != nil {
		return -1, err
	}
	return notify, limitProcesses(p)
}

func resourceLimits() error {
	for _, which := range []int{unix.RLIMIT_SIGPENDING, unix.RLIMIT_MSGQUEUE} {
		if err := leaveSome(which); err != nil {
			return failed("leaving others some of a limit", fmt.Sprint(which), err)
		}
	}
	return nil
}

func limitProcesses(p *sandbox.Plan) error {
	if p.NProc == 0 {
		return nil
	}
	var now unix.Rlimit
	limit := p.NProc
	if unix.Getrlimit(unix.RLIMIT_NPROC, &now) == nil {
		limit = min(limit, now.Max) // a hard limit cannot be raised from here
	}
	return failed("limiting processes", "", unix.Setrlimit(unix.RLIMIT_NPROC, &unix.Rlimit{Cur: limit, Max: limit}))
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
	if err := dropBounding(); err != nil {
		return false, err
	}
	if err := unix.Prctl(unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0); err != nil {
		return false, failed("clearing ambient capabilities", "", err)
	}
	if err := unix.Prctl(unix.PR_SET_SECUREBITS, secureBits&^(1<<4), 0, 0, 0); err != nil {
		return false, failed("locking secure bits", "", err)
	}
	return clearCapabilities()
}

// dropBounding empties the bounding set: no program that is started gets a capability.
func dropBounding() error {
	for c := uintptr(0); ; c++ {
		err := unix.Prctl(unix.PR_CAPBSET_DROP, c, 0, 0, 0)
		if err == unix.EINVAL {
			return nil // past the kernel's last capability
		}
		if err != nil {
			return failed("dropping a capability from the bounding set", fmt.Sprint(c), err)
		}
	}
}

// clearCapabilities takes all from this process.
func clearCapabilities() (alone bool, err error) {
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
		rules, err := fileRules(l, roots)
		defer closeRules(rules)
		if err != nil {
			return err
		}
		set.Rules = rules
	}
	_, err := landlock.Apply(set)
	return failed("applying Landlock", "", err)
}

// fileRules gives the rules for files. The caller closes them, also on an error.
func fileRules(l sandbox.Landlock, roots []string) ([]landlock.Rule, error) {
	var without landlock.Access
	if l.Limited {
		without = landlock.Execute
	}
	rules := []landlock.Rule{{Path: "/", Access: landlock.ReadExec &^ without}}
	for _, part := range []struct {
		paths  []string
		access landlock.Access
		open   func(path string) (int, error)
	}{
		// The mounts and the filter keep the roots unchanged; Landlock's part is that nothing
		// below them is opened for writing. With the right to truncate, which each open asks
		// for, its walk upwards ends at the root. The broker continues no call that cuts a
		// file without opening it for writing.
		{roots, (landlock.ReadExec | landlock.Truncate) &^ without, openPresent},
		{l.Write, landlock.ReadWrite &^ without, openPresent},
		{l.Execute, landlock.ReadExec, openProgram},
	} {
		for _, path := range part.paths {
			fd, err := part.open(path)
			if err != nil {
				return rules, failed("opening for a Landlock rule", path, err)
			}
			if fd >= 0 {
				rules = append(rules, landlock.Rule{FD: fd, Access: part.access})
			}
		}
	}
	return rules, nil
}

func closeRules(rules []landlock.Rule) {
	for _, r := range rules {
		if r.Path == "" {
			unix.Close(r.FD)
		}
	}
}

// openPresent pins what a rule is for: the path is resolved once, and the rule holds for
// what was found. It returns -1 where there is nothing: optional steps may have found nothing.
func openPresent(path string) (int, error) {
	fd, err := unix.Open(path, unix.O_PATH|unix.O_CLOEXEC, 0)
	if err == unix.ENOENT {
		return -1, nil
	}
	return fd, err
}

// openProgram pins a program that may be started, which no link may have replaced. It
// returns -1 where the program is not in the view.
func openProgram(path string) (int, error) {
	fd, err := unix.Openat2(unix.AT_FDCWD, path, &unix.OpenHow{Flags: unix.O_PATH | unix.O_CLOEXEC, Resolve: unix.RESOLVE_NO_SYMLINKS})
	if err == unix.ENOENT || err == unix.EACCES || err == unix.ENOTDIR {
		return -1, nil
	}
	return fd, err
}

// installFilter puts the seccomp program on this thread; every command is
// started from it. With listen it gives the descriptor that its notifications
// are received on.
func installFilter(prog []byte, listen bool) (int, error) {
	if len(prog) == 0 {
		return -1, nil
	}
	step := "installing the seccomp filter"
	if listen {
		step = sandbox.StepListener
	}
	fd, err := install.Filter(prog, listen)
	return fd, failed(step, "", err)
}
