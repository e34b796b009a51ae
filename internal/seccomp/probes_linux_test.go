package seccomp

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"sync"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// probes run in a child and return the errno of each thing that they tried.
var probes = map[string]func() map[string]int{
	"every":      probeEvery,
	"conditions": probeConditions,
	"namespaces": probeNamespaces,
	"zygote":     probeZygote,
	"sockets":    probeSockets,
	"processes":  probeProcesses,
	"terminal":   probeTerminal,
	"privileges": probePrivileges,
	"cost":       probeCost,
	"listeners":  probeListeners,
}

// probeEvery calls each number that some filter refuses at level none without
// Debug, with arguments that no call can use.
func probeEvery() map[string]int {
	found := map[string]int{}
	calls, err := Calls(parseLevel("none"))
	if err != nil {
		panic(err)
	}
	const junk = ^uintptr(0)
	for _, c := range calls {
		if c.Class == Refuse {
			_, _, errno := unix.RawSyscall6(uintptr(c.Number), junk, junk, junk, junk, junk, junk)
			found[c.Name] = int(errno)
		}
	}
	for _, nr := range []uintptr{4095, 0x40000000 + 39, 0x40000000 + 59} {
		_, _, errno := unix.RawSyscall6(nr, 0, 0, 0, 0, 0, 0)
		found[fmt.Sprintf("%#x", nr)] = int(errno)
	}
	return found
}

func rowName(row conditionRow) string { return fmt.Sprintf("%s%#x", row.call, row.args) }

// probeConditions makes the calls of conditionRows for real, except those that
// would change this process where they are allowed.
func probeConditions() map[string]int {
	return callRows(func(row conditionRow) bool {
		return row.call != "clone" && row.call != "unshare" && (row.call != "personality" || row.none != 0)
	})
}

// probeNamespaces makes the calls of conditionRows for namespaces. It is for
// level none, where all of them are refused.
func probeNamespaces() map[string]int {
	return callRows(func(row conditionRow) bool {
		return (row.call == "clone" || row.call == "unshare") && row.none != 0
	})
}

func callRows(wanted func(conditionRow) bool) map[string]int {
	found, numbers := map[string]int{}, map[string]uint32{}
	calls, err := Calls(parseLevel("none"))
	if err != nil {
		panic(err)
	}
	for _, c := range calls {
		numbers[c.Name] = c.Number
	}
	for _, row := range conditionRows {
		if !wanted(row) {
			continue
		}
		a := row.args
		r, _, errno := unix.RawSyscall6(uintptr(numbers[row.call]),
			uintptr(a[0]), uintptr(a[1]), uintptr(a[2]), uintptr(a[3]), uintptr(a[4]), uintptr(a[5]))
		if errno == 0 && row.call == "clone" {
			unix.RawSyscall(unix.SYS_EXIT_GROUP, 98, 0, 0) // parent and child alike
		}
		if errno == 0 && row.call == "socket" {
			unix.Close(int(r))
		}
		found[rowName(row)] = int(errno)
	}
	return found
}

func probeProcesses() map[string]int {
	pid := uintptr(os.Getpid())
	_, _, kcmp := unix.RawSyscall6(unix.SYS_KCMP, pid, pid, 1, 0, 0, 0)
	_, _, persona := unix.RawSyscall(unix.SYS_PERSONALITY, personaQuery, 0, 0)
	memfd, memfdErr := unix.MemfdCreate("x", unix.MFD_CLOEXEC)
	unix.Close(memfd)
	var timex unix.Timex
	_, clockErr := unix.Adjtimex(&timex)
	return map[string]int{
		"fork and exec": errnoOf(exec.Command("/bin/sh", "-c", "/bin/true | /bin/cat && (exit 0)").Run()),
		"threads":       errnoOf(threads()),
		"read vm":       errnoOf(readOwnMemory()),
		"traced child":  errnoOf(tracedChild()),
		"kcmp":          int(kcmp),
		"personality":   int(persona),
		"memfd":         errnoOf(memfdErr),
		"adjtimex":      errnoOf(clockErr),
	}
}

func threads() error {
	var wait sync.WaitGroup
	for range 20 {
		wait.Go(func() {
			runtime.LockOSThread() // ends with the goroutine, so each has a thread
			time.Sleep(time.Millisecond)
		})
	}
	wait.Wait()
	return nil
}

func readOwnMemory() error {
	from, to := []byte("secret"), make([]byte, 6)
	local := []unix.Iovec{{Base: &to[0], Len: 6}}
	remote := []unix.RemoteIovec{{Base: uintptr(unsafe.Pointer(&from[0])), Len: 6}}
	_, err := unix.ProcessVMReadv(os.Getpid(), local, remote, 0)
	runtime.KeepAlive(from)
	return err
}

// tracedChild starts a process under ptrace, as a debugger does.
func tracedChild() error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	cmd := exec.Command("/bin/true")
	cmd.SysProcAttr = &syscall.SysProcAttr{Ptrace: true}
	if err := cmd.Start(); err != nil {
		return err
	}
	var status syscall.WaitStatus
	if _, err := syscall.Wait4(cmd.Process.Pid, &status, 0, nil); err != nil {
		return err
	}
	if err := syscall.PtraceDetach(cmd.Process.Pid); err != nil {
		return err
	}
	_, err := syscall.Wait4(cmd.Process.Pid, &status, 0, nil)
	return err
}

// probeZygote starts a process as Chromium starts its zygote: user, pid and
// network namespaces by clone, then chroot.
func probeZygote() map[string]int {
	cmd := exec.Command("/bin/true")
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags: unix.CLONE_NEWUSER | unix.CLONE_NEWPID | unix.CLONE_NEWNET,
		Chroot:     "/",
	}
	return map[string]int{"zygote": errnoOf(cmd.Run())}
}

// probePrivileges installs a filter without no_new_privs, as an ordinary user.
func probePrivileges() map[string]int {
	runtime.LockOSThread()
	if unix.Geteuid() == 0 { // the raw call changes this thread only
		const nobody = 65534
		if _, _, errno := unix.RawSyscall(unix.SYS_SETRESUID, nobody, nobody, nobody); errno != 0 {
			panic(errno)
		}
	}
	prog, err := Build(parseLevel("none"))
	if err != nil {
		panic(err)
	}
	return map[string]int{"install": errnoOf(installPlain(prog))}
}

// probeTerminal makes a pseudo terminal the controlling one of this process.
func probeTerminal() map[string]int {
	found := map[string]int{}
	master, err := unix.Open("/dev/ptmx", unix.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC, 0)
	found["ptmx"] = errnoOf(err)
	found["unlock"] = errnoOf(unix.IoctlSetPointerInt(master, unix.TIOCSPTLCK, 0))
	index, err := unix.IoctlGetUint32(master, unix.TIOCGPTN)
	found["index"] = errnoOf(err)
	tty, err := unix.Open(fmt.Sprintf("/dev/pts/%d", index), unix.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC, 0)
	found["pts"] = errnoOf(err)
	found["controlling"] = errnoOf(unix.IoctlSetInt(tty, unix.TIOCSCTTY, 0))
	found["foreground"] = errnoOf(unix.IoctlSetPointerInt(tty, unix.TIOCSPGRP, unix.Getpgrp()))
	_, err = unix.IoctlGetWinsize(tty, unix.TIOCGWINSZ)
	found["size"] = errnoOf(err)
	typed := byte('x')
	push := func(request uintptr) int {
		_, _, errno := unix.RawSyscall(unix.SYS_IOCTL, uintptr(tty), request, uintptr(unsafe.Pointer(&typed)))
		return int(errno)
	}
	found["TIOCSTI"] = push(tiocsti)
	found["TIOCSTI with a high bit"] = push(high | tiocsti)
	discipline := uint32(0)
	_, _, errno := unix.RawSyscall(unix.SYS_IOCTL, uintptr(tty), tiocsetd, uintptr(unsafe.Pointer(&discipline)))
	found["TIOCSETD"] = int(errno)
	return found
}

// probeCost measures, in picoseconds a call and nanoseconds in all, what
// getppid costs now, what it takes to build and to install a filter.
func probeCost() map[string]int {
	runtime.LockOSThread()
	const rounds = 1 << 20
	start := time.Now()
	for range rounds {
		unix.RawSyscall(unix.SYS_GETPPID, 0, 0, 0)
	}
	getppid := time.Since(start)
	start = time.Now()
	for range rounds {
		unix.RawSyscall(unix.SYS_IOCTL, ^uintptr(0), 0x5413, 0)
	}
	ioctl := time.Since(start)
	start = time.Now()
	prog, err := Build(parseLevel("userns+debug"))
	built := time.Since(start)
	if err != nil {
		panic(err)
	}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		panic(err)
	}
	start = time.Now()
	err = installPlain(prog)
	installed := time.Since(start)
	if err != nil {
		panic(err)
	}
	return map[string]int{
		"getppid ps": int(getppid.Nanoseconds() * 1000 / rounds),
		"ioctl ps":   int(ioctl.Nanoseconds() * 1000 / rounds),
		"build ns":   int(built.Nanoseconds()),
		"install ns": int(installed.Nanoseconds()),
	}
}
