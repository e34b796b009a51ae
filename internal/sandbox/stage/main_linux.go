package stage

import (
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime"
	"slices"
	"unsafe"

	"carrel/internal/sandbox"
	"carrel/internal/stdio"

	"golang.org/x/sys/unix"
)

// The runtime has main begin on the thread that main was initialised on, and keeps it there if
// it was locked meanwhile. Without the lock a wait on the way moves it to another thread.
func init() {
	if len(os.Args) > 0 && sandbox.IsStage(os.Args[0]) {
		runtime.LockOSThread()
	}
}

// Main runs the stage and never returns. It must be called on the main thread:
// no-new-privileges, Landlock and seccomp belong to a thread, and commands get
// them because they are all started from this one. It is also the thread that
// /proc/1 shows and that decides what uid 0 may do with the process.
func Main() {
	runtime.LockOSThread()
	if unix.Gettid() != unix.Getpid() {
		fmt.Fprintln(os.Stderr, sandbox.StageArg0+": begun on another thread than the main one, which would keep its privileges")
		os.Exit(1)
	}
	if len(os.Args) > 1 && os.Args[1] == sandbox.ContainerArg {
		if err := contained(os.Args[2:]); err != nil {
			fmt.Fprintln(os.Stderr, sandbox.StageArg0+":", err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	link := newLink(controlFD)
	begin := run
	if len(os.Args) > 1 {
		switch os.Args[1] {
		case resumeArg:
			begin = resume
		case sandbox.InsideArg:
			begin = inside
		case sandbox.NestedArg:
			begin = nested
		case sandbox.GuardArg:
			begin = guard
		case sandbox.AloneArg:
			begin = alone
		}
	}
	if err := begin(link); err != nil {
		link.setupFailed(err)
		os.Exit(1)
	}
	os.Exit(0)
}

func run(link *link) error {
	if err := hide(); err != nil {
		return err
	}
	holdSignals()
	plan, err := takePlan(link)
	if err != nil {
		return err
	}
	mask := unix.Umask(0)
	b := &builder{plan: plan, note: link.note}
	if err := b.build(); err != nil {
		return err
	}
	unix.Umask(mask)
	sayProcfs(link, b.procs)
	listener, err := b.listen()
	if err != nil {
		return err
	}
	if err := b.listeners(link); err != nil {
		return err
	}
	var shared handles
	var binder *binder
	if len(plan.Roots) > 0 {
		if shared, err = b.mirror(); err != nil {
			return err
		}
		if binder, err = startBinder(shared.mirror); err != nil {
			return err
		}
	}
	if len(plan.Roots) == 0 {
		reopenTerminals()
	}
	if err := b.writeLimits(); err != nil {
		return err
	}
	alone, notify, err := confine(plan)
	if err != nil {
		return err
	}
	if len(plan.Roots) > 0 {
		link.say(sandbox.Message{Kind: sandbox.MsgBroker, ID: b.mountNS}, notify, shared.mirror, shared.view, shared.grants)
		unix.Close(notify)
		shared.close()
	}
	if alone {
		return startOver(&plan.Command, listener)
	}
	return serve(link, &plan.Command, listener, binder)
}

// hide makes this process unreadable for everything inside: commands run with
// the same uid, and /proc/1 must not give them its descriptors.
func hide() error {
	// Started as /proc/self/exe, it would be "exe" in every process list.
	if name, err := unix.BytePtrFromString(sandbox.StageArg0); err == nil {
		_ = unix.Prctl(unix.PR_SET_NAME, uintptr(unsafe.Pointer(name)), 0, 0, 0)
	}
	if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil {
		return failed("making the stage non-dumpable", "", err)
	}
	if err := unix.Prctl(unix.PR_SET_PDEATHSIG, uintptr(unix.SIGKILL), 0, 0, 0); err != nil {
		return failed("binding the stage to its supervisor", "", err)
	}
	return failed("closing inherited descriptors", "", unix.CloseRange(controlFD+1, ^uint(0)>>1, unix.CLOSE_RANGE_CLOEXEC))
}

// takePlan waits for the plan, which comes with the first command's standard
// descriptors.
func takePlan(l *link) (*sandbox.Plan, error) {
	m, fds, err := l.receive()
	if err != nil {
		return nil, failed("waiting for the plan", "", err)
	}
	if m.Kind != sandbox.MsgPlan || len(fds) != 4 && len(fds) != 5 {
		return nil, failed("waiting for the plan", "", fmt.Errorf("message %q with %d descriptors", m.Kind, len(fds)))
	}
	for i, fd := range fds[1:4] {
		if err := unix.Dup3(fd, i, 0); err != nil {
			return nil, failed("taking over standard descriptors", "", err)
		}
		unix.Close(fd)
	}
	buf, err := readAll(fds[0])
	unix.Close(fds[0])
	if err != nil {
		return nil, failed("reading the plan", "", err)
	}
	p, err := sandbox.DecodePlan(buf)
	if err == nil && len(fds) == 5 {
		p.Given = fds[4]
	}
	return p, failed("decoding the plan", "", err)
}

// readAll reads a memory file from its start.
func readAll(fd int) ([]byte, error) {
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return nil, err
	}
	buf := make([]byte, st.Size)
	for n := 0; n < len(buf); {
		m, err := unix.Pread(fd, buf[n:], int64(n))
		switch {
		case err == unix.EINTR:
		case err != nil:
			return nil, err
		case m == 0:
			return nil, io.ErrUnexpectedEOF
		default:
			n += m
		}
	}
	return buf, nil
}

// holdSignals takes the signals that a terminal or a caller sends to the whole
// process group. The kernel shields PID 1 only from signals that it does not
// handle, and the Go runtime handles these by ending the process. So PID 1 gives
// up the runtime's handlers, but for those that it needs itself. Elsewhere, signals
// are caught, not ignored: a command must not inherit "ignored" from us. What our
// caller ignored stays ignored, for the command too.
//
// To catch a signal takes the runtime two changes of threads.
func holdSignals() {
	first := os.Getpid() == 1
	var held []os.Signal
	for sig := unix.Signal(1); sig < 32; sig++ {
		switch sig {
		case unix.SIGKILL, unix.SIGSTOP, unix.SIGCONT, unix.SIGCHLD, unix.SIGURG:
			continue // not ours to catch
		}
		switch {
		case signal.Ignored(sig):
		case !first || slices.Contains(ofRuntime, sig) || stdio.Default(sig) != nil:
			held = append(held, sig)
		}
	}
	signal.Notify(make(chan os.Signal, 1), held...)
}

// ofRuntime are signals by which the runtime learns of a mistake of its own program, and of a
// pipe that no other process reads.
var ofRuntime = []unix.Signal{unix.SIGSEGV, unix.SIGBUS, unix.SIGFPE, unix.SIGPIPE}
